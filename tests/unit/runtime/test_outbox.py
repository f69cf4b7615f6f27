"""Messages leave in order, whether or not the transport can take them without waiting."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message, Notification
from suaveplan_mcp.runtime.outbox import Outbox, as_sending_error
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.runtime.pairs import SendOnly, turns

NEWS = [Notification("news", number) for number in range(4)]

place: ContextVar[str] = ContextVar("place", default="none")


def send_only() -> tuple[SendOnly, list[object]]:
    """Return a transport that can only `send`, and what arrives at the other end."""
    near, far = InMemoryTransport.pair()
    arrived: list[object] = []
    far.on_message(arrived.append)
    return SendOnly(near), arrived


def unexpected(error: MCPError) -> None:
    raise AssertionError(error)


async def test_a_transport_with_post_takes_messages_at_once() -> None:
    near, far = InMemoryTransport.pair()
    arrived: list[object] = []
    far.on_message(arrived.append)
    outbox = Outbox(near, copy_context())

    outbox.post(NEWS[0], None, unexpected)
    await outbox.send(NEWS[1], Delivery(related_request=1))

    assert (NEWS[:2], None) == (arrived, outbox.sender)


async def test_a_transport_that_can_only_send_gets_them_in_order_from_one_task() -> None:
    transport, arrived = send_only()
    outbox = Outbox(transport, copy_context())
    transport.gate.clear()

    outbox.post(NEWS[0], None, unexpected)
    outbox.post(NEWS[1], None, unexpected)
    sending = asyncio.create_task(outbox.send(NEWS[2], None))
    await turns()
    assert [] == arrived
    assert not sending.done()
    transport.gate.set()
    await sending

    assert (NEWS[:3], None) == (arrived, outbox.sender)


async def test_a_failed_message_is_told_and_the_next_one_is_sent() -> None:
    transport, arrived = send_only()
    outbox, failures = Outbox(transport, copy_context()), list[MCPError]()
    transport.error = OSError("disk full")
    outbox.post(NEWS[0], None, failures.append)
    await turns()
    transport.error = None
    outbox.post(NEWS[1], None, unexpected)
    await turns()

    assert [MCP_CODES.TRANSPORT_ERROR] == [failure.code for failure in failures]
    assert "the transport could not send: OSError('disk full')" == failures[0].message
    assert [NEWS[1]] == arrived


async def test_whoever_waits_for_a_failed_message_hears_of_it() -> None:
    transport, _ = send_only()
    transport.error = MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "closed")

    with pytest.raises(MCPTransportError, match="^closed$"):
        await Outbox(transport, copy_context()).send(NEWS[0], None)


@pytest.mark.parametrize("kind", ["send", "post"])
async def test_a_transport_with_post_that_fails_is_told_too(kind: str) -> None:
    near, _ = InMemoryTransport.pair()
    outbox, failures = Outbox(near, copy_context()), list[MCPError]()
    await near.close()

    if kind == "post":
        outbox.post(NEWS[0], None, failures.append)
    else:
        with pytest.raises(MCPTransportError) as caught:
            await outbox.send(NEWS[0], None)
        failures.append(caught.value)

    assert [MCP_CODES.TRANSPORT_CLOSED] == [failure.code for failure in failures]


async def test_whoever_gave_up_waiting_disturbs_nobody() -> None:
    transport, arrived = send_only()
    outbox = Outbox(transport, copy_context())
    transport.gate.clear()
    waiting = [asyncio.create_task(outbox.send(message, None)) for message in NEWS[:2]]
    await turns()
    waiting[0].cancel()
    await turns()
    transport.gate.set()
    await waiting[1]

    assert (NEWS[:2], True) == (arrived, waiting[0].cancelled())


async def test_nobody_waits_for_ever_when_the_sending_task_is_cancelled() -> None:
    transport, arrived = send_only()
    outbox, failures = Outbox(transport, copy_context()), list[MCPError]()
    transport.gate.clear()
    for message in NEWS[:3]:
        outbox.post(message, None, failures.append)
    await turns()
    sender: Any = outbox.sender
    sender.cancel()
    await turns()

    assert [MCP_CODES.TRANSPORT_ERROR] * 3 == [failure.code for failure in failures]
    assert ([], None) == (arrived, outbox.sender)
    transport.gate.set()
    await outbox.send(NEWS[3], None)
    assert [NEWS[3]] == arrived


async def test_the_context_of_whoever_sends_first_is_not_lent_to_the_others() -> None:
    seen: list[str] = []

    class Looking(SendOnly):
        async def send(self, message: Any, *, delivery: Delivery | None = None) -> None:
            seen.append(place.get())

    near, _ = InMemoryTransport.pair()
    outbox = Outbox(Looking(near), copy_context())
    place.set("of the first sender")
    outbox.post(NEWS[0], None, unexpected)
    await turns()

    assert ["none"] == seen


def test_errors_that_say_enough_pass_as_they_are() -> None:
    for error in (
        MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "closed"),
        MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, "no JSON"),
    ):
        assert error is as_sending_error(error)


def test_any_other_error_becomes_the_cause_of_a_transport_error() -> None:
    cause = ValueError("odd")
    error = as_sending_error(cause)

    assert (MCPTransportError, cause) == (type(error), error.cause)
    assert isinstance(as_sending_error(MCPError(MCP_CODES.NOT_FOUND, "odd")), MCPTransportError)


async def test_a_connection_that_is_over_says_why() -> None:
    near, _ = InMemoryTransport.pair()
    outbox = Outbox(near, copy_context())
    outbox.require_open()
    outbox.open = False

    with pytest.raises(MCPTransportError, match="^the connection is closed$"):
        outbox.require_open()
    near.failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "the pipe broke")
    with pytest.raises(MCPTransportError, match="^the connection is closed: the pipe broke$") as caught:
        outbox.require_open()
    assert near.failure is caught.value.cause


class _OwnWays(InMemoryTransport):
    """A transport on which each message goes its own way."""

    post = None  # pyright: ignore[reportAssignmentType]  what it does not have

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Message] = []
        self.failed: list[Callable[[MCPError], object]] = []

    def begin(self, message: Message, *, delivery: Delivery | None, failed: Callable[[MCPError], object]) -> None:
        self.begun.append(message)
        self.failed.append(failed)

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        self.begun.append(message)


async def test_where_each_message_goes_its_own_way_it_begins_at_once_and_fails_alone() -> None:
    transport, failures = _OwnWays(), list[MCPError]()
    outbox = Outbox(transport, copy_context())

    outbox.post(NEWS[0], None, failures.append)
    outbox.post(NEWS[1], None, unexpected)
    await outbox.send(NEWS[2], None)
    transport.failed[0](OSError("no way"))  # pyright: ignore[reportArgumentType]  a transport may be anybody's

    assert outbox.has_ways
    assert (NEWS[:3], None) == (transport.begun, outbox.sender)
    assert [MCP_CODES.TRANSPORT_ERROR] == [failure.code for failure in failures]
