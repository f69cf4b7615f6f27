"""Calls over HTTP, made by hand and alike for every contestant, so that only servers are compared."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder, encode

from benchmarks.contract import Call

REVISION = "2026-07-28"
PATH = "/mcp"

App = Callable[[MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Any]

_HEADERS = {
    "host": "127.0.0.1:8000",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": REVISION,
    "mcp-method": "tools/call",
    "mcp-name": "add",
}
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class _Sum(Struct):
    result: int


class _Result(Struct, rename="camel"):
    # Some give a value that is no object bare, as the newest revision allows, and some wrap it.
    structured_content: int | _Sum


class _Answer(Struct):
    id: int
    result: _Result


_answer = Decoder(_Answer)


def _body(a: int, b: int) -> bytes:
    params = {"name": "add", "arguments": {"a": a, "b": b}, "_meta": _META}
    return encode({"jsonrpc": "2.0", "id": a, "method": "tools/call", "params": params})


def _sum_in(status: int, body: bytes) -> int:
    if status != 200:
        raise AssertionError(f"{status}: {body!r}")
    content = _answer.decode(body).result.structured_content
    return content if isinstance(content, int) else content.result


def asgi_caller(app: App) -> Call:
    """Return a call that goes straight into an application, without a web server."""
    scope_headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

    async def call(a: int, b: int) -> int:
        body = _body(a, b)
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": PATH,
            "raw_path": PATH.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [*scope_headers, (b"content-length", str(len(body)).encode())],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        }
        status, parts, came = 0, list[bytes](), False

        async def receive() -> dict[str, Any]:
            nonlocal came
            if came:
                # The client stays; whoever waits for its leave is cancelled in the end.
                await asyncio.get_running_loop().create_future()
            came = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                parts.append(message.get("body", b""))

        await app(scope, receive, send)
        return _sum_in(status, b"".join(parts))

    return call


class _Connection(asyncio.Protocol):
    """One connection that is kept, with one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.WriteTransport
        self._buffer = b""
        self._answered: asyncio.Future[tuple[int, bytes]] | None = None
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def ask(self, body: bytes, head: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        """Send a request; what is returned becomes the status and body of its response."""
        if self.lost:
            raise ConnectionError("the server closed the connection between two requests")
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(b"%b%d\r\n\r\n%b" % (head, len(body), body))
        return self._answered

    def data_received(self, data: bytes) -> None:
        """Take a part of a response, whose length stands in its head."""
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end or self._answered is None:
            return
        _, found, length = head.lower().partition(b"content-length:")
        if not found:
            self._answered.set_exception(AssertionError(f"no length in {head!r}"))
            return
        size = int(length.partition(b"\r\n")[0])
        if len(rest) >= size:
            self._buffer = b""
            self._answered.set_result((int(head.split(b" ", 2)[1]), rest[:size]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail who waits, and whoever asks later."""
        self.lost = True
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError("the server closed the connection"))


class HttpCaller:
    """Calls over a pool of connections to a web server on this machine."""

    def __init__(self, port: int) -> None:
        headers = {**_HEADERS, "host": f"127.0.0.1:{port}"}
        lines = [f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "content-length: "]
        self._port = port
        self._head = "\r\n".join(lines).encode()
        self._idle: list[_Connection] = []

    async def call(self, a: int, b: int) -> int:
        """Call the tool."""
        connection = self._idle.pop() if self._idle else await self._connect()
        status, body = await connection.ask(_body(a, b), self._head)
        self._idle.append(connection)
        return _sum_in(status, body)

    def close(self) -> None:
        """Close the connections."""
        for connection in self._idle:
            connection.transport.close()

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, "127.0.0.1", self._port)
        return connection
