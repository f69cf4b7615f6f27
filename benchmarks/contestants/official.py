"""The official SDK's `MCPServer` and `Client`, as its users write them, in their fastest ordinary configuration."""

# This library is installed by `make bench` only, so its types are not known where types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false

import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.server import MCPServer

from benchmarks.contract import Call
from benchmarks.http_calls import App, asgi_caller
from benchmarks.web_server import calling_uvicorn

SERVER = str(Path(__file__).parents[1] / "servers" / "official.py")


def make_server() -> MCPServer:
    """Return the server with the one tool that is called."""
    server = MCPServer("bench", log_level="ERROR")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


def _caller(client: Client) -> Call:
    async def call(a: int, b: int) -> int:
        result = await client.call_tool("add", {"a": a, "b": b})
        return result.structured_content["result"]

    return call


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Call]:
    """Give a call to a server in this process, by the SDK's direct path."""
    async with Client(make_server()) as client:
        yield _caller(client)


def make_app() -> App:
    """Return the server as an ASGI application that answers with plain JSON and keeps no sessions."""
    return make_server().streamable_http_app(json_response=True, stateless_http=True)


@asynccontextmanager
async def asgi() -> AsyncGenerator[Call]:
    """Give a call to the ASGI application in this process."""
    app = make_server().streamable_http_app(json_response=True, stateless_http=True)
    async with app.router.lifespan_context(app):
        yield asgi_caller(app)


def uvicorn() -> AbstractAsyncContextManager[Call]:
    """Give a call to the ASGI application under uvicorn."""
    return calling_uvicorn("official")


@asynccontextmanager
async def stdio() -> AsyncGenerator[Call]:
    """Give a call to a server in a child process."""
    async with Client(StdioServerParameters(command=sys.executable, args=[SERVER])) as client:
        yield _caller(client)
