"""All requests that are open, and the one timer that looks after those which take long."""

import asyncio
from typing import Final

from suaveplan_mcp.transport.event_stream import CallLater
from suaveplan_mcp.transport.streamable_http.exchange import HttpExchange

INTERVAL: Final = 0.05
"""Seconds between two looks. Most requests are over before the first, and cost no timer and no task of their own."""


class Attendance:
    """The requests of one application that are open.

    Args:
        call_later: sets timers.
    """

    __slots__ = ("_call_later", "_empty", "_fresh", "_loop", "_open")

    def __init__(self, call_later: CallLater) -> None:
        self._call_later = call_later
        self._open: set[HttpExchange] = set()
        self._fresh: set[HttpExchange] = set()
        # The one on which the timer is set; tests of other people's run every request on a loop of its own.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._empty: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """Return how many requests are open."""
        return len(self._open)

    def add(self, exchange: HttpExchange) -> None:
        """Look after a request from now on."""
        self._open.add(exchange)
        self._fresh.add(exchange)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._call_later(INTERVAL, self._look)

    def discard(self, exchange: HttpExchange) -> None:
        """Forget a request that is over."""
        self._open.discard(exchange)
        self._fresh.discard(exchange)
        if self._empty is not None and not self._open:
            self._note_end()

    async def end(self, patience: float) -> None:
        """Give up all requests, and wait until they are over.

        Args:
            patience: seconds that this may take; what is left by then is broken off.
        """
        for exchange in tuple(self._open):
            await exchange.close()
        if not self._open:
            return
        if self._empty is None:
            self._empty = asyncio.get_running_loop().create_future()
        timer = self._call_later(patience, self._break_off)
        try:
            # Several may wait for the same.
            await asyncio.wait((self._empty,))
        finally:
            timer.cancel()

    def _break_off(self) -> None:
        for exchange in tuple(self._open):
            exchange.abort()
        self._note_end()

    def _note_end(self) -> None:
        empty, self._empty = self._empty, None
        if empty is not None:
            empty.set_result(None)

    def _look(self) -> None:
        self._fresh.difference_update([exchange for exchange in self._fresh if exchange.look_after()])
        if self._fresh:
            self._call_later(INTERVAL, self._look)
        else:
            self._loop = None
