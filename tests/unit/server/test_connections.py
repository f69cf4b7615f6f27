"""What a server keeps for each client, and how it reaches them."""

import asyncio
import threading
from typing import Any

import pytest

from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.server.connections import Connections, ServerConnection, is_running, run_on
from suaveplan_mcp.server.handshake import ServerHandshake
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.capabilities import ClientCapabilities
from tests.unit.server.peers import EVERYTHING, join, serving, settle


def _unopened() -> tuple[ServerConnection, ScriptedPeer]:
    near, far = InMemoryTransport.pair()
    era = ServerHandshake(())
    return ServerConnection(JsonRpcDispatcher(near, era=era, side="server"), era), ScriptedPeer(far)


async def test_before_the_handshake_nothing_is_known_of_a_client_and_it_is_told_nothing() -> None:
    connection, peer = _unopened()

    connection.tell("notifications/tools/list_changed")
    await settle()

    assert (None, None, ClientCapabilities()) == (
        connection.revision,
        connection.client_info,
        connection.client_capabilities,
    )
    assert [] == peer.seen
    await connection.dispatcher.close()


async def test_after_the_handshake_the_client_is_known() -> None:
    server = MCPServer()
    async with serving(server, capabilities=EVERYTHING, revision="2025-06-18"):
        (connection,) = server._connections

        assert "2025-06-18" == connection.revision
        assert connection.client_info is not None
        assert "scripted-peer" == connection.client_info.name
        assert connection.client_capabilities.roots is not None
        assert connection.log_level is None


async def test_nothing_goes_out_before_the_answer_to_initialize() -> None:
    server = MCPServer()
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    peer = ScriptedPeer(far)

    # The handler of `initialize` runs in the next turn; the change is made in the turn before.
    peer.request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT})
    server.register_tool(lambda: None, name="late")
    await settle()
    server.register_tool(lambda: None, name="later")
    await peer.expect_response(0)

    await peer.expect_notification("notifications/tools/list_changed")
    assert 2 == len(peer.seen)
    await server.stop()


_CLIENT: Any = {"name": "c", "version": "1"}


async def test_a_burst_of_changes_is_told_once_to_every_client() -> None:
    server = MCPServer()
    peers = [await join(server), await join(server)]
    for name in "abc":
        server.register_tool(lambda: None, name=name)
    server.unregister_tool("b")
    await settle()
    for peer in peers:
        await peer.expect_notification("notifications/tools/list_changed")
        assert 2 == len(peer.seen)

    server.unregister_tool("a")
    for peer in peers:
        await peer.expect_notification("notifications/tools/list_changed")
    await server.stop()


async def test_a_change_made_in_a_thread_is_told_as_well() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        await asyncio.to_thread(lambda: server.register_tool(lambda: None, name="a"))

        await peer.expect_notification("notifications/tools/list_changed")


async def test_a_notice_from_a_thread_goes_through_the_loop() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        await asyncio.to_thread(server.emit_log, "error", "from a thread")

        message = await peer.expect_notification("notifications/message")
        assert {"level": "error", "data": "from a thread"} == message.params


def test_a_server_outlives_the_loop_of_a_client_it_never_took_leave_of() -> None:
    server = MCPServer()
    # A plain run, without the look for what was left behind.
    asyncio.run(_join_and_leave(server))

    server.register_tool(lambda: None, name="later")
    server.emit_log("error", "nobody hears this")

    assert 1 == server.get_info().tools


async def _join_and_leave(server: MCPServer) -> None:
    await join(server)


async def test_a_connection_tells_when_it_is_over() -> None:
    server = MCPServer()
    near, far = InMemoryTransport.pair()
    connection = await server.attach(near)
    waiting = asyncio.create_task(connection.wait_closed())
    await settle()
    assert not waiting.done()

    await far.close()
    await waiting

    assert 0 == server.get_info().connections
    await server.stop()


async def test_connections_are_found_by_what_a_call_came_on() -> None:
    connections = Connections()
    connection, _ = _unopened()
    near, far = InMemoryTransport.pair()
    connections.add(connection, near)

    assert connection is connections[connection.dispatcher]
    assert connection is connections.of(connection.dispatcher)
    assert connections.of(object()) is None
    assert ([connection], 1) == (list(connections), len(connections))

    await far.close()
    with pytest.raises(KeyError):
        connections[connection.dispatcher]
    await connection.dispatcher.close()


async def test_a_function_runs_at_once_on_its_loop_and_soon_from_elsewhere() -> None:
    loop, seen = asyncio.get_running_loop(), list[int]()

    def note() -> None:
        seen.append(threading.get_ident())

    run_on(loop, note)
    assert [threading.get_ident()] == seen

    await asyncio.to_thread(run_on, loop, note)
    await settle()
    assert [threading.get_ident()] * 2 == seen


async def test_a_thread_with_a_loop_of_its_own_is_elsewhere() -> None:
    loop = asyncio.get_running_loop()

    async def look() -> bool:
        return is_running(loop)

    assert is_running(loop)
    assert not await asyncio.to_thread(lambda: asyncio.run(look()))


def test_nothing_runs_on_a_closed_loop() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    seen: list[int] = []

    run_on(loop, lambda: seen.append(1))

    assert [] == seen
