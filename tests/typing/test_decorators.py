"""What a strict type checker knows of decorated functions; the checker reads this file, and it runs as well."""

from collections.abc import Callable, Coroutine
from typing import Any, assert_type

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.resources import Resource, ResourceTemplate
from suaveplan_mcp.types.tools import Tool, ToolAnnotations

server = MCPServer()


@server.tool
def plain(number: int, ctx: Context) -> int:
    return number


@server.tool("named", title="Named", annotations=ToolAnnotations(read_only_hint=True))
async def coroutine(text: str = "") -> str:
    return text


@server.tool(name="keyword", input_schema={"type": "object"}, inline=True)
def keyword(**given: object) -> None:
    """Take anything."""


@server.resource("mem://{id}", mime_type="text/plain")
def item(id: str) -> str:
    return id


@server.resource(uri="mem://one")
def one() -> bytes:
    return b""


@server.resource
def bare() -> str:
    return ""


@server.prompt
def prompt(topic: str) -> str:
    return topic


@server.prompt(name="other", description="Another.")
async def other_prompt(topic: str) -> list[str]:
    return [topic]


@server.completion("prompt", "topic")
def topics(typed: str) -> list[str]:
    return [typed]


@server.completion
def anything(params: Any) -> list[str]:
    return []


def test_decorated_functions_keep_their_types() -> None:
    number: Callable[[int, Context], int] = plain
    text: Callable[[str], Coroutine[Any, Any, str]] = coroutine
    assert_type(item("a"), str)
    assert_type(one(), bytes)
    assert_type(bare(), str)
    assert_type(prompt("a"), str)
    assert_type(topics("a"), list[str])
    assert_type(anything(None), list[str])
    assert_type(keyword(a=1), None)
    assert (plain, coroutine) == (number, text)


async def test_decorated_coroutine_functions_stay_coroutine_functions() -> None:
    assert_type(await coroutine("a"), str)
    assert_type(await other_prompt("a"), list[str])


def test_registrations_give_what_clients_see() -> None:
    tool = assert_type(MCPServer().register_tool(plain, title="T"), Tool)
    resource = assert_type(MCPServer().register_resource(one, uri="mem://one"), Resource | ResourceTemplate)

    assert ("plain", "one") == (tool.name, resource.name)
