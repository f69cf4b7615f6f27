"""Requests of ours: limits of time, giving up, progress, and transports that cannot send."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import JsonValue, Notification, Request
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.runtime.abort import AbortController, AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.progress import ProgressNotificationParams
from tests.unit.runtime.pairs import Alone, Crowded, SendOnly, connected, facing_a_script, never, texts, turns


async def timed_out(alone: Alone, asking: "asyncio.Task[Any]") -> dict[str, object]:
    """Return the context of the timeout that the task has raised."""
    await turns()
    assert asking.done(), "still waiting"
    with pytest.raises(MCPError) as caught:
        await asking
    assert MCP_CODES.TIMEOUT == caught.value.code
    return caught.value.context


# Limits of time


async def test_silence_ends_a_request_and_every_report_starts_it_anew() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=10, on_progress=lambda _: None))
        for step in range(3):
            await alone.clock.advance_async(9)
            alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": step})
            await turns()
        assert not asking.done()

        await alone.clock.advance_async(10)

        assert {"method": "slow", "timeout": 10} == await timed_out(alone, asking)


async def test_the_total_is_not_moved_by_progress() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(
            alone.dispatcher.request("slow", timeout=10, total_timeout=25, on_progress=lambda _: None)
        )
        for step in range(2):
            await alone.clock.advance_async(9)
            alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": step})
        await alone.clock.advance_async(6)
        assert not asking.done()

        await alone.clock.advance_async(1)

        assert {"method": "slow", "total_timeout": 25} == await timed_out(alone, asking)


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_timeout_of_zero_is_honoured() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=0))
        await alone.peer.expect_request("slow")

        await alone.clock.advance_async(0)

        assert {"method": "slow", "timeout": 0} == await timed_out(alone, asking)


async def test_without_a_limit_a_request_waits_for_ever() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow"))
        await alone.clock.advance_async(1_000_000)
        assert [] == alone.clock.pending

        alone.peer.respond(0, "at last")

        assert "at last" == await asking


async def test_a_total_alone_limits_a_request() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", total_timeout=5))
        await alone.clock.advance_async(5)

        assert {"method": "slow", "total_timeout": 5} == await timed_out(alone, asking)


async def test_an_answer_in_time_leaves_no_limit_behind() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=5))
        await turns()
        alone.peer.respond(0, "in time")
        assert "in time" == await asking

        await alone.clock.advance_async(10)

        assert [Request(0, "slow")] == alone.peer.seen


async def test_an_answer_after_the_limit_is_dropped_and_reported() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=5))
        await alone.clock.advance_async(5)
        await timed_out(alone, asking)

        alone.peer.respond(0, "late")

        assert ["an answer to 0, which is not in flight"] == texts(alone.faults)


async def test_initialize_is_not_cancelled_by_a_notice_when_it_times_out() -> None:
    async with facing_a_script(era=HandshakeEra("client", ())) as alone:
        params: JsonValue = {
            "protocolVersion": LATEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        asking = asyncio.create_task(alone.dispatcher.request("initialize", params, timeout=5))
        await alone.clock.advance_async(5)
        await timed_out(alone, asking)

        assert 1 == len(alone.peer.seen)


# Limits while one of our own providers runs


async def test_limits_pause_while_a_provider_of_ours_runs() -> None:
    async with facing_a_script() as alone:
        answered = asyncio.Event()

        async def think(_: JsonValue) -> str:
            await answered.wait()
            return "a thought"

        alone.dispatcher.register_handler("sample", think, pauses_timeouts=True)
        asking = asyncio.create_task(alone.dispatcher.request("call", timeout=10, total_timeout=15))
        unlimited = asyncio.create_task(alone.dispatcher.request("other"))
        await alone.clock.advance_async(4)

        alone.peer.request("s", "sample")
        await alone.clock.advance_async(1000)
        assert not asking.done()
        answered.set()
        await turns()
        await alone.clock.advance_async(5)
        assert not asking.done()
        await alone.clock.advance_async(1)

        assert {"method": "call", "timeout": 10} == await timed_out(alone, asking)
        unlimited.cancel()


async def test_progress_during_a_pause_counts_from_its_end() -> None:
    async with facing_a_script() as alone:
        answered = asyncio.Event()
        alone.dispatcher.register_handler("sample", lambda _: answered.wait(), pauses_timeouts=True)
        asking = asyncio.create_task(alone.dispatcher.request("call", timeout=10, on_progress=lambda _: None))
        await alone.clock.advance_async(8)
        alone.peer.request("s", "sample")
        await alone.clock.advance_async(100)

        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        await alone.clock.advance_async(100)
        answered.set()
        await alone.clock.advance_async(9)
        assert not asking.done()
        await alone.clock.advance_async(1)

        assert {"method": "call", "timeout": 10} == await timed_out(alone, asking)


async def test_overlapping_providers_pause_until_the_last_has_ended() -> None:
    async with facing_a_script() as alone:
        ends = {"a": asyncio.Event(), "b": asyncio.Event()}
        alone.dispatcher.register_handler("sample", lambda params: ends[params].wait(), pauses_timeouts=True)
        asking = asyncio.create_task(alone.dispatcher.request("call", timeout=10))
        await turns()
        alone.peer.request("s", "sample", "a")
        await alone.clock.advance_async(50)
        alone.peer.request("t", "sample", "b")
        await alone.clock.advance_async(50)
        ends["a"].set()
        await alone.clock.advance_async(50)
        assert not asking.done()

        ends["b"].set()
        await alone.clock.advance_async(10)

        assert {"method": "call", "timeout": 10} == await timed_out(alone, asking)


async def test_a_request_made_by_a_provider_grows_older_all_the_same() -> None:
    contexts: list[dict[str, object]] = []
    async with facing_a_script() as alone:

        async def look_something_up(_: JsonValue) -> str:
            with pytest.raises(MCPError) as caught:
                await alone.dispatcher.request("look_up", timeout=10)
            contexts.append(caught.value.context)
            return "without it"

        alone.dispatcher.register_handler("sample", look_something_up, pauses_timeouts=True)
        alone.peer.request("s", "sample")
        await turns()

        await alone.clock.advance_async(10)

    assert [{"method": "look_up", "timeout": 10}] == contexts


async def test_a_request_that_is_over_when_the_pause_ends_stays_over() -> None:
    async with facing_a_script() as alone:
        answered = asyncio.Event()
        alone.dispatcher.register_handler("sample", lambda _: answered.wait(), pauses_timeouts=True)
        answer = asyncio.create_task(alone.dispatcher.request("call", timeout=10))
        given_up = asyncio.create_task(alone.dispatcher.request("call", timeout=10, on_progress=lambda _: None))
        await turns()
        alone.peer.request("s", "sample")
        await turns()
        alone.peer.respond(0, "yes")
        given_up.cancel()
        await turns()
        answered.set()
        await turns()

        assert ("yes", True) == (await answer, given_up.cancelled())
        deadlines = alone.dispatcher._requests._deadlines
        assert deadlines is not None
        assert {} == deadlines._entries


async def test_a_handler_that_is_no_provider_pauses_nothing() -> None:
    async with facing_a_script() as alone:
        alone.dispatcher.register_handler("ask", lambda _: never())
        asking = asyncio.create_task(alone.dispatcher.request("call", timeout=10))
        await turns()
        alone.peer.request("s", "ask")
        await alone.clock.advance_async(10)

        assert {"method": "call", "timeout": 10} == await timed_out(alone, asking)


# Giving up


async def test_a_signal_that_is_aborted_already_sends_nothing() -> None:
    controller = AbortController()
    controller.abort(ValueError("why"))
    async with facing_a_script() as alone:
        with pytest.raises(MCPError) as caught:
            await alone.dispatcher.request("slow", signal=controller.signal)

        assert (MCP_CODES.REQUEST_CANCELLED, []) == (caught.value.code, alone.peer.seen)
        assert isinstance(caught.value.cause, ValueError)


async def test_a_signal_may_be_aborted_in_a_thread() -> None:
    # A loop in debug mode refuses whatever is not safe from another thread.
    asyncio.get_running_loop().set_debug(True)
    controller = AbortController()
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", signal=controller.signal))
        await alone.peer.expect_request("slow")

        thread = threading.Thread(target=controller.abort, args=("elsewhere",))
        thread.start()
        with pytest.raises(MCPError, match="elsewhere"):
            await asking
        thread.join()

        notice = await alone.peer.expect_notification("notifications/cancelled")
        assert {"requestId": 0, "reason": "elsewhere"} == notice.params


async def test_an_answer_that_is_there_before_the_abort_wins() -> None:
    controller = AbortController()
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("quick", signal=controller.signal))
        await turns()
        alone.peer.respond(0, "there")
        controller.abort()

        assert "there" == await asking
        assert [Request(0, "quick")] == alone.peer.seen


async def test_an_answered_request_listens_to_its_signal_no_more() -> None:
    controller = AbortController()
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("quick", signal=controller.signal))
        await turns()
        alone.peer.respond(0, "there")
        await asking

        assert {} == controller.signal._listeners


async def test_a_cancelled_task_sends_the_notice_without_waiting_and_stays_cancelled() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", delivery=Delivery(headers={"a": "b"})))
        await alone.peer.expect_request("slow")

        asking.cancel()
        await asyncio.wait([asking])

        assert asking.cancelled()
        notice = await alone.peer.expect_notification("notifications/cancelled")
        assert {"requestId": 0, "reason": "the caller gave up"} == notice.params


@pytest.mark.parametrize("way", ["timeout", "wait_for"])
async def test_timeouts_of_asyncio_around_a_request_behave(way: str) -> None:
    async with facing_a_script() as alone:

        async def ask_within_a_timeout() -> None:
            async with asyncio.timeout(0):
                await alone.dispatcher.request("slow")

        asking = (
            ask_within_a_timeout() if way == "timeout" else asyncio.wait_for(alone.dispatcher.request("slow"), 0.001)
        )
        with pytest.raises(TimeoutError):
            await asking

        assert [] == list(alone.dispatcher._connection.pending)


async def test_a_request_given_up_after_the_end_sends_nothing() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow"))
        await alone.peer.expect_request("slow")
        closing = asyncio.create_task(alone.dispatcher.close())
        asking.cancel()
        await asyncio.wait([asking, closing])

        assert not [message for message in alone.peer.seen if isinstance(message, Notification)][1:]


async def test_an_aborted_signal_after_the_end_sends_nothing() -> None:
    controller = AbortController()
    near, far = InMemoryTransport.pair()
    dispatcher = JsonRpcDispatcher(near)
    asking = asyncio.create_task(dispatcher.request("slow", signal=controller.signal))
    await turns()
    arrived: list[object] = []
    far.on_message(arrived.append)

    near._finish()
    controller.abort()

    with pytest.raises(MCPTransportError):
        await asking
    assert [Request(0, "slow")] == arrived
    await dispatcher.close()


# Progress


def to_list(reports: list[Any], kind: str) -> Callable[..., object]:
    """Return a callback of the kind that collects its reports."""

    async def later(params: ProgressNotificationParams) -> None:
        await turns(1)
        reports.append(params.progress)

    callbacks: dict[str, Callable[..., object]] = {
        "the params": lambda params: reports.append(params.progress),
        "three values": lambda progress, total, message: reports.append((progress, total, message)),
        "two values": lambda progress, total: reports.append((progress, total)),
        "anything": lambda *values: reports.append(values),
        "nothing": lambda: reports.append("called"),
        "a coroutine": later,
        "built in": reports.append,
    }
    return callbacks[kind]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("the params", [1, 2]),
        ("three values", [(1, 2, "going"), (2, None, None)]),
        ("two values", [(1, 2), (2, None)]),
        ("anything", [(1, 2, "going"), (2, None, None)]),
        ("nothing", ["called", "called"]),
        ("a coroutine", [1, 2]),
    ],
)
async def test_progress_callbacks_have_run_in_order_before_the_result(kind: str, expected: list[object]) -> None:
    reports: list[Any] = []

    async def work(_: JsonValue, call: InboundCall) -> str:
        call.progress(1, 2, "going")
        await call.progress(2)
        return "done"

    async with connected() as pair:
        pair.server.register_handler("work", work)

        assert "done" == await pair.client.request("work", on_progress=to_list(reports, kind))
        assert expected == reports


async def test_a_built_in_function_is_called_with_the_params() -> None:
    reports: list[Any] = []
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=to_list(reports, "built in")))
        await turns()
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        alone.peer.respond(0, "done")
        await asking

    assert [ProgressNotificationParams(progress_token=0, progress=1)] == reports


async def test_progress_is_told_while_the_request_is_still_waiting() -> None:
    reports: list[Any] = []
    async with facing_a_script() as alone:
        asking = asyncio.create_task(
            alone.dispatcher.request("work", {"x": 1}, on_progress=to_list(reports, "the params"))
        )
        request = await alone.peer.expect_request("work")
        assert {"x": 1, "_meta": {"progressToken": 0}} == request.params

        for value in (1, 2):
            alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": value})
            await turns()
            assert value == reports[-1]
        alone.peer.respond(0, "done")

        assert "done" == await asking


async def test_no_progress_is_asked_for_without_a_callback() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work"))
        assert Request(0, "work") == await alone.peer.expect_request("work")
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        alone.peer.respond(0, "done")

        assert "done" == await asking


async def test_progress_of_a_limited_request_without_a_callback_is_no_sign_of_life() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work", {"_meta": {"progressToken": "mine"}}, timeout=10))
        await alone.clock.advance_async(9)
        alone.peer.notify("notifications/progress", {"progressToken": "mine", "progress": 1})
        await alone.clock.advance_async(1)

        assert {"method": "work", "timeout": 10} == await timed_out(alone, asking)


@pytest.mark.parametrize("late", [ValueError("bad callback"), asyncio.CancelledError()])
async def test_a_callback_that_raises_gives_the_request_up(late: BaseException) -> None:
    def fail(_: object) -> None:
        raise late

    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=fail))
        await alone.peer.expect_request("work")
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})

        with pytest.raises(type(late)):
            await asking
        await alone.peer.expect_notification("notifications/cancelled")


@pytest.mark.requirement("every-branch-is-reached")
async def test_progress_after_the_answer_is_nobodys() -> None:
    reports: list[Any] = []
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=to_list(reports, "the params")))
        await turns()
        alone.peer.respond(0, "done")
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})

        assert ("done", []) == (await asking, reports)


async def test_progress_that_waits_is_still_told_when_the_request_fails() -> None:
    reports: list[Any] = []
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=to_list(reports, "a coroutine")))
        await turns()
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 2})
        alone.peer.fail(0, -32603, "broken")

        with pytest.raises(MCPError, match="broken"):
            await asking
        assert [1, 2] == reports


# What cannot be sent


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("kind", ["post", "send"])
async def test_a_transport_that_raises_fails_the_request_and_leaves_nothing_waiting(kind: str) -> None:
    class Failing(InMemoryTransport):
        def post(self, message: Any, *, delivery: Delivery | None = None) -> None:
            raise ZeroDivisionError("division by zero")

    transport = Failing() if kind == "post" else SendOnly(Failing())
    dispatcher = JsonRpcDispatcher(transport)

    with pytest.raises(MCPTransportError) as caught:
        await dispatcher.request("ask", timeout=5)

    assert MCP_CODES.TRANSPORT_ERROR == caught.value.code
    assert isinstance(caught.value.cause, ZeroDivisionError)
    assert [] == list(dispatcher._connection.pending)
    await dispatcher.close()


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_transport_that_is_cancelled_inside_fails_the_request() -> None:
    near, _ = InMemoryTransport.pair()
    transport = SendOnly(near)
    transport.error = asyncio.CancelledError("its own scope")
    dispatcher = JsonRpcDispatcher(transport)

    with pytest.raises(MCPTransportError):
        await dispatcher.request("ask")

    assert [] == list(dispatcher._connection.pending)
    await dispatcher.close()


async def test_what_has_no_json_form_is_the_fault_of_this_side() -> None:
    error = MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, "the message cannot be written as JSON")
    near, _ = InMemoryTransport.pair()
    transport = SendOnly(near)
    transport.error = error
    dispatcher = JsonRpcDispatcher(transport)

    with pytest.raises(MCPProtocolError) as caught:
        await dispatcher.request("ask")

    assert error is caught.value
    await dispatcher.close()


async def test_params_that_are_not_json_are_refused_before_anything_is_sent() -> None:
    params: Any = {"x": object()}
    async with facing_a_script() as alone:
        with pytest.raises(MCPError) as caught:
            await alone.dispatcher.request("ask", params, on_progress=lambda _: None)

        assert (MCP_CODES.INVALID_PARAMS, []) == (caught.value.code, alone.peer.seen)
        assert [] == list(alone.dispatcher._connection.pending)


async def test_the_transport_is_told_what_belongs_to_the_request() -> None:
    deliveries: list[Delivery | None] = []

    class Listening(InMemoryTransport):
        def post(self, message: Any, *, delivery: Delivery | None = None) -> None:
            deliveries.append(delivery)

    dispatcher = JsonRpcDispatcher(Listening())
    delivery = Delivery(headers={"authorization": "x"})
    controller = AbortController()
    asking = asyncio.create_task(dispatcher.request("ask", delivery=delivery, signal=controller.signal))
    await turns()
    controller.abort()
    with pytest.raises(MCPError):
        await asking
    await dispatcher.close()

    assert [delivery, delivery] == deliveries


async def test_a_signal_with_a_time_limit_works_as_a_timeout() -> None:
    async with facing_a_script() as alone:
        signal = AbortSignal.timeout(5, alone.clock)
        asking = asyncio.create_task(alone.dispatcher.request("slow", signal=signal))
        await alone.clock.advance_async(5)

        with pytest.raises(MCPError) as caught:
            await asking

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
    assert isinstance(caught.value.cause, TimeoutError)


# Callbacks that never end


class Stuck:
    """A progress callback that does not return on its own account.

    Args:
        stubborn: whether it ignores being cancelled.
    """

    def __init__(self, *, stubborn: bool = False) -> None:
        self.began = asyncio.Event()
        self.ended = False
        self.stubborn = stubborn

    async def __call__(self, _: object) -> None:
        self.began.set()
        try:
            await never()
        except asyncio.CancelledError:
            if not self.stubborn:
                raise
        finally:
            self.ended = True


async def stuck_in(alone: Alone, callback: Stuck, **options: Any) -> "asyncio.Task[Any]":
    """Return a request whose callback has begun."""
    asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=callback, **options))
    await alone.peer.expect_request("work")
    alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
    await callback.began.wait()
    return asking


@pytest.mark.parametrize("stubborn", [False, True])
async def test_time_runs_out_while_a_callback_is_stuck(*, stubborn: bool) -> None:
    async with facing_a_script() as alone:
        callback = Stuck(stubborn=stubborn)
        asking = await stuck_in(alone, callback, timeout=10)

        await alone.clock.advance_async(10)

        assert {"method": "work", "timeout": 10} == await timed_out(alone, asking)
        assert callback.ended


async def test_signal_ends_a_request_whose_callback_is_stuck() -> None:
    async with facing_a_script() as alone:
        controller, callback = AbortController(), Stuck()
        asking = await stuck_in(alone, callback, signal=controller.signal)

        controller.abort("enough")

        with pytest.raises(MCPError, match="enough"):
            await asking
        assert callback.ended


@pytest.mark.parametrize("answered", [False, True])
async def test_close_ends_a_request_whose_callback_is_stuck(*, answered: bool) -> None:
    async with facing_a_script() as alone:
        callback = Stuck()
        asking = await stuck_in(alone, callback)
        if answered:
            alone.peer.respond(0, "done")
            await turns()

        await alone.dispatcher.close()
        (outcome,) = await asyncio.gather(asking, return_exceptions=True)

        assert answered == (outcome == "done")
        assert answered != isinstance(outcome, MCPTransportError)
        assert callback.ended


async def test_answer_waits_for_a_callback_no_longer_than_the_request_may_take() -> None:
    async with facing_a_script() as alone:
        asking = await stuck_in(alone, Stuck(), timeout=10)
        alone.peer.respond(0, "done")
        await turns()
        assert not asking.done()

        await alone.clock.advance_async(10)

        assert "done" == await asking


async def test_cancelling_a_request_goes_before_what_ends_its_callback() -> None:
    async with facing_a_script() as alone:
        asking = await stuck_in(alone, Stuck(), timeout=10)

        asking.cancel()
        alone.clock.advance(10)
        await alone.dispatcher.close()

        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_task_that_asked_is_not_left_cancelled() -> None:
    async with facing_a_script() as alone:

        async def ask() -> int:
            with pytest.raises(MCPError):
                await alone.dispatcher.request("work", timeout=10, on_progress=callback)
            await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            return task.cancelling()

        callback = Stuck()
        asking = asyncio.create_task(ask())
        await alone.peer.expect_request("work")
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        await callback.began.wait()
        await alone.clock.advance_async(10)

        assert 0 == await asking


async def test_callback_that_closes_the_connection_runs_to_its_end() -> None:
    ended: list[object] = []
    async with facing_a_script() as alone:

        async def close(params: ProgressNotificationParams) -> None:
            await alone.dispatcher.close()
            ended.append(params.progress)

        asking = asyncio.create_task(alone.dispatcher.request("work", on_progress=close))
        await alone.peer.expect_request("work")
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 1})
        alone.peer.notify("notifications/progress", {"progressToken": 0, "progress": 2})

        with pytest.raises(MCPTransportError):
            await asking
        assert [1] == ended


# A peer that does not read


async def test_a_request_waits_until_the_peer_has_read() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script(ends=(near, far)) as alone:
        near.fill()
        asking = asyncio.create_task(alone.dispatcher.request("echo", timeout=10))
        await turns()
        assert ([], False) == (alone.peer.seen, near.may_pause())
        near.make_room()
        request = await alone.peer.expect_request("echo")
        alone.peer.respond(request.id, "heard")

        assert "heard" == await asking
        assert near.may_pause()


async def test_a_request_that_is_given_up_before_there_was_room_is_never_sent() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script(ends=(near, far)) as alone:
        near.fill()
        late = asyncio.create_task(alone.dispatcher.request("late", timeout=10))
        given_up = asyncio.create_task(alone.dispatcher.request("given up"))
        await turns()
        given_up.cancel()
        await alone.clock.advance_async(10)
        with pytest.raises(MCPError, match="no room to send it: the peer does not read") as caught:
            await late
        assert MCP_CODES.TIMEOUT == caught.value.code
        with pytest.raises(asyncio.CancelledError):
            await given_up
        near.make_room()
        await turns()

        assert [] == alone.peer.seen


async def test_a_request_that_was_sent_late_is_given_up_like_any_other() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script(ends=(near, far)) as alone:
        near.fill()
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=10))
        await turns()
        near.make_room()
        await alone.peer.expect_request("slow")
        await alone.clock.advance_async(10)
        with pytest.raises(MCPError, match=r"within 10 s \(timeout\)$"):
            await asking

        await alone.peer.expect_notification("notifications/cancelled")


async def test_a_request_that_waits_for_room_ends_with_the_connection() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script(ends=(near, far)) as alone:
        near.fill()
        asking = asyncio.create_task(alone.dispatcher.request("late"))
        await turns()
        await alone.dispatcher.close()
        with pytest.raises(MCPTransportError, match="closed before late was answered"):
            await asking
