"""The transport that keeps a copy of what passes."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec import UNSET, Raw, Struct

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    JsonValue,
    Message,
    Notification,
    Request,
    Response,
)
from suaveplan_mcp.testing import RecordingTransport
from suaveplan_mcp.transport.base import (
    CloseHandler,
    Delivery,
    MessageHandler,
    Transport,
    Unsubscribe,
    find_begin,
    find_post,
)
from suaveplan_mcp.transport.in_memory import InMemoryTransport

ONE, TWO = Notification("one"), Notification("two")
BROKEN = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "unreachable")
# What the types do not promise and an encoder writes nevertheless.
LOOSE: JsonValue = {"a": Raw(b"null")}  # pyright: ignore[reportAssignmentType]


class Params(Struct, frozen=True, rename="camel"):
    tool_name: str


class SendOnly:
    """A transport without `post`, over one that has it."""

    def __init__(self, inner: InMemoryTransport) -> None:
        self.inner = inner

    @property
    def closed(self) -> bool:
        return self.inner.closed

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        await self.inner.send(message, delivery=delivery)

    def on_message(self, handler: MessageHandler) -> Unsubscribe:
        return self.inner.on_message(handler)

    def on_close(self, handler: CloseHandler) -> Unsubscribe:
        return self.inner.on_close(handler)

    async def close(self) -> None:
        await self.inner.close()


class Beginning(SendOnly):
    """A transport whose messages go their own way; each fails once it is told to."""

    def __init__(self, inner: InMemoryTransport, *, refuses: bool = False) -> None:
        super().__init__(inner)
        self.refuses = refuses
        self.begun: list[tuple[Message, Delivery | None, Callable[[MCPError], object]]] = []

    def begin(
        self, message: Message, *, delivery: Delivery | None = None, failed: Callable[[MCPError], object]
    ) -> None:
        if self.refuses:
            failed(BROKEN)
        self.begun.append((message, delivery, failed))


def recorded_pair() -> tuple[RecordingTransport, InMemoryTransport]:
    near, far = InMemoryTransport.pair()
    return RecordingTransport(near), far


def post(transport: Transport, message: Message, delivery: Delivery | None = None) -> None:
    queue = find_post(transport)
    assert queue is not None
    queue(message, delivery=delivery)


async def test_what_is_sent_and_posted_is_recorded_in_order_and_reaches_the_peer() -> None:
    recording, far = recorded_pair()
    got = list[Message]()
    far.on_message(got.append)
    await recording.send(ONE)
    post(recording, TWO)

    assert [ONE, TWO] == recording.sent == got


async def test_what_is_received_is_recorded_once_however_many_listen() -> None:
    recording, far = recorded_pair()
    first, second = list[Message](), list[Message]()
    recording.on_message(first.append)
    recording.on_message(second.append)
    far.post(ONE)

    assert [ONE] == recording.received == first == second


@pytest.mark.parametrize(
    ("message", "copy"),
    [
        (Request(1, "m", Params("echo")), Request(1, "m", {"toolName": "echo"})),
        (Request(1, "m", Raw(b'{"a":[1]}')), Request(1, "m", {"a": [1]})),
        (Request("1", "m"), Request("1", "m", UNSET)),
        (Notification("m", LOOSE), Notification("m", {"a": None})),
        (Response(1, Params("echo")), Response(1, {"toolName": "echo"})),
        (Response(1, None), Response(1, None)),
        (ErrorResponse(1, ErrorObject(-1, "e", LOOSE)), ErrorResponse(1, ErrorObject(-1, "e", {"a": None}))),
        (ErrorResponse(None, ErrorObject(-1, "e")), ErrorResponse(None, ErrorObject(-1, "e", UNSET))),
        (InvalidMessage(-32700, "broken"), InvalidMessage(-32700, "broken")),
        (Batch((Notification("m", Params("echo")),)), Batch((Notification("m", {"toolName": "echo"}),))),
    ],
)
async def test_records_hold_plain_json_and_the_messages_pass_unchanged(message: Message, copy: Message) -> None:
    recording, far = recorded_pair()
    got = list[Message]()
    far.on_message(got.append)
    recording.on_message(got.append)
    await recording.send(message)
    far.post(message)

    assert [copy] == recording.sent == recording.received
    assert message is got[0]
    assert message is got[1]


async def test_a_later_change_does_not_reach_the_record() -> None:
    recording, _ = recorded_pair()
    params: dict[str, object] = {"a": 1}
    await recording.send(Notification("m", params))  # pyright: ignore[reportArgumentType]
    params["a"] = 2

    assert [Notification("m", {"a": 1})] == recording.sent


async def test_what_is_no_json_is_recorded_as_it_is() -> None:
    recording, _ = recorded_pair()
    thing = object()
    await recording.send(Notification("m", thing))  # pyright: ignore[reportArgumentType]

    assert [thing] == [message.params for message in recording.sent if isinstance(message, Notification)]


async def test_a_delivery_passes_in_both_directions() -> None:
    recording, far = recorded_pair()
    delivery, got = Delivery(principal="alice"), list[object]()
    far.on_message(lambda *arguments: got.append(arguments))
    recording.on_message(lambda *arguments: got.append(arguments))
    await recording.send(ONE, delivery=delivery)
    post(recording, ONE, delivery)
    far.post(ONE, delivery=delivery)

    assert [(ONE, delivery)] * 3 == got


async def test_what_the_inner_transport_refuses_is_not_recorded() -> None:
    recording, far = recorded_pair()
    await recording.send(ONE)
    await far.close()
    with pytest.raises(MCPTransportError, match="closed"):
        await recording.send(ONE)
    with pytest.raises(MCPTransportError, match="closed"):
        post(recording, ONE)

    assert [ONE] == recording.sent


async def test_the_answer_is_recorded_after_the_request_although_it_comes_at_once() -> None:
    recording, far = recorded_pair()
    recording.on_message(lambda _: post(recording, TWO))
    far.on_message(lambda message: far.post(message) if message == ONE else None)
    post(recording, ONE)

    assert [ONE, TWO] == recording.sent
    assert [ONE] == recording.received


async def test_reading_starts_with_the_first_handler() -> None:
    recording, far = recorded_pair()
    far.post(ONE)
    await asyncio.sleep(0)
    assert [] == recording.received
    recording.on_message(lambda _: None)
    await asyncio.sleep(0)

    assert [ONE] == recording.received


async def test_the_end_of_the_stream_passes() -> None:
    recording, far = recorded_pair()
    told = list[str]()
    recording.on_close(lambda: told.append("closed"))
    await far.close()

    assert recording.closed
    assert ["closed"] == told
    assert recording.failure is None


async def test_the_end_comes_after_the_messages() -> None:
    recording, far = recorded_pair()
    seen = list[object]()
    recording.on_close(lambda: seen.append("closed"))
    far.post(ONE)
    await far.close()
    recording.on_message(seen.append)
    await asyncio.sleep(0)

    assert [ONE, "closed"] == seen


async def test_a_failure_passes() -> None:
    near, _ = InMemoryTransport.pair()
    recording = RecordingTransport(near)
    near.failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "broken")
    await near.close()

    assert near.failure is recording.failure


async def test_close_closes_the_inner_transport_and_is_told_once() -> None:
    recording, far = recorded_pair()
    told = list[str]()
    recording.on_close(lambda: told.append("closed"))
    far.post(ONE)
    await recording.close()
    await recording.close()

    assert ["closed"] == told
    assert recording.closed
    assert far.closed


async def test_without_post_inside_there_is_none_outside() -> None:
    near, far = InMemoryTransport.pair()
    got = list[Message]()
    far.on_message(got.append)
    recording = RecordingTransport(SendOnly(near))
    await recording.send(ONE)

    assert find_post(recording) is None
    assert [ONE] == got == recording.sent


async def test_a_dict_with_the_members_of_a_message_is_recorded_as_one() -> None:
    near, far = InMemoryTransport.pair()
    recording = RecordingTransport(near)
    assert recording.post is not None
    got = list[Message]()
    far.on_message(got.append)
    recording.post({"jsonrpc": "2.0", "method": "one"})  # pyright: ignore[reportArgumentType]
    await recording.send({"jsonrpc": "2.0", "method": "two"})  # pyright: ignore[reportArgumentType]

    assert [ONE, TWO] == recording.sent
    assert [ONE, TWO] == got


async def test_what_is_no_message_is_refused_and_not_recorded() -> None:
    recording = RecordingTransport(InMemoryTransport.pair()[0])
    assert recording.post is not None

    with pytest.raises(MCPProtocolError, match="no message"):
        recording.post("one")  # pyright: ignore[reportArgumentType]
    with pytest.raises(MCPProtocolError, match="no message"):
        await recording.send(2)  # pyright: ignore[reportArgumentType]
    assert [] == recording.sent


async def test_messages_that_go_their_own_way_are_recorded_and_fail_where_they_do_inside() -> None:
    inner = Beginning(InMemoryTransport.pair()[0])
    recording = RecordingTransport(inner)
    begin = find_begin(recording)
    assert begin is not None
    failures: list[MCPError] = []
    delivery = Delivery(related_request=1)
    begin(ONE, delivery=delivery, failed=failures.append)
    ((message, delivered, failed),) = inner.begun
    failed(BROKEN)

    assert (ONE, delivery, [BROKEN], [ONE]) == (message, delivered, failures, recording.sent)


async def test_what_cannot_even_begin_is_not_recorded() -> None:
    failures: list[MCPError] = []
    recording = RecordingTransport(Beginning(InMemoryTransport.pair()[0], refuses=True))
    assert recording.begin is not None
    recording.begin(ONE, failed=failures.append)
    recording.begin("one", failed=failures.append)  # pyright: ignore[reportArgumentType]

    assert ([], [BROKEN.code, MCP_CODES.PROTOCOL_INVALID]) == (recording.sent, [error.code for error in failures])


async def test_without_begin_inside_there_is_none_outside() -> None:
    assert find_begin(RecordingTransport(InMemoryTransport.pair()[0])) is None
