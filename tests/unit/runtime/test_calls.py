"""Calls of theirs: how handlers run, how they are answered, stopped, queued and refused."""

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from msgspec import UNSET

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import RequestCompleted
from suaveplan_mcp.jsonrpc.messages import Batch, ErrorObject, ErrorResponse, JsonValue, Notification, Request, Response
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.revisions import V2025_03_26
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.frames import decode_frame, encode_frame
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.tools import CallToolResult
from tests.unit.runtime.pairs import Alone, SendOnly, connected, facing_a_script, never, texts, turns

INTERNAL = ErrorObject(-32603, "Internal error", {"code": "MCP.INTERNAL_ERROR"})

secret: ContextVar[str] = ContextVar("secret", default="none")


def outcomes_of(alone: Alone) -> list[tuple[str, str]]:
    """Collect how calls end: their methods and outcomes."""
    outcomes: list[tuple[str, str]] = []

    def note(event: RequestCompleted) -> None:
        outcomes.append((event.method, event.outcome))

    alone.dispatcher.events.on("request:completed", note)
    return outcomes


# Answers


async def test_a_handler_may_be_plain_or_a_coroutine_and_may_return_an_awaitable() -> None:
    async def coroutine(params: JsonValue) -> JsonValue:
        await turns(1)
        return params

    def future(params: JsonValue) -> "asyncio.Future[JsonValue]":
        done: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        done.set_result(params)
        return done

    async with connected() as pair:
        pair.server.register_handler("plain", lambda params: params)
        pair.server.register_handler("coroutine", coroutine)
        pair.server.register_handler("future", future)

        assert ["a", "b", "c"] == [
            await pair.client.request("plain", "a"),
            await pair.client.request("coroutine", "b"),
            await pair.client.request("future", "c"),
        ]


async def test_a_handler_with_a_second_parameter_gets_the_call() -> None:
    calls: list[InboundCall] = []

    def note(params: JsonValue, call: InboundCall) -> None:
        calls.append(call)

    async with connected() as pair:
        pair.server.register_handler("note", note)
        await pair.client.request("note", {"x": 1})

    call = calls[0]
    assert (0, "note", {"x": 1}, None) == (call.id, call.method, call.params, call.delivery)
    assert call.peer is pair.server


async def test_a_handler_may_ask_and_tell_its_caller() -> None:
    async def serve(_: JsonValue, call: InboundCall) -> JsonValue:
        call.peer.post_notification("news", 1)
        return await call.peer.request("name")

    async with connected() as pair:
        pair.server.register_handler("greet", serve)
        pair.client.register_handler("name", lambda _: "World")

        assert "World" == await pair.client.request("greet")
        assert Notification("news", 1) in pair.received


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}])
async def test_empty_results_are_results(value: JsonValue) -> None:
    async with connected() as pair:
        pair.server.register_handler("get", lambda _: value)

        assert value == await pair.client.request("get")


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize(
    "raised",
    [
        ValueError("secret"),
        SystemExit(3),
        GeneratorExit(),
        BaseExceptionGroup("both", [SystemExit()]),
        StopIteration(),
        StopAsyncIteration(),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "coroutine"])
async def test_a_handler_that_raises_is_answered_without_its_text_and_reported(
    raised: BaseException, kind: str
) -> None:
    def fail(_: JsonValue) -> None:
        raise raised

    async def fail_later(_: JsonValue) -> None:
        await turns(1)
        raise raised

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("fail", fail if kind == "plain" else fail_later)
        alone.dispatcher.register_handler("echo", lambda params: params)
        outcomes = outcomes_of(alone)
        alone.peer.request(1, "fail")
        answer = await alone.peer.receive()
        alone.peer.request(2, "echo", "alive")

        assert ErrorResponse(1, INTERNAL) == answer
        assert Response(2, "alive") == await alone.peer.receive()
        assert [("fail", "error"), ("echo", "success")] == outcomes
        assert alone.faults[0].fault.startswith("the handler of fail raised ")


async def test_an_error_meant_for_the_peer_arrives_unchanged_and_is_no_fault() -> None:
    def fail(params: Any) -> None:
        number, data = params
        raise MCPError(MCP_CODES.INTERNAL_ERROR, "bad id", jsonrpc_code=number, data=data)

    cases: list[tuple[int, JsonValue]] = [(-32602, {"field": "id", "why": [1, {"a": None}]}), (4001, 0), (4002, None)]
    async with connected() as pair:
        pair.server.register_handler("fail", fail)
        for number, data in cases:
            with pytest.raises(MCPError) as caught:
                await pair.client.request("fail", [number, data])
            assert (number, "bad id", data) == (caught.value.jsonrpc_code, caught.value.message, caught.value.data)

    assert [] == pair.faults


async def test_an_error_without_data_is_not_an_error_with_null() -> None:
    def fail(_: JsonValue) -> None:
        raise MCPError(MCP_CODES.INTERNAL_ERROR, "no data", jsonrpc_code=4001)

    async with connected() as pair:
        pair.server.register_handler("fail", fail)
        with pytest.raises(MCPError) as caught:
            await pair.client.request("fail")

    assert UNSET is caught.value.data


async def test_the_cause_of_an_error_stays_here_and_is_reported() -> None:
    cause = ValueError("secret")

    def fail(_: JsonValue) -> None:
        raise MCPError(MCP_CODES.NOT_FOUND, "gone", cause=cause)

    async with connected() as pair:
        pair.server.register_handler("fail", fail)
        with pytest.raises(MCPError, match="gone"):
            await pair.client.request("fail")

    assert ["the handler of fail raised MCPError"] == texts(pair.faults)


async def test_an_error_whose_data_is_no_json_is_answered_all_the_same() -> None:
    def fail(_: JsonValue) -> None:
        raise MCPError(MCP_CODES.NOT_FOUND, "gone", data=object())

    async with connected() as pair:
        pair.server.register_handler("fail", fail)
        with pytest.raises(MCPError, match="gone") as caught:
            await pair.client.request("fail")

    assert MCP_CODES.NOT_FOUND == caught.value.code


@pytest.mark.parametrize("result", [object(), {1j}, UNSET, (part for part in "ab")])
async def test_a_result_that_is_no_json_is_an_internal_error_and_reported(result: Any) -> None:
    async with connected() as pair:
        pair.server.register_handler("odd", lambda _: result)
        with pytest.raises(MCPError) as caught:
            await pair.client.request("odd")

    assert (MCP_CODES.INTERNAL_ERROR, "Internal error") == (caught.value.code, caught.value.message)
    assert ["the handler of odd raised MCPError"] == texts(pair.faults)


class Wire(InMemoryTransport):
    """An in-memory transport through which only bytes pass, as over stdio."""

    def post(self, message: Any, *, delivery: Delivery | None = None) -> None:
        super().post(decode_frame(encode_frame(message)))


def unwritable() -> CallToolResult:
    value: Any = 1j
    return CallToolResult(content=[TextContent(text="fine"), TextContent(text=value)])


async def serve_tools(handler: Any) -> tuple[JsonRpcDispatcher, list[Any]]:
    """Serve `tools/call` in the revision that has batches, over bytes; return what the client gets."""
    near = Wire()
    arrived: list[Any] = []
    near._peer.on_message(arrived.append)
    served = {"initialize", "tools/call"}
    era = HandshakeEra("server", served)
    era.admit_request(
        Request(
            "i",
            "initialize",
            {"protocolVersion": V2025_03_26, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
        )
    )
    dispatcher = JsonRpcDispatcher(near, era=era, side="server")
    dispatcher.register_handler("tools/call", handler)
    return dispatcher, arrived


@pytest.mark.parametrize("kind", ["alone", "in a batch"])
async def test_a_typed_result_that_cannot_be_written_is_answered_with_an_error(kind: str) -> None:
    def call(params: Any) -> CallToolResult:
        return CallToolResult(content=[]) if params.name == "good" else unwritable()

    dispatcher, arrived = await serve_tools(call)
    faults: list[str] = []
    dispatcher.events.on("fault:reported", lambda event: faults.append(event.fault))
    bad, good = Request(1, "tools/call", {"name": "bad"}), Request(2, "tools/call", {"name": "good"})
    transport: Any = dispatcher._transport

    transport._receive(bad if kind == "alone" else Batch((bad, good, Request(3, "nope"))))
    await turns()
    await dispatcher.close()

    answers = arrived if kind == "alone" else arrived[0].messages
    expected = {1: -32603} if kind == "alone" else {1: -32603, 2: None, 3: -32601}
    assert expected == {
        answer.id: answer.error.code if isinstance(answer, ErrorResponse) else None for answer in answers
    }
    assert faults[-1].startswith("the answer to tools/call cannot be written: ")


async def test_an_answer_that_cannot_be_sent_is_only_reported() -> None:
    async with facing_a_script("server") as alone:
        near, far = InMemoryTransport.pair()
        transport = SendOnly(near)
        transport.error = OSError("disk full")
        dispatcher = JsonRpcDispatcher(transport, side="server", events=alone.dispatcher.events)
        dispatcher.register_handler("echo", lambda params: params)
        far.post(Request(1, "echo", 1))
        far.post(Request(2, "nope"))
        await turns()
        await dispatcher.close()

        assert [
            "nope: Method not found: nope",
            *["a message could not be sent: the transport could not send: OSError('disk full')"] * 2,
        ] == texts(alone.faults)


async def test_an_interrupt_passes_through_a_handler_which_is_over_then() -> None:
    async with facing_a_script("server") as alone:
        outcomes = outcomes_of(alone)

        def interrupt(_: JsonValue) -> None:
            raise KeyboardInterrupt

        alone.dispatcher.register_handler("interrupt", interrupt)
        call = InboundCall(1, "interrupt", None, None)
        call.handler = alone.dispatcher.handlers.handler_of("interrupt")
        call.observation = alone.dispatcher._observer.call_received("interrupt", 1, None, None)
        serving: Any = asyncio.current_task()
        call.task = serving
        alone.dispatcher._calls.running.add(serving)

        with pytest.raises(KeyboardInterrupt):
            await alone.dispatcher._calls._serve(call)

        assert [("interrupt", "error")] == outcomes
        assert set() == alone.dispatcher._calls.running


# Cancellation


async def test_a_cancelled_call_is_never_answered_and_the_next_one_is() -> None:
    async with facing_a_script("server") as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("sleep", lambda _: never())
        alone.dispatcher.register_handler("echo", lambda params: params)
        alone.peer.request(1, "sleep")
        await turns()
        alone.peer.notify("notifications/cancelled", {"requestId": 1, "reason": "user"})
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        alone.peer.request(2, "echo", "alive")
        await turns()

        assert [Response(2, "alive")] == alone.peer.seen
        assert [("sleep", "cancelled"), ("echo", "success")] == outcomes


async def test_a_call_cancelled_before_its_handler_began_never_runs_and_frees_its_place() -> None:
    ran: list[JsonValue] = []
    async with facing_a_script("server", max_concurrent=1) as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("note", ran.append)
        alone.peer.request(1, "note", "first")
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        alone.peer.request(2, "note", "second")
        await turns()

        assert (["second"], [Response(2, None)]) == (ran, alone.peer.seen)
        assert [("note", "cancelled"), ("note", "success")] == outcomes


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("ending", ["returns", "raises", "raises an error of ours"])
async def test_whatever_a_cancelled_handler_still_says_is_discarded(ending: str) -> None:
    async def stubborn(_: JsonValue) -> str:
        try:
            await never()
        except asyncio.CancelledError:
            if ending == "raises":
                raise ValueError("bad clean-up") from None
            if ending == "raises an error of ours":
                raise MCPError(MCP_CODES.NOT_FOUND, "gone") from None
        return "too late"

    async with facing_a_script("server") as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("stubborn", stubborn)
        alone.peer.request(1, "stubborn")
        await turns()
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        await turns()

        assert [] == alone.peer.seen
        assert [("stubborn", "cancelled" if ending == "returns" else "error")] == outcomes
        assert ([] if ending != "raises" else ["the handler of stubborn raised ValueError"]) == texts(alone.faults)


async def test_the_signal_is_aborted_before_the_task_is_cancelled() -> None:
    order: list[str] = []

    async def slow(_: JsonValue, call: InboundCall) -> None:
        call.signal.add_listener(lambda: order.append("signal"))
        try:
            await never()
        except asyncio.CancelledError:
            order.append(f"task, {call.signal.aborted}")
            raise

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("slow", slow)
        alone.peer.request(1, "slow")
        await turns()
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        await turns()

    assert ["signal", "task, True"] == order


async def test_a_handler_in_a_thread_is_signalled_and_its_result_discarded() -> None:
    threads = WorkerThreads(1)
    noticed: list[bool] = []

    async def slow(_: JsonValue, call: InboundCall) -> str:
        signal, loop, aborted = call.signal, asyncio.get_running_loop(), threading.Event()
        signal.add_listener(aborted.set)

        def work() -> str:
            aborted.wait(5)
            noticed.append(signal.aborted)
            loop.call_soon_threadsafe(finished.set)
            return "too late"

        return await threads.run(work)

    finished = asyncio.Event()
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("slow", slow)
        alone.peer.request(1, "slow")
        await turns()
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        await finished.wait()
        await turns()
        threads.close()

        assert ([True], []) == (noticed, alone.peer.seen)


async def test_a_handler_that_gives_up_by_itself_is_answered_so() -> None:
    async def give_up(_: JsonValue) -> None:
        raise asyncio.CancelledError

    async with facing_a_script("server") as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("give_up", give_up)
        alone.peer.request(1, "give_up")

        assert (
            ErrorResponse(1, ErrorObject(-32002, "the handler gave up", {"code": "MCP.REQUEST_CANCELLED"}))
            == await alone.peer.receive()
        )
        await turns()
        assert [("give_up", "cancelled")] == outcomes


async def test_an_id_may_be_used_again_while_the_cancelled_handler_still_cleans_up() -> None:
    release = asyncio.Event()

    async def work(params: JsonValue, call: InboundCall) -> JsonValue:
        if params == "old":
            try:
                await never()
            except asyncio.CancelledError:
                await release.wait()
                call.progress(5)
        return params

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("work", work)
        alone.peer.request(1, "work", "old")
        await turns()
        alone.peer.notify("notifications/cancelled", {"requestId": 1})
        alone.peer.request(1, "work", "new")
        await turns()
        release.set()
        await turns()

        assert [Response(1, "new")] == alone.peer.seen


# Progress


@pytest.mark.parametrize("token", [0, "", "t"])
async def test_progress_keeps_the_token_and_only_grows_and_ends_with_the_answer(token: str | int) -> None:
    kept: list[InboundCall] = []

    async def work(_: JsonValue, call: InboundCall) -> str:
        kept.append(call)
        for value in (1, 2, 2, 1, 3):
            await call.progress(value, 3)
        return "done"

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("work", work)
        alone.peer.request(1, "work", {"_meta": {"progressToken": token}})
        await turns()
        kept[0].progress(4)

        assert [
            *(
                Notification("notifications/progress", {"progressToken": token, "progress": value, "total": 3})
                for value in (1, 2, 3)
            ),
            Response(1, "done"),
        ] == alone.peer.seen


async def test_progress_nobody_asked_for_is_not_sent() -> None:
    async def work(_: JsonValue, call: InboundCall) -> str:
        call.progress(1)
        return "done"

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("work", work)
        alone.peer.request(1, "work", {"_meta": {"other": 1}})
        await turns()

        assert [Response(1, "done")] == alone.peer.seen


# How much at once


async def test_calls_over_the_limit_wait_their_turn_in_order() -> None:
    running: list[JsonValue] = []
    ends: dict[JsonValue, asyncio.Event] = {number: asyncio.Event() for number in range(4)}

    async def work(params: Any) -> None:
        running.append(params)
        await ends[params].wait()

    async with facing_a_script("server", max_concurrent=2) as alone:
        alone.dispatcher.register_handler("work", work)
        for number in range(4):
            alone.peer.request(number, "work", number)
        await turns()
        assert [0, 1] == running

        ends[1].set()
        await turns()
        assert [0, 1, 2] == running
        for end in ends.values():
            end.set()
        await turns()
        assert [0, 1, 2, 3] == running
        assert {0, 1, 2, 3} == {answer.id for answer in alone.peer.seen if isinstance(answer, Response)}


async def test_exempt_handler_does_not_wait_for_busy_ones() -> None:
    async with facing_a_script("server", max_concurrent=1, max_queued=0) as alone:
        alone.dispatcher.register_handler("work", lambda _: never())
        alone.dispatcher.handlers.register("ping", lambda _: "pong", exempt=True)
        alone.peer.request(1, "work")
        alone.peer.request(2, "ping")
        await turns()

        assert [Response(2, "pong")] == alone.peer.seen


async def test_calls_over_the_queue_are_refused_with_a_clear_error() -> None:
    async with facing_a_script("server", max_concurrent=1, max_queued=1) as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("work", lambda _: never())
        for number in range(3):
            alone.peer.request(number, "work")

        answer = await alone.peer.receive()

        assert isinstance(answer, ErrorResponse)
        assert (2, -32603) == (answer.id, answer.error.code)
        assert "too busy: 1 calls are waiting already (max_queued)" == answer.error.message
        assert [("work", "error")] == outcomes


async def test_a_cancelled_call_leaves_the_queue_at_once() -> None:
    ran: list[JsonValue] = []
    release = asyncio.Event()

    async def work(params: JsonValue) -> None:
        ran.append(params)
        await release.wait()

    async with facing_a_script("server", max_concurrent=1, max_queued=1) as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("work", work)
        alone.peer.request(1, "work", "runs")
        alone.peer.request(2, "work", "waits")
        alone.peer.notify("notifications/cancelled", {"requestId": 2})
        alone.peer.request(3, "work", "takes its place")
        release.set()
        await turns()

        assert ["runs", "takes its place"] == ran
        assert ("work", "cancelled") == outcomes[0]


async def test_an_answer_is_read_however_many_handlers_wait() -> None:
    async with facing_a_script("server", max_concurrent=1) as alone:

        async def ask(_: JsonValue, call: InboundCall) -> JsonValue:
            return await call.peer.request("name")

        alone.dispatcher.register_handler("ask", ask)
        alone.peer.request("a", "ask")
        alone.peer.request("b", "ask")
        for number, answer_to in enumerate("ab"):
            await alone.peer.expect_request("name")
            alone.peer.respond(number, "World")
            assert Response(answer_to, "World") == await alone.peer.receive()


async def test_calls_that_wait_are_dropped_when_the_connection_ends() -> None:
    ran: list[JsonValue] = []

    async def work(params: JsonValue) -> None:
        ran.append(params)
        await never()

    async with facing_a_script("server", max_concurrent=1) as alone:
        outcomes = outcomes_of(alone)
        alone.dispatcher.register_handler("work", work)
        alone.peer.request(1, "work", "runs")
        alone.peer.request(2, "work", "waits")
        await turns()
        await alone.dispatcher.close()

    assert ["runs"] == ran
    assert [("work", "cancelled")] * 2 == outcomes


# Contexts


async def test_a_handler_does_not_see_the_context_of_its_caller_in_the_same_process() -> None:
    secret.set("of whoever made the dispatchers")
    seen: list[str] = []

    async def look(_: JsonValue) -> None:
        seen.append(secret.get())
        secret.set("of the handler")

    async with connected() as pair:
        pair.server.register_handler("look", look)
        secret.set("of the caller")
        await pair.client.request("look")
        await pair.client.request("look")

    assert ["of whoever made the dispatchers"] * 2 == seen
    assert "of the caller" == secret.get()


async def test_a_failure_of_another_connection_is_no_message_to_the_peer() -> None:
    def fail(_: JsonValue) -> None:
        raise MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "the database went away")

    async with connected() as pair:
        pair.server.register_handler("fail", fail)
        with pytest.raises(MCPError) as caught:
            await pair.client.request("fail")

    assert (MCP_CODES.INTERNAL_ERROR, "Internal error") == (caught.value.code, caught.value.message)
