"""Opening a connection with `initialize`."""

import asyncio

import pytest
from msgspec.structs import replace

from suaveplan_mcp.client.connection import Limits
from suaveplan_mcp.client.handshake import Handshake
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import Request
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.peers import SETUP

OLDEST, SECOND, *_ = HANDSHAKE_REVISIONS


async def test_the_newest_of_the_revisions_is_asked_for_and_what_the_server_says_is_kept() -> None:
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)

    opening = asyncio.create_task(Handshake([SECOND, OLDEST]).open(near, SETUP))
    request = await peer.handshake(revision=OLDEST, capabilities={"tools": {}})
    connection = await opening

    assert isinstance(request.params, dict)
    assert SECOND == request.params["protocolVersion"]
    assert OLDEST == connection.greeting.revision
    assert connection.greeting.capabilities.tools is not None
    assert not connection.stateless
    await connection.close(None)


async def test_a_revision_that_is_not_spoken_closes_the_transport() -> None:
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)

    opening = asyncio.create_task(Handshake([SECOND]).open(near, SETUP))
    request = await peer.expect_request("initialize")
    peer.respond(
        request.id,
        {"protocolVersion": OLDEST, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    )

    with pytest.raises(MCPError, match=f"{OLDEST}.*{SECOND}") as raised:
        await opening
    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert near.closed


async def test_a_silent_server_is_waited_for_as_for_any_other_answer_and_not_told_of_the_end() -> None:
    near, far = InMemoryTransport.pair()
    clock, peer = FakeClock(), ScriptedPeer(far)

    setup = replace(SETUP, clock=clock, timers=clock, limits=Limits(7.0, None))
    opening = asyncio.create_task(Handshake([OLDEST]).open(near, setup))
    await clock.advance_async(7.0)

    with pytest.raises(MCPError) as raised:
        await opening
    assert MCP_CODES.TIMEOUT == raised.value.code
    assert ["initialize"] == [each.method for each in peer.seen if isinstance(each, Request)]
    assert 1 == len(peer.seen)


def test_it_tells_whether_it_speaks_one_of_some_revisions() -> None:
    handshake = Handshake([OLDEST, SECOND])

    assert [True, True, False, False] == [
        handshake.accepts_any(revisions) for revisions in ([SECOND, LATEST], [OLDEST], [LATEST], [])
    ]
