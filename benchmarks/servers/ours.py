"""This library's server over stdio."""

from suaveplan_mcp import MCPServer

server = MCPServer("bench", "1")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run()
