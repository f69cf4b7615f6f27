"""Answering what a server asks in its results."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import JsonObject, Request
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.elicitation import ElicitRequestParams

REVISION = "2026-07-28"
DONE: JsonObject = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
FORM: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}
NAME: JsonObject = {"method": "elicitation/create", "params": {"message": "Name?", "requestedSchema": FORM}}
MODEL: JsonObject = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5},
}
ROOTS: JsonObject = {"method": "roots/list"}


def required(state: str | None = None, **requests: Any) -> JsonObject:
    result: JsonObject = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result if state is None else {**result, "requestState": state}


@asynccontextmanager
async def stateless(client: MCPClient) -> AsyncGenerator[tuple[MCPClient, ScriptedPeer]]:
    """Connect a client to a server of the stateless era that is played by hand."""
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    request = await peer.expect_request("server/discover")
    capabilities: JsonObject = {"tools": {}, "resources": {}, "prompts": {}}
    peer.respond(request.id, {"supportedVersions": [REVISION], "capabilities": capabilities})
    await connecting
    async with client:
        yield client, peer


def a_client(**options: Any) -> MCPClient:
    """Return a client with a provider of each kind."""
    client = MCPClient(protocol="stateless", prefetch=False, **options)
    client.set_elicitation_provider(lambda params: {"name": "Ada"})
    client.set_sampling_provider(lambda params: "hello")
    client.set_roots_provider(lambda: ["file:///a"])
    return client


async def leg(peer: ScriptedPeer, result: Any, method: str = "tools/call") -> Request:
    """Answer the next request."""
    request = await peer.expect_request(method)
    peer.respond(request.id, result)
    return request


def params_of(request: Request) -> Any:
    """Return the params of a request, without what every request has."""
    params: Any = request.params
    return {name: value for name, value in params.items() if name != "_meta"}


def meta_of(request: Request) -> Any:
    params: Any = request.params
    return params["_meta"]


def text_of(result: Any) -> str:
    return result.content[0].text


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_the_request_is_sent_again_with_the_answers_and_the_state() -> None:
    state = 'opaque {"x": 1} \\u00e9 "é" =='
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", {"a": 1}, meta={"mine": 1}))
        first = await leg(peer, required(state, name=NAME, model=MODEL, roots=ROOTS))
        second = await leg(peer, DONE)

        assert "done" == text_of(await calling)
        assert first.id != second.id
        answers = {
            "name": {"action": "accept", "content": {"name": "Ada"}},
            "model": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "unknown"},
            "roots": {"roots": [{"uri": "file:///a"}]},
        }
        again = {"name": "t", "arguments": {"a": 1}, "inputResponses": answers, "requestState": state}
        assert again == params_of(second)
        assert meta_of(first) == meta_of(second)


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_no_state_is_sent_where_none_was_given_and_no_earlier_answers() -> None:
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("one", name=NAME))
        await leg(peer, required(None, roots=ROOTS))
        third = await leg(peer, DONE)
        await calling

        assert {"name", "arguments", "inputResponses"} == set(params_of(third))
        assert ["roots"] == list(params_of(third)["inputResponses"])


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_another_call_is_not_touched() -> None:
    async with stateless(a_client()) as (client, peer):
        await asyncio.gather(client.call_tool("t"), leg_twice(peer, required("one", name=NAME)))
        calling = asyncio.create_task(client.call_tool("t"))
        request = await leg(peer, {"content": []})

        assert {"name": "t", "arguments": {}} == params_of(request)
        # A result that does not say what it is, is complete.
        assert [] == (await calling).content


async def leg_twice(peer: ScriptedPeer, first: Any) -> None:
    await leg(peer, first)
    await leg(peer, DONE)


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("prompts/get", {"name": "p"}, {"messages": []}),
        ("resources/read", {"uri": "test://a"}, {"contents": [], "ttlMs": 60_000, "cacheScope": "public"}),
        ("tools/call", {"name": "t", "beyond": [1]}, DONE),
    ],
)
async def test_plain_params_are_sent_again_as_they_were(method: str, params: Any, result: Any) -> None:
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.request(method, params))
        await leg(peer, required("s", name=NAME), method)
        second = await leg(peer, required("s2", name=NAME), method)
        third = await leg(peer, result, method)
        await calling

        answers = {"name": {"action": "accept", "content": {"name": "Ada"}}}
        assert {**params, "inputResponses": answers, "requestState": "s"} == params_of(second)
        assert {**params, "inputResponses": answers, "requestState": "s2"} == params_of(third)


async def test_what_was_answered_after_questions_is_not_kept() -> None:
    fresh: JsonObject = {"contents": [], "ttlMs": 60_000, "cacheScope": "public"}
    async with stateless(a_client()) as (client, peer):
        for _ in range(2):
            reading = asyncio.create_task(client.read_resource("test://a"))
            await leg(peer, required("s", name=NAME), "resources/read")
            await leg(peer, fresh, "resources/read")
            await reading


async def test_all_questions_of_a_round_are_answered_at_once() -> None:
    client, meeting = a_client(), asyncio.Barrier(2)

    async def provide(_: object) -> str:
        await meeting.wait()
        return "decline"

    client.set_elicitation_provider(provide)
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required(None, a=NAME, b=NAME))
        second = await leg(peer, DONE)
        await calling

        assert {"a": {"action": "decline"}, "b": {"action": "decline"}} == params_of(second)["inputResponses"]


@pytest.mark.requirement("declared-capabilities-are-respected")
@pytest.mark.parametrize(
    ("request_", "path"),
    [
        (NAME, "elicitation"),
        (MODEL, "sampling"),
        (ROOTS, "roots"),
    ],
)
async def test_what_the_client_did_not_declare_is_a_fault_of_the_server(request_: Any, path: str) -> None:
    async with stateless(MCPClient(protocol="stateless", prefetch=False)) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("s", a=request_))

        with pytest.raises(MCPProtocolError, match=f"this client did not declare `{path}`") as caught:
            await calling
        assert MCP_CODES.PROTOCOL_INVALID == caught.value.code
        assert 2 == len(peer.seen)


async def test_an_undeclared_part_of_a_question_is_a_fault_too() -> None:
    address: JsonObject = {"mode": "url", "message": "?", "url": "https://a.example"}
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("s", a={"method": "elicitation/create", "params": address}))

        with pytest.raises(MCPProtocolError, match="`elicitation.url`"):
            await calling


@pytest.mark.requirement("rounds-are-limited")
async def test_a_server_that_asks_without_end_is_left_and_the_error_names_the_limit() -> None:
    async with stateless(a_client(max_rounds=2)) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        for _ in range(3):
            await leg(peer, required("s", name=NAME))

        with pytest.raises(MCPProtocolError, match=r"more input after 2 rounds of tools/call \(max_rounds\)"):
            await calling


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(MCPError) as caught:
        MCPClient(max_rounds=0)

    assert "max_rounds" == caught.value.context["path"]


class Quit(BaseException):
    """Not an `Exception`."""


@pytest.mark.requirement("a-client-answers-what-results-ask")
@pytest.mark.parametrize("cause", [ValueError("no user"), Quit("no user"), asyncio.CancelledError("no user")])
async def test_a_provider_that_fails_fails_the_call_and_stops_the_others(cause: BaseException) -> None:
    client, others = a_client(), list[str]()

    async def fail(_: object) -> None:
        await asyncio.sleep(0)
        raise cause

    async def wait(_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            others.append("stopped")

    client.set_elicitation_provider(fail)
    client.set_sampling_provider(wait)
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("s", name=NAME, model=MODEL))

        with pytest.raises(MCPError, match="the provider for elicitation/create failed: no user") as caught:
            await calling
        assert MCP_CODES.HANDLER_FAILED == caught.value.code
        assert cause is caught.value.cause
        await FakeClock().settle()
        assert ["stopped"] == others


async def test_a_provider_that_answers_nonsense_fails_the_call() -> None:
    client = a_client()
    client.set_elicitation_provider(lambda params: {"name": 5})
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("s", name=NAME))

        with pytest.raises(MCPError, match="provider for elicitation/create returned a wrong answer: content.name"):
            await calling


async def test_a_provider_may_look_at_the_call_it_answers() -> None:
    client, calls = a_client(), list[InboundCall]()

    def provide(params: ElicitRequestParams, call: InboundCall) -> str:
        calls.append(call)
        return "cancel"

    client.set_elicitation_provider(provide)
    async with stateless(client) as (client, peer):
        await asyncio.gather(client.call_tool("t"), leg_twice(peer, required("s", name=NAME)))

    assert ("name", "elicitation/create") == (calls[0].id, calls[0].method)


@pytest.mark.requirement("a-client-answers-what-results-ask")
@pytest.mark.parametrize("how", ["signal", "task", "both"])
async def test_giving_up_the_call_stops_the_provider(how: str) -> None:
    client, seen, controller = a_client(), list[InboundCall](), AbortController()
    begun = asyncio.Event()

    async def wait(params: object, call: InboundCall) -> None:
        seen.append(call)
        assert not call.signal.aborted
        begun.set()
        await asyncio.Event().wait()

    client.set_elicitation_provider(wait)
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", signal=None if how == "task" else controller.signal))
        await leg(peer, required("s", name=NAME))
        await begun.wait()
        if how != "task":
            controller.abort("enough")
        if how != "signal":
            calling.cancel()

        if how == "signal":
            with pytest.raises(MCPError, match="the request was cancelled: enough"):
                await calling
        else:
            with pytest.raises(asyncio.CancelledError):
                await calling
        await FakeClock().settle()
        assert seen[0].signal.aborted
        assert 2 == len(peer.seen)


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_a_server_that_wants_only_its_state_back_gets_it_after_a_while_that_grows() -> None:
    clock = FakeClock()
    async with stateless(a_client(clock=clock, timers=clock)) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", signal=AbortController().signal))
        for number, pause in enumerate((0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)):
            await leg(peer, required(f"s{number}"))
            await clock.settle()
            await clock.advance_async(pause - 0.01)
            seen = len(peer.seen)
            await clock.advance_async(0.02)
            assert seen + 1 == len(peer.seen)
        last = await leg(peer, DONE)
        await calling

        assert {"name": "t", "arguments": {}, "requestState": "s7"} == params_of(last)


async def test_waiting_to_send_again_ends_with_the_signal() -> None:
    clock, controller = FakeClock(), AbortController()
    async with stateless(a_client(clock=clock, timers=clock)) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", signal=controller.signal))
        await leg(peer, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
        await clock.settle()
        controller.abort()

        with pytest.raises(MCPError, match="the request was cancelled"):
            await calling


async def test_a_state_alone_goes_back_with_plain_params_too() -> None:
    clock = FakeClock()
    async with stateless(a_client(clock=clock, timers=clock)) as (client, peer):
        calling = asyncio.create_task(client.request("prompts/get", {"name": "p"}, total_timeout=None))
        await leg(peer, required("s"), "prompts/get")
        await clock.settle()
        await clock.advance_async(0.1)
        second = await leg(peer, {"messages": []}, "prompts/get")
        await calling

        assert {"name": "p", "requestState": "s"} == params_of(second)


async def test_an_empty_set_of_questions_gets_an_empty_set_of_answers() -> None:
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
        second = await leg(peer, DONE)
        await calling

        assert {} == params_of(second)["inputResponses"]


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_the_total_timeout_is_that_of_all_requests_and_waits_for_the_providers() -> None:
    clock = FakeClock()
    client = a_client(clock=clock, timers=clock)

    async def ponder(_: object) -> str:
        clock.now += 1000
        return "decline"

    client.set_elicitation_provider(ponder)
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", timeout=None, total_timeout=10))
        request = await peer.expect_request("tools/call")
        await clock.advance_async(6)
        peer.respond(request.id, required("s", name=NAME))
        await peer.expect_request("tools/call")
        await clock.advance_async(3.9)
        assert not calling.done()
        await clock.advance_async(0.2)

        with pytest.raises(MCPError) as caught:
            await calling
        assert MCP_CODES.TIMEOUT == caught.value.code


async def test_progress_of_every_request_is_reported() -> None:
    reported: list[float] = []
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(
            client.call_tool("t", on_progress=lambda params: reported.append(params.progress))
        )
        for result in (required("s", name=NAME), DONE):
            request = await peer.expect_request("tools/call")
            token = meta_of(request)["progressToken"]
            peer.notify("notifications/progress", {"progressToken": token, "progress": len(reported) + 1})
            peer.respond(request.id, result)
        await calling

    assert [1, 2] == reported


async def test_an_error_after_the_answers_is_the_error_of_the_call() -> None:
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        await leg(peer, required("s", name=NAME))
        request = await peer.expect_request("tools/call")
        peer.fail(request.id, -32602, "Invalid request parameters")

        with pytest.raises(MCPError) as caught:
            await calling
        assert -32602 == caught.value.jsonrpc_code


@pytest.mark.requirement("a-client-answers-what-results-ask")
async def test_a_connection_that_closes_stops_the_provider_and_fails_the_call() -> None:
    begun, ended = asyncio.Event(), list[str]()
    events = EventBus("client")
    client, other = a_client(events=events), a_client(events=events)

    async def wait(_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("provider")

    client.set_elicitation_provider(wait)
    async with stateless(client) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t", signal=AbortController().signal))
        await leg(peer, required("s", name=NAME))
        await begun.wait()
        # What ends on another connection is no matter.
        async with stateless(other):
            await FakeClock().settle()
        assert not calling.done()
        await peer.transport.close()

        with pytest.raises(MCPTransportError, match="closed while what the server asks was being answered"):
            await calling
        await FakeClock().settle()
        assert ["provider"] == ended


async def test_after_the_connection_closed_no_provider_is_asked() -> None:
    async with stateless(a_client()) as (client, peer):
        calling = asyncio.create_task(client.call_tool("t"))
        request = await peer.expect_request("tools/call")
        peer.respond(request.id, required("s"))
        await peer.transport.close()

        with pytest.raises(MCPTransportError, match="closed while what the server asks was being answered"):
            await calling
