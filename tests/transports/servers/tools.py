"""An MCP server with a little of everything, for clients and commands to use."""

import base64
import os
import sys

from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.content import ImageContent, TextContent
from suaveplan_mcp.types.prompts import PromptMessage
from suaveplan_mcp.types.tools import CallToolResult

server = MCPServer("tools", "1.0")
other = MCPServer("other", "2.0")

# What a server file prints while it is loaded.
sys.stdout.write("loading\n")
sys.stdout.flush()
os.system("echo loading by a shell")  # pyright: ignore[reportDeprecated]  people do it


@server.tool
def echo(text: str) -> str:
    """Say it again.

    And again.
    """
    return text


@server.tool
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@server.tool
def variable(name: str) -> str:
    return f"{os.environ.get(name)} in {os.getcwd()}"


@server.tool
def fail() -> str:
    sys.stderr.write("about to fail\n")
    raise ValueError("on purpose")


@server.tool
def picture() -> ImageContent:
    return ImageContent(data=base64.b64encode(b"pixels").decode(), mime_type="image/png")


@server.tool
def structure() -> CallToolResult:
    return CallToolResult(content=[], structured_content={"sum": 3})


@server.tool
def nothing() -> CallToolResult:
    return CallToolResult(content=[])


@server.resource("test://text", description="Some text.")
def text() -> str:
    return "text ≤"


@server.resource("test://bytes", name="bytes")
def some_bytes() -> bytes:
    return b"\x00\xff"


@server.resource("test://items/{number}")
def item(number: str) -> str:
    return f"item {number}"


@server.prompt
def greet(name: str) -> PromptMessage:
    """Greet somebody."""
    return PromptMessage(role="user", content=TextContent(text=f"Greet {name}."))
