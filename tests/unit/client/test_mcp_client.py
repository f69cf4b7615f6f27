"""Every method of the facade, as the server sees it."""

import asyncio
from typing import Any, cast

import pytest
from msgspec import Raw

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.testing import FakeClock
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompletionArgument,
    CompletionContext,
    Implementation,
    InitializeResult,
    PromptReference,
    ServerCapabilities,
    TextContent,
    ToolsCapability,
)
from suaveplan_mcp.types.meta import LOG_LEVEL_KEY
from tests.unit.client.peers import TOOLS, answer, connected, exchange, opened_stateless, settle

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")

OK: Any = {"content": [{"type": "text", "text": "ok"}]}


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_tool_call_goes_out_and_its_result_comes_back() -> None:
    async with connected() as (client, peer):
        request, result = await exchange(peer, "tools/call", client.call_tool("echo", {"msg": "hi"}), OK)

    assert {"name": "echo", "arguments": {"msg": "hi"}} == request.params
    assert [TextContent(text="ok")] == result.content


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_a_tool_call_without_arguments_sends_the_empty_object() -> None:
    async with connected() as (client, peer):
        request, _ = await exchange(peer, "tools/call", client.call_tool("echo"), OK)

    assert {"name": "echo", "arguments": {}} == request.params


async def test_meta_of_a_call_is_sent() -> None:
    async with connected() as (client, peer):
        request, _ = await exchange(peer, "tools/call", client.call_tool("echo", meta={"com.example/a": 1}), OK)

    assert {"com.example/a": 1} == request.params["_meta"]


async def test_a_call_that_cannot_be_sent_is_refused_at_once() -> None:
    wrong: Any = 42
    async with connected() as (client, peer):
        with pytest.raises(MCPError, match="`name`"):
            await client.call_tool(wrong)
        with pytest.raises(MCPError, match="`arguments`"):
            await client.call_tool("echo", {"a": object()})

        assert 2 == len(peer.seen)


async def test_a_task_that_was_asked_for_comes_back_and_no_other() -> None:
    moment = "2025-11-25T10:30:00Z"
    task = {"taskId": "t-1", "status": "working", "createdAt": moment, "lastUpdatedAt": moment, "ttl": None}
    params: Any = {"name": "research", "task": {"ttl": 1000}}
    async with connected() as (client, peer):
        _, created = await exchange(peer, "tools/call", client.request("tools/call", params), {"task": task})
        with pytest.raises(MCPProtocolError, match="the task 't-1', which it was not asked for"):
            await exchange(peer, "tools/call", client.call_tool("research"), {"task": task})

    assert ("t-1", "working") == (created.task.task_id, created.task.status)


async def _serve_in_memory(call: Any) -> tuple[MCPClient, JsonRpcDispatcher]:
    near, far = InMemoryTransport.pair()
    handlers = HandlerTable()
    greeting = InitializeResult(
        protocol_version=LATEST_HANDSHAKE,
        capabilities=ServerCapabilities(tools=ToolsCapability()),
        server_info=Implementation(name="s", version="1"),
    )
    handlers.register("initialize", lambda _: greeting)
    handlers.register("tools/call", call)
    server = JsonRpcDispatcher(far, era=HandshakeEra("server", handlers), handlers=handlers, side="server")
    client = MCPClient(prefetch=False)
    await client.connect(near)
    return client, server


async def test_in_memory_arguments_and_structured_content_are_encoded_json_and_nothing_is_shared() -> None:
    received: list[CallToolRequestParams] = []
    result = CallToolResult(content=[], structured_content=cast("Any", Raw(b'{"a":[1]}')))

    def call(params: CallToolRequestParams) -> CallToolResult:
        received.append(params)
        return result

    client, server = await _serve_in_memory(call)
    first = await client.call_tool("echo", {"x": 1})
    second = await client.call_tool("echo", {"x": 1})

    assert Raw(b'{"x":1}') == received[0].arguments
    assert {"a": [1]} == first.structured_content
    assert first.structured_content is not second.structured_content
    await client.disconnect()
    await server.close()


async def test_headers_reach_the_other_side() -> None:
    seen: list[object] = []

    def call(_: CallToolRequestParams, inbound: InboundCall) -> CallToolResult:
        seen.append(inbound.delivery and dict(inbound.delivery.headers))
        return CallToolResult(content=[])

    client, server = await _serve_in_memory(call)
    await client.call_tool("echo", headers={"authorization": "Bearer x"})

    assert [{"authorization": "Bearer x"}] == seen
    await client.disconnect()
    await server.close()


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_progress_is_forwarded() -> None:
    seen: list[tuple[float, float | None]] = []
    async with connected() as (client, peer):
        call = asyncio.create_task(
            client.call_tool("slow", on_progress=lambda params: seen.append((params.progress, params.total)))
        )
        request = await peer.expect_request("tools/call")
        peer.notify("notifications/progress", {"progressToken": request.id, "progress": 1, "total": 2})
        peer.respond(request.id, OK)
        await call

    assert [(1, 2)] == seen


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_an_aborted_signal_cancels_the_call() -> None:
    controller = AbortController()
    async with connected() as (client, peer):
        call = asyncio.create_task(client.call_tool("slow", signal=controller.signal))
        request = await peer.expect_request("tools/call")

        controller.abort("enough")

        with pytest.raises(MCPError) as raised:
            await call
        notice = await peer.expect_notification("notifications/cancelled")
        assert {"requestId": request.id, "reason": "enough"} == notice.params
        assert MCP_CODES.REQUEST_CANCELLED == raised.value.code


@pytest.mark.parametrize(
    ("options", "limit", "setting"),
    [
        ({}, 60.0, "timeout"),
        ({"timeout": 7}, 7.0, "timeout"),
        ({"timeout": None}, 600.0, "total_timeout"),
        ({"total_timeout": 5}, 5.0, "total_timeout"),
    ],
)
@pytest.mark.parametrize("method", ["call_tool", "read_resource"])
async def test_a_timeout_is_the_clients_unless_the_request_brings_its_own(
    method: str, options: dict[str, Any], limit: float, setting: str
) -> None:
    time = FakeClock()
    async with connected(MCPClient(prefetch=False, clock=time, timers=time)) as (client, _):
        call = asyncio.create_task(getattr(client, method)("slow", **options))
        await time.advance_async(limit - 0.5)
        early = call.done()
        await time.advance_async(0.5)

        with pytest.raises(MCPError, match=rf"within {limit:g} s \({setting}\)") as raised:
            await call

    assert (False, MCP_CODES.TIMEOUT) == (early, raised.value.code)


async def test_without_limits_a_request_waits_for_ever() -> None:
    time = FakeClock()
    async with connected(MCPClient(prefetch=False, clock=time, timers=time)) as (client, peer):
        call = asyncio.create_task(client.call_tool("slow", timeout=None, total_timeout=None))
        request = await peer.expect_request("tools/call")
        await time.advance_async(1_000_000)
        early = call.done()
        peer.respond(request.id, OK)

        assert (False, [TextContent(text="ok")]) == (early, (await call).content)


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_an_explicit_zero_timeout_expires_at_once() -> None:
    time = FakeClock()
    async with connected(MCPClient(prefetch=False, clock=time, timers=time)) as (client, peer):
        call = asyncio.create_task(client.call_tool("slow", timeout=0))
        await peer.expect_request("tools/call")
        await time.advance_async(0)

        with pytest.raises(MCPError) as raised:
            await call

    assert MCP_CODES.TIMEOUT == raised.value.code


LISTS: list[tuple[str, str, str, Any, str]] = [
    ("tools", "tools/list", "tools", {"name": "n", "inputSchema": {"type": "object"}}, "n"),
    ("resources", "resources/list", "resources", {"uri": "mem://n", "name": "n"}, "n"),
    (
        "resource_templates",
        "resources/templates/list",
        "resourceTemplates",
        {"uriTemplate": "mem://{n}", "name": "n"},
        "n",
    ),
    ("prompts", "prompts/list", "prompts", {"name": "n"}, "n"),
    ("roots", "roots/list", "roots", {"uri": "file:///n", "name": "n"}, "n"),
]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
@pytest.mark.parametrize(("name", "method", "member", "item", "expected"), LISTS)
async def test_a_refresh_updates_the_cached_list(name: str, method: str, member: str, item: Any, expected: str) -> None:
    async with connected() as (client, peer):
        _, refreshed = await exchange(peer, method, getattr(client, f"refresh_{name}")(), {member: [item]})

        cached = getattr(client, name)()
        assert [expected] == [entry.name for entry in cached]
        assert refreshed == cached
        cached.clear()
        assert [expected] == [entry.name for entry in getattr(client, name)()]


@pytest.mark.parametrize(("name", "method", "member", "item", "expected"), LISTS)
async def test_without_the_capability_a_refresh_leaves_the_list_empty_and_asks_nothing(
    name: str, method: str, member: str, item: Any, expected: str
) -> None:
    async with connected(capabilities={}) as (client, peer):
        assert [] == await getattr(client, f"refresh_{name}")()
        assert 2 == len(peer.seen)


@pytest.mark.parametrize(("name", "method", "member", "item", "expected"), LISTS[:-1])
async def test_one_page_is_fetched_and_the_cached_list_stays(
    name: str, method: str, member: str, item: Any, expected: str
) -> None:
    async with connected() as (client, peer):
        request, page = await exchange(
            peer,
            method,
            getattr(client, f"list_{name}")("here", meta={"a": 1}),
            {member: [item], "nextCursor": "there"},
        )

        assert {"cursor": "here", "_meta": {"a": 1}} == request.params
        assert "there" == page.next_cursor
        assert [] == getattr(client, name)()


async def test_the_roots_of_the_server_are_asked_for() -> None:
    async with connected() as (client, peer):
        _, result = await exchange(peer, "roots/list", client.list_roots(), {"roots": [{"uri": "file:///n"}]})

    assert ["file:///n"] == [root.uri for root in result.roots]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_resource_is_read() -> None:
    async with connected() as (client, peer):
        request, result = await exchange(
            peer, "resources/read", client.read_resource("mem://x"), {"contents": [{"uri": "mem://x", "text": "hi"}]}
        )

    assert {"uri": "mem://x"} == request.params
    assert "hi" == result.contents[0].text


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_prompt_is_got() -> None:
    result = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
    async with connected() as (client, peer):
        request, got = await exchange(peer, "prompts/get", client.get_prompt("p", {"a": "b"}), result)

    assert {"name": "p", "arguments": {"a": "b"}} == request.params
    assert [TextContent(text="hi")] == [message.content for message in got.messages]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_a_prompt_without_arguments_sends_the_empty_object() -> None:
    async with connected() as (client, peer):
        request, _ = await exchange(peer, "prompts/get", client.get_prompt("p"), {"messages": []})

    assert {"name": "p", "arguments": {}} == request.params


async def test_arguments_of_a_prompt_that_are_no_strings_are_refused_by_name() -> None:
    wrong: Any = {"a": 1}
    async with connected() as (client, _):
        with pytest.raises(MCPError, match="`args` is not valid: Expected `str`, got `int` at"):
            await client.get_prompt("p", wrong)


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
@pytest.mark.parametrize(
    ("arguments", "context"),
    [
        (({"type": "ref/prompt", "name": "p"}, {"name": "a", "value": "v"}), False),
        ((PromptReference(name="p"), CompletionArgument(name="a", value="v")), False),
        (({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}},), False),
        (
            (CompleteRequestParams(ref=PromptReference(name="p"), argument=CompletionArgument(name="a", value="v")),),
            False,
        ),
        (
            (
                PromptReference(name="p"),
                CompletionArgument(name="a", value="v"),
                CompletionContext(arguments={"b": "c"}),
            ),
            True,
        ),
    ],
)
async def test_suggestions_are_asked_for_in_every_form(arguments: Any, *, context: bool) -> None:
    async with connected() as (client, peer):
        request, result = await exchange(
            peer, "completion/complete", client.complete(*arguments), {"completion": {"values": ["va"]}}
        )

    expected = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}}
    assert {**expected, **({"context": {"arguments": {"b": "c"}}} if context else {})} == request.params
    assert ["va"] == result.completion.values


async def test_a_completion_request_carries_its_meta_and_a_wrong_one_is_refused_by_path() -> None:
    reference = PromptReference(name="p")
    async with connected() as (client, peer):
        request, _ = await exchange(
            peer,
            "completion/complete",
            client.complete(reference, {"name": "a", "value": ""}, meta={"k": 1}),
            {"completion": {"values": []}},
        )
        with pytest.raises(MCPError, match="`argument.value` is not valid") as raised:
            await client.complete(reference, {"name": "a", "value": 1})  # pyright: ignore[reportArgumentType]

    assert {"k": 1} == request.params["_meta"]
    assert MCP_CODES.INVALID_PARAMS == raised.value.code


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_the_log_level_is_set() -> None:
    async with connected() as (client, peer):
        request, _ = await exchange(peer, "logging/setLevel", client.set_log_level("warning"), {})

    assert {"level": "warning"} == request.params


async def test_a_log_level_that_does_not_exist_is_refused() -> None:
    loud: Any = "loud"
    async with connected() as (client, _):
        with pytest.raises(MCPError, match="`level` is not valid: expected one of debug, .*, got 'loud'"):
            await client.set_log_level(loud)


async def test_ping_is_answered_by_nothing() -> None:
    async with connected() as (client, peer):
        _, result = await exchange(peer, "ping", client.ping(), {})

    assert None is result


async def test_any_request_can_be_sent() -> None:
    async with connected() as (client, peer):
        request, result = await exchange(peer, "tools/call", client.request("tools/call", {"name": "x"}), OK)

    assert {"name": "x"} == request.params
    assert isinstance(result, CallToolResult)


async def test_a_method_no_revision_knows_is_refused_here() -> None:
    async with connected() as (client, peer):
        with pytest.raises(MCPError, match="Method not found: tools/destroy") as raised:
            await client.request("tools/destroy")

        assert MCP_CODES.METHOD_NOT_FOUND == raised.value.code
        assert 2 == len(peer.seen)


async def test_a_method_whose_capability_the_server_lacks_is_refused_here() -> None:
    async with connected(capabilities=TOOLS) as (client, peer):
        with pytest.raises(MCPError, match="did not declare the capability logging") as raised:
            await client.set_log_level("info")
        with pytest.raises(MCPError, match="capability resources"):
            await client.list_resources()

        assert MCP_CODES.METHOD_NOT_FOUND == raised.value.code
        assert None is raised.value.jsonrpc_code
        assert 2 == len(peer.seen)


async def test_the_oldest_revision_completes_without_a_capability() -> None:
    oldest = HANDSHAKE_REVISIONS[0]
    async with connected(capabilities={}, revision=oldest) as (client, peer):
        work = client.complete(PromptReference(name="p"), {"name": "a", "value": ""})
        _, result = await exchange(peer, "completion/complete", work, {"completion": {"values": []}})

    assert [] == result.completion.values


async def test_an_error_of_the_server_reaches_the_caller_unchanged() -> None:
    async with connected() as (client, peer):
        call = asyncio.create_task(client.call_tool("echo"))
        request = await peer.expect_request("tools/call")
        peer.fail(request.id, 4001, "pay first", {"price": 0})

        with pytest.raises(MCPError, match="pay first") as raised:
            await call

    assert (4001, {"price": 0}) == (raised.value.jsonrpc_code, raised.value.data)


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_list_of_two_pages_is_walked() -> None:
    async with connected() as (client, peer):
        refreshing = asyncio.create_task(client.refresh_prompts())
        first = await answer(peer, "prompts/list", {"prompts": [{"name": "a"}], "nextCursor": ""})
        second = await answer(peer, "prompts/list", {"prompts": [{"name": "b"}], "nextCursor": None})
        await refreshing

        assert ({}, {"cursor": ""}) == (first.params, second.params)
        assert ["a", "b"] == [prompt.name for prompt in client.prompts()]


# The stateless era


async def test_in_the_stateless_era_a_ping_asks_what_the_server_is() -> None:
    async with opened_stateless() as (client, peer):
        result = {"supportedVersions": [LATEST], "capabilities": {}}
        _, pinged = await exchange(peer, "server/discover", client.ping(), result)

    assert None is pinged


async def test_in_the_stateless_era_every_request_asks_for_the_log_messages_that_are_wanted() -> None:
    async with opened_stateless() as (client, peer):
        await client.set_log_level("warning")
        own, _ = await exchange(peer, "tools/list", client.list_tools(meta={LOG_LEVEL_KEY: "error"}), {"tools": []})
        other, _ = await exchange(peer, "tools/list", client.list_tools(), {"tools": []})

    assert ["error", "warning"] == [request.params["_meta"][LOG_LEVEL_KEY] for request in (own, other)]


async def test_in_the_stateless_era_a_server_is_not_told_of_other_roots() -> None:
    client = MCPClient(protocol="stateless", prefetch=False)
    client.set_roots_provider(list)
    async with opened_stateless(client=client) as (_, peer):
        await client.send_roots_list_changed()
        await settle()

        assert 1 == len(peer.seen)
