"""A real web server in this process, on a free port of the loopback address."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from suaveplan_mcp.host.http_server import listen, port_of, serve_http
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.transport.asgi import AsgiApp
from suaveplan_mcp.transport.http_sse_app import HttpSseApp

DEADLINE = 10


async def _nothing() -> None:
    pass


@asynccontextmanager
async def web_server(app: AsgiApp, stop: Callable[[], Awaitable[object]] = _nothing) -> AsyncGenerator[str]:
    """Serve an application; give the URL of its root."""
    listeners = listen("127.0.0.1", 0)
    ended = asyncio.Event()
    serving = asyncio.create_task(serve_http(app, listeners, until=ended, stop=stop))
    try:
        yield f"http://127.0.0.1:{port_of(listeners)}"
    finally:
        ended.set()
        await serving


@asynccontextmanager
async def sse_server(server: MCPServer) -> AsyncGenerator[tuple[str, HttpSseApp]]:
    """Serve a server over HTTP+SSE; give the URL of its event stream, and the application."""
    app = server.sse_app()

    async def stop() -> None:
        await app.close()
        await server.stop()

    async with web_server(app, stop) as url:
        yield f"{url}/sse", app


class RawClient:
    """A connection that a test writes to byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, url: str) -> "RawClient":
        """Connect to the server of a URL."""
        host, _, port = url.split("/")[2].partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    def send(self, method: str, path: str, *lines: str, body: bytes = b"") -> None:
        """Send a request; its headers are lines, `Host` among them."""
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        self.writer.write(head.encode("latin-1") + body)

    async def read_status(self) -> int:
        """Read the head of a response and return its status."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        return int(head.split()[1])

    async def close(self) -> None:
        """Close the connection in order."""
        self.writer.close()
        await self.writer.wait_closed()

    async def reset(self) -> None:
        """Break the connection off, as when a process or a network dies."""
        connection: socket.socket = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.close()


async def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(DEADLINE):
        while not reached():
            await asyncio.sleep(0.005)
