"""Abort signals: listeners, waiting, combinations and time limits."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController, AbortSignal
from suaveplan_mcp.testing import FakeClock


def test_a_fresh_signal_is_not_aborted() -> None:
    signal = AbortController().signal

    signal.throw_if_aborted()

    assert (False, None) == (signal.aborted, signal.reason)


def test_an_aborted_signal_knows_the_reason() -> None:
    controller = AbortController()

    controller.abort("no longer needed")

    assert (True, "no longer needed") == (controller.signal.aborted, controller.signal.reason)


def test_only_the_first_abort_counts() -> None:
    controller, heard = AbortController(), list[object]()
    controller.signal.add_listener(lambda: heard.append(controller.signal.reason))

    controller.abort("first")
    controller.abort("second")

    assert ["first"] == heard
    assert "first" == controller.signal.reason


def test_listeners_run_once_and_in_order() -> None:
    controller, heard = AbortController(), list[str]()
    controller.signal.add_listener(lambda: heard.append("first"))
    controller.signal.add_listener(lambda: heard.append("second"))

    controller.abort()

    assert ["first", "second"] == heard


def test_a_listener_added_after_the_abort_runs_at_once() -> None:
    controller, heard = AbortController(), list[str]()
    controller.abort()

    controller.signal.add_listener(lambda: heard.append("late"))()

    assert ["late"] == heard


def test_a_removed_listener_does_not_run() -> None:
    controller, heard = AbortController(), list[str]()
    remove = controller.signal.add_listener(lambda: heard.append("removed"))

    remove()
    remove()
    controller.abort()

    assert [] == heard


def test_a_listener_can_remove_one_that_has_not_run_yet() -> None:
    controller, heard, removals = AbortController(), list[str](), list[Callable[[], None]]()
    controller.signal.add_listener(lambda: [remove() for remove in removals])
    removals.append(controller.signal.add_listener(lambda: heard.append("removed")))

    controller.abort()

    assert [] == heard


def test_a_faulty_listener_is_logged_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    controller, heard = AbortController(), list[str]()

    def fail() -> None:
        raise ValueError("broken listener")

    controller.signal.add_listener(fail)
    controller.signal.add_listener(lambda: heard.append("next"))

    with caplog.at_level(logging.ERROR, "suaveplan_mcp.runtime"):
        controller.abort()

    assert ["next"] == heard
    assert ["a listener of an abort signal raised"] == [record.message for record in caplog.records]


def test_an_aborted_signal_throws_with_the_reason() -> None:
    controller = AbortController()
    controller.abort("user pressed stop")

    with pytest.raises(MCPError, match="cancelled: user pressed stop") as caught:
        controller.signal.throw_if_aborted()

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
    assert {"reason": "user pressed stop"} == caught.value.context
    assert caught.value.cause is None


def test_an_abort_without_a_reason_throws_a_plain_sentence() -> None:
    controller = AbortController()
    controller.abort()

    with pytest.raises(MCPError) as caught:
        controller.signal.throw_if_aborted()

    assert "the request was cancelled" == caught.value.message


def test_an_exception_as_the_reason_is_the_cause() -> None:
    controller, reason = AbortController(), OSError("pipe gone")
    controller.abort(reason)

    with pytest.raises(MCPError) as caught:
        controller.signal.throw_if_aborted()

    assert reason is caught.value.__cause__


async def test_waiting_ends_with_the_abort() -> None:
    controller = AbortController()
    waiting = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)
    before = waiting.done()

    controller.abort()
    await waiting

    assert not before


async def test_waiting_for_an_aborted_signal_ends() -> None:
    controller = AbortController()
    controller.abort()

    await controller.signal.wait()

    assert controller.signal.aborted


async def test_waiting_ends_when_another_thread_aborts() -> None:
    controller = AbortController()
    waiting = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)

    thread = threading.Thread(target=controller.abort, args=("from a thread",))
    thread.start()
    await waiting
    thread.join()

    assert "from a thread" == controller.signal.reason


async def test_a_wait_that_was_given_up_leaves_no_listener() -> None:
    controller = AbortController()
    waiting = asyncio.create_task(controller.signal.wait())
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])

    assert {} == controller.signal._listeners


def test_a_combination_is_aborted_with_the_first_of_its_sources() -> None:
    first, second = AbortController(), AbortController()
    either = AbortSignal.any([first.signal, second.signal])
    before = (either.aborted, either.reason)

    second.abort("second")
    after = (either.aborted, either.reason)
    first.abort("first")

    assert [(False, None), (True, "second"), "second"] == [before, after, either.reason]


def test_a_combination_takes_the_reason_of_a_source_that_was_aborted_already() -> None:
    first, second = AbortController(), AbortController()
    second.abort("earlier")

    either = AbortSignal.any(iter([first.signal, second.signal]))

    assert "earlier" == either.reason
    with pytest.raises(MCPError, match="earlier"):
        either.throw_if_aborted()


def test_listeners_of_a_combination_run_when_a_source_is_aborted() -> None:
    first, second, heard = AbortController(), AbortController(), list[object]()
    either = AbortSignal.any([first.signal, second.signal])
    either.add_listener(lambda: heard.append(either.reason))
    either.add_listener(lambda: heard.append("next"))

    first.abort("first")
    still_followed = dict(second.signal._listeners)
    second.abort("second")

    assert ["first", "next"] == heard
    assert {} == still_followed


def test_a_listener_of_a_combination_that_is_aborted_runs_at_once() -> None:
    first, second, heard = AbortController(), AbortController(), list[str]()
    first.abort()

    AbortSignal.any([first.signal, second.signal]).add_listener(lambda: heard.append("late"))

    assert ["late"] == heard
    assert {} == second.signal._listeners


def test_a_combination_nobody_listens_to_holds_on_to_no_source() -> None:
    source = AbortController()
    either = AbortSignal.any([source.signal])

    remove_first, remove_second = either.add_listener(print), either.add_listener(print)
    listening = len(source.signal._listeners)
    remove_first()
    still_listening = len(source.signal._listeners)
    remove_second()

    assert (1, 1, 0) == (listening, still_listening, len(source.signal._listeners))


def test_combinations_can_be_combined() -> None:
    source, heard = AbortController(), list[str]()
    outer = AbortSignal.any([AbortController().signal, AbortSignal.any([source.signal])])
    outer.add_listener(lambda: heard.append("aborted"))

    source.abort("deep")

    assert ["aborted"] == heard
    assert "deep" == outer.reason


def test_a_combination_of_nothing_is_never_aborted() -> None:
    assert not AbortSignal.any([]).aborted


async def test_waiting_for_a_combination_ends_with_one_of_its_sources() -> None:
    first, second = AbortController(), AbortController()
    waiting = asyncio.create_task(AbortSignal.any([first.signal, second.signal]).wait())
    await asyncio.sleep(0)

    second.abort()
    await waiting

    assert {} == first.signal._listeners


def test_a_signal_with_a_time_limit_is_aborted_when_the_time_is_up() -> None:
    time = FakeClock()
    signal = AbortSignal.timeout(2.5, time)

    time.advance(2)
    early = signal.aborted
    time.advance(0.5)

    assert not early
    assert isinstance(signal.reason, TimeoutError)
    assert "timed out after 2.5 s" == str(signal.reason)


async def test_a_time_limit_is_kept_by_the_loop_unless_told_otherwise() -> None:
    signal = AbortSignal.timeout(0)
    inside = signal.aborted

    await signal.wait()

    assert (False, True) == (inside, signal.aborted)


@pytest.mark.parametrize("make", [AbortSignal, lambda: AbortSignal.any([])])
def test_a_signal_carries_no_dictionary(make: Callable[[], AbortSignal]) -> None:
    assert not hasattr(make(), "__dict__")
