"""What every stream over a file descriptor shares: chunks on their way in, and the count of bytes on their way out."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

CHUNK: Final = 65_536
"""The most bytes that are read at once. The allocator maps larger buffers anew for every read, at 40 µs each."""

MAX_CHUNKS: Final = 16
"""How many chunks may wait for a reader before no more are read."""

OnBroken = Callable[[OSError], object]
"""Told why a stream takes no more bytes."""


class ByteReader:
    """Chunks of bytes on their way to the task that iterates over them; the base of the readers.

    A read that fails is the end of the stream: for a pipe or a terminal it means that the other side is gone.
    """

    __slots__ = ("_chunks", "_ended", "_loop", "_waiter")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None

    def __aiter__(self) -> "ByteReader":
        """Iterate over the chunks, cut anywhere, until the end of the stream."""
        return self

    async def __anext__(self) -> bytes:
        """Return the next chunk."""
        while not self._chunks:
            if self._ended:
                raise StopAsyncIteration
            self._resume()
            waiter = self._waiter = self._loop.create_future()
            await waiter
        return self._chunks.popleft()

    def end(self) -> None:
        """Be at the end of the stream, even where more would come."""
        self._ended = True
        self._wake()

    def close(self) -> None:
        """Let go of the stream; a second call does nothing."""
        self.end()

    def _resume(self) -> None:
        """Read on, where reading has not begun or was held up."""

    def _push(self, chunk: bytes) -> None:
        """Take a chunk that was read; an empty one is the end."""
        if chunk and not self._ended:
            self._chunks.append(chunk)
            self._wake()
        else:
            self.end()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class ByteWriter:
    """Bytes on their way out; the base of the writers. It has what a transport's prompt writer needs.

    Args:
        on_broken: called once when the other side takes no more; what is written from then on is dropped. Without it
            writing raises.
    """

    __slots__ = ("_broken", "_closed", "_drained", "_loop", "_on_broken", "_unwritten")

    def __init__(self, on_broken: OnBroken | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_broken = on_broken
        self._broken: OSError | None = None
        self._closed = False
        self._unwritten = 0
        self._drained: asyncio.Future[None] | None = None

    @property
    def unwritten(self) -> int:
        """How many bytes the other side has not taken yet."""
        return self._unwritten

    def write_soon(self, data: bytes) -> None:
        """Take `data` to be written in order; never block.

        Raises:
            OSError: the other side takes no more, and there is no one to be told.
        """
        if self._closed or self._broken is not None:
            self._raise_if_untold()
            return
        self._send(data)

    async def drain(self) -> None:
        """Wait until everything is written.

        Raises:
            OSError: as `write_soon`.
        """
        while self._unwritten and self._broken is None:
            if self._drained is None:
                self._drained = self._loop.create_future()
            await asyncio.shield(self._drained)
        self._raise_if_untold()

    async def write(self, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            OSError: as `write_soon`.
        """
        self.write_soon(data)
        await self.drain()

    async def close(self) -> None:
        """Let go of the stream; what is not written by now is dropped."""
        if not self._closed:
            self._closed = True
            self._written(self._unwritten)
            self._release()

    def _send(self, data: bytes) -> None:
        """Write `data`, or what can be written of it now and the rest later."""

    def _release(self) -> None:
        """Give the file descriptor back."""

    def _written(self, size: int) -> None:
        # A thread may still write, and report, what `close` has given up.
        self._unwritten = max(0, self._unwritten - size)
        drained = self._drained
        if not self._unwritten and drained is not None:
            self._drained = None
            drained.set_result(None)

    def _break(self, error: OSError) -> None:
        self._broken = error
        self._written(self._unwritten)
        if self._on_broken is not None and not self._closed:
            self._on_broken(error)

    def _raise_if_untold(self) -> None:
        if self._on_broken is None and self._broken is not None:
            raise self._broken
