"""Newline-delimited JSON over any pair of byte streams. Spec: basic, transports, stdio"""

import asyncio
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from typing import Final, Protocol, cast

from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.framing.lines import LineDecoder, encode_line
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.closing import ClosingTransport, transport_error
from suaveplan_mcp.transport.frames import decode_frame, encode_frame

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
HIGH_WATER: Final = 1024 * 1024
CLOSE_TIMEOUT: Final = 2.0

_CONGESTED: Final = 4
"""How many times `high_water` may be unwritten before requests wait and no more is read."""

_OVERFULL: Final = 64
"""How many times before notifications are left out."""


class ByteWriter(Protocol):
    """Where bytes go.

    One that also has the methods of `PromptByteWriter` saves a turn of the event loop for every message.
    """

    async def write(self, data: bytes, /) -> None:
        """Write all of `data`."""
        ...

    async def close(self) -> None:
        """Write what is still in a buffer of its own, then let go of the stream."""
        ...


class PromptByteWriter(ByteWriter, Protocol):
    """A writer with a buffer of its own."""

    @property
    def unwritten(self) -> int:
        """How many bytes are in the buffer."""
        ...

    def write_soon(self, data: bytes, /) -> None:
        """Take `data` to be written in order; never block."""
        ...

    async def drain(self) -> None:
        """Wait until the buffer is empty."""
        ...


class _Outgoing(Protocol):
    """The sending half; `fail` closes the transport and gives the error to raise."""

    @property
    def unwritten(self) -> int:
        """How many bytes are queued and not written."""
        ...

    def post(self, line: bytes) -> None:
        """Queue a line."""
        ...

    async def send(self, line: bytes) -> None:
        """Write a line."""
        ...

    async def drained(self) -> None:
        """Wait until what is queued is written."""
        ...

    async def flush(self) -> None:
        """Write what is queued; where this is cancelled, writing ends."""
        ...


_Fail = Callable[[Exception | None], MCPTransportError]


class _PromptOutgoing:
    """Writes the first line of a loop iteration at once, and joins the others into one write at its end."""

    __slots__ = ("_fail", "_flush_due", "_high_water", "_lines", "_size", "_undrained", "_writable")

    def __init__(self, writable: PromptByteWriter, high_water: int, fail: _Fail) -> None:
        self._writable = writable
        self._high_water = high_water
        self._fail = fail
        self._lines: list[bytes] = []
        self._size = 0
        self._flush_due = False
        self._undrained = 0

    @property
    def unwritten(self) -> int:
        return self._size + self._writable.unwritten

    def post(self, line: bytes) -> None:
        self._undrained += len(line)
        if self._flush_due:
            self._lines.append(line)
            self._size += len(line)
            return
        self._flush_due = True
        asyncio.get_running_loop().call_soon(self._flush_later)
        self._write(line)

    async def send(self, line: bytes) -> None:
        self.post(line)
        self._write_lines()
        if self._undrained > self._high_water:
            await self._drain()

    async def drained(self) -> None:
        self._write_lines()
        await self._drain()

    async def flush(self) -> None:
        await self.drained()

    def _flush_later(self) -> None:
        self._flush_due = False
        # No caller waits here; the failure is kept by the transport.
        with suppress(MCPTransportError):
            self._write_lines()

    def _write_lines(self) -> None:
        if self._lines:
            data = b"".join(self._lines)
            self._lines.clear()
            self._size = 0
            self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            self._writable.write_soon(data)
        except Exception as error:
            raise self._fail(error) from error

    async def _drain(self) -> None:
        try:
            await self._writable.drain()
        except Exception as error:
            raise self._fail(error) from error
        self._undrained = 0


class _QueuedOutgoing:
    """Writes from a task that lives as long as there are lines; all that are there when a write begins go together."""

    __slots__ = ("_fail", "_lines", "_waiters", "_writable", "_writer", "unwritten")

    def __init__(self, writable: ByteWriter, fail: _Fail) -> None:
        self._writable = writable
        self._fail = fail
        self._lines: list[bytes] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._writer: asyncio.Task[None] | None = None
        self.unwritten = 0

    def post(self, line: bytes) -> None:
        self._lines.append(line)
        self.unwritten += len(line)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_lines())

    async def send(self, line: bytes) -> None:
        self.post(line)
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    async def drained(self) -> None:
        if self._writer is not None:
            await asyncio.wait((self._writer,))

    async def flush(self) -> None:
        if self._writer is not None:
            await self._writer

    async def _write_lines(self) -> None:
        waiters: list[asyncio.Future[None]] = []
        try:
            while self._lines:
                data = b"".join(self._lines)
                self._lines.clear()
                waiters, self._waiters = self._waiters, []
                await self._writable.write(data)
                self.unwritten -= len(data)
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_result(None)
        except Exception as error:
            self._give_up(waiters, self._fail(error))
        except asyncio.CancelledError:
            self._give_up(waiters, self._fail(None))
            raise
        finally:
            self._writer = None

    def _give_up(self, waiters: list[asyncio.Future[None]], failure: MCPTransportError) -> None:
        self._lines.clear()
        self.unwritten = 0
        for waiter in (*waiters, *self._waiters):
            if not waiter.done():
                waiter.set_exception(failure)
        self._waiters.clear()


def _never() -> bool:
    return False


class StdioTransport(ClosingTransport):
    """Messages as lines over streams that were passed in; make it with `create_stdio_transport`.

    Attributes:
        may_pause: asked, while the peer leaves more than four times `high_water` unread, whether nothing more may be
            read from it until that is written; set it where that cannot keep an answer from coming.
    """

    __slots__ = ("_decoder", "_high_water", "_outgoing", "_paused", "_readable", "_reader", "_writable", "may_pause")

    def __init__(
        self,
        readable: AsyncIterable[bytes],
        writable: ByteWriter,
        *,
        max_frame_bytes: int,
        high_water: int,
        close_timeout: float,
    ) -> None:
        """Make the transport; use `create_stdio_transport`."""
        super().__init__(close_timeout)
        self._readable = readable
        self._writable = writable
        self._decoder = LineDecoder(max_frame_bytes)
        self._reader: asyncio.Task[None] | None = None
        self._high_water = high_water
        # The wait of the reader, while it does not read.
        self._paused: asyncio.Task[None] | None = None
        self.may_pause: Callable[[], bool] = _never
        self._outgoing: _Outgoing
        if hasattr(writable, "write_soon") and hasattr(writable, "unwritten"):
            self._outgoing = _PromptOutgoing(cast("PromptByteWriter", writable), high_water, self._fail_to_write)
        else:
            self._outgoing = _QueuedOutgoing(writable, self._fail_to_write)

    @property
    def congested(self) -> bool:
        """Whether more than four times `high_water` is unwritten."""
        return self._outgoing.unwritten > _CONGESTED * self._high_water and not self._ended

    @property
    def overfull(self) -> bool:
        """Whether more than 64 times `high_water` is unwritten."""
        return self._outgoing.unwritten > _OVERFULL * self._high_water and not self._ended

    async def drained(self) -> None:
        """Wait until everything is written, or the transport is closed."""
        if self._paused is not None:
            # What waits for room may be a request.
            self._paused.cancel()
        await self._until_written()

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message`; messages queued in the same loop iteration are written together.

        Args:
            message: what to send.
            delivery: says nothing here, since there is only one stream.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed; `TRANSPORT_ERROR`, the write failed at once.
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        self._outgoing.post(self._line_of(message))

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Write `message`, and wait while more than `high_water` bytes are unwritten.

        Args:
            message: what to send.
            delivery: says nothing here, since there is only one stream.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed; `TRANSPORT_ERROR`, the write failed.
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        await self._outgoing.send(self._line_of(message))

    def _line_of(self, message: Message) -> bytes:
        if self._ended:
            raise self._refusal()
        if self._paused is not None:
            # The message may be a request, whose answer has to be read.
            self._paused.cancel()
        return encode_line(encode_frame(message))

    def _start_reading(self) -> None:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        try:
            async for chunk in self._readable:
                while self.congested and self.may_pause():
                    await self._pause()
                for frame in self._decoder.feed(chunk):
                    self._receive(decode_frame(frame))
        except Exception as error:
            self._fail(transport_error(f"reading from the peer failed: {error!r}", error))
            return
        for frame in self._decoder.finish():
            self._receive(decode_frame(frame))
        self._end()

    async def _pause(self) -> None:
        """Wait until everything is written, or until there is something new to write: it may be time to read then."""
        paused = self._paused = asyncio.get_running_loop().create_task(self._until_written())
        try:
            await asyncio.wait((paused,))
        finally:
            self._paused = None
            paused.cancel()

    async def _until_written(self) -> None:
        # The failure is kept by the transport, which has closed.
        with suppress(MCPTransportError):
            await self._outgoing.drained()

    def _fail_to_write(self, error: Exception | None) -> MCPTransportError:
        if error is None:
            return self._fail(transport_error("the transport was closed before the message was written"))
        return self._fail(transport_error(f"writing to the peer failed: {error!r}", error))

    async def _clean_up(self) -> None:
        loop = asyncio.get_running_loop()
        await self._within_timeout(loop.create_task(self._outgoing.flush()))
        # Only now: a peer that cannot write may not read either.
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))
        await self._within_timeout(loop.create_task(self._close_writable()))

    async def _close_writable(self) -> None:
        await self._writable.close()


def create_stdio_transport(
    *,
    readable: AsyncIterable[bytes],
    writable: ByteWriter,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    high_water: int = HIGH_WATER,
    close_timeout: float = CLOSE_TIMEOUT,
) -> StdioTransport:
    """Make a transport that speaks lines of JSON over two byte streams.

    Use it for streams you hold yourself; reading starts with the first `on_message` handler. The end of `readable`
    closes the transport in order; an exception from either stream closes it with a `failure`.

    Args:
        readable: yields bytes, cut anywhere.
        writable: takes bytes; see `ByteWriter` and `PromptByteWriter`.
        max_frame_bytes: the longest line that is read. A longer one is handed on as an `InvalidMessage`.
        high_water: how many bytes a writer with a buffer may hold before `send` waits for it.
        close_timeout: seconds that writing what is queued, and then closing `writable`, may take each.

    Returns:
        The transport. It owns both streams from now on.
    """
    return StdioTransport(
        readable, writable, max_frame_bytes=max_frame_bytes, high_water=high_water, close_timeout=close_timeout
    )
