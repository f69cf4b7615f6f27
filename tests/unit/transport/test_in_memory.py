"""Two ends in one process."""

import asyncio

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message, Notification, Request, Response
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport

ONE, TWO = Notification("one"), Notification("two")


@pytest.mark.requirement("transports-share-one-interface")
def test_both_ends_are_transports() -> None:
    near, far = InMemoryTransport.pair()

    assert near is not far
    assert isinstance(near, Transport)
    assert isinstance(far, Transport)


@pytest.mark.requirement("transports-share-one-interface")
async def test_round_trips_a_message_between_paired_transports() -> None:
    near, far = InMemoryTransport.pair()
    at_near, at_far = list[Message](), list[Message]()
    near.on_message(at_near.append)
    far.on_message(at_far.append)
    await near.send(ONE)
    await far.send(TWO)

    assert ([TWO], [ONE]) == (at_near, at_far)


def test_the_very_object_is_handled_before_post_returns() -> None:
    near, far = InMemoryTransport.pair()
    got, request = list[Message](), Request(1, "echo", {"a": [1]})
    far.on_message(got.append)
    near.post(request)

    assert request is got[0]


def test_an_answer_posted_by_a_handler_is_there_when_post_returns() -> None:
    near, far = InMemoryTransport.pair()
    answers = list[Message]()
    far.on_message(lambda message: far.post(Response(message.id, {})))
    near.on_message(answers.append)
    near.post(Request(1, "ping"))

    assert [Response(1, {})] == answers


def test_a_long_exchange_does_not_grow_the_stack() -> None:
    near, far = InMemoryTransport.pair()
    rounds = 0

    def count(message: Message) -> None:
        nonlocal rounds
        rounds += 1
        if rounds < 100_000:
            near.post(message)

    far.on_message(far.post)
    near.on_message(count)
    near.post(ONE)

    assert 100_000 == rounds


async def test_messages_posted_before_anybody_listens_wait() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    near.post(ONE)
    near.post(TWO)
    far.on_message(got.append)
    await asyncio.sleep(0)

    assert [ONE, TWO] == got


@pytest.mark.parametrize("delivery", [Delivery(headers={"a": "b"}), Delivery(principal="alice"), Delivery(principal=0)])
async def test_headers_and_principal_cross_over(delivery: Delivery) -> None:
    near, far = InMemoryTransport.pair()
    got = list[object]()
    far.on_message(lambda *arguments: got.append(arguments))
    near.post(ONE, delivery=delivery)
    await near.send(TWO, delivery=delivery)

    assert [(ONE, delivery), (TWO, delivery)] == got


def test_a_related_request_alone_is_no_delivery_since_there_is_one_stream() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    far.on_message(got.append)
    near.post(ONE, delivery=Delivery(related_request=1))

    assert [ONE] == got


@pytest.mark.requirement("transports-share-one-interface")
async def test_raises_transport_closed_after_close() -> None:
    near, far = InMemoryTransport.pair()
    await near.close()
    for end in (near, far):
        with pytest.raises(MCPTransportError) as raised:
            await end.send(ONE)
        assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
        with pytest.raises(MCPTransportError) as raised:
            end.post(ONE)
        assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


async def test_closing_one_end_closes_the_other_in_order() -> None:
    near, far = InMemoryTransport.pair()
    told = list[str]()
    near.on_close(lambda: told.append("near"))
    far.on_close(lambda: told.append("far"))
    await near.close()
    await near.close()
    await far.close()

    assert ["near", "far"] == told
    assert near.closed
    assert far.closed
    assert (None, None) == (near.failure, far.failure)


async def test_what_was_posted_before_the_close_is_delivered_before_the_end() -> None:
    near, far = InMemoryTransport.pair()
    seen = list[object]()
    far.on_close(lambda: seen.append("closed"))
    near.post(ONE)
    await near.close()
    assert not far.closed
    far.on_message(seen.append)
    await asyncio.sleep(0)

    assert [ONE, "closed"] == seen


async def test_the_end_that_closes_gets_nothing_more() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    far.post(ONE)
    near.on_message(got.append)
    await near.close()
    await asyncio.sleep(0)

    assert [] == got


async def test_an_end_may_be_closed_while_messages_wait_at_it_and_its_peer_has_gone() -> None:
    near, far = InMemoryTransport.pair()
    near.post(ONE)
    await near.close()
    await far.close()

    assert far.closed


async def test_a_dict_with_the_members_of_a_message_arrives_as_one() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    far.on_message(got.append)
    near.post({"jsonrpc": "2.0", "method": "one"})  # pyright: ignore[reportArgumentType]
    await near.send({"jsonrpc": "2.0", "method": "two"})  # pyright: ignore[reportArgumentType]

    assert [ONE, TWO] == got


async def test_what_is_no_message_is_refused_where_it_is_sent() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    far.on_message(got.append)

    with pytest.raises(MCPProtocolError, match="str is no message"):
        await near.send("one")  # pyright: ignore[reportArgumentType]
    assert [] == got
