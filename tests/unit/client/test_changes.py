"""Following what the server says has changed."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.peers import TOOLS, answer, connected, exchange, record_faults, settle

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")


def _contents(text: str) -> Any:
    return {"contents": [{"uri": "mem://x", "text": text}]}


def _updates(client: MCPClient) -> list[str]:
    seen: list[str] = []
    client.events.on("resource:updated", lambda event: seen.append(event.uri))
    return seen


def _list_changes(client: MCPClient) -> list[str]:
    seen: list[str] = []
    client.events.on("list:changed", lambda event: seen.append(event.kind))
    return seen


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_subscribed_resource_that_changes_is_read_again_then_told() -> None:
    async with connected() as (client, peer):
        updates = _updates(client)
        await exchange(peer, "resources/subscribe", client.subscribe_resource("mem://x"), {})
        before = client.updated_resource("mem://x")

        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        request = await peer.expect_request("resources/read")
        early = list(updates)
        peer.respond(request.id, _contents("new"))
        await settle()

        after = client.updated_resource("mem://x")
        assert (None, [], ["mem://x"]) == (before, early, updates)
        assert after is not None
        assert "new" == after.contents[0].text


async def test_a_resource_below_a_subscribed_one_is_read_but_not_kept() -> None:
    async with connected() as (client, peer):
        updates = _updates(client)
        await exchange(peer, "resources/subscribe", client.subscribe_resource("mem://x"), {})

        peer.notify("notifications/resources/updated", {"uri": "mem://x/below"})
        await answer(peer, "resources/read", _contents("new"))
        await settle()

        assert ["mem://x/below"] == updates
        assert None is client.updated_resource("mem://x/below")


async def test_an_update_nobody_subscribed_to_is_ignored() -> None:
    async with connected() as (client, peer):
        updates = _updates(client)
        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        await settle()

        assert ([], 2) == (updates, len(peer.seen))


async def test_after_unsubscribing_updates_are_ignored_and_the_contents_forgotten() -> None:
    async with connected() as (client, peer):
        await exchange(peer, "resources/subscribe", client.subscribe_resource("mem://x"), {})
        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        await answer(peer, "resources/read", _contents("new"))
        await settle()
        updates = _updates(client)

        request, _ = await exchange(peer, "resources/unsubscribe", client.unsubscribe_resource("mem://x"), {})
        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        await settle()

        assert {"uri": "mem://x"} == request.params
        assert ([], None) == (updates, client.updated_resource("mem://x"))


async def test_a_subscription_that_fails_is_none() -> None:
    async with connected() as (client, peer):
        subscribing = asyncio.create_task(client.subscribe_resource("mem://x"))
        peer.fail((await peer.expect_request("resources/subscribe")).id, -32603, "no")
        with pytest.raises(MCPError, match="no"):
            await subscribing
        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        await settle()

        assert 3 == len(peer.seen)


async def test_a_server_that_does_not_let_subscribe_is_not_asked() -> None:
    async with connected(capabilities={"resources": {}}) as (client, _):
        with pytest.raises(MCPError, match=r"capability resources\.subscribe"):
            await client.subscribe_resource("mem://x")
        with pytest.raises(MCPError, match=r"capability resources\.subscribe"):
            await client.unsubscribe_resource("mem://x")


async def test_an_update_before_the_answer_to_the_subscription_counts() -> None:
    async with connected() as (client, peer):
        updates = _updates(client)
        subscribing = asyncio.create_task(client.subscribe_resource("mem://x"))
        request = await peer.expect_request("resources/subscribe")
        peer.notify("notifications/resources/updated", {"uri": "mem://x"})
        peer.respond(request.id, {})
        await answer(peer, "resources/read", _contents("new"))
        await subscribing
        await settle()

        assert ["mem://x"] == updates


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_a_change_that_cannot_be_followed_is_swallowed_and_reported() -> None:
    async with connected() as (client, peer):
        faults, changes = record_faults(client), _list_changes(client)
        peer.notify("notifications/tools/list_changed")
        peer.fail((await peer.expect_request("tools/list")).id, -32603, "out of order")
        await settle()

        assert ["the change of tools could not be followed: out of order"] == [fault.fault for fault in faults]
        assert [] == changes
        assert client.initialized


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_a_changed_list_is_listed_again_then_told() -> None:
    async with connected() as (client, peer):
        changes = _list_changes(client)
        peer.notify("notifications/tools/list_changed")
        await answer(peer, "tools/list", {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
        peer.notify("notifications/prompts/list_changed")
        await answer(peer, "prompts/list", {"prompts": [{"name": "p"}]})
        peer.notify("notifications/resources/list_changed")
        await answer(peer, "resources/list", {"resources": [{"uri": "mem://x", "name": "x"}]})
        await answer(peer, "resources/templates/list", {"resourceTemplates": [{"uriTemplate": "y", "name": "y"}]})
        await settle()

        assert ["tools", "prompts", "resources"] == changes
        assert ("t", "p", "x", "y") == (
            client.tools()[0].name,
            client.prompts()[0].name,
            client.resources()[0].name,
            client.resource_templates()[0].name,
        )


async def test_a_burst_of_changes_takes_one_round_more() -> None:
    async with connected(capabilities=TOOLS) as (client, peer):
        changes = _list_changes(client)
        for _ in range(50):
            peer.notify("notifications/tools/list_changed")
        for _ in range(2):
            await answer(peer, "tools/list", {"tools": []})
        await settle()

        assert (4, ["tools", "tools"]) == (len(peer.seen), changes)
        peer.notify("notifications/tools/list_changed")
        await answer(peer, "tools/list", {"tools": []})


async def test_notices_before_the_connection_is_open_are_ignored() -> None:
    client = MCPClient(prefetch=False)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    connecting = asyncio.create_task(client.connect(near))
    request = await peer.expect_request("initialize")
    peer.respond(
        request.id,
        {"protocolVersion": LATEST_HANDSHAKE, "capabilities": TOOLS, "serverInfo": {"name": "s", "version": "1"}},
    )
    peer.notify("notifications/tools/list_changed")
    peer.notify("notifications/resources/updated", {"uri": "mem://x"})
    await connecting
    await settle()

    assert 2 == len(peer.seen)
    await client.disconnect()
