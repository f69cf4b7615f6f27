"""What a server writes to its standard error: passed on line by line, and its end kept for when the server dies."""

import logging
from collections.abc import AsyncIterable, Callable
from typing import Final, TypeAlias

from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.framing.lines import LineDecoder

_logger: Final = logging.getLogger("suaveplan_mcp.host")

_TAIL: Final = 4096
_LONGEST_LINE: Final = 65_536

ForwardLine: TypeAlias = Callable[[str], object]
"""Takes one line, without its end; a plain function that must not block."""


class StderrLog:
    """Passes lines on and keeps the last 4 KiB.

    Args:
        forward: called with every line that is not blank. What it raises is logged and goes no further.
    """

    __slots__ = ("_forward", "_kept", "_lines")

    def __init__(self, forward: ForwardLine) -> None:
        self._forward = forward
        self._kept = b""
        self._lines = LineDecoder(_LONGEST_LINE)

    @property
    def tail(self) -> str:
        """The last 4 KiB of all that was written; what is no UTF-8 shows as replacement characters."""
        return self._kept.decode("utf-8", "replace").strip()

    def last_words(self) -> str:
        """Return the tail as the end of a sentence; empty where nothing was written."""
        return f"; its last words: {self.tail}" if self.tail else ""

    async def read(self, chunks: AsyncIterable[bytes]) -> None:
        """Take everything there is, until the end."""
        async for chunk in chunks:
            self._kept = (self._kept + chunk)[-_TAIL:]
            self._pass_on(self._lines.feed(chunk))
        self._pass_on(self._lines.finish())

    def _pass_on(self, lines: list[bytes | FrameTooLarge]) -> None:
        for line in lines:
            text = line.start + b"..." if isinstance(line, FrameTooLarge) else line
            try:
                self._forward(text.decode("utf-8", "replace"))
            except Exception as error:
                _logger.error("the function that takes a server's stderr raised %r", error)
