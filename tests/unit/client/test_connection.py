"""A connection that is open, whichever era opened it."""

import asyncio

import pytest
from msgspec import UNSET

from suaveplan_mcp.client.connection import Greeting, Limits, ServerConnection
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.capabilities import ServerCapabilities
from suaveplan_mcp.types.meta import LOG_LEVEL_KEY
from tests.unit.client.peers import TOOLS, connected, exchange, opened_stateless, record_faults


def _connection(transport: Transport, clock: FakeClock | None = None) -> ServerConnection:
    """Return a connection of the handshake era on which the handshake has not been."""
    clock = clock or FakeClock()
    dispatcher = JsonRpcDispatcher(transport, era=HandshakeEra("client", ()), clock=clock, timers=clock)
    greeting = Greeting(LATEST_HANDSHAKE, None, ServerCapabilities())
    return ServerConnection(dispatcher, greeting, Limits(1.0, 2.0), clock)


async def test_a_connection_that_has_ended_is_not_open() -> None:
    near, far = InMemoryTransport.pair()
    connection = _connection(near)
    connection.require_open()

    await far.close()

    with pytest.raises(MCPTransportError) as raised:
        connection.require_open()
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    assert connection.closed
    await connection.close(None)


async def test_it_tells_which_methods_the_server_offers() -> None:
    connection = _connection(InMemoryTransport.pair()[0])

    methods = ["tools/list", "resources/subscribe", "ping", "made/up"]
    assert [False, False, True, True] == [connection.offers(method) for method in methods]
    with pytest.raises(MCPError, match="tools") as raised:
        await connection.request("tools/list")
    assert MCP_CODES.METHOD_NOT_FOUND == raised.value.code
    await connection.close(None)


async def test_where_nothing_is_kept_a_notice_makes_nothing_stale() -> None:
    near, far = InMemoryTransport.pair()
    peer, connection = ScriptedPeer(far), _connection(near)

    connection.take_notice("notifications/tools/list_changed")

    assert not connection.stateless
    assert ([], False) == (peer.seen, connection.closed)
    await connection.close(None)


async def test_a_notice_makes_stale_what_is_kept() -> None:
    kept = {"tools": [], "ttlMs": 60_000, "cacheScope": "private"}
    async with opened_stateless() as (client, peer):
        await exchange(peer, "tools/list", client.list_tools(), kept)
        assert [] == (await client.list_tools()).tools
        connection = client._connection
        assert connection is not None

        connection.take_notice("notifications/tools/list_changed")

        assert connection.stateless
        await exchange(peer, "tools/list", client.list_tools(), kept)


@pytest.mark.parametrize("stateless", [True, False])
async def test_headers_of_a_request_go_with_it(*, stateless: bool) -> None:
    deliveries: list[Delivery | None] = []
    async with opened_stateless() if stateless else connected(capabilities=TOOLS) as (client, peer):
        peer.transport.on_message(lambda _, delivery=None: deliveries.append(delivery))
        await exchange(peer, "tools/call", client.call_tool("t", headers={"x": "1"}), {"content": []})
        await exchange(peer, "tools/call", client.call_tool("t"), {"content": []})

    assert [Delivery(headers={"x": "1"}), None] == deliveries


async def test_a_request_may_bring_limits_of_its_own() -> None:
    clock = FakeClock()
    connection = _connection(InMemoryTransport.pair()[0], clock)
    calls = [
        asyncio.create_task(connection.request("ping", timeout=timeout, total_timeout=total))
        for timeout, total in ((UNSET, UNSET), (4.0, UNSET), (None, 3.0), (None, None))
    ]
    expired: list[list[bool]] = []

    for _ in range(3):
        await clock.advance_async(1.0)
        expired.append([call.done() for call in calls])

    # Those of the connection are 1 and 2 seconds.
    assert [[True, False, False, False], [True, True, False, False], [True, True, True, False]] == expired
    await connection.close(None)
    assert [MCP_CODES.TIMEOUT] * 3 + [MCP_CODES.TRANSPORT_CLOSED] == [
        getattr(error, "code", None) for error in await asyncio.gather(*calls, return_exceptions=True)
    ]


async def test_the_logs_that_are_wanted_are_asked_for_with_every_request() -> None:
    async with opened_stateless() as (client, peer):
        connection = client._connection
        assert connection is not None

        connection.want_logs("error")

        request, _ = await exchange(peer, "tools/list", connection.request("tools/list"), {"tools": []})
        assert "error" == request.params["_meta"][LOG_LEVEL_KEY]


async def test_a_notification_is_sent() -> None:
    async with connected() as (client, peer):
        connection = client._connection
        assert connection is not None

        await connection.notify("notifications/roots/list_changed")

        await peer.expect_notification("notifications/roots/list_changed")


async def test_what_no_caller_waits_to_hear_is_reported() -> None:
    async with connected() as (client, _):
        faults = record_faults(client)
        connection = client._connection
        assert connection is not None

        connection.report("it failed", ValueError("so"))

        assert ["it failed"] == [fault.fault for fault in faults]
