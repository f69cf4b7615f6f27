"""Worker threads: where functions run, what they see, and what becomes of results nobody waits for."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar

import pytest

from suaveplan_mcp.runtime.threads import WorkerThreads

DEADLINE = 10.0

request: ContextVar[str] = ContextVar("request", default="none")


class Gate:
    """Holds a thread until the test lets it go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.left = threading.Event()

    def pass_through(self, then: Callable[[], object] = lambda: None) -> object:
        self.entered.set()
        try:
            assert self.opened.wait(DEADLINE)
            return then()
        finally:
            self.left.set()


async def until(event: threading.Event) -> None:
    """Wait for a thread without holding up the loop."""
    assert await asyncio.to_thread(event.wait, DEADLINE)


@pytest.fixture
def workers() -> Iterator[WorkerThreads]:
    pool = WorkerThreads(limit=2)
    yield pool
    pool.close()


async def test_a_function_runs_in_another_thread_and_its_value_comes_back(workers: WorkerThreads) -> None:
    name, ident = await workers.run(lambda: (threading.current_thread().name, threading.get_ident()))

    assert name.startswith("suaveplan-mcp")
    assert threading.get_ident() != ident


async def test_an_exception_comes_back_as_it_was_raised(workers: WorkerThreads) -> None:
    error = ValueError("from the thread")

    def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="from the thread") as caught:
        await workers.run(fail)

    assert error is caught.value


async def test_an_exception_that_was_dealt_with_is_freed_at_once(workers: WorkerThreads) -> None:
    class PassingError(Exception):
        pass

    def fail() -> None:
        raise PassingError

    raised: list[weakref.ref[PassingError]] = []
    gc.disable()
    try:
        await workers.run(fail)
    except PassingError as error:
        raised.append(weakref.ref(error))
    finally:
        gc.enable()

    assert [None] == [error() for error in raised]


async def test_an_exhausted_iterator_does_not_hang_the_call(workers: WorkerThreads) -> None:
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await workers.run(lambda: next(iter(())))

    assert isinstance(caught.value.__cause__, StopIteration)


async def test_a_function_that_exits_is_reported_to_its_caller(workers: WorkerThreads) -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await workers.run(leave)


async def test_context_variables_of_the_caller_are_visible_in_the_thread(workers: WorkerThreads) -> None:
    request.set("r-1")

    assert "r-1" == await workers.run(request.get)


async def test_context_variables_set_in_the_thread_stay_there(workers: WorkerThreads) -> None:
    await workers.run(lambda: request.set("changed"))

    assert "none" == request.get()


async def test_the_loop_goes_on_while_functions_run(workers: WorkerThreads) -> None:
    gates = [Gate(), Gate()]
    calls = [asyncio.create_task(workers.run(gate.pass_through)) for gate in gates]

    for gate in gates:
        await until(gate.entered)
    for gate in gates:
        gate.opened.set()
    await asyncio.gather(*calls)

    assert all(gate.left.is_set() for gate in gates)


async def test_calls_over_the_limit_wait_for_a_free_thread() -> None:
    workers, gate, order = WorkerThreads(limit=1), Gate(), list[str]()
    first = asyncio.create_task(workers.run(lambda: gate.pass_through(lambda: order.append("first"))))
    await until(gate.entered)
    second = asyncio.create_task(workers.run(lambda: order.append("second")))
    await asyncio.sleep(0)

    gate.opened.set()
    await asyncio.gather(first, second)
    workers.close()

    assert ["first", "second"] == order


async def test_a_full_pool_does_not_hold_up_another_pool(workers: WorkerThreads) -> None:
    full, gate = WorkerThreads(limit=1), Gate()
    stuck = asyncio.create_task(full.run(gate.pass_through))
    await until(gate.entered)

    assert "through" == await workers.run(lambda: "through")

    gate.opened.set()
    await stuck
    full.close()


@pytest.mark.parametrize("ending", [lambda: "unwanted", lambda: 1 // 0])
async def test_what_comes_of_a_cancelled_call_is_dropped_in_silence(ending: Callable[[], object]) -> None:
    workers, gate = WorkerThreads(limit=1), Gate()
    call = asyncio.create_task(workers.run(lambda: gate.pass_through(ending)))
    await until(gate.entered)

    call.cancel()
    await asyncio.wait([call])
    running_on = not gate.left.is_set()
    gate.opened.set()
    # The only thread is free again, and told the loop about the first call before it took this one.
    await workers.run(lambda: None)
    workers.close()

    assert call.cancelled()
    assert running_on


async def test_a_cancelled_call_keeps_its_place_until_its_function_returns() -> None:
    workers, gate, order = WorkerThreads(limit=1), Gate(), list[str]()
    call = asyncio.create_task(workers.run(lambda: gate.pass_through(lambda: order.append("cancelled"))))
    await until(gate.entered)
    call.cancel()
    await asyncio.wait([call])

    following = asyncio.create_task(workers.run(lambda: order.append("following")))
    await asyncio.sleep(0)
    gate.opened.set()
    await following
    workers.close()

    assert ["cancelled", "following"] == order


async def test_a_call_cancelled_before_a_thread_came_round_to_it_never_runs() -> None:
    workers, gate, ran = WorkerThreads(limit=1), Gate(), list[str]()
    busy = asyncio.create_task(workers.run(gate.pass_through))
    await until(gate.entered)
    waiting = asyncio.create_task(workers.run(lambda: ran.append("too late")))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    gate.opened.set()
    await busy
    await workers.run(lambda: None)
    workers.close()

    assert [] == ran


async def test_where_no_thread_can_be_started_a_function_runs_at_once(
    workers: WorkerThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    request.set("r-2")

    assert ("r-2", threading.get_ident()) == await workers.run(lambda: (request.get(), threading.get_ident()))


async def test_threads_are_tried_again_after_one_could_not_be_started(
    workers: WorkerThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        await workers.run(lambda: None)

    assert threading.get_ident() != await workers.run(threading.get_ident)


async def test_a_function_runs_once_though_the_pool_kept_the_call_it_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, gate, ran = WorkerThreads(limit=2), Gate(), list[int]()
    busy = asyncio.create_task(workers.run(gate.pass_through))
    await until(gate.entered)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    await workers.run(lambda: ran.append(threading.get_ident()))
    gate.opened.set()
    await busy
    monkeypatch.undo()

    assert [threading.get_ident()] == ran


def test_a_function_that_outlives_its_loop_gives_its_thread_back() -> None:
    workers, gate = WorkerThreads(limit=1), Gate()

    async def leave_it_running() -> None:
        call = asyncio.create_task(workers.run(gate.pass_through))
        await until(gate.entered)
        call.cancel()
        await asyncio.wait([call])

    asyncio.run(leave_it_running())
    gate.opened.set()

    assert "next" == asyncio.run(workers.run(lambda: "next"))
    workers.close()


async def test_closing_does_not_wait_for_a_function_that_is_running(workers: WorkerThreads) -> None:
    gate = Gate()
    call = asyncio.create_task(workers.run(lambda: gate.pass_through(lambda: "ended")))
    await until(gate.entered)

    workers.close()
    workers.close()
    still_running = not gate.left.is_set()
    gate.opened.set()

    assert "ended" == await call
    assert still_running


async def test_a_closed_pool_starts_anew(workers: WorkerThreads) -> None:
    await workers.run(lambda: None)
    workers.close()

    assert threading.get_ident() != await workers.run(threading.get_ident)


def test_no_thread_is_started_before_there_is_work() -> None:
    before = threading.active_count()

    WorkerThreads().close()

    assert before == threading.active_count()
