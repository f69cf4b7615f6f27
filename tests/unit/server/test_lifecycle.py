"""What a server says of itself."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST_HANDSHAKE
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.icons import Icon
from tests.unit.server.peers import ask, code_of, outcome, serving


async def _greeting(server: MCPServer, revision: str = LATEST_HANDSHAKE) -> Any:
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    greeting = outcome(await ScriptedPeer(far).initialize(revision=revision))
    await server.stop()
    return greeting


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_the_revision_that_a_client_asks_for_is_answered(revision: str) -> None:
    assert revision == (await _greeting(MCPServer(), revision))["protocolVersion"]


async def test_a_revision_that_the_server_lacks_is_answered_with_its_newest() -> None:
    assert LATEST_HANDSHAKE == (await _greeting(MCPServer(), "1999-01-01"))["protocolVersion"]


async def test_the_server_says_who_it_is_and_how_it_is_used() -> None:
    server = MCPServer(
        "weather", "2.1", "Ask for a city.", title="Weather", website_url="https://w.example", icons=[Icon(src="w.png")]
    )

    greeting = await _greeting(server)

    assert {
        "name": "weather",
        "version": "2.1",
        "title": "Weather",
        "websiteUrl": "https://w.example",
        "icons": [{"src": "w.png"}],
    } == greeting["serverInfo"]
    assert "Ask for a city." == greeting["instructions"]
    assert "weather" == server.name


async def test_what_may_be_registered_later_is_declared_from_the_start() -> None:
    assert {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    } == (await _greeting(MCPServer()))["capabilities"]


async def test_roots_of_the_server_are_announced_where_there_are_any() -> None:
    server = MCPServer()
    server.register_root("file:///srv")

    assert {"suaveplan/roots": {}} == (await _greeting(server))["capabilities"]["experimental"]


async def test_ping_is_answered_before_and_after_the_handshake() -> None:
    server = MCPServer()
    near, far = InMemoryTransport.pair()
    await server.start(near)
    peer = ScriptedPeer(far)

    assert {} == await ask(peer, "ping")
    await peer.initialize()
    assert {} == await ask(peer, "ping")
    await server.stop()


@pytest.mark.parametrize(("eras", "number"), [(("handshake",), -32600), (("handshake", "stateless"), -32602)])
async def test_nothing_else_is_served_before_the_handshake(eras: tuple[str, ...], number: int) -> None:
    server = MCPServer(eras=eras)
    near, far = InMemoryTransport.pair()
    await server.start(near)

    error = await ask(ScriptedPeer(far), "tools/list")

    assert (number, MCP_CODES.NOT_INITIALIZED) == code_of(error)
    await server.stop()


async def test_a_second_handshake_is_refused() -> None:
    async with serving(MCPServer()) as peer:
        error = outcome(await peer.initialize(id="again"))

        assert (-32600, MCP_CODES.ALREADY_CONNECTED) == code_of(error)


async def test_a_method_that_nobody_serves_is_not_found() -> None:
    async with serving(MCPServer()) as peer:
        assert (-32601, MCP_CODES.METHOD_NOT_FOUND) == code_of(await ask(peer, "no/such"))


def test_a_server_that_cannot_be_introduced_is_refused_when_it_is_made() -> None:
    version: Any = 2

    with pytest.raises(RegistrationError, match="the field `version`"):
        MCPServer("x", version)
