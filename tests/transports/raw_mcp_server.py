"""A server of the stateless era that answers a tool call with whatever bytes a test gives it."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

RESET = b"RESET"
"""As a piece of an answer: break the connection off."""

WAIT = b"WAIT"
"""As a piece of an answer: keep the connection open until the client closes it."""


@dataclass
class Call:
    """One POST: its headers in lower case, and its message."""

    headers: dict[str, str]
    message: dict[str, object]

    @property
    def id(self) -> bytes:
        return json.dumps(self.message.get("id")).encode()


Answer = Callable[[Call], Sequence[bytes]]
"""Return the pieces of the whole response; after an empty one the connection ends."""


@dataclass
class RawServer:
    url: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    connections: int = 0
    open: int = 0

    def of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.message.get("method") == method]


def respond(body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *([f"Content-Type: {kind}"] if kind else [])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


STREAM = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(data: bytes) -> bytes:
    return chunk(b"data: %b\n\n" % data)


def result(call: Call, text: bytes = b"well") -> bytes:
    content = b'{"resultType":"complete","content":[{"type":"text","text":"%b"}]}' % text
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (call.id, content)


def _discover(call: Call) -> bytes:
    known = b'{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
    return respond(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (call.id, known))


@asynccontextmanager
async def raw_server(answer: Answer, *, stateless: bool = True) -> AsyncGenerator[RawServer]:
    """Serve `answer`; `server/discover` is answered here, for a server of the stateless era."""
    seen = RawServer()
    talking: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        seen.open += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
                call = Call(headers, json.loads(await reader.readexactly(int(headers["content-length"]))))
                seen.calls.append(call)
                discover = stateless and call.message.get("method") == "server/discover"
                for piece in [_discover(call)] if discover else answer(call):
                    if piece == WAIT:
                        await reader.read()
                    if piece == RESET:
                        connection: socket.socket = writer.get_extra_info("socket")
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    if piece in (RESET, WAIT, b""):
                        return
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            seen.open -= 1
            writer.close()

    server = await asyncio.start_server(
        lambda reader, writer: talking.add(asyncio.ensure_future(talk(reader, writer))), "127.0.0.1", 0, limit=2**24
    )
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield seen
    finally:
        server.close()
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
