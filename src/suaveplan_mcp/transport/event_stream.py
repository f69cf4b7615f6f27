"""A response that is an event stream: written from anywhere, sent in order, over when either side ends it."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from suaveplan_mcp.framing.sse import encode_comment
from suaveplan_mcp.transport.asgi import Receive, Send, encode_headers
from suaveplan_mcp.transport.base import logger
from suaveplan_mcp.transport.media_types import EVENT_STREAM

KEEP_ALIVE: Final = 15.0
"""Seconds of silence after which a comment goes out: less than the minute after which most proxies give up."""

HIGH_WATER: Final = 1024 * 1024

_KEEP_ALIVE: Final = encode_comment("keep-alive")
_HEADERS: Final = {
    "content-type": EVENT_STREAM,
    "cache-control": "no-cache",
    # Some proxies hold a response back until they have enough of it.
    "x-accel-buffering": "no",
}


class Timer(Protocol):
    """A timer that has been set."""

    def cancel(self) -> object:
        """Stop it."""
        ...


CallLater: TypeAlias = Callable[[float, Callable[[], object]], Timer]
"""Calls back once, so many seconds from now."""


def call_later(delay: float, callback: Callable[[], object]) -> Timer:
    """Call back on the running loop: the default for every `call_later` argument."""
    return asyncio.get_running_loop().call_later(delay, callback)


class EventStream:
    """One response of the type `text/event-stream`. Make it in the task that answers the request.

    Args:
        keep_alive: seconds of silence after which a comment is sent; None sends none.
        call_later: sets timers.

    Attributes:
        unsent: how many bytes wait for the client to take them.
    """

    __slots__ = (
        "_call_later",
        "_chunks",
        "_drained",
        "_ended",
        "_ending",
        "_keep_alive",
        "_silent",
        "_timer",
        "_wake",
        "_writing",
        "unsent",
    )

    def __init__(self, *, keep_alive: float | None = KEEP_ALIVE, call_later: CallLater = call_later) -> None:
        loop = asyncio.get_running_loop()
        self._keep_alive = keep_alive
        self._call_later = call_later
        self._timer: Timer | None = None
        self._silent = True
        self._chunks: list[bytes] = []
        self._wake: asyncio.Future[None] = loop.create_future()
        self._drained: asyncio.Future[None] | None = None
        self._ending = False
        self._ended: asyncio.Future[None] = loop.create_future()
        self._writing: asyncio.Task[None] | None = None
        self.unsent = 0

    def write(self, event: bytes) -> None:
        """Queue an encoded event; never wait. One for a client that is gone is dropped."""
        self._silent = False
        self.unsent += len(event)
        self._chunks.append(event)
        self._wake_writer()

    async def drain(self) -> None:
        """Wait while more than `HIGH_WATER` bytes are unsent, or until the stream is over."""
        while self.unsent > HIGH_WATER and not self._ended.done():
            if self._drained is None:
                self._drained = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)

    def end(self) -> None:
        """End the response in order, when everything queued has been sent."""
        self._ending = True
        self._wake_writer()

    def abort(self) -> None:
        """End the response as it is."""
        if self._writing is not None:
            self._writing.cancel()

    async def wait_ended(self) -> None:
        """Return when the response is over; at once where it never began."""
        if self._writing is not None:
            await asyncio.shield(self._ended)

    async def respond(self, receive: Receive, send: Send) -> None:
        """Send the response; return when it is complete or the client is gone. Nothing of it runs on after that.

        Args:
            receive: the application's.
            send: the application's; what it raises means that the client is gone.
        """
        writing = self.begin(send)
        watching = asyncio.get_running_loop().create_task(wait_for_disconnect(receive))
        try:
            await asyncio.wait((writing, watching), return_when=asyncio.FIRST_COMPLETED)
            for task in (writing, watching):
                if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                    logger.debug("an event stream broke off: %r", error)
                    return
            if not writing.done():
                logger.debug("a client closed its event stream")
        finally:
            watching.cancel()
            await self.finish(writing)
            await asyncio.wait((watching,))

    def begin(self, send: Send) -> "asyncio.Task[None]":
        """Begin to send the response; return the task that does it, and that raises what `send` raises.

        Whoever calls this watches for the end of the client itself, and has to call `finish`.
        """
        writing = self._writing = asyncio.get_running_loop().create_task(self._write_all(send))
        writing.add_done_callback(self._note_end)
        self._set_timer()
        return writing

    async def finish(self, writing: "asyncio.Task[None]") -> None:
        """Let go of a response that was begun: what is not sent by now never is.

        Args:
            writing: what `begin` returned.
        """
        writing.cancel()
        await asyncio.wait((writing,))

    def _note_end(self, writing: "asyncio.Task[None]") -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._ended.set_result(None)
        self._wake_drained()

    async def _write_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": encode_headers(_HEADERS)})
        while True:
            if self._chunks:
                body = b"".join(self._chunks)
                self._chunks.clear()
                await send({"type": "http.response.body", "body": body, "more_body": True})
                self.unsent -= len(body)
                if self.unsent <= HIGH_WATER:
                    self._wake_drained()
            elif self._ending:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            else:
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake

    def _wake_writer(self) -> None:
        if not self._wake.done():
            self._wake.set_result(None)

    def _wake_drained(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None:
            drained.set_result(None)

    def _set_timer(self) -> None:
        if self._keep_alive is not None:
            self._timer = self._call_later(self._keep_alive, self._break_silence)

    def _break_silence(self) -> None:
        if self._silent:
            self.write(_KEEP_ALIVE)
        self._silent = True
        self._set_timer()


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
