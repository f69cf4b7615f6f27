"""This library as its users write it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from benchmarks.contract import Call
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


@asynccontextmanager
async def stdio() -> AsyncGenerator[Call]:
    """Give a call to a server in a child process."""
    async with connect([sys.executable, SERVER]) as client:
        yield _caller(client)
