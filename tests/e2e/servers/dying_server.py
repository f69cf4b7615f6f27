"""The demo's server, but it dies in the middle of a search."""

import os
import sys

from suaveplan_mcp.cli.demo_server import server

server.unregister_tool("search")


@server.tool
def search(text: str) -> str:
    """Die."""
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(3)
