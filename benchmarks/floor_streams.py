"""Lines out of chunks, for the floor."""

import asyncio
from collections.abc import Callable


class LineProtocol(asyncio.Protocol):
    """Hands on every whole line."""

    def __init__(self, take: Callable[[bytes], None], ended: Callable[[], None] = lambda: None) -> None:
        self._take = take
        self._ended = ended
        self._rest: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """Take a chunk."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(b"".join((*self._rest, line)))
            self._rest.clear()
        if rest:
            self._rest.append(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self._ended()
