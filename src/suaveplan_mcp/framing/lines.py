"""Newline-delimited frames, as stdio carries them. Spec: basic, transports, stdio"""

from typing import Final

from suaveplan_mcp.framing.limits import FrameTooLarge, LimitedBuffer

_BOM: Final = b"\xef\xbb\xbf"
_BLANK_STARTS: Final = b" \t\r\v\f\xef"


class LineDecoder:
    r"""Cut a byte stream into lines.

    Only `\n` ends a line, so a character cut in two by a read is whole again in its line; one `\r` before it is taken
    off. Lines of nothing but white space and byte order marks are skipped.

    Args:
        limit: the most bytes a line may have before its `\n`.
    """

    __slots__ = ("_line",)

    def __init__(self, limit: int) -> None:
        self._line = LimitedBuffer(limit)

    def feed(self, chunk: bytes) -> list[bytes | FrameTooLarge]:
        """Take the next bytes of the stream.

        Args:
            chunk: any number of bytes.

        Returns:
            The lines it completes, in order.
        """
        *ends, rest = chunk.split(b"\n")
        frames: list[bytes | FrameTooLarge] = []
        for end in ends:
            self._line.keep(end)
            self._complete(frames)
        if rest:
            self._line.keep(rest)
        return frames

    def finish(self) -> list[bytes | FrameTooLarge]:
        r"""Take the end of the stream.

        Returns:
            The last line, where one came without its `\n`.
        """
        frames: list[bytes | FrameTooLarge] = []
        self._complete(frames)
        return frames

    def _complete(self, frames: list[bytes | FrameTooLarge]) -> None:
        """Add the line that is now complete to `frames`, unless it is blank."""
        line = self._line.take()
        if isinstance(line, FrameTooLarge):
            frames.append(line)
            return
        line = line.removesuffix(b"\r")
        if not _is_blank(line):
            frames.append(line)


def _is_blank(line: bytes) -> bool:
    # The first byte settles it for every message, so that a long line is not copied to find out.
    return not line or (line[0] in _BLANK_STARTS and not line.replace(_BOM, b"").strip())


def encode_line(frame: bytes) -> bytes:
    r"""Write one frame as a line.

    Args:
        frame: JSON without line breaks, as the codec writes it.

    Returns:
        The frame and one `\n`, on every platform.
    """
    return frame + b"\n"
