"""Pipes, sockets and terminals that the event loop watches: no thread, no hop."""

import os
from collections import deque
from errno import EPIPE

from suaveplan_mcp.host.streams import CHUNK, MAX_CHUNKS, ByteReader, ByteWriter, OnBroken


class PolledReader(ByteReader):
    """Reads a file descriptor, which it owns from now on, whenever the loop says that there is something.

    The descriptor stays in blocking mode if it is: that mode is shared with every process that holds the same
    terminal or socket.
    """

    __slots__ = ("_fd", "_polling")

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._polling = False

    def _resume(self) -> None:
        if not self._polling:
            self._polling = True
            self._loop.add_reader(self._fd, self._read)

    def _pause(self) -> None:
        if self._polling:
            self._polling = False
            self._loop.remove_reader(self._fd)

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._push(chunk)
        if len(self._chunks) >= MAX_CHUNKS:
            self._pause()

    def end(self) -> None:
        """Be at the end of the stream, even where more would come."""
        self._pause()
        super().end()

    def close(self) -> None:
        """Let go of the stream; a second call does nothing."""
        super().close()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class PolledWriter(ByteWriter):
    """Writes to a file descriptor, which it owns from now on: at once what fits, the rest when the loop says so.

    The descriptor is in non-blocking mode until `close`.
    """

    __slots__ = ("_fd", "_queue", "_was_blocking")

    def __init__(self, fd: int, on_broken: OnBroken | None = None) -> None:
        super().__init__(on_broken)
        self._fd = fd
        self._queue: deque[memoryview | bytes] = deque()
        self._was_blocking = os.get_blocking(fd)
        os.set_blocking(fd, False)
        if on_broken is not None:
            # The writing end of a pipe becomes readable when the other end is closed, and never before.
            self._loop.add_reader(fd, self._notice_close)

    def _notice_close(self) -> None:
        self._break(BrokenPipeError(EPIPE, "the other end was closed"))

    def _break(self, error: OSError) -> None:
        self._clear()
        super()._break(error)

    def _send(self, data: bytes) -> None:
        if self._queue:
            self._queue.append(data)
            self._unwritten += len(data)
            return
        try:
            size = os.write(self._fd, data)
        except BlockingIOError:
            size = 0
        except OSError as error:
            self._break(error)
            self._raise_if_untold()
            return
        if size < len(data):
            self._queue.append(memoryview(data)[size:])
            self._unwritten += len(data) - size
            self._loop.add_writer(self._fd, self._write_queued)

    def _write_queued(self) -> None:
        data = self._queue[0]
        try:
            size = os.write(self._fd, data)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error)
            return
        if size < len(data):
            self._queue[0] = memoryview(data)[size:]
        else:
            self._queue.popleft()
        if not self._queue:
            self._loop.remove_writer(self._fd)
        self._written(size)

    def _clear(self) -> None:
        self._queue.clear()
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)

    def _release(self) -> None:
        self._clear()
        os.set_blocking(self._fd, self._was_blocking)
        os.close(self._fd)
