"""This library as its users write it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import cast

from benchmarks.contract import Call
from benchmarks.http_calls import App, asgi_caller
from benchmarks.web_server import calling_uvicorn
from suaveplan_mcp import MCPServer, connect
from suaveplan_mcp.client.mcp_client import MCPClient

SERVER = str(Path(__file__).parents[1] / "servers" / "ours.py")


def make_server() -> MCPServer:
    """Return the server with the one tool that is called."""
    server = MCPServer("bench", "1")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


def _caller(client: MCPClient) -> Call:
    async def call(a: int, b: int) -> int:
        result = await client.call_tool("add", {"a": a, "b": b})
        return cast("dict[str, int]", result.structured_content)["result"]

    return call


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Call]:
    """Give a call to a server in this process."""
    async with connect(make_server()) as client:
        yield _caller(client)


def make_app() -> App:
    """Return the server as an ASGI application."""
    return make_server().asgi_app()


@asynccontextmanager
async def asgi() -> AsyncGenerator[Call]:
    """Give a call to the ASGI application in this process."""
    yield asgi_caller(make_app())


def uvicorn() -> AbstractAsyncContextManager[Call]:
    """Give a call to the ASGI application under uvicorn."""
    return calling_uvicorn("ours")


@asynccontextmanager
async def stdio() -> AsyncGenerator[Call]:
    """Give a call to a server in a child process."""
    async with connect([sys.executable, SERVER]) as client:
        yield _caller(client)
