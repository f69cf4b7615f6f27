"""How much of a frame is kept, and what a decoder reports in place of one that is over the limit."""

from typing import Final

from msgspec import Struct

SAMPLE: Final = 200
"""How much of what cannot be used is kept or shown, in bytes or characters."""


class FrameTooLarge(Struct, frozen=True):
    """A frame that was dropped, not kept in memory.

    Args:
        limit: the most bytes a frame may have.
        size: how many it had; at the end of a stream, how many came.
        start: its first 200 bytes.
        end: its last 200 bytes, which may tell whose answer was lost.
    """

    limit: int
    size: int
    start: bytes
    end: bytes = b""


class LimitedBuffer:
    """Collect parts that are joined once, at the end; over the limit keep no more than a sample.

    Args:
        limit: the most bytes that are kept.

    Attributes:
        size: how many bytes came, kept or not.
    """

    __slots__ = ("_end", "_limit", "_parts", "size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._end = b""
        self._parts: list[bytes] = []
        self.size = 0

    def keep(self, part: bytes) -> None:
        """Add `part`."""
        self.size += len(part)
        if self.size <= self._limit:
            self._parts.append(part)
        else:
            starts = [kept[:SAMPLE] for kept in self._parts[:SAMPLE]]
            ends = [kept[-SAMPLE:] for kept in self._parts[-SAMPLE:]] if not self._end else [self._end]
            self._parts = [b"".join((*starts, part[:SAMPLE]))[:SAMPLE]]
            self._end = b"".join((*ends, part[-SAMPLE:]))[-SAMPLE:]

    def skip(self, size: int) -> None:
        """Count `size` bytes that are not worth keeping."""
        self.size += size

    def take(self) -> bytes | FrameTooLarge:
        """Return what was collected and start anew."""
        content = b"".join(self._parts)
        size, self.size = self.size, 0
        end, self._end = self._end, b""
        self._parts = []
        return content if size <= self._limit else FrameTooLarge(self._limit, size, content[:SAMPLE], end)
