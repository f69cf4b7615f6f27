"""The other side, played by hand."""

import asyncio

import pytest
from msgspec import Raw

from suaveplan_mcp.errors import MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    JsonObject,
    Message,
    Notification,
    Request,
    Response,
)
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE, V2024_11_05
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport

INFO: JsonObject = {"name": "scripted-peer", "version": "1"}


def scripted(deadline: float = 5.0) -> tuple[InMemoryTransport, ScriptedPeer]:
    near, far = InMemoryTransport.pair()
    return near, ScriptedPeer(far, deadline=deadline)


async def test_messages_are_received_in_order_as_plain_json() -> None:
    near, peer = scripted()
    near.post(Request(1, "one", Raw(b'{"a":1}')), delivery=Delivery(principal="alice"))
    near.post(Notification("two"))

    assert Request(1, "one", {"a": 1}) == await peer.receive()
    assert Notification("two") == await peer.receive()
    assert [Request(1, "one", {"a": 1}), Notification("two")] == peer.seen


async def test_receive_waits_for_a_message() -> None:
    near, peer = scripted()
    receiving = asyncio.create_task(peer.receive())
    await asyncio.sleep(0)
    near.post(Notification("one"))

    assert Notification("one") == await receiving


async def test_receive_fails_after_the_deadline_and_tells_what_was_seen() -> None:
    near, peer = scripted(deadline=0.0)
    with pytest.raises(AssertionError, match=r"no message within 0\.0 s; seen so far: nothing"):
        await peer.receive()
    near.post(Notification("one"))
    await peer.receive()
    with pytest.raises(AssertionError, match="method='one'"):
        await peer.receive()


async def test_receive_fails_when_the_transport_closes() -> None:
    near, peer = scripted()
    near.post(Notification("one"))
    receiving = asyncio.create_task(peer.receive())
    await receiving
    receiving = asyncio.create_task(peer.receive())
    await asyncio.sleep(0)
    await near.close()

    with pytest.raises(AssertionError, match="closed before"):
        await receiving


async def test_what_arrived_before_the_close_can_still_be_read() -> None:
    near, peer = scripted()
    near.post(Notification("one"))
    await near.close()

    assert Notification("one") == await peer.receive()


async def test_expectations_return_the_message_that_meets_them() -> None:
    near, peer = scripted()
    messages = [Request(1, "one"), Notification("two"), Response(3, {}), ErrorResponse("4", ErrorObject(-1, "no"))]
    for message in messages:
        near.post(message)

    assert messages == [
        await peer.expect_request("one"),
        await peer.expect_notification("two"),
        await peer.expect_response(3),
        await peer.expect_response("4"),
    ]


@pytest.mark.parametrize("message", [Notification("other"), Request(2, "other"), Response(2, {})])
async def test_expectations_fail_at_another_message_and_show_it(message: Message) -> None:
    near, peer = scripted()
    for _ in range(3):
        near.post(message)
    for expectation in (peer.expect_request("one"), peer.expect_notification("one"), peer.expect_response(1)):
        with pytest.raises(AssertionError, match="expected .*, not " + type(message).__name__):
            await expectation


async def test_expect_close_waits_for_the_end() -> None:
    near, peer = scripted()
    waiting = asyncio.create_task(peer.expect_close())
    await asyncio.sleep(0)
    near.post(Notification("one"))
    await asyncio.sleep(0)
    await near.close()
    await waiting

    assert peer.transport.closed


async def test_expect_close_fails_after_the_deadline() -> None:
    _, peer = scripted(deadline=0.0)
    with pytest.raises(AssertionError, match="still open"):
        await peer.expect_close()


async def test_everything_that_can_be_sent_arrives() -> None:
    near, peer = scripted()
    got = list[Message]()
    near.on_message(got.append)
    peer.request(1, "one", {"a": 1})
    peer.notify("two")
    peer.respond(3, None)
    peer.fail(None, -32700, "broken")
    peer.fail(4, -1, "no", None)
    peer.send_raw(Batch((Notification("five"),)))

    assert [
        Request(1, "one", {"a": 1}),
        Notification("two"),
        Response(3, None),
        ErrorResponse(None, ErrorObject(-32700, "broken")),
        ErrorResponse(4, ErrorObject(-1, "no", None)),
        Batch((Notification("five"),)),
    ] == got


async def test_handshake_plays_the_server() -> None:
    near, peer = scripted()
    got = list[Message]()

    def play_the_client(message: Message) -> None:
        got.append(message)
        near.post(Notification("notifications/initialized"))

    near.on_message(play_the_client)
    near.post(Request(0, "initialize", {"protocolVersion": LATEST_HANDSHAKE}))
    request = await peer.handshake(revision=V2024_11_05, capabilities={"tools": {}})

    result: JsonObject = {"protocolVersion": V2024_11_05, "capabilities": {"tools": {}}, "serverInfo": INFO}
    assert Request(0, "initialize", {"protocolVersion": LATEST_HANDSHAKE}) == request
    assert [Response(0, result)] == got


async def test_initialize_plays_the_client() -> None:
    near, peer = scripted()
    got = list[Message]()

    def play_the_server(message: Message) -> None:
        got.append(message)
        if isinstance(message, Request):
            near.post(Response(message.id, {"protocolVersion": LATEST_HANDSHAKE}))

    near.on_message(play_the_server)
    answer = await peer.initialize()

    params: JsonObject = {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
    assert Response("initialize", {"protocolVersion": LATEST_HANDSHAKE}) == answer
    assert [Request("initialize", "initialize", params), Notification("notifications/initialized")] == got


async def test_initialize_stops_where_it_is_refused() -> None:
    near, peer = scripted()
    got = list[Message]()

    def refuse(message: Message) -> None:
        got.append(message)
        near.post(ErrorResponse(7, ErrorObject(-32602, "unsupported")))

    near.on_message(refuse)
    answer = await peer.initialize(id=7, capabilities={"roots": {}})

    assert isinstance(answer, ErrorResponse)
    assert 1 == len(got)


async def test_a_transport_that_cannot_post_is_refused() -> None:
    class SendOnly(InMemoryTransport):
        post = None  # pyright: ignore[reportAssignmentType]

    with pytest.raises(TypeError, match="post"):
        ScriptedPeer(SendOnly())


async def test_a_dict_with_the_members_of_a_message_is_sent_as_one() -> None:
    near, peer = scripted()
    got = list[Message]()
    near.on_message(got.append)
    peer.send_raw({"jsonrpc": "2.0", "method": "two"})  # pyright: ignore[reportArgumentType]

    assert [Notification("two")] == got
    with pytest.raises(MCPProtocolError, match="no message"):
        peer.send_raw("two")  # pyright: ignore[reportArgumentType]
