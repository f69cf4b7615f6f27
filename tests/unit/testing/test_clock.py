"""Time that passes only when a test says so."""

import asyncio

import pytest

from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.testing import FakeClock


def test_it_serves_as_clock_and_as_timers() -> None:
    fake = FakeClock(now=5.0)
    clock: Clock = fake
    timers: Timers = fake
    timers.call_later(1, lambda: None).cancel()

    assert 5.0 == clock()


def test_timers_fire_in_the_order_of_their_time_and_see_it() -> None:
    clock, fired = FakeClock(), list[tuple[str, float]]()
    for name, delay in (("late", 3.0), ("early", 1.0), ("also early", 1.0)):
        clock.call_later(delay, lambda name=name: fired.append((name, clock())))
    clock.advance(2)
    assert [("early", 1.0), ("also early", 1.0)] == fired
    clock.advance(1)

    assert ("late", 3.0) == fired[2]
    assert 3.0 == clock()


def test_a_cancelled_timer_does_not_fire() -> None:
    clock, fired = FakeClock(), list[str]()
    timer = clock.call_later(1, lambda: fired.append("cancelled"))
    timer.cancel()
    clock.advance(2)

    assert [] == fired


def test_a_timer_fires_once_and_may_be_cancelled_afterwards() -> None:
    clock, fired = FakeClock(), list[str]()
    timer = clock.call_later(0, lambda: fired.append("once"))
    assert [] == fired
    clock.advance(0)
    timer.cancel()
    clock.advance(1)

    assert ["once"] == fired


def test_a_timer_set_by_a_timer_fires_if_it_falls_due_too() -> None:
    clock, fired = FakeClock(), list[float]()

    def tick() -> None:
        fired.append(clock())
        clock.call_later(1, tick)

    clock.call_later(1, tick)
    clock.advance(3.5)

    assert [1.0, 2.0, 3.0] == fired
    assert [4.0] == [timer.due for timer in clock.pending]


def test_only_timers_that_will_fire_are_pending() -> None:
    clock = FakeClock()
    second, first = clock.call_later(2, lambda: None), clock.call_later(1, lambda: None)
    clock.call_later(1, lambda: None).cancel()

    assert [first, second] == clock.pending


def test_a_delay_below_zero_is_zero() -> None:
    assert 0.0 == FakeClock().call_later(-1, lambda: None).due


def test_a_callback_may_advance_the_clock_and_time_never_runs_back() -> None:
    clock, fired = FakeClock(), list[float]()
    clock.call_later(1, lambda: clock.advance(10))
    clock.call_later(2, lambda: fired.append(clock()))
    clock.advance(3)

    assert [2.0] == fired
    assert 11.0 == clock()


async def test_time_does_not_run_backwards() -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="backwards"):
        await clock.advance_async(-1)


async def test_settle_lets_tasks_run_without_time_passing() -> None:
    clock, done = FakeClock(), list[str]()

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("work")

    task = asyncio.create_task(work())
    await clock.settle()

    assert ["work"] == done
    assert task.done()
    assert 0.0 == clock()


async def test_tasks_run_between_timers_when_advancing_with_the_loop() -> None:
    clock, woken = FakeClock(), list[float]()

    async def wait_twice() -> None:
        for _ in range(2):
            done = asyncio.Event()
            clock.call_later(1, done.set)
            await done.wait()
            woken.append(clock())

    task = asyncio.create_task(wait_twice())
    await clock.advance_async(5)

    assert [1.0, 2.0] == woken
    assert task.done()
    assert 5.0 == clock()
