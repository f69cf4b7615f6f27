"""Our client with the servers of other people's Python libraries: everything both sides have, over real processes."""

import asyncio
import json
from typing import Any

import pytest

from suaveplan_mcp import MCPError, connect
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.types import EmbeddedResource, TextContent, TextResourceContents
from suaveplan_mcp.types.elicitation import ElicitRequestParams
from suaveplan_mcp.types.logging import LoggingMessageNotificationParams
from suaveplan_mcp.types.progress import ProgressNotificationParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from tests.interop.conftest import Reach
from tests.interop.peers import ENVIRONMENT, HANDSHAKE_REVISIONS, Target


@pytest.fixture(params=["official", "fast"])
def server(request: pytest.FixtureRequest, transport: str, reach: Reach) -> Target:
    """Return what connects to each of their servers."""
    return reach(request.param, transport)


def _connect(server: Target, **options: Any) -> Any:
    # What is looked at here is how theirs keep to the handshake, whatever else they may speak by now.
    return connect(server, env=ENVIRONMENT, **{"protocol": "handshake", **options})


async def _text(client: Any, tool: str, arguments: dict[str, object] | None = None) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.content[0].text


async def test_the_handshake_agrees_on_the_newest_revision(server: Target) -> None:
    async with _connect(server) as client:
        assert "2025-11-25" == client.protocol_version
        assert client.server_info.name in {"official", "fast"}
        assert "Ask for anything." == client.instructions
        await client.ping()


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
@pytest.mark.parametrize("name", ["official", "fast"])
async def test_every_revision_of_the_handshake_can_be_pinned(name: str, revision: str, reach: Reach) -> None:
    async with _connect(reach(name, "stdio"), protocol=revision, prefetch=True) as client:
        assert revision == client.protocol_version
        assert "3" == await _text(client, "add", {"a": 1, "b": 2})
        assert 3 == len(client.resources()) + len(client.resource_templates())
        assert ["greet"] == [prompt.name for prompt in client.prompts()]


async def test_tools_are_listed_with_their_schemas(server: Target) -> None:
    async with _connect(server) as client:
        tools = {tool.name: tool for tool in await client.refresh_tools()}

    assert "Addition" == tools["add"].title
    assert tools["add"].annotations.read_only_hint
    assert {"a", "b"} == set(tools["add"].input_schema["properties"])
    assert "object" == tools["birthday"].output_schema["type"]
    assert tools["show"].output_schema is None


async def test_plain_async_and_structured_tools_are_called(server: Target) -> None:
    async with _connect(server) as client:
        added = await client.call_tool("add", {"a": 1, "b": 2})
        born = await client.call_tool("birthday", {"person": {"name": "Ada"}})

        assert {"result": 3} == added.structured_content
        assert {"name": "Ada", "age": 37} == born.structured_content
        assert "≤ 🎉 Ä" == await _text(client, "shout", {"text": "≤ 🎉 ä"})


async def test_content_of_every_kind_arrives(server: Target) -> None:
    async with _connect(server) as client:
        text, image, audio, link, embedded = (await client.call_tool("show")).content

    assert TextContent(text="≤ 🎉") == text
    assert ("iVBORw==", "image/png") == (image.data, image.mime_type)
    assert ("UklGRg==", "audio/wav") == (audio.data, audio.mime_type)
    assert "mem://greeting" == link.uri
    assert isinstance(embedded, EmbeddedResource)
    assert TextResourceContents(uri="mem://note", text="inside").text == embedded.resource.text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("refuse", {"reason": "not today"}, "not today"),
        ("add", {"a": "one", "b": 2}, "Input should be a valid integer"),
        ("nowhere", {}, "Unknown tool"),
    ],
)
async def test_a_call_that_fails_is_an_error_result(
    server: Target, tool: str, arguments: dict[str, object], said: str
) -> None:
    async with _connect(server) as client:
        result = await client.call_tool(tool, arguments)

    assert result.is_error
    assert said in result.content[0].text


async def test_a_prompt_without_its_argument_is_an_error(server: Target) -> None:
    async with _connect(server) as client:
        with pytest.raises(MCPError, match="Missing required arguments: {'name'}"):
            await client.get_prompt("greet")
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("nowhere")


async def test_progress_is_heard_in_order_before_the_result(server: Target) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    def hear(progress: ProgressNotificationParams) -> None:
        heard.append((progress.progress, progress.total, progress.message))

    async with _connect(server) as client:
        result = await client.call_tool("count", {"upto": 3}, on_progress=hear)

    assert {"result": 3} == result.structured_content
    assert [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")] == heard


async def test_log_messages_are_heard(server: Target) -> None:
    heard: list[LoggingMessageNotificationParams] = []

    async with _connect(server, on_log=heard.append) as client:
        await client.set_log_level("debug")
        await client.call_tool("speak")

    assert ["debug", "warning"] == [params.level for params in heard]
    assert {"speaker"} == {params.logger for params in heard}


async def test_a_server_asks_the_model(server: Target) -> None:
    def answer(params: CreateMessageRequestParams) -> CreateMessageResult:
        (message,) = params.messages
        assert ("Be brief.", 10, 0.5) == (params.system_prompt, params.max_tokens, params.temperature)
        assert isinstance(message.content, TextContent)
        return CreateMessageResult(
            role="assistant",
            content=TextContent(text=message.content.text[::-1]),
            model="mirror",
            stop_reason="endTurn",
        )

    connection = _connect(server)
    connection.client.set_sampling_provider(answer)
    async with connection as client:
        assert "mirror: olleh" == await _text(client, "think", {"question": "hello"})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"name": "Ada"}, {"action": "accept", "name": "Ada", "count": 3, "sure": False}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
    ],
)
async def test_a_server_asks_the_user(server: Target, answer: object, told: dict[str, object]) -> None:
    asked: list[ElicitRequestParams] = []

    def fill_in(params: ElicitRequestParams) -> object:
        asked.append(params)
        return answer

    connection = _connect(server)
    connection.client.set_elicitation_provider(fill_in)
    async with connection as client:
        text = await _text(client, "fill_in")

    assert told == json.loads(text)
    assert "Who are you?" == asked[0].message


async def test_a_server_sends_the_user_to_an_address(server: Target) -> None:
    finished = asyncio.Event()
    asked: list[ElicitRequestParams] = []

    def visit(params: ElicitRequestParams) -> str:
        asked.append(params)
        return "accept"

    connection = _connect(server)
    connection.client.set_elicitation_provider(visit, url=True)
    connection.client.on_notification("notifications/elicitation/complete", lambda _: finished.set())
    async with connection as client:
        assert "accept" == await _text(client, "visit")
        await finished.wait()

    assert ("https://example.org/look", "look-1") == (asked[0].url, asked[0].elicitation_id)


async def test_a_server_asks_for_the_roots_and_pings(server: Target) -> None:
    connection = _connect(server)
    connection.client.set_roots_provider(lambda _: [{"uri": "file:///work", "name": "Work"}])
    async with connection as client:
        assert "Work file:///work" == (await client.call_tool("places")).structured_content["result"][0]
        assert "it is there" == await _text(client, "call_back")
        await client.send_roots_list_changed()
        await client.ping()


@pytest.mark.parametrize(("tool", "asks"), [("fill_in", "elicitation/create"), ("places", "roots/list")])
async def test_a_server_that_asks_for_what_was_not_declared_is_refused(server: Target, tool: str, asks: str) -> None:
    async with _connect(server) as client:
        # One of them passes the error on as it is, the other one's tool has failed.
        try:
            result = await client.call_tool(tool)
        except MCPError as error:
            told = error.message
        else:
            assert result.is_error
            told = result.content[0].text
        await client.ping()

    assert f"Method not found: {asks}" in told


async def _wait_until_recalled(client: Any, times: int) -> None:
    while times > len((await client.call_tool("recall")).structured_content["result"]):
        await asyncio.sleep(0)


@pytest.mark.parametrize("way", ["signal", "task"])
async def test_a_call_that_is_given_up_ends_at_the_server(server: Target, way: str) -> None:
    started = asyncio.Event()
    controller = AbortController()
    async with _connect(server) as client:
        before = len((await client.call_tool("recall")).structured_content["result"])
        call = asyncio.ensure_future(
            client.call_tool("wait", signal=controller.signal, on_progress=lambda _: started.set())
        )
        await started.wait()
        if way == "signal":
            controller.abort()
        else:
            call.cancel()
        with pytest.raises((MCPError, asyncio.CancelledError)):
            await call
        await _wait_until_recalled(client, before + 1)


async def test_resources_are_listed_and_read(server: Target) -> None:
    async with _connect(server) as client:
        listed = {resource.uri: resource for resource in await client.refresh_resources()}
        (template,) = await client.refresh_resource_templates()
        (text,) = (await client.read_resource("mem://greeting")).contents
        (blob,) = (await client.read_resource("mem://bytes")).contents
        (city,) = (await client.read_resource("mem://city/Oslo")).contents
        with pytest.raises(MCPError) as missing:
            await client.read_resource("mem://nowhere")

    assert {"mem://greeting", "mem://bytes"} <= set(listed)
    assert "mem://city/{name}" == template.uri_template
    assert ("≤ hello 🎉", "text/plain") == (text.text, text.mime_type)
    assert "AAECAw==" == blob.blob
    assert "Oslo is a city" == city.text
    assert "MCP.NOT_FOUND" == missing.value.code


async def test_prompts_are_listed_and_filled_in(server: Target) -> None:
    async with _connect(server) as client:
        prompt = (await client.refresh_prompts())[0]
        filled = await client.get_prompt("greet", {"name": "Ada"})

    assert ("greet", "Greeting") == (prompt.name, prompt.title)
    assert {"name": True, "tone": False} == {argument.name: bool(argument.required) for argument in prompt.arguments}
    assert [("user", "Greet Ada in a warm way."), ("assistant", "Hello!")] == [
        (message.role, message.content.text) for message in filled.messages
    ]


async def test_arguments_are_completed(server: Target) -> None:
    async with _connect(server) as client:
        cities = await client.complete(
            {"type": "ref/resource", "uri": "mem://city/{name}"}, {"name": "name", "value": "Ber"}
        )
        tones = await client.complete(
            {"type": "ref/prompt", "name": "greet"},
            {"name": "tone", "value": "c"},
            {"arguments": {"name": "Ada"}},
        )

    assert ["Berlin", "Bern"] == cities.completion.values
    assert (["cAda"], 1) == (tones.completion.values, tones.completion.total)


async def test_lists_that_change_are_listed_anew(server: Target) -> None:
    changed: asyncio.Queue[str] = asyncio.Queue()
    async with _connect(server, prefetch=True) as client:
        client.events.on("list:changed", lambda event: changed.put_nowait(event.kind))
        await client.call_tool("grow")

        assert {"tools", "resources", "prompts"} == {await changed.get() for _ in range(3)}
        assert "grown" in {tool.name for tool in client.tools()}
        assert "mem://grown" in {resource.uri for resource in client.resources()}
        assert "grown" in {prompt.name for prompt in client.prompts()}


async def test_a_subscribed_resource_is_read_again_when_it_changes(server: Target) -> None:
    updated: asyncio.Queue[str] = asyncio.Queue()
    async with _connect(server) as client:
        client.events.on("resource:updated", lambda event: updated.put_nowait(event.uri))
        await client.subscribe_resource("mem://greeting")
        await client.call_tool("touch", {"uri": "mem://greeting"})

        assert "mem://greeting" == await updated.get()
        assert "≤ hello 🎉" == client.updated_resource("mem://greeting").contents[0].text
        await client.unsubscribe_resource("mem://greeting")
        assert "0 watched" == await _text(client, "touch", {"uri": "mem://greeting"})


async def test_many_calls_at_once_get_their_own_answers(server: Target) -> None:
    async with _connect(server) as client:
        results = await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 1}) for number in range(50)))

    assert [number + 1 for number in range(50)] == [result.structured_content["result"] for result in results]
