"""The one stream by which a client of the stateless era keeps itself up to date."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.client.listening import FIRST_DELAY, FIRST_PATIENCE, GOOD_AFTER, LONGEST_DELAY, MAX_REFUSALS
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Request
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.listening_peers import (
    CANCELLED,
    LISTEN,
    TOOLS,
    UPDATED,
    Listener,
    listener,
    wanted_in,
)

LISTS: JsonObject = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": False, "subscribe": True},
}


async def follow(at: Listener, uri: str, honoured: Any = None) -> Request:
    """Subscribe to a resource; return the request that asks to listen."""
    return await at.acknowledged(at.client.subscribe_resource(uri), honoured)


async def answer_read(at: Listener, text: str) -> None:
    """Answer the next message, which reads a resource."""
    reading = await at.peer.expect_request("resources/read")
    contents: Any = [{"uri": "a:1", "text": text}]
    at.peer.respond(reading.id, {"contents": contents, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
    await at.settle()


def listens(at: Listener) -> list[Any]:
    """Return what was asked for on every stream so far."""
    requests = [message for message in at.peer.seen if isinstance(message, Request)]
    return [wanted_in(request) for request in requests if request.method == LISTEN]


async def expect_cancelled(at: Listener, request: Request) -> None:
    cancelled = await at.peer.expect_notification(CANCELLED)
    assert isinstance(cancelled.params, dict)
    assert request.id == cancelled.params["requestId"]


# What is wanted


async def test_a_resource_that_is_followed_is_read_again_then_told() -> None:
    async with listener() as at:
        request = await follow(at, "a:1")
        at.tell(request.id, UPDATED, uri="a:1")
        await answer_read(at, "new")

        contents = at.client.updated_resource("a:1")
        assert contents is not None
        assert ({"resourceSubscriptions": ["a:1"]}, "new", ["a:1"]) == (
            wanted_in(request),
            contents.contents[0].text,
            at.events,
        )


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_the_last_stream_is_left_when_the_next_one_is_there() -> None:
    async with listener() as at:
        first = await follow(at, "a:1")
        subscribing = asyncio.create_task(at.client.subscribe_resource("a:2"))
        second = await at.peer.expect_request(LISTEN)
        at.tell(first.id, UPDATED, uri="a:1")
        await answer_read(at, "meanwhile")
        at.tell(second.id, "notifications/subscriptions/acknowledged", notifications=wanted_in(second))
        await expect_cancelled(at, first)
        await subscribing

        assert ({"resourceSubscriptions": ["a:1", "a:2"]}, ["a:1"]) == (wanted_in(second), at.events)


async def test_what_was_asked_for_meanwhile_needs_one_more_stream() -> None:
    async with listener() as at:
        subscribing = [asyncio.create_task(at.client.subscribe_resource("a:0"))]
        first = await at.peer.expect_request(LISTEN)
        subscribing += [asyncio.create_task(at.client.subscribe_resource(f"a:{number}")) for number in range(1, 9)]
        await at.settle()
        at.tell(first.id, "notifications/subscriptions/acknowledged", notifications=wanted_in(first))
        await at.acknowledge()
        await asyncio.gather(*subscribing)

        assert [1, 9] == [len(wanted["resourceSubscriptions"]) for wanted in listens(at)]


async def test_following_again_asks_nothing() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        await at.client.subscribe_resource("a:1")

        assert 1 == len(listens(at))


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_resource_that_the_server_leaves_out_cannot_be_followed() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        with pytest.raises(MCPError, match="does not tell of changes of 'a:2'") as caught:
            await follow(at, "a:2", {"resourceSubscriptions": ["a:1"]})
        await at.peer.expect_notification(CANCELLED)
        present = [message.id for message in at.peer.seen if isinstance(message, Request)][-1]
        at.tell(present, UPDATED, uri="a:2")
        await at.settle()

        assert (MCP_CODES.NOT_FOUND, "a:2") == (caught.value.code, caught.value.context["uri"])
        assert ["not promised" in fault for fault in at.faults] == [True]
        await follow(at, "a:3")
        assert {"resourceSubscriptions": ["a:1", "a:3"]} == listens(at)[-1]


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_what_was_followed_stays_so_when_following_more_fails() -> None:
    async with listener() as at:
        first = await follow(at, "a:1")
        subscribing = asyncio.create_task(at.client.subscribe_resource("a:2"))
        second = await at.peer.expect_request(LISTEN)
        at.peer.fail(second.id, -32603, "too many")
        with pytest.raises(MCPError, match="too many"):
            await subscribing
        at.tell(first.id, UPDATED, uri="a:1")
        await answer_read(at, "new")

        assert ["a:1"] == at.events


async def test_what_is_followed_already_stays_so_when_following_it_again_fails() -> None:
    async with listener() as at:
        first = await follow(at, "a:1")
        at.peer.fail(first.id, -32603, "oops")
        await at.settle()
        subscribing = asyncio.create_task(at.client.subscribe_resource("a:1", timeout=0.5))
        await at.clock.advance_async(0.5)
        with pytest.raises(MCPError, match="within 0.5 s"):
            await subscribing
        await at.clock.advance_async(FIRST_DELAY)

        assert [{"resourceSubscriptions": ["a:1"]}] * 3 == listens(at)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_server_that_tells_of_no_resources_is_not_asked() -> None:
    async with listener({"resources": {"listChanged": True}}) as at:
        with pytest.raises(MCPError, match=r"did not declare the capability resources\.subscribe") as caught:
            await at.client.subscribe_resource("a:1")

        assert (MCP_CODES.METHOD_NOT_FOUND, []) == (caught.value.code, listens(at))


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_without_anything_to_follow_there_is_no_stream() -> None:
    async with listener() as at:
        request = await follow(at, "a:1")
        await at.client.unsubscribe_resource("a:1")
        await expect_cancelled(at, request)
        await at.client.unsubscribe_resource("a:1")
        at.tell(request.id, UPDATED, uri="a:1")
        await at.clock.advance_async(LONGEST_DELAY)

        assert (1, [], []) == (len(listens(at)), at.events, at.faults)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_what_is_left_is_no_longer_asked_for() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        await follow(at, "a:2")
        await at.peer.expect_notification(CANCELLED)
        await at.acknowledged(at.client.unsubscribe_resource("a:1"))

        assert {"resourceSubscriptions": ["a:2"]} == listens(at)[-1]


async def test_a_stream_that_cannot_be_made_smaller_stays_as_it_is() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        second = await follow(at, "a:2")
        await at.peer.expect_notification(CANCELLED)
        leaving = asyncio.create_task(at.client.unsubscribe_resource("a:1"))
        third = await at.peer.expect_request(LISTEN)
        at.peer.fail(third.id, -32603, "too many")
        await leaving
        at.tell(second.id, UPDATED, uri="a:1")
        at.tell(second.id, UPDATED, uri="a:2")
        await answer_read(at, "new")

        assert (["a:2"], 1) == (at.events, len(at.faults))
        assert "could not be opened anew: too many" in at.faults[0]


# The lists


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_client_that_prefetches_listens_to_the_lists_before_it_lists_them() -> None:
    at = Listener(prefetch=True)
    connecting = asyncio.create_task(at.connect(LISTS))
    request = await at.acknowledge()
    for method, attribute in (
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ):
        listing = await at.peer.expect_request(method)
        at.peer.respond(listing.id, {attribute: [], "ttlMs": 0, "cacheScope": "private"})
    await connecting
    at.tell(request.id, TOOLS)
    listing = await at.peer.expect_request("tools/list")
    at.peer.respond(listing.id, {"tools": [{"name": "new", "inputSchema": {"type": "object"}}]})
    await at.settle()

    assert {"toolsListChanged": True, "promptsListChanged": True} == wanted_in(request)
    assert (["new"], ["tools"]) == ([tool.name for tool in at.client.tools()], at.events)
    await at.client.disconnect()


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_client_that_prefetches_nothing_does_not_listen_by_itself() -> None:
    async with listener(LISTS) as at:
        await at.settle()

        assert [] == listens(at)


async def test_a_server_that_refuses_to_tell_of_lists_is_reported_and_asked_again() -> None:
    at = Listener(prefetch=True)
    connecting = asyncio.create_task(at.connect({"extensions": {}, "tools": {"listChanged": True}}))
    request = await at.peer.expect_request(LISTEN)
    at.peer.fail(request.id, -32603, "not now")
    listing = await at.peer.expect_request("tools/list")
    at.peer.respond(listing.id, {"tools": []})
    await connecting
    await at.clock.advance_async(FIRST_DELAY)
    await at.acknowledge({})
    await at.settle()

    assert "could not be opened: not now" in at.faults[0]
    assert "brings only" in at.faults[1]
    await at.client.disconnect()


@pytest.mark.parametrize(("limit", "seconds"), [(60, FIRST_PATIENCE), (None, FIRST_PATIENCE), (1, 1)])
async def test_a_server_that_does_not_acknowledge_delays_connecting_only_a_little(limit: Any, seconds: float) -> None:
    at = Listener(prefetch=True, timeout=limit, total_timeout=None)
    connecting = asyncio.create_task(at.connect({"tools": {"listChanged": True}}))
    await at.settle()
    await at.clock.advance_async(seconds)
    await at.peer.expect_request(LISTEN)
    await at.peer.expect_notification(CANCELLED)
    listing = await at.peer.expect_request("tools/list")
    at.peer.respond(listing.id, {"tools": []})
    await connecting

    assert "no acknowledgement" in at.faults[0]
    await at.client.disconnect()


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_change_told_on_two_streams_is_followed_once() -> None:
    async with listener() as at:
        own = await follow(at, "a:1")
        theirs = await at.acknowledged(at.client.listen(uris=["a:1", "a:2"]).open())
        at.tell(theirs.id, UPDATED, uri="a:1")
        await at.settle()
        before = len(at.peer.seen)
        at.tell(own.id, UPDATED, uri="a:1")
        await answer_read(at, "new")

        assert (before + 1, ["a:1"]) == (len(at.peer.seen), at.events)


# Loss


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_stream_that_is_lost_is_opened_again_and_what_was_missed_is_learned() -> None:
    async with listener() as at:
        first = await follow(at, "a:1")
        at.ways.cut(first)
        await at.clock.advance_async(FIRST_DELAY - 0.1)
        early = len(listens(at))
        await at.clock.advance_async(0.1)
        second = await at.acknowledge()
        await answer_read(at, "missed")
        at.tell(second.id, UPDATED, uri="a:1")
        await answer_read(at, "new")

        assert (1, {"resourceSubscriptions": ["a:1"]}, ["a:1", "a:1"]) == (early, wanted_in(second), at.events)
        assert ["was lost: the answer breaks off" in fault for fault in at.faults] == [True]


async def test_lists_that_may_have_changed_are_listed_again() -> None:
    at = Listener(prefetch=True)
    connecting = asyncio.create_task(at.connect({"tools": {"listChanged": True}}))
    first = await at.acknowledge()
    listing = await at.peer.expect_request("tools/list")
    at.peer.respond(listing.id, {"tools": []})
    await connecting
    at.ways.cut(first)
    await at.clock.advance_async(FIRST_DELAY)
    await at.acknowledge()
    listing = await at.peer.expect_request("tools/list")
    at.peer.respond(listing.id, {"tools": []})
    await at.settle()

    assert ["tools"] == at.events
    await at.client.disconnect()


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_between_attempts_there_is_more_and_more_time_but_never_too_much() -> None:
    async with listener(timeout=None, total_timeout=None) as at:
        lost = await follow(at, "a:1")
        waits: list[float] = []
        for _ in range(9):
            at.ways.cut(lost)
            await at.settle()
            waits.append(at.clock.pending[0].due - at.clock.now)
            await at.clock.advance_async(waits[-1])
            lost = await at.peer.expect_request(LISTEN)

        assert [1, 2, 4, 8, 16, 32, 60, 60, 60] == waits


async def test_a_stream_that_has_lasted_begins_afresh() -> None:
    async with listener() as at:
        at.ways.cut(await follow(at, "a:1"))
        for _ in range(2):
            await at.clock.advance_async(FIRST_DELAY)
            request = await at.acknowledge()
            await answer_read(at, "new")
            await at.clock.advance_async(GOOD_AFTER)
            at.ways.cut(request)

        assert 3 == len(listens(at))


async def test_what_is_followed_meanwhile_needs_no_further_attempt() -> None:
    async with listener() as at:
        at.ways.cut(await follow(at, "a:1"))
        await at.settle()
        await follow(at, "a:2")
        for _ in range(2):
            reading = await at.peer.expect_request("resources/read")
            at.peer.fail(reading.id, -32603, "oops")
        await at.clock.advance_async(LONGEST_DELAY)

        assert 2 == len(listens(at))


async def test_what_is_left_meanwhile_is_not_opened_again() -> None:
    async with listener() as at:
        at.ways.cut(await follow(at, "a:1"))
        await at.settle()
        await at.client.unsubscribe_resource("a:1")
        await at.clock.advance_async(LONGEST_DELAY)

        assert 1 == len(listens(at))


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_server_that_ends_the_stream_again_and_again_is_left_alone() -> None:
    async with listener() as at:
        request = await follow(at, "a:1")
        for _ in range(MAX_REFUSALS - 1):
            at.end(request.id, "not now")
            await at.clock.advance_async(LONGEST_DELAY - 1)
            request = await at.acknowledge()
            await answer_read(at, "new")
        quiet = list(at.faults)
        at.end(request.id, "not now")
        await at.clock.advance_async(1e6)

        assert (MAX_REFUSALS, [], 1) == (len(listens(at)), quiet, len(at.faults))
        assert "has ended (not now) 5 times and is not opened again" in at.faults[0]
        await follow(at, "a:2")
        assert {"resourceSubscriptions": ["a:1", "a:2"]} == listens(at)[-1]


async def test_a_stream_that_promised_nothing_is_not_opened_again() -> None:
    async with listener() as at:
        subscribing = asyncio.create_task(at.client.subscribe_resource("a:1"))
        request = await at.acknowledge({})
        at.end(request.id)
        with pytest.raises(MCPError, match="does not tell"):
            await subscribing
        await at.clock.advance_async(1e6)

        assert (1, []) == (len(listens(at)), at.faults)


# The end of the connection


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_disconnecting_ends_the_stream_and_every_attempt() -> None:
    async with listener() as at:
        tasks = asyncio.all_tasks()
        request = await follow(at, "a:1")
        await at.client.disconnect()
        await expect_cancelled(at, request)

        assert tasks == asyncio.all_tasks()


async def test_disconnecting_ends_an_attempt_that_waits() -> None:
    async with listener() as at:
        tasks = asyncio.all_tasks()
        at.ways.cut(await follow(at, "a:1"))
        await at.settle()
        await at.client.disconnect()

        assert (tasks, []) == (asyncio.all_tasks(), at.clock.pending)


async def test_a_connection_that_has_ended_is_asked_no_more() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        await at.peer.transport.close()
        await at.settle()

        assert ([], []) == (at.clock.pending, at.faults)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_server_that_was_started_again_is_listened_to_again() -> None:
    at = Listener()
    begun = asyncio.Event()

    async def reopen() -> Transport:
        await begun.wait()
        near, far = InMemoryTransport.pair()
        at.peer = ScriptedPeer(far)
        return near

    await asyncio.gather(at.client.connect(at.ways, reopen=reopen), at.discovered({"resources": {"subscribe": True}}))
    await follow(at, "a:1")
    await at.peer.transport.close()
    await at.settle()
    begun.set()
    await at.settle()
    await at.discovered({"resources": {"subscribe": True}})
    request = await at.acknowledge()
    await answer_read(at, "missed")
    at.tell(request.id, UPDATED, uri="a:1")
    await answer_read(at, "new")

    assert ({"resourceSubscriptions": ["a:1"]}, ["a:1", "a:1"]) == (wanted_in(request), at.events)
    await at.client.disconnect()


async def test_a_server_that_was_started_again_and_refuses_is_asked_again() -> None:
    at = Listener()

    async def reopen() -> Transport:
        near, far = InMemoryTransport.pair()
        at.peer = ScriptedPeer(far)
        return near

    await asyncio.gather(at.client.connect(at.ways, reopen=reopen), at.discovered({"resources": {"subscribe": True}}))
    await follow(at, "a:1")
    await at.peer.transport.close()
    await at.settle()
    await at.discovered({"resources": {"subscribe": True}})
    refused = await at.peer.expect_request(LISTEN)
    at.peer.fail(refused.id, -32603, "not now")
    await at.clock.advance_async(FIRST_DELAY)
    await at.acknowledge()
    await answer_read(at, "missed")

    assert ["a:1"] == at.events
    await at.client.disconnect()


async def test_a_server_that_was_started_again_is_not_listened_to_for_nothing() -> None:
    at = Listener()

    async def reopen() -> Transport:
        near, far = InMemoryTransport.pair()
        at.peer = ScriptedPeer(far)
        return near

    await asyncio.gather(at.client.connect(at.ways, reopen=reopen), at.discovered({"resources": {"subscribe": True}}))
    await at.peer.transport.close()
    await at.settle()
    await at.discovered({"resources": {"subscribe": True}})
    await at.settle()

    assert ([], True) == (listens(at), at.client.initialized)
    await at.client.disconnect()


async def test_for_a_client_that_has_left_meanwhile_nothing_is_restored() -> None:
    async with listener() as at:
        await follow(at, "a:1")
        connection = at.client._require_connection()
        await at.client.disconnect()
        await at.client._restore(connection)

        assert 1 == len(listens(at))
