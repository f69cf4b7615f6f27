"""This process's own standard input and output, kept for messages alone."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TextIO

from suaveplan_mcp.host.platform import PLATFORM
from suaveplan_mcp.host.streams import ByteReader, ByteWriter
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers
from suaveplan_mcp.transport.stdio import HIGH_WATER, MAX_FRAME_BYTES, StdioTransport

_INPUT: Final = 0
_OUTPUT: Final = 1
_ERROR: Final = 2

_CLOSE_TIMEOUT: Final = 0.5
_LINGER: Final = 0.5
_LOOK_AGAIN: Final = 0.01


class StandardStreams:
    """Private duplicates of file descriptors 0 and 1.

    From now until `restore`, 0 is the null device and 1 is standard error: all that a handler prints, reads or starts
    can neither touch the messages nor wait for them.
    """

    __slots__ = ("_input", "_output", "_stdout")

    def __init__(self) -> None:
        _fill_gaps()
        self._input = os.dup(_INPUT)
        self._output = os.dup(_OUTPUT)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, _INPUT)
        os.close(null)
        os.dup2(_ERROR, _OUTPUT)
        # What was printed before and not written yet is no message either.
        self._stdout, sys.stdout = sys.stdout, sys.stderr
        _flush(self._stdout)

    def open_transport(self, *, max_frame_bytes: int = MAX_FRAME_BYTES, timers: Timers = LOOP_TIMERS) -> "OwnTransport":
        """Return the way to the program that started this process; open it once.

        Args:
            max_frame_bytes: the longest message that is read.
            timers: what sets timers.
        """
        reader = PLATFORM.open_reader(os.dup(self._input))
        writer = PLATFORM.open_writer(os.dup(self._output))
        return OwnTransport(reader, writer, max_frame_bytes, timers)

    def restore(self) -> None:
        """Put everything back as it was."""
        _flush(self._stdout)
        sys.stdout = self._stdout
        for private, fd in ((self._input, _INPUT), (self._output, _OUTPUT)):
            os.dup2(private, fd)
            os.close(private)


def _never() -> bool:
    return False


class OwnTransport(StdioTransport):
    """Messages over this process's own streams.

    Where the input ends while handlers are at work, as when requests are piped in from a file, it stays open for half a
    second, so that they can answer.

    Attributes:
        is_busy: tells whether a handler is at work; set it once there is a server to ask.
    """

    __slots__ = ("_input", "_looks_left", "_timers", "is_busy")

    def __init__(self, reader: ByteReader, writer: ByteWriter, max_frame_bytes: int, timers: Timers) -> None:
        super().__init__(
            reader,
            writer,
            max_frame_bytes=max_frame_bytes,
            high_water=HIGH_WATER,
            close_timeout=_CLOSE_TIMEOUT,
        )
        self._input = reader
        self._timers = timers
        self._looks_left = round(_LINGER / _LOOK_AGAIN)
        self.is_busy: Callable[[], bool] = _never

    def _end(self) -> None:
        if self._looks_left and self.is_busy():
            self._looks_left -= 1
            self._timers.call_later(_LOOK_AGAIN, self._end)
        else:
            super()._end()

    async def _clean_up(self) -> None:
        await super()._clean_up()
        self._input.close()


_held: list[StandardStreams] = []


def hold_standard_streams() -> None:
    """Take the streams for the next call of `take_standard_streams`, so that importing a server prints no message."""
    _held.append(StandardStreams())


def take_standard_streams() -> StandardStreams:
    """Return this process's standard streams, whether they were held or not; `restore` them in the end."""
    return _held.pop() if _held else StandardStreams()


def release_standard_streams() -> None:
    """Put back streams that were held and not taken."""
    while _held:
        _held.pop().restore()


def _fill_gaps() -> None:
    """Open the null device wherever one of the three descriptors is closed: no other file may come to lie there."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= _ERROR:
        pass
    os.close(fd)


def _flush(stream: TextIO) -> None:
    # There is no stream where the process was started without one.
    with suppress(AttributeError, OSError, ValueError):
        stream.flush()
