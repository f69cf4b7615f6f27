"""The official SDK's `MCPServer` and `Client`, as its users write them, in their fastest ordinary configuration."""

# This library is installed by `make bench` only, so its types are not known where types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.server import MCPServer

from benchmarks.contract import Call

SERVER = str(Path(__file__).parents[1] / "servers" / "official.py")


def make_server() -> MCPServer:
    """Return the server with the one tool that is called."""
    server = MCPServer("bench")

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


@asynccontextmanager
async def stdio() -> AsyncGenerator[Call]:
    """Give a call to a server in a child process."""
    async with Client(StdioServerParameters(command=sys.executable, args=[SERVER])) as client:
        yield _caller(client)
