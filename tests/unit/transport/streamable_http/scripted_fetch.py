"""A `fetch` whose responses are scripts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

JSON = "application/json"
SSE = "text/event-stream"


class Reply:
    """A response made of pieces; an exception among them is raised, and an open one waits for more."""

    def __init__(
        self, *pieces: bytes | Exception, status: int = 200, kind: str = JSON, opened: bool = False, **headers: str
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {
            **({"Content-Type": kind} if kind else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        self.pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.feed(*pieces)
        if not opened:
            self.end()
        self.closed = 0
        self.read_to_end = False

    def feed(self, *pieces: bytes | Exception) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)

    def end(self) -> None:
        self.pieces.put_nowait(None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = None if self.read_to_end else await self.pieces.get()
        if piece is None:
            self.read_to_end = True
            raise StopAsyncIteration
        if isinstance(piece, Exception):
            raise piece
        return piece

    def close(self) -> None:
        self.closed += 1


@dataclass
class Posted:
    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Server:
    """Answers each POST with the next of its replies, and never where there is none."""

    replies: list[object] = field(default_factory=list[object])
    posts: list[Posted] = field(default_factory=list[Posted])
    dropped: int = 0

    async def __call__(self, url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.posts.append(Posted(url, method, headers, body))
        if not self.replies:
            try:
                await asyncio.Event().wait()
            finally:
                self.dropped += 1
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply  # pyright: ignore[reportReturnType]


def event(data: bytes, kind: str = "message") -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
