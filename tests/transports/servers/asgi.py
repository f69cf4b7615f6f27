"""An ASGI application for any web server; it tells what it did, so that a test sees it from outside."""

import asyncio

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.serving import asgi_app
from tests.transports.servers.over_http import server, tell


@server.tool
async def count(ctx: Context, to: int) -> int:
    for number in range(to):
        ctx.progress(number + 1, to)
    return to


@server.tool
async def watch(ctx: Context) -> None:
    ctx.progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        tell("cleaned up")


app = asgi_app(server)
