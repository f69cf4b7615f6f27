"""What crosses the seam between a client and its transport: the frames themselves, which no caller sees."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import INVALID_PARAMS, MCP_CODES, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, Notification, Request, Response
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import RecordingTransport, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.e2e.wires import connected, in_memory, methods

INVALID_PARAMS_MESSAGE = "Invalid request parameters"


def _server() -> MCPServer:
    server = MCPServer("wire")

    @server.tool
    def echo() -> str:
        return "ok"

    return server


async def _raw_peer(server: MCPServer) -> ScriptedPeer:
    near, far = InMemoryTransport.pair()
    await server.start(near)
    peer = ScriptedPeer(far)
    await peer.initialize(id=0)
    return peer


async def test_request_ids_are_unique_and_count_from_zero() -> None:
    async with connected(_server(), client := MCPClient(prefetch=False), in_memory) as wire:
        await client.list_tools()
        await client.call_tool("echo", {})
        await client.call_tool("echo", {})
        await client.ping()

    # initialize, tools/list, tools/call twice, ping
    assert [0, 1, 2, 3, 4] == [message.id for message in wire.sent if isinstance(message, Request)]


async def test_whatever_the_server_sends_answers_a_request() -> None:
    client = MCPClient(prefetch=False)
    client.set_roots_provider(list)
    async with connected(_server(), client, in_memory) as wire:
        await client.send_roots_list_changed()
        await client.ping()

    requests = [message.id for message in wire.sent if isinstance(message, Request)]
    notifications = [message.method for message in wire.sent if isinstance(message, Notification)]
    assert ["notifications/initialized", "notifications/roots/list_changed"] == notifications
    assert requests == [message.id for message in wire.received if isinstance(message, Response)]
    assert len(requests) == len(wire.received)


async def test_the_record_of_a_transport_passes_on_its_end() -> None:
    near, far = InMemoryTransport.pair()
    recording, closed = RecordingTransport(near), asyncio.Event()
    recording.on_message(lambda _: None)
    recording.on_close(closed.set)

    await far.close()
    await closed.wait()

    assert ([], [], True) == (recording.sent, recording.received, recording.closed)


async def test_initialized_is_sent_once_between_the_handshake_and_the_first_request() -> None:
    async with connected(_server(), client := MCPClient(prefetch=False), in_memory) as wire:
        await client.list_tools()

    assert ["initialize", "notifications/initialized", "tools/list"] == methods(wire.sent)


async def test_prefetching_lists_what_the_server_declares_and_nothing_else() -> None:
    async with connected(_server(), MCPClient(), in_memory) as wire:
        pass

    assert ["initialize", "notifications/initialized"] == methods(wire.sent)[:2]
    assert {"tools/list", "resources/list", "resources/templates/list", "prompts/list"} == set(methods(wire.sent)[2:])


async def test_the_end_of_the_stream_fails_what_is_in_flight() -> None:
    server, started = MCPServer(), asyncio.Event()

    @server.tool
    async def block() -> None:
        started.set()
        await asyncio.Event().wait()

    near, far = InMemoryTransport.pair()
    await server.start(far)
    client = MCPClient(prefetch=False)
    await client.connect(near)
    calls = [asyncio.create_task(client.call_tool("block")) for _ in range(2)]
    await started.wait()
    await far.close()

    for call in calls:
        with pytest.raises(MCPTransportError, match="closed before tools/call was answered") as caught:
            await call
        assert MCP_CODES.TRANSPORT_CLOSED == caught.value.code
    await client.disconnect()
    await server.stop()


async def test_lists_say_how_long_they_may_be_kept_and_by_whom() -> None:
    async with connected(_server(), client := MCPClient(prefetch=False), in_memory) as wire:
        await client.list_tools()

    request = next(m for m in wire.sent if isinstance(m, Request) and m.method == "tools/list")
    result: Any = next(m.result for m in wire.received if isinstance(m, Response) and m.id == request.id)
    assert (0, "public") == (result["ttlMs"], result["cacheScope"])


async def test_malformed_params_are_answered_with_invalid_params() -> None:
    server = _server()
    peer = await _raw_peer(server)

    peer.request(1, "tools/call", {"name": 42})
    answer = await peer.expect_response(1)

    assert isinstance(answer, ErrorResponse)
    assert (INVALID_PARAMS, INVALID_PARAMS_MESSAGE) == (answer.error.code, answer.error.message)
    await server.stop()


async def test_a_log_level_that_does_not_exist_is_answered_with_invalid_params() -> None:
    server = _server()
    peer = await _raw_peer(server)

    peer.request(1, "logging/setLevel", {"level": "loud"})
    answer = await peer.expect_response(1)

    assert isinstance(answer, ErrorResponse)
    assert (INVALID_PARAMS, INVALID_PARAMS_MESSAGE) == (answer.error.code, answer.error.message)
    await server.stop()
