"""Clocks and timers that can be replaced, and the one timer that serves all deadlines of a connection."""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

Clock: TypeAlias = Callable[[], float]
"""Returns seconds on a scale that never goes back."""


class TimerHandle(Protocol):
    """A timer that has been set."""

    def cancel(self) -> object:
        """Stop the timer; harmless when it has fired already."""
        ...


class Timers(Protocol):
    """Anything that can call back later; an asyncio loop is one."""

    def call_later(self, delay: float, callback: Callable[[], object], /) -> TimerHandle:
        """Call `callback` once, `delay` seconds from now, never before this call has returned."""
        ...


class LoopTimers:
    """The timers of whichever event loop is running when one is set."""

    __slots__ = ()

    def call_later(self, delay: float, callback: Callable[[], object], /) -> TimerHandle:
        """Call `callback` once, `delay` seconds from now, on the running loop."""
        return asyncio.get_running_loop().call_later(delay, callback)


LOOP_TIMERS: Final = LoopTimers()
"""The default for every `timers` argument."""


def loop_clock() -> float:
    """Return the running loop's time in seconds: the default for every `clock` argument."""
    return asyncio.get_running_loop().time()


class Expiring(Protocol):
    """Anything with a deadline on the clock's scale; None means it has none for now."""

    deadline: float | None


Entry = TypeVar("Entry", bound=Expiring)


class DeadlineTimer(Generic[Entry]):
    """Watch any number of deadlines with a single timer.

    Requests come and go far more often than they expire, so adding and discarding only touch a table. The timer is
    set when nothing is set or a deadline is earlier than what is; a deadline that moved later, or whose entry is gone,
    is noticed when the timer fires.

    Args:
        clock: the scale of the deadlines.
        timers: what sets the timer.
        on_expired: called with each entry whose deadline has passed; the entry is no longer watched by then.
    """

    __slots__ = ("_armed_for", "_clock", "_entries", "_handle", "_on_expired", "_timers")

    def __init__(self, clock: Clock, timers: Timers, on_expired: Callable[[Entry], object]) -> None:
        self._clock = clock
        self._timers = timers
        self._on_expired = on_expired
        # Keyed by identity: entries are mutable and need not be hashable.
        self._entries: dict[int, Entry] = {}
        self._handle: TimerHandle | None = None
        # Infinity while no timer is set, minus infinity once closed: nothing is earlier than that.
        self._armed_for = inf

    def add(self, entry: Entry) -> None:
        """Watch `entry`; call it again after giving a watched entry an earlier deadline."""
        self._entries[id(entry)] = entry
        deadline = entry.deadline
        if deadline is not None and deadline < self._armed_for:
            self._arm(deadline)

    def discard(self, entry: Entry) -> None:
        """Stop watching `entry`; harmless when it is not watched."""
        self._entries.pop(id(entry), None)

    def close(self) -> None:
        """Forget every entry and never fire again."""
        self._entries.clear()
        self._armed_for = -inf
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, deadline: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed_for = deadline
        self._handle = self._timers.call_later(max(0.0, deadline - self._clock()), self._fire)

    def _fire(self) -> None:
        self._armed_for = inf
        now = self._clock()
        try:
            for entry in tuple(self._entries.values()):
                deadline = entry.deadline
                # An entry may be discarded, moved or closed away by the expiry of one before it.
                if deadline is not None and deadline <= now and self._entries.pop(id(entry), None) is not None:
                    self._on_expired(entry)
        finally:
            self._arm_for_earliest()

    def _arm_for_earliest(self) -> None:
        earliest = min((entry.deadline for entry in self._entries.values() if entry.deadline is not None), default=inf)
        if earliest < self._armed_for:
            self._arm(earliest)
