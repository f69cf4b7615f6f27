"""Opening and closing a client."""

import asyncio

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import ConnectionClosed, ConnectionOpened
from suaveplan_mcp.jsonrpc.messages import Notification, Request
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST_HANDSHAKE
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.peers import EVERYTHING, answer, connected, open_client, record_faults, settle

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")


def _methods(peer: ScriptedPeer) -> list[str]:
    return [message.method for message in peer.seen if isinstance(message, Request | Notification)]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_connect_performs_the_handshake() -> None:
    client = MCPClient("host", "9", prefetch=False)

    peer, request = await open_client(client)

    assert ["initialize", "notifications/initialized"] == _methods(peer)
    assert {
        "protocolVersion": LATEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": "host", "version": "9"},
    } == request.params
    assert client.initialized
    await client.disconnect()


async def test_what_the_server_says_of_itself_can_be_read() -> None:
    client = MCPClient(prefetch=False)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    result = {
        "protocolVersion": HANDSHAKE_REVISIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
        "instructions": "be gentle",
    }
    await answer(peer, "initialize", result)
    await connecting

    assert HANDSHAKE_REVISIONS[0] == client.protocol_version
    assert client.server_info is not None
    assert "s" == client.server_info.name
    assert client.server_capabilities is not None
    assert client.server_capabilities.tools is not None
    assert "be gentle" == client.instructions
    await client.disconnect()


async def test_before_connecting_nothing_is_known() -> None:
    client = MCPClient()

    assert not client.initialized
    assert [None] * 4 == [
        client.protocol_version,
        client.server_info,
        client.server_capabilities,
        client.instructions,
    ]
    assert [[]] * 5 == [
        client.tools(),
        client.resources(),
        client.resource_templates(),
        client.prompts(),
        client.roots(),
    ]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_methods_before_connect_raise_not_initialized() -> None:
    client = MCPClient()

    with pytest.raises(MCPError) as called:
        await client.call_tool("echo")
    with pytest.raises(MCPError) as refreshed:
        await client.refresh_tools()
    with pytest.raises(MCPError) as notified:
        await client.send_roots_list_changed()

    assert [MCP_CODES.NOT_INITIALIZED] * 3 == [e.value.code for e in (called, refreshed, notified)]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_second_connect_raises_already_connected_and_leaves_its_transport_alone() -> None:
    async with connected() as (client, _):
        second, _ = InMemoryTransport.pair()

        with pytest.raises(MCPError) as raised:
            await client.connect(second)

        assert MCP_CODES.ALREADY_CONNECTED == raised.value.code
        assert not second.closed
        assert client.initialized


async def test_a_connect_while_another_one_runs_raises_already_connected() -> None:
    client = MCPClient(prefetch=False)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    first = asyncio.create_task(client.connect(near))
    await peer.expect_request("initialize")

    with pytest.raises(MCPError) as raised:
        await client.connect(InMemoryTransport.pair()[0])

    assert MCP_CODES.ALREADY_CONNECTED == raised.value.code
    first.cancel()
    await asyncio.wait([first])


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_revision_that_is_not_accepted_closes_the_transport() -> None:
    client = MCPClient(accepted_versions=[LATEST_HANDSHAKE])
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    await answer(
        peer,
        "initialize",
        {"protocolVersion": HANDSHAKE_REVISIONS[0], "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    )

    with pytest.raises(MCPError) as raised:
        await connecting

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert near.closed
    assert not client.initialized


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_a_malformed_initialize_result_raises_protocol_invalid() -> None:
    client = MCPClient()
    near, far = InMemoryTransport.pair()
    connecting = asyncio.create_task(client.connect(near))
    await answer(ScriptedPeer(far), "initialize", {"protocolVersion": LATEST_HANDSHAKE})

    with pytest.raises(MCPError, match="the result of initialize is malformed") as raised:
        await connecting

    assert MCP_CODES.PROTOCOL_INVALID == raised.value.code
    assert near.closed


async def test_a_silent_server_ends_connecting_in_a_timeout() -> None:
    time = FakeClock()
    client = MCPClient(timeout=5.0, clock=time, timers=time)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    await time.advance_async(5.0)

    with pytest.raises(MCPError, match="no answer to initialize within 5 s") as raised:
        await connecting

    assert MCP_CODES.TIMEOUT == raised.value.code
    assert near.closed
    assert ["initialize"] == _methods(peer)


async def test_a_client_that_failed_to_connect_connects_again() -> None:
    client = MCPClient(prefetch=False)
    near, far = InMemoryTransport.pair()
    await far.close()
    with pytest.raises(MCPTransportError):
        await client.connect(near)

    await open_client(client)

    assert client.initialized
    await client.disconnect()


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_connecting_fills_the_lists_the_server_declares() -> None:
    client = MCPClient()
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    await peer.handshake(capabilities=EVERYTHING)
    await answer(peer, "tools/list", {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
    await answer(peer, "resources/list", {"resources": [{"uri": "mem://r", "name": "r"}]})
    await answer(peer, "resources/templates/list", {"resourceTemplates": [{"uriTemplate": "mem://{x}", "name": "x"}]})
    await answer(peer, "prompts/list", {"prompts": [{"name": "p"}]})
    await answer(peer, "roots/list", {"roots": [{"uri": "file:///root"}]})
    await connecting

    assert ["t"] == [tool.name for tool in client.tools()]
    assert ["mem://r"] == [resource.uri for resource in client.resources()]
    assert ["mem://{x}"] == [template.uri_template for template in client.resource_templates()]
    assert ["p"] == [prompt.name for prompt in client.prompts()]
    assert ["file:///root"] == [root.uri for root in client.roots()]
    await client.disconnect()
    assert [] == client.tools()


async def test_connecting_asks_for_nothing_that_is_not_declared() -> None:
    client = MCPClient()

    peer, _ = await open_client(client)

    assert ["initialize", "notifications/initialized"] == _methods(peer)
    await client.disconnect()


async def test_a_list_that_fails_while_connecting_stays_empty_and_is_reported() -> None:
    client = MCPClient()
    faults = record_faults(client)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    await peer.handshake(capabilities={"tools": {}, "prompts": {}})
    peer.fail((await peer.expect_request("tools/list")).id, -32603, "out of order")
    await answer(peer, "prompts/list", {"prompts": [{"name": "p"}]})
    await connecting

    assert ["tools/list failed: out of order"] == [fault.fault for fault in faults]
    assert ([], 1) == (client.tools(), len(client.prompts()))
    await client.disconnect()


async def test_a_server_that_goes_away_while_lists_are_filled_fails_the_connect() -> None:
    client = MCPClient()
    faults = record_faults(client)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    await peer.handshake(capabilities={"tools": {}})
    await peer.expect_request("tools/list")
    await far.close()

    with pytest.raises(MCPTransportError) as raised:
        await connecting

    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    assert [] == faults
    assert not client.initialized


@pytest.mark.parametrize("listing", [False, True])
async def test_disconnecting_gives_up_a_connect_that_runs(*, listing: bool) -> None:
    client = MCPClient()
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    if listing:
        await peer.handshake(capabilities={"tools": {}})
        await peer.expect_request("tools/list")
    else:
        await peer.expect_request("initialize")

    await client.disconnect()

    with pytest.raises(MCPTransportError):
        await connecting
    assert near.closed


@pytest.mark.parametrize("listing", [False, True])
async def test_a_cancelled_connect_closes_the_transport_and_says_why(*, listing: bool) -> None:
    client = MCPClient()
    closed: list[ConnectionClosed] = []
    client.events.on("connection:closed", closed.append)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    if listing:
        await peer.handshake(capabilities={"tools": {}})
        await peer.expect_request("tools/list")
    else:
        await peer.expect_request("initialize")

    connecting.cancel()
    await asyncio.wait([connecting])

    assert connecting.cancelled()
    assert near.closed
    assert ["connecting was given up"] == [event.reason for event in closed]
    # An opening request must not be cancelled; any other one is.
    assert listing == ("notifications/cancelled" in _methods(peer))


@pytest.mark.requirement("every-branch-is-reached")
async def test_disconnecting_before_and_after_does_nothing_more() -> None:
    client = MCPClient(prefetch=False)
    await client.disconnect()
    await open_client(client)

    await client.disconnect()
    await client.disconnect()

    assert not client.initialized


async def test_a_client_connects_again_after_disconnecting() -> None:
    client = MCPClient(prefetch=False)
    await open_client(client)
    await client.disconnect()

    peer, _ = await open_client(client)

    assert client.initialized
    assert ["initialize", "notifications/initialized"] == _methods(peer)
    await client.disconnect()


async def test_a_client_connects_again_after_the_server_went_away() -> None:
    client = MCPClient(prefetch=False)
    peer, _ = await open_client(client)
    await peer.transport.close()
    with pytest.raises(MCPTransportError):
        await client.ping()

    await open_client(client)

    assert client.initialized
    await client.disconnect()


async def test_the_block_disconnects_in_whichever_task_it_ends() -> None:
    client = MCPClient(prefetch=False)
    opened: list[ScriptedPeer] = []

    async def enter() -> None:
        await client.__aenter__()
        peer, _ = await open_client(client)
        opened.append(peer)

    await asyncio.create_task(enter())
    await asyncio.create_task(client.__aexit__(None, None, None))

    assert opened[0].transport.closed


@pytest.mark.requirement(
    "a-client-shakes-hands-and-calls-every-method",
    "every-branch-is-reached",
    "lifecycle-events-go-over-one-bus",
)
@requirement
async def test_connecting_and_disconnecting_with_a_reason_are_told_as_events() -> None:
    client = MCPClient(prefetch=False)
    opened: list[ConnectionOpened] = []
    closed: list[ConnectionClosed] = []
    client.events.on("connection:opened", opened.append)
    client.events.on("connection:closed", closed.append)
    await open_client(client)

    await client.disconnect("done for today")

    assert ["client"] == [event.side for event in opened]
    assert [("client", opened[0].dispatcher_id, "done for today")] == [
        (event.side, event.dispatcher_id, event.reason) for event in closed
    ]


async def test_requests_in_flight_fail_when_the_client_disconnects() -> None:
    async with connected() as (client, peer):
        call = asyncio.create_task(client.call_tool("slow"))
        await peer.expect_request("tools/call")

        await client.disconnect()

        with pytest.raises(MCPTransportError):
            await call


@pytest.mark.requirement(
    "a-client-shakes-hands-and-calls-every-method",
    "every-branch-is-reached",
    "universal-code-stays-pure",
)
@requirement
async def test_clock_timers_and_ids_are_injected() -> None:
    time = FakeClock(100.0)
    names = iter(["first", "second"])
    client = MCPClient(prefetch=False, clock=time, timers=time, id_generator=lambda: next(names))
    peer, request = await open_client(client)

    pinging = asyncio.create_task(client.ping())
    ping = await peer.expect_request("ping")

    assert ("first", "second") == (request.id, ping.id)
    assert [160.0] == [timer.due for timer in time.pending]
    peer.respond(ping.id, {})
    await pinging
    await client.disconnect()


async def test_ids_count_from_zero() -> None:
    client = MCPClient(prefetch=False)
    peer, request = await open_client(client)
    pinging = asyncio.create_task(client.ping())
    ping = await answer(peer, "ping", {})
    await pinging

    assert (0, 1) == (request.id, ping.id)
    await client.disconnect()


async def test_log_messages_reach_the_hook_and_other_notifications_their_listeners() -> None:
    logged: list[object] = []
    completed: list[object] = []
    client = MCPClient(prefetch=False, on_log=lambda params: logged.append(params.data))
    stop = client.on_notification("notifications/elicitation/complete", completed.append)
    async with connected(client) as (_, peer):
        peer.notify("notifications/message", {"level": "info", "data": {"a": 1}})
        peer.notify("notifications/elicitation/complete", {"elicitationId": "7"})
        stop()
        peer.notify("notifications/elicitation/complete", {"elicitationId": "8"})
        await settle()

    assert [{"a": 1}] == logged
    assert 1 == len(completed)


async def test_an_unknown_notification_disturbs_nobody() -> None:
    async with connected() as (client, peer):
        peer.notify("codex/event", {"msg": {}})
        await settle()

        assert client.initialized
