"""Time that passes only when a test says so."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

# Enough for a message to go through a handler's task and back; a turn with nothing to do costs microseconds.
_TURNS = 20


class FakeTimer:
    """A timer set on a `FakeClock`.

    Args:
        due: the time it fires at.
        callback: what it calls then.
    """

    __slots__ = ("_callback", "due")

    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self._callback: Callable[[], object] | None = callback

    @property
    def pending(self) -> bool:
        """Whether it will still fire."""
        return self._callback is not None

    def cancel(self) -> None:
        """Stop the timer; harmless when it has fired already."""
        self._callback = None

    def fire(self) -> None:
        """Call back, unless it was cancelled or has fired before."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class FakeClock:
    """A clock and its timers in one: pass it both as `clock=` and as `timers=`.

    Args:
        now: the seconds it starts at.

    Attributes:
        now: the seconds it shows; change it only by advancing.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._timers: list[tuple[float, int, FakeTimer]] = []
        self._timers_set = 0

    def __call__(self) -> float:
        """Return the seconds it shows."""
        return self.now

    @property
    def pending(self) -> list[FakeTimer]:
        """The timers that will still fire, in order."""
        return [timer for _, _, timer in sorted(self._timers, key=lambda entry: entry[:2]) if timer.pending]

    def call_later(self, delay: float, callback: Callable[[], object], /) -> FakeTimer:
        """Call `callback` once, when the clock has been advanced by `delay` seconds; by zero, at the next advance."""
        timer = FakeTimer(self.now + max(delay, 0.0), callback)
        self._timers_set += 1
        heappush(self._timers, (timer.due, self._timers_set, timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Let time pass and fire the timers that fall due, in order, those included that they set themselves.

        Args:
            seconds: how long; zero fires what is due now.

        Raises:
            ValueError: `seconds` is negative.
        """
        end = self._end_of(seconds)
        while self._fire_next(end):
            pass
        self.now = max(self.now, end)

    async def advance_async(self, seconds: float) -> None:
        """Let time pass like `advance`, and let the event loop settle before it, after each timer and at the end.

        Args:
            seconds: how long; zero fires what is due now.

        Raises:
            ValueError: `seconds` is negative.
        """
        end = self._end_of(seconds)
        await self.settle()
        while self._fire_next(end):
            await self.settle()
        self.now = max(self.now, end)
        await self.settle()

    async def settle(self, turns: int = _TURNS) -> None:
        """Let the event loop run what is ready, without any time passing.

        Args:
            turns: how many turns it gets.
        """
        for _ in range(turns):
            await asyncio.sleep(0)

    def _end_of(self, seconds: float) -> float:
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        return self.now + seconds

    def _fire_next(self, end: float) -> bool:
        if not self._timers or self._timers[0][0] > end:
            return False
        due, _, timer = heappop(self._timers)
        # A callback may have advanced the clock itself.
        self.now = max(self.now, due)
        timer.fire()
        return True
