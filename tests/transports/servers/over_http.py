"""A server for HTTP: it tells what it did, so that a test sees it from outside."""

import asyncio
import sys
import time

from suaveplan_mcp.server.mcp_server import MCPServer

server = MCPServer("over-http", "1.0")


def tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@server.tool
async def echo(text: str) -> str:
    return text


@server.tool
async def wait() -> None:
    tell("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        tell("cleaned up")


@server.tool
def block() -> None:
    tell("blocking")
    time.sleep(60)
