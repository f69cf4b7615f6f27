"""What a handler gets beside its arguments."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import UNSET

from suaveplan_mcp.jsonrpc.messages import Request
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.asking import Ask, AskResult, roots
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.outward import ServerOutward
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.roots import ListRootsResult
from tests.unit.runtime.pairs import Crowded
from tests.unit.server.peers import EVERYTHING, a_call, call, outcome, serving, settle, text_of


async def test_the_context_tells_of_the_call_and_its_client() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def look(ctx: Context) -> None:
        assert ctx.client is not None
        seen.extend([ctx.request_id, ctx.meta, ctx.client.revision, ctx.signal.aborted])

    async with serving(server) as peer:
        peer.request("id", "tools/call", {"name": "look", "_meta": {"a": 1}})
        await peer.expect_response("id")

    assert ["id", {"a": 1}, "2025-11-25", False] == seen


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_call_without_meta_has_an_empty_one_and_no_progress_token() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def look(ctx: Context) -> None:
        seen.append(ctx.meta)
        ctx.progress(1)

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "look"})
        await peer.expect_response(1)
        await settle()

        assert ([{}], 2) == (seen, len(peer.seen))


async def test_a_call_in_this_process_has_no_client_headers_or_principal() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def look(ctx: Context) -> None:
        seen.extend([ctx.client, dict(ctx.headers), ctx.principal, ctx.meta, ctx.request_id])

    await server.invoke_tool("look", meta={"a": 1})

    assert [None, {}, None, {"a": 1}, 0] == seen


async def test_headers_and_principal_are_those_of_the_request() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def look(ctx: Context) -> None:
        seen.extend([ctx.headers["x-team"], ctx.principal])

    near, far = InMemoryTransport.pair()
    await server.attach(near)
    peer = ScriptedPeer(far)
    await peer.initialize()
    far.post(Request(1, "tools/call", {"name": "look"}), delivery=Delivery(headers={"x-team": "red"}, principal="ada"))
    await peer.expect_response(1)

    assert ["red", "ada"] == seen
    await server.stop()


@pytest.mark.requirement("a-server-registers-and-serves-features")
@pytest.mark.parametrize("token", [0, "", "t", 7])
async def test_progress_goes_out_under_the_token_of_the_request(token: int | str) -> None:
    server = MCPServer()

    @server.tool
    async def work(ctx: Context) -> None:
        ctx.progress(50, 100)
        await ctx.progress(60, message="still")

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "work", "_meta": {"progressToken": token}})

        first = await peer.expect_notification("notifications/progress")
        second = await peer.expect_notification("notifications/progress")
        await peer.expect_response(1)
        assert {"progressToken": token, "progress": 50, "total": 100} == first.params
        assert {"progressToken": token, "progress": 60, "message": "still"} == second.params


async def test_progress_grows_and_ends_with_the_answer() -> None:
    server, late = MCPServer(), list[Context]()

    @server.tool
    def work(ctx: Context) -> None:
        late.append(ctx)
        for value in (1, 2, 2, 1, 3):
            ctx.progress(value, 3)

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "work", "_meta": {"progressToken": 0}})
        for value in (1, 2, 3):
            params: Any = (await peer.expect_notification("notifications/progress")).params
            assert value == params["progress"]
        await peer.expect_response(1)
        late[0].progress(4, 3)
        await settle()

        assert 5 == len(peer.seen)


async def test_two_calls_never_share_a_token() -> None:
    server, both = MCPServer(), asyncio.Barrier(2)

    @server.tool
    async def work(ctx: Context, value: int) -> None:
        await both.wait()
        ctx.progress(value)

    async with serving(server) as peer:
        for number in (1, 2):
            params: Any = {"name": "work", "arguments": {"value": number}, "_meta": {"progressToken": f"t{number}"}}
            peer.request(number, "tools/call", params)
        messages: list[Any] = [await peer.receive() for _ in range(4)]
        reports = [message.params for message in messages if hasattr(message, "params")]

        assert {("t1", 1), ("t2", 2)} == {(report["progressToken"], report["progress"]) for report in reports}


async def test_the_signal_is_aborted_when_the_client_gives_up() -> None:
    server, seen = MCPServer(), list[object]()

    @server.tool
    async def wait(ctx: Context) -> None:
        ctx.signal.add_listener(lambda: seen.append(ctx.signal.reason))
        await asyncio.Event().wait()

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "wait"})
        await settle()
        peer.notify("notifications/cancelled", {"requestId": 1, "reason": "bored"})
        await settle()

        assert (["bored"], 1) == (seen, len(peer.seen))


async def test_the_signal_is_aborted_when_the_client_goes_away() -> None:
    server, over = MCPServer(), asyncio.Event()

    @server.tool
    async def wait(ctx: Context) -> None:
        ctx.signal.add_listener(over.set)
        await asyncio.Event().wait()

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "wait"})
        await settle()
        await peer.transport.close()
        await over.wait()


async def test_a_handler_asks_the_user_the_model_and_for_roots() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> list[str]:
        form = {"type": "object", "properties": {"n": {"type": "integer"}}}
        answer = await ctx.elicit("How many?", form, key="n")
        message = await ctx.sample("hi", max_tokens=3, temperature=0.5)
        places = await ctx.list_roots()
        return [answer.action, message.model, places[0].uri]

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        await _answer_three(peer)
        result = outcome(await peer.expect_response(1))

        assert {"result": ["accept", "m", "file:///a"]} == result["structuredContent"]


async def test_a_handler_in_a_thread_asks_and_waits() -> None:
    server = MCPServer()

    @server.tool
    def curious(ctx: Context) -> list[str]:
        answer = ctx.elicit("How many?", {"type": "object", "properties": {"n": {"type": "integer"}}}).wait()
        message = ctx.sample("hi", max_tokens=3, temperature=0.5).wait()
        places = ctx.list_roots().wait()
        return [answer.action, message.model, places[0].uri]

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        await _answer_three(peer)
        result = outcome(await peer.expect_response(1))

        assert {"result": ["accept", "m", "file:///a"]} == result["structuredContent"]


async def _answer_three(peer: ScriptedPeer) -> None:
    peer.respond((await peer.expect_request("elicitation/create")).id, {"action": "accept", "content": {"n": 1}})
    request: Any = await peer.expect_request("sampling/createMessage")
    assert (3, 0.5) == (request.params["maxTokens"], request.params["temperature"])
    message: Any = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}
    peer.respond(request.id, message)
    peer.respond((await peer.expect_request("roots/list")).id, {"roots": [{"uri": "file:///a"}]})


async def test_a_mistake_in_a_question_is_reported_as_the_tools_own_failure() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.elicit("?", {"type": "array"})

    async with serving(server, capabilities=EVERYTHING) as peer:
        result = await call(peer, "curious")

        assert text_of(result).startswith("Error: this cannot be asked: requestedSchema.type")


async def test_something_is_done_once_however_often_it_is_asked_for() -> None:
    done: list[int] = []

    async def work() -> str:
        await asyncio.sleep(0)
        done.append(1)
        return "made"

    async def handler(ctx: Context) -> list[str]:
        both = await asyncio.gather(ctx.once("a", work), ctx.once("a", work))
        return [*both, await ctx.once("a", work), await ctx.once("b", lambda: "plain")]

    assert ["made", "made", "made", "plain"] == await _run(handler)
    assert [1] == done


async def test_what_failed_once_may_be_tried_again() -> None:
    attempts: list[int] = []

    async def work() -> int:
        attempts.append(1)
        await asyncio.sleep(0)
        if len(attempts) < 2:
            raise ValueError("not yet")
        return len(attempts)

    async def handler(ctx: Context) -> list[object]:
        first, second = await asyncio.gather(ctx.once("a", work), ctx.once("a", work), return_exceptions=True)
        return [repr(first), repr(second), await ctx.once("a", work)]

    assert ["ValueError('not yet')", "ValueError('not yet')", 2] == await _run(handler)


async def test_what_was_given_up_fails_those_who_wait_for_it() -> None:
    async def handler(ctx: Context) -> str:
        first = asyncio.ensure_future(ctx.once("a", asyncio.Event().wait))
        second = asyncio.ensure_future(ctx.once("a", asyncio.Event().wait))
        await asyncio.sleep(0)
        first.cancel()
        return repr((await asyncio.gather(first, second, return_exceptions=True))[1])

    assert "RuntimeError(\"'a' was given up\")" == await _run(handler)


async def _run(handler: Any) -> Any:
    server = MCPServer()
    server.register_tool(handler, name="t")
    result: Any = await server.invoke_tool("t")
    assert not result.is_error, result
    content = result.structured_content
    return result.content[0].text if content is UNSET else content


@pytest.mark.parametrize(
    ("capabilities", "revision", "told"),
    [
        (EVERYTHING, "2025-11-25", True),
        (EVERYTHING, "2025-06-18", False),
        ({"elicitation": {"form": {}}}, "2025-11-25", False),
        ({}, "2025-11-25", False),
    ],
)
async def test_a_client_that_can_visit_addresses_is_told_when_a_visit_is_done(
    capabilities: Any, revision: str, *, told: bool
) -> None:
    server = MCPServer()

    @server.tool
    async def finish(ctx: Context) -> None:
        await ctx.elicitation_complete("visit")

    async with serving(server, capabilities=capabilities, revision=revision) as peer:
        peer.request(1, "tools/call", {"name": "finish"})
        if told:
            notice = await peer.expect_notification("notifications/elicitation/complete")
            assert {"elicitationId": "visit"} == notice.params
        await peer.expect_response(1)
    assert not (await server.invoke_tool("finish")).is_error


async def test_questions_carry_the_keys_they_are_asked_by() -> None:
    asked: list[str | None] = []

    class Recording(ServerOutward):
        async def ask(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
            asked.extend(ask.key for ask in asks)
            return [ListRootsResult(roots=[]) for _ in asks]

    ctx = Context(a_call(), Recording.__new__(Recording))
    await ctx.ask({"a": roots(), "b": roots()})
    await ctx.list_roots(key="c")
    await ctx.list_roots()

    assert ["a", "b", "c", None] == asked


async def test_what_was_done_once_is_remembered_by_the_call() -> None:
    invoked = a_call()
    outward = ServerOutward.__new__(ServerOutward)

    assert "first" == await Context(invoked, outward).once("a", lambda: "first")
    assert "first" == await Context(invoked, outward).once("a", lambda: "second")
    assert "third" == await Context(a_call(), outward).once("a", lambda: "third")


async def test_logs_and_progress_may_be_awaited_until_the_client_has_read() -> None:
    server, told = MCPServer(), list[str]()
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)

    @server.tool
    async def tell(ctx: Context) -> None:
        near.fill()
        ctx.progress(1)
        told.append("not awaited")
        await ctx.progress(2)
        told.append("awaited")
        near.fill()
        await ctx.log("info", "news")
        told.append("logged")

    await server.attach(near)
    peer = ScriptedPeer(far)
    await peer.initialize()
    peer.request(1, "tools/call", {"name": "tell", "_meta": {"progressToken": 1}})
    await settle()
    assert ["not awaited"] == told
    near.make_room()
    await settle()
    assert ["not awaited", "awaited"] == told
    near.make_room()
    await settle()

    assert ["not awaited", "awaited", "logged"] == told
    await server.stop()
