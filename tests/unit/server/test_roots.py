"""Roots of a server's own."""

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.types.roots import Root
from tests.unit.server.peers import ask, serving


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_roots_are_listed_in_order_here_and_on_the_wire() -> None:
    server = MCPServer()
    server.register_root("file:///a")
    server.register_root({"uri": "file:///b", "name": "B", "_meta": {"x": 1}})
    server.register_root(Root(uri="file:///c"))
    server.register_root(uri="file:///d", name="D")

    assert [f"file:///{name}" for name in "abcd"] == [root.uri for root in server.list_roots()]
    async with serving(server) as peer:
        assert [
            {"uri": "file:///a"},
            {"uri": "file:///b", "name": "B", "_meta": {"x": 1}},
            {"uri": "file:///c"},
            {"uri": "file:///d", "name": "D"},
        ] == (await ask(peer, "roots/list"))["roots"]


def test_a_root_is_registered_once_and_taken_away_once() -> None:
    server = MCPServer()
    server.register_root("file:///a", name="A")

    with pytest.raises(MCPError) as twice:
        server.register_root("file:///a")
    server.unregister_root("file:///a")
    with pytest.raises(MCPError) as missing:
        server.unregister_root("file:///a")

    assert MCP_CODES.DUPLICATE_REGISTRATION == twice.value.code
    assert MCP_CODES.NOT_FOUND == missing.value.code
    assert 0 == server.get_info().roots


def test_a_root_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(RegistrationError, match="the field `name`"):
        MCPServer().register_root("file:///a", name=5)


def test_something_else_is_no_root() -> None:
    with pytest.raises(RegistrationError, match="there is no field 'handler'"):
        MCPServer().register_root(5)  # pyright: ignore[reportArgumentType]


async def test_without_roots_the_list_is_empty() -> None:
    async with serving(MCPServer()) as peer:
        assert {"roots": []} == await ask(peer, "roots/list")
