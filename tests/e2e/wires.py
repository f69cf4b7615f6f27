"""Three ways between a client and a server in one process, each with a record of what crosses it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.framing.sse import ServerSentEvent
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, InvalidMessage, Message, Notification, Request
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import RecordingTransport
from suaveplan_mcp.transport.base import Delivery, Transport, TransportBase
from suaveplan_mcp.transport.frames import decode_frame, encode_frame
from suaveplan_mcp.transport.http_sse import create_http_sse_transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.transport.stdio import create_stdio_transport


class Wire(NamedTuple):
    """The two ends of one connection."""

    client: RecordingTransport
    server: Transport


class Pipe:
    """Bytes from one end to the other, cut anywhere."""

    def __init__(self) -> None:
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()

    async def write(self, data: bytes) -> None:
        middle = len(data) // 2
        for chunk in (data[:middle], data[middle:]):
            if chunk:
                self._chunks.put_nowait(chunk)

    async def close(self) -> None:
        self._chunks.put_nowait(b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await self._chunks.get():
            yield chunk


class Accepted(NamedTuple):
    """What a server of HTTP+SSE answers to every POST."""

    status: int = 202

    async def read(self) -> bytes:
        return b"Accepted"


class SseServerTransport(TransportBase):
    """The server's end of HTTP+SSE, reached through a fetch and an event source that make no connection."""

    def __init__(self) -> None:
        super().__init__()
        self._events: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue()

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        if self._ended:
            raise self._refusal()
        self._events.put_nowait(ServerSentEvent(event="message", data=encode_frame(message)))

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        self.post(message)

    async def close(self) -> None:
        self._events.put_nowait(None)
        self._finish()

    async def fetch(self, url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> Accepted:
        assert ("https://server.example/messages?session=1", "POST") == (url, method)
        self._receive(decode_frame(body))
        return Accepted()

    async def events(self, url: str) -> AsyncIterator[ServerSentEvent]:
        assert "https://server.example/sse" == url
        yield ServerSentEvent(event="endpoint", data=b"/messages?session=1")
        try:
            while (event := await self._events.get()) is not None:
                yield event
        finally:
            # The client has gone, or there is nothing left to tell it.
            self._finish()


def in_memory() -> Wire:
    near, far = InMemoryTransport.pair()
    return Wire(RecordingTransport(near), far)


def over_streams() -> Wire:
    up, down = Pipe(), Pipe()
    near = create_stdio_transport(readable=down, writable=up)
    return Wire(RecordingTransport(near), create_stdio_transport(readable=up, writable=down))


def over_http_sse() -> Wire:
    server = SseServerTransport()
    near = create_http_sse_transport(
        endpoint="https://server.example/sse", fetch_impl=server.fetch, event_source_impl=server.events
    )
    return Wire(RecordingTransport(near), server)


WIRES: list[Callable[[], Wire]] = [in_memory, over_streams, over_http_sse]


@asynccontextmanager
async def connected(
    server: MCPServer, client: MCPClient, make_wire: Callable[[], Wire]
) -> AsyncGenerator[RecordingTransport]:
    """Connect the two; give the record of what the client sends and receives."""
    wire = make_wire()
    await server.start(wire.server)
    try:
        await client.connect(wire.client)
        yield wire.client
    finally:
        await client.disconnect()
        await server.stop()


def methods(messages: list[Message]) -> list[str]:
    """Return the methods of requests and notifications, in order."""
    return [message.method for message in messages if isinstance(message, Request | Notification)]


def errors(wire: RecordingTransport) -> list[Message]:
    """Return every error, in either direction."""
    return [each for each in (*wire.sent, *wire.received) if isinstance(each, ErrorResponse | InvalidMessage)]
