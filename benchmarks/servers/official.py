"""The official SDK's server over stdio."""

# This library is installed by `make bench` only, so its types are not known where types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedFunctionDecorator=false

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run()
