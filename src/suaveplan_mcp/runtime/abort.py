"""Cancellation by signal: the holder of the controller aborts, the holder of the signal notices."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers

_logger: Final = logging.getLogger("suaveplan_mcp.runtime")


class AbortSignal:
    """Tell whether, and why, work should be given up. Made by `AbortController`, `any` and `timeout`.

    A signal may be aborted from any thread. Its listeners then run in that thread; `wait` wakes up on its own loop.
    """

    __slots__ = ("_aborted", "_listeners", "_reason")

    def __init__(self) -> None:
        self._aborted = False
        self._reason: object = None
        self._listeners: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        """Whether the work should be given up."""
        return self._aborted

    @property
    def reason(self) -> object:
        """What was passed to `abort`; None before that, and where no reason was given."""
        return self._reason

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` once when the signal is aborted, at once if it is aborted already.

        Listeners run in the order they were added. One that raises is logged and does not stop the others.

        Returns:
            A function that takes the listener away again.
        """
        token = object()
        self._listeners[token] = listener

        def remove() -> None:
            self._listeners.pop(token, None)

        # Looked at after the listener is in place: an abort in another thread either finds it there or is seen here.
        if self._aborted:
            self._run(token)
        return remove

    def throw_if_aborted(self) -> None:
        """Raise if the signal is aborted; for handlers that look now and then.

        Raises:
            MCPError: `REQUEST_CANCELLED`; an exception given as the reason is its cause.
        """
        if self.aborted:
            reason = self.reason
            raise MCPError(
                MCP_CODES.REQUEST_CANCELLED,
                "the request was cancelled" if reason is None else f"the request was cancelled: {reason}",
                cause=reason if isinstance(reason, BaseException) else None,
                context={"reason": reason},
            )

    async def wait(self) -> None:
        """Return when the signal is aborted, in whichever thread that happens."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        remove = self.add_listener(lambda: loop.call_soon_threadsafe(woken.set))
        try:
            await woken.wait()
        finally:
            remove()

    @staticmethod
    def any(signals: Iterable["AbortSignal"]) -> "AbortSignal":
        """Combine signals into one that is aborted, with the same reason, as soon as one of them is.

        Where several are aborted before the first look or listener, the first in the list gives the reason. The
        combination listens to its sources only while it has listeners, so a source that lives long does not
        collect the combinations made from it.
        """
        return _CombinedSignal(tuple(signals))

    @staticmethod
    def timeout(seconds: float, timers: Timers | None = None) -> "AbortSignal":
        """Make a signal that is aborted after `seconds`, with a `TimeoutError` as its reason.

        Args:
            seconds: from now; 0 aborts on the next turn of the loop.
            timers: what keeps the time; the running loop by default.
        """
        signal = AbortSignal()
        reason = TimeoutError(f"timed out after {seconds:g} s")
        (LOOP_TIMERS if timers is None else timers).call_later(seconds, lambda: signal._abort(reason))
        return signal

    def _abort(self, reason: object) -> None:
        if self._aborted:
            return
        self._reason = reason
        self._aborted = True
        for token in self._listeners.copy():
            self._run(token)

    def _run(self, token: object) -> None:
        # The thread that takes the listener out runs it, so it runs once and, when it was removed meanwhile, never.
        listener = self._listeners.pop(token, None)
        if listener is None:
            return
        try:
            listener()
        except Exception:
            _logger.exception("a listener of an abort signal raised")


class AbortController:
    """Own a signal and abort it. Pass the signal on; keep the controller."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal: Final = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """Abort the signal; later calls change nothing. May be called from any thread.

        Args:
            reason: why, for those who ask the signal; an exception becomes the cause of what `throw_if_aborted` raises.
        """
        self.signal._abort(reason)  # pyright: ignore[reportPrivateUsage]  only the owner may


class _CombinedSignal(AbortSignal):
    """A signal that follows others."""

    __slots__ = ("_sources", "_unfollow")

    def __init__(self, sources: tuple[AbortSignal, ...]) -> None:
        super().__init__()
        self._sources = sources
        self._unfollow: list[Callable[[], None]] = []

    @property
    def aborted(self) -> bool:
        self._follow_up()
        return self._aborted

    @property
    def reason(self) -> object:
        self._follow_up()
        return self._reason

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        self._follow_up()
        remove = super().add_listener(listener)
        if not self._aborted and not self._unfollow:
            self._unfollow = [source.add_listener(self._follow_up) for source in self._sources]

        def remove_and_rest() -> None:
            remove()
            if not self._listeners:
                self._rest()

        return remove_and_rest

    def _follow_up(self) -> None:
        for source in self._sources:
            if source.aborted:
                self._abort(source.reason)
                self._rest()
                return

    def _rest(self) -> None:
        unfollow, self._unfollow = self._unfollow, []
        for stop in unfollow:
            stop()
