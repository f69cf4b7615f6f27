"""Timers that can be replaced, and the one timer behind all deadlines of a connection."""

import asyncio
from dataclasses import dataclass

import pytest

from suaveplan_mcp.runtime.timers import LOOP_TIMERS, DeadlineTimer, loop_clock
from suaveplan_mcp.testing import FakeClock


# Compared by value and therefore not hashable: the timer may not need that.
@dataclass
class Entry:
    deadline: float | None


def armed(time: FakeClock) -> list[float]:
    return [timer.due for timer in time.pending]


def make(time: FakeClock) -> tuple[DeadlineTimer[Entry], list[Entry]]:
    expired: list[Entry] = []
    return DeadlineTimer(time, time, expired.append), expired


def test_an_entry_expires_when_its_deadline_has_come_and_not_before() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(110.0)
    timer.add(entry)

    time.advance(9.5)
    early = list(expired)
    time.advance(0.5)

    assert ([], [entry]) == (early, expired)


def test_many_deadlines_take_one_timer() -> None:
    time = FakeClock(100.0)
    timer, _ = make(time)

    for deadline in (110.0, 120.0, 130.0):
        timer.add(Entry(deadline))

    assert [110.0] == armed(time)


def test_a_deadline_equal_to_the_one_the_timer_is_set_for_leaves_it_alone() -> None:
    time = FakeClock(100.0)
    timer, _ = make(time)
    timer.add(Entry(110.0))
    before = time.pending

    timer.add(Entry(110.0))

    assert before == time.pending


def test_an_earlier_deadline_replaces_the_timer() -> None:
    time = FakeClock(100.0)
    timer, _ = make(time)

    timer.add(Entry(120.0))
    timer.add(Entry(110.0))

    assert [110.0] == armed(time)


def test_after_firing_the_timer_is_set_for_the_earliest_left() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    first, last, middle = Entry(110.0), Entry(130.0), Entry(120.0)
    for entry in (first, last, middle):
        timer.add(entry)

    time.advance(10)

    assert [first] == expired
    assert [120.0] == armed(time)


def test_a_timer_that_fires_early_waits_again_and_one_that_fires_late_expires_all_that_is_due() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entries = [Entry(110.0), Entry(110.0)]
    for entry in entries:
        timer.add(entry)

    time.pending[0].fire()
    none_yet = list(expired)
    time.now = 110.5
    time.pending[0].fire()

    assert [] == none_yet
    assert entries == expired
    assert [] == armed(time)


def test_a_deadline_of_now_expires_on_the_next_turn_and_not_inside_add() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(100.0)

    timer.add(entry)
    inside = list(expired)
    time.advance(0)

    assert ([], [entry]) == (inside, expired)


def test_a_deadline_in_the_past_is_set_without_a_negative_delay() -> None:
    time = FakeClock(100.0)
    timer, _ = make(time)

    timer.add(Entry(40.0))

    assert [100.0] == armed(time)


def test_a_discarded_entry_never_expires() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(110.0)
    timer.add(entry)

    timer.discard(entry)
    timer.discard(entry)
    time.advance(60)

    assert [] == expired
    assert [] == armed(time)


def test_a_deadline_that_moved_later_is_looked_at_again_when_the_timer_fires() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(110.0)
    timer.add(entry)

    entry.deadline = 150.0
    time.advance(10)
    after_first = (list(expired), armed(time))
    time.advance(40)

    assert ([], [150.0]) == after_first
    assert [entry] == expired


def test_a_deadline_that_moved_earlier_counts_once_it_is_added_again() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(150.0)
    timer.add(entry)

    entry.deadline = 105.0
    timer.add(entry)
    time.advance(5)

    assert [entry] == expired


def test_an_entry_without_a_deadline_sets_no_timer_and_never_expires() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    timer.add(Entry(None))
    unset = armed(time)

    timer.add(Entry(110.0))
    time.advance(1_000)

    assert [] == unset
    assert [Entry(110.0)] == expired


def test_a_deadline_taken_away_for_a_while_counts_again_after_that() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    entry = Entry(110.0)
    timer.add(entry)

    entry.deadline = None
    time.advance(50)
    entry.deadline = 160.0
    timer.add(entry)
    time.advance(10)

    assert [entry] == expired


def test_an_expired_entry_is_no_longer_watched() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    timer.add(Entry(110.0))

    time.advance(10)
    time.advance(10)

    assert 1 == len(expired)


def test_one_expiry_may_discard_another_that_is_due_as_well() -> None:
    time = FakeClock(100.0)
    expired: list[Entry] = []
    first, second = Entry(110.0), Entry(110.0)

    def expire(entry: Entry) -> None:
        expired.append(entry)
        timer.discard(second)

    timer = DeadlineTimer(time, time, expire)
    timer.add(first)
    timer.add(second)

    time.advance(10)

    assert [first] == expired


def test_an_expiry_may_add_the_entry_again_with_a_new_deadline() -> None:
    time = FakeClock(100.0)
    expired: list[float] = []

    def expire(entry: Entry) -> None:
        expired.append(time.now)
        entry.deadline = time.now + 10
        timer.add(entry)

    timer = DeadlineTimer(time, time, expire)
    timer.add(Entry(110.0))

    for _ in range(3):
        time.advance(10)

    assert [110.0, 120.0, 130.0] == expired
    assert [140.0] == armed(time)


def test_the_timer_goes_on_when_an_expiry_raises() -> None:
    time = FakeClock(100.0)
    expired: list[Entry] = []

    def expire(entry: Entry) -> None:
        expired.append(entry)
        raise ValueError("broken")

    timer = DeadlineTimer(time, time, expire)
    timer.add(Entry(110.0))
    timer.add(Entry(110.0))

    with pytest.raises(ValueError, match="broken"):
        time.advance(10)
    with pytest.raises(ValueError, match="broken"):
        time.advance(0)

    assert 2 == len(expired)


def test_a_closed_timer_never_fires() -> None:
    time = FakeClock(100.0)
    timer, expired = make(time)
    timer.add(Entry(110.0))

    timer.close()
    timer.close()
    timer.add(Entry(105.0))
    time.advance(1_000)

    assert [] == expired
    assert [] == armed(time)


def test_closing_inside_an_expiry_ends_the_others_that_are_due() -> None:
    time = FakeClock(100.0)
    expired: list[Entry] = []

    def expire(entry: Entry) -> None:
        expired.append(entry)
        timer.close()
        timer.add(Entry(120.0))

    timer = DeadlineTimer(time, time, expire)
    timer.add(Entry(110.0))
    timer.add(Entry(110.0))

    time.advance(1_000)

    assert 1 == len(expired)
    assert [] == armed(time)


async def test_the_loops_own_timers_and_clock_serve_by_default() -> None:
    expired = asyncio.Event()
    timer = DeadlineTimer[Entry](loop_clock, LOOP_TIMERS, lambda _: expired.set())

    timer.add(Entry(loop_clock()))
    inside = expired.is_set()
    await expired.wait()

    assert not inside


async def test_a_timer_of_the_loop_can_be_cancelled() -> None:
    fired: list[str] = []
    LOOP_TIMERS.call_later(0, lambda: fired.append("cancelled")).cancel()
    done = asyncio.Event()
    LOOP_TIMERS.call_later(0, done.set)

    await done.wait()

    assert [] == fired
