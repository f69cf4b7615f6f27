"""A server of the eras that are named, in this process or, with their names as arguments, in one of its own."""

import sys
from collections.abc import Sequence

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer


def make_server(eras: Sequence[str]) -> MCPServer:
    """Return a server with one tool, which says in which revision it was called, and by whom."""
    server = MCPServer("eras", "1", eras=eras)

    @server.tool
    async def say(text: str, ctx: Context) -> str:
        caller = ctx.client
        assert caller is not None
        assert caller.info is not None
        return f"{text}, {caller.info.name}: {caller.revision}"

    return server


if __name__ == "__main__":
    make_server(sys.argv[1:]).run()
