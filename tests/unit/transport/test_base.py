"""The receiving half that all transports share."""

import asyncio
import logging

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message, Notification
from suaveplan_mcp.transport.base import Delivery, Transport, TransportBase, find_failure, find_post
from suaveplan_mcp.transport.in_memory import InMemoryTransport

ONE, TWO, THREE = Notification("one"), Notification("two"), Notification("three")


class Receiver(TransportBase):
    """The half under test, driven by hand."""

    def arrive(self, *messages: Message, delivery: Delivery | None = None) -> None:
        for message in messages:
            self._receive(message, delivery)

    def end(self) -> None:
        self._end()

    def finish(self) -> None:
        self._finish()

    def refusal(self) -> MCPTransportError:
        return self._refusal()


class SendOnly:
    """The least that is a transport."""

    closed = False

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None: ...

    def on_message(self, handler: object) -> object: ...

    def on_close(self, handler: object) -> object: ...

    async def close(self) -> None: ...


def test_a_message_reaches_every_handler_in_the_order_they_subscribed() -> None:
    receiver, got = Receiver(), list[tuple[str, Message]]()
    receiver.on_message(lambda message: got.append(("first", message)))
    receiver.on_message(lambda message: got.append(("second", message)))
    receiver.arrive(ONE)

    assert [("first", ONE), ("second", ONE)] == got


def test_a_handler_gets_the_delivery_only_where_there_is_one() -> None:
    receiver, got = Receiver(), list[object]()
    delivery = Delivery(related_request=7, headers={"a": "b"}, principal="alice")
    receiver.on_message(lambda *arguments: got.append(arguments))
    receiver.arrive(ONE)
    receiver.arrive(TWO, delivery=delivery)

    assert [(ONE,), (TWO, delivery)] == got


def test_a_delivery_knows_nothing_by_default() -> None:
    delivery = Delivery()

    assert (None, {}, None) == (delivery.related_request, dict(delivery.headers), delivery.principal)


async def test_messages_wait_for_the_first_handler_and_keep_their_order() -> None:
    receiver, got = Receiver(), list[Message]()
    receiver.arrive(ONE, TWO)
    receiver.on_message(got.append)
    receiver.arrive(THREE)
    # Whoever subscribes is not called back before it has finished what it is doing.
    assert [] == got
    await asyncio.sleep(0)

    assert [ONE, TWO, THREE] == got


async def test_a_delivery_waits_with_its_message() -> None:
    receiver, got = Receiver(), list[object]()
    receiver.arrive(ONE, delivery=Delivery(principal="alice"))
    receiver.on_message(lambda *arguments: got.append(arguments))
    await asyncio.sleep(0)

    assert [(ONE, Delivery(principal="alice"))] == got


def test_a_message_that_arrives_while_another_is_handled_waits_its_turn() -> None:
    receiver, got = Receiver(), list[Message]()

    def handle(message: Message) -> None:
        if message is ONE:
            receiver.arrive(TWO, THREE)
        got.append(message)

    receiver.on_message(handle)
    receiver.arrive(ONE)

    assert [ONE, TWO, THREE] == got


@pytest.mark.requirement("transports-share-one-interface")
def test_a_handler_that_was_taken_away_gets_nothing_more() -> None:
    receiver, first, second = Receiver(), list[Message](), list[Message]()
    unsubscribe = receiver.on_message(first.append)
    receiver.on_message(second.append)
    unsubscribe()
    receiver.arrive(ONE)

    assert ([], [ONE]) == (first, second)


def test_taking_a_handler_away_twice_leaves_its_twin() -> None:
    receiver, got = Receiver(), list[Message]()
    unsubscribe = receiver.on_message(got.append)
    receiver.on_message(got.append)
    unsubscribe()
    unsubscribe()
    receiver.arrive(ONE)

    assert [ONE] == got


async def test_a_handler_that_leaves_while_messages_wait_leaves_them_to_the_next_one() -> None:
    receiver, first, second = Receiver(), list[Message](), list[Message]()

    def take_one(message: Message) -> None:
        first.append(message)
        unsubscribe()

    receiver.arrive(ONE, TWO)
    unsubscribe = receiver.on_message(take_one)
    await asyncio.sleep(0)
    receiver.on_message(second.append)
    await asyncio.sleep(0)

    assert ([ONE], [TWO]) == (first, second)


def test_a_handler_that_is_replaced_while_it_runs_gets_no_more_and_its_successor_the_rest() -> None:
    receiver, second = Receiver(), list[Message]()

    def replace(_: Message) -> None:
        receiver.arrive(TWO)
        unsubscribe()
        receiver.on_message(second.append)

    unsubscribe = receiver.on_message(replace)
    receiver.arrive(ONE)

    assert [TWO] == second


def test_a_handler_that_raises_is_logged_in_one_line_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    receiver, got = Receiver(), list[Message]()

    def fail(message: Message) -> None:
        raise RuntimeError("broken handler")

    receiver.on_message(fail)
    receiver.on_message(got.append)
    receiver.arrive(ONE, TWO)

    assert [ONE, TWO] == got
    assert [("suaveplan_mcp.transport", logging.ERROR)] * 2 == [(entry[0], entry[1]) for entry in caplog.record_tuples]
    assert "RuntimeError('broken handler')" in caplog.messages[0]
    assert "\n" not in caplog.text.strip().split("\n", 1)[0]


def test_an_interrupt_passes_and_what_waits_is_handed_on_with_the_next_message() -> None:
    receiver, got = Receiver(), list[Message]()

    def interrupt(message: Message) -> None:
        got.append(message)
        if message is ONE:
            receiver.arrive(TWO)
            raise KeyboardInterrupt

    receiver.on_message(interrupt)
    with pytest.raises(KeyboardInterrupt):
        receiver.arrive(ONE)
    receiver.arrive(THREE)

    assert [ONE, TWO, THREE] == got


@pytest.mark.requirement("transports-share-one-interface")
def test_the_end_is_told_once_to_every_close_handler() -> None:
    receiver, told = Receiver(), list[str]()
    receiver.on_close(lambda: told.append("first"))
    receiver.on_close(lambda: told.append("second"))
    receiver.end()
    receiver.end()
    receiver.finish()

    assert ["first", "second"] == told
    assert receiver.closed


def test_the_end_comes_after_the_message_that_is_being_handled() -> None:
    receiver, seen = Receiver(), list[object]()

    def handle(message: Message) -> None:
        if message is ONE:
            receiver.arrive(TWO)
            receiver.end()
        seen.append((message, receiver.closed))

    receiver.on_message(handle)
    receiver.on_close(lambda: seen.append("closed"))
    receiver.on_message(seen.append)
    receiver.arrive(ONE)

    assert [(ONE, False), ONE, (TWO, False), TWO, "closed"] == seen


def test_the_end_alone_in_a_handler_is_told_after_it() -> None:
    receiver, seen = Receiver(), list[bool]()
    receiver.on_message(lambda _: (receiver.end(), seen.append(receiver.closed)))
    receiver.arrive(ONE)

    assert [False] == seen
    assert receiver.closed


async def test_the_end_waits_until_somebody_has_taken_what_arrived() -> None:
    receiver, got = Receiver(), list[Message]()
    receiver.arrive(ONE)
    receiver.end()
    assert not receiver.closed
    receiver.on_message(got.append)
    await asyncio.sleep(0)

    assert [ONE] == got
    assert receiver.closed


def test_nothing_is_delivered_after_the_close() -> None:
    receiver, got = Receiver(), list[Message]()
    receiver.on_message(got.append)
    receiver.finish()
    receiver.arrive(ONE)

    assert [] == got


def test_a_close_in_a_handler_drops_what_waits() -> None:
    receiver, got = Receiver(), list[Message]()

    def handle(message: Message) -> None:
        got.append(message)
        receiver.arrive(TWO)
        receiver.finish()

    receiver.on_message(handle)
    receiver.arrive(ONE)

    assert [ONE] == got


async def test_a_close_handler_that_comes_late_is_called_soon() -> None:
    receiver, told = Receiver(), list[str]()
    receiver.finish()
    receiver.on_close(lambda: told.append("late"))
    receiver.on_close(lambda: told.append("never"))()
    assert [] == told
    await asyncio.sleep(0)

    assert ["late"] == told


def test_a_close_handler_that_was_taken_away_is_not_called() -> None:
    receiver, told = Receiver(), list[str]()
    unsubscribe = receiver.on_close(lambda: told.append("first"))
    unsubscribe()
    unsubscribe()
    receiver.finish()

    assert [] == told


def test_handlers_may_be_taken_away_after_the_close() -> None:
    receiver = Receiver()
    unsubscribe = [receiver.on_message(print), receiver.on_close(lambda: None)]
    receiver.finish()
    for forget in unsubscribe:
        forget()

    assert receiver.closed


def test_a_close_handler_that_raises_does_not_keep_the_others_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    receiver, told = Receiver(), list[str]()

    def fail() -> None:
        raise RuntimeError("broken close handler")

    receiver.on_close(fail)
    receiver.on_close(lambda: told.append("second"))
    receiver.finish()

    assert ["second"] == told
    assert "broken close handler" in caplog.text


def test_a_refusal_names_the_failure_behind_it() -> None:
    receiver = Receiver()
    receiver.failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "broken")
    refusal = receiver.refusal()

    assert (MCP_CODES.TRANSPORT_CLOSED, receiver.failure) == (refusal.code, refusal.cause)
    assert "the transport is closed: broken" == refusal.message


def test_post_and_failure_are_found_where_a_transport_has_them() -> None:
    transport = InMemoryTransport()
    transport.failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "broken")

    assert transport.post == find_post(transport)
    assert transport.failure is find_failure(transport)


def test_post_and_failure_are_none_where_a_transport_lacks_them() -> None:
    transport = SendOnly()

    assert isinstance(transport, Transport)
    assert (None, None) == (find_post(transport), find_failure(transport))
