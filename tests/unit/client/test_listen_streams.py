"""Listen streams as the client holds them: what a server may send on one, and how it ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from suaveplan_mcp.client import listen_streams
from suaveplan_mcp.client.listen_streams import RESULT_GRACE, ChangeNotice, ListenStream
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.types.meta import SUBSCRIPTION_ID_KEY
from suaveplan_mcp.types.subscriptions import SubscriptionFilter
from tests.unit.client.listening_peers import (
    ACKNOWLEDGED,
    CANCELLED,
    LISTEN,
    PROMPTS,
    RESOURCES,
    TOOLS,
    UPDATED,
    Listener,
    listener,
    wanted_in,
)
from tests.unit.client.peers import connected


@asynccontextmanager
async def streaming(honoured: Any = None, **wanted: Any) -> AsyncGenerator[tuple[Listener, ListenStream, Any]]:
    """Give an open stream and its id."""
    async with listener() as at:
        stream = at.client.listen(**wanted)
        request = await at.acknowledged(stream.open(), honoured)
        yield at, stream, request.id
        await stream.close()


async def rest_of(stream: ListenStream) -> list[str]:
    """Return what is left, by URI or method; the server ends the stream."""
    return [notice.uri or notice.method async for notice in stream]


# Opening


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_entering_waits_for_the_acknowledgement() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True, prompts=True, resources=True, uris=["a:1", "a:2", "a:1"])
        opening = asyncio.create_task(stream.__aenter__())
        request = await at.peer.expect_request(LISTEN)
        await at.settle()
        early = opening.done()
        promised = {"toolsListChanged": True, "resourceSubscriptions": ["a:2"]}
        at.tell(request.id, ACKNOWLEDGED, notifications=promised)

        assert stream is await opening
        everything = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        assert {**everything, "resourceSubscriptions": ["a:1", "a:2"]} == wanted_in(request)
        assert (False, request.id) == (early, stream.id)
        assert SubscriptionFilter(tools_list_changed=True, resource_subscriptions=["a:2"]) == stream.honoured


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_more_than_was_asked_for_is_not_taken_for_promised() -> None:
    async with listener() as at:
        stream = at.client.listen(uris=["a:1"])
        more = {"promptsListChanged": True, "resourceSubscriptions": ["a:2", "a:1"]}
        await at.acknowledged(stream.open(), more)

        assert SubscriptionFilter(resource_subscriptions=["a:1"]) == stream.honoured


async def test_meta_goes_out_with_the_request() -> None:
    async with listener() as at:
        request = await at.acknowledged(at.client.listen(tools=True, meta={"a": 1}).open())

        assert isinstance(request.params, dict)
        meta = request.params["_meta"]
        assert isinstance(meta, dict)
        assert 1 == meta["a"]


@pytest.mark.parametrize("wanted", [{}, {"uris": []}, {"uris": "a:1"}, {"uris": [1]}])
async def test_to_listen_for_nothing_or_nonsense_is_refused_at_once(wanted: Any) -> None:
    async with listener() as at:
        with pytest.raises(MCPError) as caught:
            at.client.listen(**wanted)

        assert MCP_CODES.INVALID_PARAMS == caught.value.code


async def test_a_client_that_is_not_connected_cannot_listen() -> None:
    with pytest.raises(MCPError, match="not connected"):
        MCPClient().listen(tools=True)


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_in_the_handshake_era_there_is_no_listening() -> None:
    async with connected() as (client, peer):
        with pytest.raises(MCPError, match="subscriptions/listen in revision 2025-11-25") as caught:
            await client.listen(tools=True).open()

        assert MCP_CODES.METHOD_NOT_FOUND == caught.value.code
        assert 2 == len(peer.seen)


async def test_a_stream_is_opened_once() -> None:
    async with streaming(tools=True) as (_, stream, _):
        with pytest.raises(MCPError, match="opened once"):
            await stream.open()

        assert stream.ongoing


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_what_the_server_answers_is_raised_on_entering() -> None:
    async with listener() as at:
        opening = asyncio.create_task(at.client.listen(tools=True).open())
        request = await at.peer.expect_request(LISTEN)
        at.peer.fail(request.id, -32603, "too many subscriptions")

        with pytest.raises(MCPError, match="too many subscriptions"):
            await opening


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
@pytest.mark.parametrize(("own", "limit"), [({}, 7.0), ({"timeout": 3}, 3.0)])
async def test_a_server_that_never_acknowledges_is_given_up(own: Any, limit: float) -> None:
    async with listener(timeout=7) as at:
        stream = at.client.listen(tools=True, **own)
        opening = asyncio.create_task(stream.open())
        request = await at.peer.expect_request(LISTEN)
        await at.clock.advance_async(limit - 0.1)
        early = opening.done()
        await at.clock.advance_async(0.1)

        with pytest.raises(MCPError, match=f"no acknowledgement .* within {limit:g} s") as caught:
            await opening
        assert (False, MCP_CODES.TIMEOUT, False) == (early, caught.value.code, stream.ongoing)
        cancelled = await at.peer.expect_notification(CANCELLED)
        assert isinstance(cancelled.params, dict)
        assert request.id == cancelled.params["requestId"]


async def test_without_a_timeout_the_acknowledgement_may_take_for_ever() -> None:
    async with listener(timeout=7) as at:
        stream = at.client.listen(tools=True, timeout=None)
        opening = asyncio.create_task(stream.open())
        await at.clock.advance_async(1e6)
        await at.acknowledge()
        await opening

        assert stream.ongoing


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_a_stream_that_ends_unacknowledged_breaks_the_rules() -> None:
    async with listener() as at:
        opening = asyncio.create_task(at.client.listen(tools=True).open())
        request = await at.peer.expect_request(LISTEN)
        at.end(request.id, "no room")

        with pytest.raises(MCPProtocolError, match=r"ended \(no room\) before it was acknowledged"):
            await opening


async def test_one_that_gives_up_entering_leaves_nothing_behind() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        opening = asyncio.create_task(stream.open())
        request = await at.peer.expect_request(LISTEN)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await at.peer.expect_notification(CANCELLED)
        at.tell(request.id, ACKNOWLEDGED, notifications={"toolsListChanged": True})
        await at.settle()

        assert (False, []) == (stream.ongoing, at.faults)


async def test_an_acknowledgement_that_comes_as_entering_is_given_up_is_no_fault() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        opening = asyncio.create_task(stream.open())
        request = await at.peer.expect_request(LISTEN)
        opening.cancel()
        at.tell(request.id, ACKNOWLEDGED, notifications={"toolsListChanged": True})
        with pytest.raises(asyncio.CancelledError):
            await opening

        assert (False, [], SubscriptionFilter()) == (stream.ongoing, at.faults, stream.honoured)


async def test_leaving_while_another_task_enters_tells_it_so() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        opening = asyncio.create_task(stream.open())
        await at.peer.expect_request(LISTEN)
        await stream.close()

        with pytest.raises(MCPProtocolError, match="was left before it was acknowledged"):
            await opening


async def test_what_cannot_be_sent_is_raised_on_entering() -> None:
    ids = count()
    async with listener(id_generator=lambda: 0 if next(ids) else 1) as at:
        first = at.client.listen(tools=True)
        await at.acknowledged(first.open())

        with pytest.raises(MCPProtocolError, match="still in flight"):
            await at.client.listen(tools=True).open()
        assert first.ongoing


async def test_a_stream_knows_what_it_was_promised_as_long_as_it_is_open() -> None:
    promised = {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]}
    async with streaming(promised, tools=True, prompts=True, uris=["a:1"]) as (_, stream, _):
        changes = [(TOOLS, None), (PROMPTS, None), (UPDATED, "a:1/below"), (UPDATED, "a:2")]
        before = [stream.promises(*change) for change in changes]
        await stream.close()

        assert ([True, False, True, False], False) == (before, stream.promises(TOOLS, None))


# Notices


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_notices_come_in_order_and_a_burst_is_told_once() -> None:
    async with streaming(tools=True, prompts=True, resources=True, uris=["a:1"]) as (at, stream, id_):
        for method in (PROMPTS, TOOLS, PROMPTS, RESOURCES, TOOLS):
            at.tell(id_, method)
        for uri in ("a:1", "a:1/below", "a:1"):
            at.tell(id_, UPDATED, uri=uri)
        at.end(id_)

        assert [PROMPTS, TOOLS, RESOURCES, "a:1", "a:1/below"] == await rest_of(stream)
        assert [] == at.faults


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_change_after_its_notice_was_read_is_told_again() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        waiting = asyncio.create_task(anext(stream))
        await at.settle()
        at.tell(id_, TOOLS)
        first = await waiting
        at.tell(id_, TOOLS)

        assert [ChangeNotice(TOOLS), ChangeNotice(TOOLS)] == [first, await anext(stream)]


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_reader_that_is_slow_hears_of_what_lies_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_streams, "MAX_DUE", 2)
    async with streaming(uris=["a:1"]) as (at, stream, id_):
        for number in range(9):
            at.tell(id_, UPDATED, uri=f"a:1/{number}")
        at.end(id_)

        assert ["a:1/0", "a:1/1", "a:1"] == await rest_of(stream)


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_ids_of_different_types_are_different_subscriptions() -> None:
    ids = iter([0, 1, "1"])
    async with listener(id_generator=lambda: next(ids)) as at:
        first, second = at.client.listen(tools=True), at.client.listen(tools=True)
        await at.acknowledged(first.open())
        await at.acknowledged(second.open())
        at.tell("1", TOOLS)
        at.end("1", "second")
        at.end(1, "first")

        assert ([], [TOOLS]) == (await rest_of(first), await rest_of(second))
        assert ("first", "second") == (first.ended, second.ended)


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
@pytest.mark.parametrize(
    ("method", "meta", "params", "fault"),
    [
        (TOOLS, {SUBSCRIPTION_ID_KEY: "1"}, {}, "for subscription '1' is ignored: there is no such stream"),
        (TOOLS, {SUBSCRIPTION_ID_KEY: True}, {}, "no such stream"),
        (TOOLS, {SUBSCRIPTION_ID_KEY: 1.0}, {}, "no such stream"),
        (TOOLS, {SUBSCRIPTION_ID_KEY: [1]}, {}, "no such stream"),
        (TOOLS, None, {}, "for subscription None is ignored"),
        (PROMPTS, {SUBSCRIPTION_ID_KEY: 1}, {}, "it was not asked for, or not promised"),
        (RESOURCES, {SUBSCRIPTION_ID_KEY: 1}, {}, "it was not asked for, or not promised"),
        (UPDATED, {SUBSCRIPTION_ID_KEY: 1}, {"uri": "a:12"}, "it was not asked for, or not promised"),
        (ACKNOWLEDGED, {SUBSCRIPTION_ID_KEY: 1}, {"notifications": {}}, "it was acknowledged before"),
        (CANCELLED, {SUBSCRIPTION_ID_KEY: 1}, {"requestId": "1"}, "it is about the request '1'"),
        (CANCELLED, None, {"requestId": "x"}, "no such stream"),
    ],
)
async def test_what_does_not_belong_on_a_stream_is_reported_and_dropped(
    method: str, meta: Any, params: Any, fault: str
) -> None:
    promised = {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]}
    async with streaming(promised, tools=True, prompts=True, uris=["a:1"]) as (at, stream, id_):
        at.peer.notify(method, {**({} if meta is None else {"_meta": meta}), **params})
        await at.settle()
        (reported,) = at.faults
        at.end(id_)

        assert [] == await rest_of(stream)
        assert f"{method} for subscription" in reported
        assert fault in reported


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_notice_before_the_acknowledgement_is_reported_and_dropped() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        opening = asyncio.create_task(stream.open())
        request = await at.peer.expect_request(LISTEN)
        at.tell(request.id, TOOLS)
        at.tell(request.id, ACKNOWLEDGED, notifications={"toolsListChanged": True})
        await opening
        at.end(request.id)

        assert [] == await rest_of(stream)
        assert ["before the acknowledgement" in fault for fault in at.faults] == [True]


async def test_what_was_on_its_way_when_a_stream_was_left_is_no_fault() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        await stream.close()
        at.tell(id_, TOOLS)
        at.tell(id_, CANCELLED, requestId=id_)
        await at.settle()

        assert ([], []) == (await rest_of(stream), at.faults)


async def test_no_more_streams_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_streams, "_MAX_LEFT", 1)
    async with streaming(tools=True) as (at, first, id_):
        await first.close()
        await at.peer.expect_notification(CANCELLED)
        second = at.client.listen(tools=True)
        await at.acknowledged(second.open())
        await second.close()
        at.tell(id_, TOOLS)
        await at.settle()

        assert ["there is no such stream" in fault for fault in at.faults] == [True]


async def test_those_who_listen_to_notifications_hear_them_too() -> None:
    async with streaming(tools=True) as (at, _, id_):
        heard: list[object] = []
        at.client.on_notification(TOOLS, heard.append)
        at.tell(id_, TOOLS)
        await at.settle()

        assert 1 == len(heard)


async def test_on_a_stream_of_the_clients_own_nothing_is_kept_for_a_reader() -> None:
    async with listener() as at:
        streams = at.client.listen(tools=True)._streams
        stream = streams.listen(SubscriptionFilter(tools_list_changed=True), own=True)
        request = await at.acknowledged(stream.open())
        at.tell(request.id, TOOLS)
        at.end(request.id)

        assert ([], []) == (await rest_of(stream), at.faults)


async def test_a_change_on_a_stream_of_the_users_is_followed() -> None:
    async with listener({"tools": {"listChanged": True}}) as at:
        request = await at.acknowledged(at.client.listen(tools=True).open())
        at.tell(request.id, TOOLS)
        listing = await at.peer.expect_request("tools/list")
        at.peer.respond(listing.id, {"tools": [{"name": "new", "inputSchema": {"type": "object"}}]})
        await at.settle()

        assert (["new"], ["tools"]) == ([tool.name for tool in at.client.tools()], at.events)


# The end


@pytest.mark.parametrize(("reason", "expected"), [("enough", "enough"), (None, "the server ended the stream")])
async def test_an_end_in_order_ends_the_loop_and_says_why(reason: str | None, expected: str) -> None:
    async with streaming(tools=True) as (at, stream, id_):
        before = stream.ended
        at.tell(id_, TOOLS)
        at.end(id_, reason)

        assert [TOOLS] == await rest_of(stream)
        assert (None, expected, None, False) == (before, stream.ended, stream.failure, stream.ongoing)
        assert [] == await rest_of(stream)


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_the_result_alone_is_an_end_in_order() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        at.peer.respond(id_, {"resultType": "complete"})

        assert [] == await rest_of(stream)
        assert "the server ended the stream" == stream.ended


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_a_server_that_only_says_that_it_ends_a_stream_is_believed() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        at.peer.notify(CANCELLED, {"requestId": id_, "reason": "enough"})
        at.tell(id_, CANCELLED, requestId=id_, reason="again")
        at.tell(id_, TOOLS)
        await at.clock.advance_async(RESULT_GRACE)

        assert [] == await rest_of(stream)
        assert "enough" == stream.ended
        assert ["after the end" in fault for fault in at.faults] == [True]


async def test_a_connection_that_closes_after_the_server_ended_the_stream_is_no_loss() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        at.tell(id_, CANCELLED, requestId=id_, reason="enough")
        await at.peer.transport.close()

        assert [] == await rest_of(stream)
        assert "enough" == stream.ended


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_a_lost_connection_is_raised_after_what_came_before() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        at.tell(id_, TOOLS)
        await at.settle()
        await at.peer.transport.close()
        first = await anext(stream)

        for _ in range(2):
            with pytest.raises(MCPTransportError):
                await anext(stream)
        assert (TOOLS, None) == (first.method, stream.ended)


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_an_error_after_the_acknowledgement_is_raised() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        waiting = asyncio.create_task(anext(stream))
        await at.settle()
        at.peer.fail(id_, -32603, "the disk is full")

        with pytest.raises(MCPError, match="the disk is full"):
            await waiting


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_leaving_cancels_and_ends_the_loop() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        entering = asyncio.create_task(stream.__aenter__())
        request = await at.acknowledge()
        await entering
        reading = asyncio.create_task(rest_of(stream))
        await at.settle()
        await stream.__aexit__(None, None, None)
        await stream.close()

        cancelled = await at.peer.expect_notification(CANCELLED)
        assert isinstance(cancelled.params, dict)
        assert ([], request.id, None) == (await reading, cancelled.params["requestId"], stream.ended)


async def test_a_stream_that_was_never_opened_can_be_left_but_not_read() -> None:
    async with listener() as at:
        stream = at.client.listen(tools=True)
        await stream.close()
        with pytest.raises(MCPError, match="the stream is not open"):
            await anext(stream)

        assert 1 == len(at.peer.seen)


async def test_whoever_wants_to_know_of_the_end_is_called_once_even_when_it_is_over() -> None:
    async with streaming(tools=True) as (at, stream, id_):
        called: list[str] = []
        stream.call_at_end(lambda: called.append("at the end"))
        at.end(id_)
        await at.settle()
        stream.call_at_end(lambda: called.append("afterwards"))
        await at.settle()

        assert ["at the end", "afterwards"] == called


async def test_a_stream_of_a_connection_that_was_opened_again_keeps_its_id() -> None:
    async with streaming(tools=True) as (_, stream, id_):
        streams = stream._streams
        successor = streams.listen(stream.asked)
        streams.add(id_, successor)
        await stream.close()

        assert successor is streams._find(id_)
        streams.discard(id_, successor)
