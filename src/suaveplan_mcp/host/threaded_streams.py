"""Streams that no event loop can watch, such as a regular file or a pipe on Windows: each has a thread of its own.

The threads are daemons: one that is stuck in a read that will never end must not keep the process alive.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from suaveplan_mcp.host.streams import CHUNK, MAX_CHUNKS, ByteReader, ByteWriter, OnBroken


class ThreadedReader(ByteReader):
    """Reads a file descriptor in a thread, which closes it when a read returns after `close`."""

    __slots__ = ("_fd", "_room")

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._room = threading.Semaphore(MAX_CHUNKS)
        _start(self._read)

    async def __anext__(self) -> bytes:
        """Return the next chunk."""
        chunk = await super().__anext__()
        self._room.release()
        return chunk

    def close(self) -> None:
        """Let go of the stream."""
        super().close()
        self._room.release()

    def _read(self) -> None:
        chunk = b" "
        while chunk and not self._ended:
            self._room.acquire()
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                chunk = b""
            _call_soon(self._loop.call_soon_threadsafe, self._push, chunk)
        os.close(self._fd)


class ThreadedWriter(ByteWriter):
    """Writes to a file descriptor in a thread, which closes it when everything is written after `close`."""

    __slots__ = ("_fd", "_queue")

    def __init__(self, fd: int, on_broken: OnBroken | None = None) -> None:
        super().__init__(on_broken)
        self._fd = fd
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        _start(self._write_queued)

    def _send(self, data: bytes) -> None:
        self._unwritten += len(data)
        self._queue.put(data)

    def _release(self) -> None:
        self._queue.put(b"")

    def _write_queued(self) -> None:
        call_soon = self._loop.call_soon_threadsafe
        while data := self._queue.get():
            try:
                _write_all(self._fd, data)
            except OSError as error:
                _call_soon(call_soon, self._break, error)
                break
            _call_soon(call_soon, self._written, len(data))
        os.close(self._fd)


def _start(target: Callable[[], None]) -> None:
    threading.Thread(target=target, name="suaveplan-mcp-stream", daemon=True).start()


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _call_soon(call_soon: Callable[..., object], callback: Callable[..., object], argument: object) -> None:
    # The loop may have been closed meanwhile; then no task is left to be told.
    with suppress(RuntimeError):
        call_soon(callback, argument)
