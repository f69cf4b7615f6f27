"""What clients and servers do for each other is the same over every transport and in every revision."""

import asyncio
from typing import Any, cast

import pytest
from msgspec import Struct

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.revisions import V2025_03_26, V2025_06_18, V2026_07_28, is_at_least
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.asking import elicitation, roots, sampling
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.completion import PromptReference
from suaveplan_mcp.types.elicitation import ElicitRequestParams, ElicitResult
from suaveplan_mcp.types.logging import LoggingMessageNotificationParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams
from tests.conversations.meetings import Meeting, meet, over_all
from tests.e2e.walk import walked_server

pytestmark = over_all


class Person(Struct):
    """What a form asks for."""

    name: str
    age: int = 36


def _be_helpful(client: MCPClient) -> None:
    """Set every provider."""

    def fill_in(params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    def think(params: CreateMessageRequestParams) -> str:
        content: Any = params.messages[0].content
        return f"about {content.text}"

    client.set_elicitation_provider(fill_in)
    client.set_sampling_provider(think)
    client.set_roots_provider(lambda: ["file:///home"])


def _texts(result: Any) -> list[str]:
    return [block.text for block in result.content]


async def test_the_revision_is_the_one_that_was_asked_for(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        await client.ping()

        assert meeting.revision == client.protocol_version
        assert "walked" == getattr(client.server_info, "name", None)


# Tools


async def test_a_tool_is_listed_and_called(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        assert "echo" == (await client.list_tools()).tools[0].name
        result = await client.call_tool("echo", {"text": "a≤b🎉"})

        assert ['{"said":"a≤b🎉"}'] == _texts(result)
        if is_at_least(meeting.revision, V2025_06_18):
            assert {"said": "a≤b🎉"} == result.structured_content


async def test_a_tool_that_fails_says_so_in_its_result(meeting: Meeting) -> None:
    server = MCPServer()

    @server.tool
    def fail() -> None:
        raise ValueError("no luck")

    async with meet(meeting, server) as client:
        result = await client.call_tool("fail")

        assert (True, ["Error: no luck"]) == (result.is_error, _texts(result))


async def test_an_error_arrives_as_it_was_raised(meeting: Meeting) -> None:
    server = MCPServer()

    @server.tool
    def refuse() -> None:
        raise MCPError("SHOP.CLOSED", "come back tomorrow", jsonrpc_code=-31234, data={"code": "SHOP.CLOSED", "at": 9})

    async with meet(meeting, server) as client:
        with pytest.raises(MCPError, match="come back tomorrow") as raised:
            await client.call_tool("refuse")

        assert -31234 == raised.value.jsonrpc_code
        assert {"code": "SHOP.CLOSED", "at": 9} == raised.value.data


async def test_a_tool_that_does_not_exist_is_an_error_that_names_it(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        with pytest.raises(MCPError, match="nothing") as raised:
            await client.call_tool("nothing")

        assert -32602 == raised.value.jsonrpc_code


async def test_progress_is_told_in_order_before_the_result(meeting: Meeting) -> None:
    reports: list[tuple[float, float | None]] = []
    async with meet(meeting, walked_server()) as client:
        await client.call_tool(
            "count", {"upto": 5}, on_progress=lambda told: reports.append((told.progress, told.total))
        )

    assert [(number, 5) for number in range(1, 6)] == reports


async def test_a_call_that_is_given_up_stops_its_handler(meeting: Meeting) -> None:
    server, stopped = MCPServer(), asyncio.Event()

    @server.tool
    async def wait(ctx: Context) -> None:
        ctx.progress(1)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with meet(meeting, server) as client:
        controller = AbortController()
        with pytest.raises(MCPError, match="never mind") as raised:
            await client.call_tool(
                "wait", signal=controller.signal, on_progress=lambda _: controller.abort("never mind")
            )
        await stopped.wait()

        assert MCP_CODES.REQUEST_CANCELLED == raised.value.code


async def test_many_calls_at_once_get_their_own_answers(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        results = await asyncio.gather(*(client.call_tool("echo", {"text": f"{n}"}) for n in range(50)))

        assert [[f'{{"said":"{n}"}}'] for n in range(50)] == [_texts(result) for result in results]


async def test_a_large_result_arrives_whole(meeting: Meeting) -> None:
    text = "≤" * 300_000
    async with meet(meeting, walked_server()) as client:
        assert [f'{{"said":"{text}"}}'] == _texts(await client.call_tool("echo", {"text": text}))


# Resources, prompts, completions


async def test_resources_are_listed_and_read(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        assert ["mem://fixed"] == [each.uri for each in (await client.list_resources()).resources]
        assert "≤ 🎉" == (await client.read_resource("mem://fixed")).contents[0].text
        assert "+w==" == (await client.read_resource("mem://item/251")).contents[0].blob


async def test_a_resource_that_does_not_exist_is_an_error_that_names_it(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        with pytest.raises(MCPError, match="mem://nothing") as raised:
            await client.read_resource("mem://nothing")

        number = -32602 if is_at_least(meeting.revision, V2026_07_28) else -32002
        assert (MCP_CODES.NOT_FOUND, number) == (raised.value.code, raised.value.jsonrpc_code)


async def test_prompts_are_filled_in_and_completed(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        content: Any = (await client.get_prompt("greet", {"who": "Ada"})).messages[0].content
        assert "Say hello to Ada." == content.text
        # The first revision has completions, but no capability that says so.
        if is_at_least(meeting.revision, V2025_03_26):
            completed = await client.complete(PromptReference(name="greet"), {"name": "who", "value": "A"})
            assert ["Ada", "Alan"] == completed.completion.values


async def test_lists_come_in_pages(meeting: Meeting) -> None:
    server = MCPServer(page_size=2)
    for number in range(5):
        server.register_tool(lambda: None, name=f"tool-{number}")

    async with meet(meeting, server) as client:
        assert [f"tool-{number}" for number in range(5)] == [tool.name for tool in await client.refresh_tools()]
        assert 2 == len((await client.list_tools()).tools)


# What changes


async def test_who_watches_a_resource_is_told_that_it_changed(meeting: Meeting) -> None:
    server, value = MCPServer(), ["old"]
    server.register_resource(lambda: value[0], uri="mem://x", name="x", inline=True)
    async with meet(meeting, server) as client:
        await client.subscribe_resource("mem://x")
        for new in ("newer", "newest"):
            updated = asyncio.Event()
            client.events.once("resource:updated", lambda _, updated=updated: updated.set())
            value[0] = new
            server.mark_resource_updated("mem://x")
            await updated.wait()

            assert new == cast("Any", client.updated_resource("mem://x")).contents[0].text
        await client.unsubscribe_resource("mem://x")


async def test_changed_lists_are_followed_by_a_client_that_keeps_them(meeting: Meeting) -> None:
    server = walked_server()
    async with meet(meeting, server, options={"prefetch": True}) as client:
        changed = asyncio.Event()
        client.events.once("list:changed", lambda _: changed.set())
        for name in ("one", "two", "three"):
            server.register_tool(lambda: None, name=name)
        await changed.wait()

        assert ["one", "two", "three"] == [tool.name for tool in client.tools()][4:]


async def test_log_messages_come_to_who_asked_for_them(meeting: Meeting) -> None:
    server, logs = MCPServer(), list[LoggingMessageNotificationParams]()

    @server.tool
    async def work(ctx: Context) -> None:
        ctx.log("debug", "details")
        ctx.log("warning", "trouble", "worker")

    async with meet(meeting, server, options={"on_log": logs.append}) as client:
        await client.set_log_level("info")
        await client.call_tool("work")

    assert [("warning", "trouble", "worker")] == [(log.level, log.data, log.logger) for log in logs]


# Asking the client


async def test_a_tool_asks_the_model_and_for_the_roots(meeting: Meeting) -> None:
    async with meet(meeting, walked_server(), prepare=_be_helpful) as client:
        result = await client.call_tool("think", {"question": "what"})

        assert ["about what in file:///home"] == _texts(result)


async def test_a_tool_asks_the_user(meeting: Meeting) -> None:
    if not is_at_least(meeting.revision, V2025_06_18):
        pytest.skip("revisions before 2025-06-18 have no elicitation")
    server, runs = MCPServer(), list[str]()

    @server.tool
    async def greet(ctx: Context) -> str:
        runs.append("greet")
        who = await ctx.elicit("Who are you?", Person)
        return f"Hello, {cast('Any', who.content)['name']}!"

    async with meet(meeting, server, prepare=_be_helpful) as client:
        assert ["Hello, Ada!"] == _texts(await client.call_tool("greet"))

    # In the stateless era the handler runs again when the answer is there.
    assert (2 if is_at_least(meeting.revision, V2026_07_28) else 1) == len(runs)


async def test_a_prompt_and_a_resource_ask_as_well(meeting: Meeting) -> None:
    server = MCPServer()

    @server.prompt
    async def plan(ctx: Context) -> str:
        return f"Plan for {(await ctx.list_roots())[0].uri}"

    @server.resource("mem://where")
    async def where(ctx: Context) -> str:
        return (await ctx.list_roots())[0].uri

    async with meet(meeting, server, prepare=_be_helpful) as client:
        content: Any = (await client.get_prompt("plan")).messages[0].content

        assert "Plan for file:///home" == content.text
        assert "file:///home" == (await client.read_resource("mem://where")).contents[0].text


async def test_several_things_are_asked_at_once_and_something_is_done_once(meeting: Meeting) -> None:
    server, done = MCPServer(), list[str]()

    def note() -> str:
        done.append("done")
        return "noted"

    @server.tool
    async def ask(ctx: Context) -> str:
        noted = await ctx.once("note", note)
        answers: Any = await ctx.ask({"where": roots(), "what": sampling("it")})
        return f"{noted}, {answers['where'].roots[0].uri}, {answers['what'].content.text}"

    async with meet(meeting, server, prepare=_be_helpful) as client:
        assert ["noted, file:///home, about it"] == _texts(await client.call_tool("ask"))

    assert ["done"] == done


async def test_a_client_that_cannot_be_asked_is_an_error_that_says_what_is_missing(meeting: Meeting) -> None:
    server = MCPServer()

    @server.tool
    async def ask(ctx: Context) -> str:
        return str(await ctx.ask({"sure": elicitation("Sure?")}))

    async with meet(meeting, server) as client:
        if is_at_least(meeting.revision, V2026_07_28):
            with pytest.raises(MCPError, match="elicitation") as raised:
                await client.call_tool("ask")
            assert -32021 == raised.value.jsonrpc_code
        else:
            result = await client.call_tool("ask")
            assert result.is_error
            assert "elicitation" in _texts(result)[0]


# The end


async def test_what_is_in_flight_fails_when_the_client_leaves(meeting: Meeting) -> None:
    async with meet(meeting, walked_server()) as client:
        running = asyncio.Event()
        waiting = asyncio.create_task(client.call_tool("wait", on_progress=lambda _: running.set()))
        await running.wait()
        await client.disconnect()

        with pytest.raises(MCPError) as raised:
            await waiting
        assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
