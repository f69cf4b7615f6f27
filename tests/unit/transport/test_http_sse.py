"""The client's side of HTTP+SSE, with a fetch and an event source made of lists."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError, MCPTransportError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.framing.sse import ServerSentEvent
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Message, Notification
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.transport.http_sse import HttpSseTransport, create_http_sse_transport

ENDPOINT = "https://example.org/mcp/sse?key=secret"
ONE, TWO, THREE = Notification("one"), Notification("two"), Notification("three")
JSON_ONE, JSON_TWO = b'{"jsonrpc":"2.0","method":"one"}', b'{"jsonrpc":"2.0","method":"two"}'
BROKEN = OSError("unreachable")


@dataclass
class Event:
    event: str | None
    data: str | bytes


class Source:
    """The event stream of a server, opened once."""

    def __init__(self, *events: object) -> None:
        self.queue: asyncio.Queue[object] = asyncio.Queue()
        self.opened: list[str] = []
        self.closed = 0
        self.feed(*events)

    def feed(self, *events: object) -> None:
        for event in events:
            self.queue.put_nowait(event)

    def __call__(self, url: str) -> "Source":
        self.opened.append(url)
        return self

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self.queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event  # pyright: ignore[reportReturnType]

    async def close(self) -> None:
        self.closed += 1


@dataclass
class Reply:
    status: int = 202
    body: bytes = b""
    reads: int = 0

    async def read(self) -> bytes:
        self.reads += 1
        return self.body


@dataclass
class TextReply:
    status: int

    async def text(self) -> str:
        return "not here"


@dataclass
class Server:
    """Takes POSTs; answers with the next of its replies, 202 when there is none."""

    replies: list[object] = field(default_factory=list[object])
    posts: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    busy: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def __call__(self, url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        self.busy += 1
        assert self.busy == 1
        try:
            await self.gate.wait()
        finally:
            self.busy -= 1
        self.posts.append((method, url, headers, body))
        reply = self.replies.pop(0) if self.replies else Reply()
        if isinstance(reply, Exception):
            raise reply
        return reply  # pyright: ignore[reportReturnType]

    @property
    def bodies(self) -> list[bytes]:
        return [body for *_, body in self.posts]


def over(
    server: Server, source: Source, *, wait_for_endpoint: bool = False, max_frame_bytes: int = 1000
) -> HttpSseTransport:
    return create_http_sse_transport(
        endpoint=ENDPOINT,
        fetch_impl=server,
        event_source_impl=source,
        wait_for_endpoint=wait_for_endpoint,
        max_frame_bytes=max_frame_bytes,
        close_timeout=0.01,
    )


async def turns(count: int = 8) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def closed(transport: HttpSseTransport) -> None:
    gone = asyncio.Event()
    transport.on_close(gone.set)
    await gone.wait()


# Posting


@pytest.mark.requirement("transports-share-one-interface")
async def test_posts_requests_via_fetch_impl() -> None:
    server = Server()
    transport = over(server, Source())
    assert isinstance(transport, Transport)
    await transport.send(ONE)
    await transport.close()

    assert [("POST", ENDPOINT, {"Content-Type": "application/json"}, JSON_ONE)] == server.posts


async def test_the_headers_of_a_delivery_go_out_with_the_post() -> None:
    server = Server()
    transport = over(server, Source())
    await transport.send(ONE, delivery=Delivery(headers={"X-Trace": "1"}))
    await transport.close()

    assert {"X-Trace": "1", "Content-Type": "application/json"} == server.posts[0][2]


async def test_messages_are_posted_one_at_a_time_in_order() -> None:
    server = Server()
    server.gate.clear()
    transport = over(server, Source())
    transport.post(ONE)
    transport.post(TWO)
    sending = asyncio.create_task(transport.send(THREE))
    await turns()
    server.gate.set()
    await sending
    await transport.close()

    assert [b"one", b"two", b"three"] == [body.split(b'"')[-2] for body in server.bodies]


@pytest.mark.requirement("transports-share-one-interface")
async def test_raises_transport_closed_after_close() -> None:
    transport = over(Server(), Source())
    await transport.close()
    with pytest.raises(MCPTransportError) as raised:
        await transport.send(ONE)
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    with pytest.raises(MCPTransportError) as raised:
        transport.post(ONE)
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


async def test_a_message_that_is_not_json_is_refused_and_nothing_is_posted() -> None:
    server = Server()
    transport = over(server, Source())
    with pytest.raises(MCPProtocolError, match="object"):
        await transport.send(Notification("one", {"a": object()}))  # pyright: ignore[reportArgumentType]
    await transport.close()

    assert [] == server.posts


@pytest.mark.parametrize(
    ("reply", "said"), [(Reply(404, b"no such session"), "no such session"), (TextReply(404), "not here")]
)
async def test_an_answer_that_is_not_good_is_raised_to_the_sender_with_status_and_body(
    reply: object, said: str
) -> None:
    server = Server([reply])
    transport = over(server, Source())
    with pytest.raises(MCPTransportError, match=f"404.*{said}") as raised:
        await transport.send(ONE)
    assert (MCP_CODES.TRANSPORT_ERROR, {"status": 404}) == (raised.value.code, raised.value.context)
    assert "secret" not in raised.value.message
    await transport.send(TWO)
    await transport.close()

    assert [JSON_ONE, JSON_TWO] == server.bodies


async def test_the_body_of_a_good_answer_is_read_too() -> None:
    reply = Reply()
    transport = over(Server([reply]), Source())
    await transport.send(ONE)
    await transport.close()

    assert 1 == reply.reads


async def test_a_post_that_fails_is_raised_to_the_sender_and_the_transport_stays_open() -> None:
    transport = over(Server([BROKEN]), Source())
    with pytest.raises(MCPTransportError, match="unreachable") as raised:
        await transport.send(ONE)
    assert (MCP_CODES.TRANSPORT_ERROR, BROKEN) == (raised.value.code, raised.value.cause)
    assert not transport.closed
    await transport.close()


async def test_a_queued_message_that_cannot_be_posted_closes_the_transport_with_a_failure() -> None:
    server = Server([Reply(500, b"oops")])
    transport = over(server, Source())
    transport.post(ONE)
    transport.post(TWO)
    sending = asyncio.create_task(transport.send(THREE))
    await closed(transport)
    with pytest.raises(MCPTransportError) as raised:
        await sending
    await transport.close()

    assert transport.failure is not None
    assert {"status": 500} == transport.failure.context
    assert (MCP_CODES.TRANSPORT_CLOSED, transport.failure) == (raised.value.code, raised.value.cause)
    assert [JSON_ONE] == server.bodies


@pytest.mark.parametrize("reply", [Reply(), BROKEN])
async def test_a_send_that_is_cancelled_leaves_the_next_one_alone(reply: object) -> None:
    server = Server([reply])
    server.gate.clear()
    transport = over(server, Source())
    first, second = (asyncio.create_task(transport.send(message)) for message in (ONE, TWO))
    await turns()
    first.cancel()
    server.gate.set()
    await second
    await transport.close()

    assert [JSON_ONE, JSON_TWO] == server.bodies


# Receiving


@pytest.mark.requirement("transports-share-one-interface")
async def test_dispatches_messages_from_event_source_impl() -> None:
    source, got = (
        Source(Event("message", JSON_ONE), Event(None, JSON_TWO.decode()), Event("", JSON_ONE)),
        list[Message](),
    )
    transport = over(Server(), source)
    transport.on_message(got.append)
    transport.on_message(lambda _: None)
    await turns()
    await transport.close()

    assert [ENDPOINT] == source.opened
    assert [ONE, TWO, ONE] == got


async def test_other_events_and_empty_ones_are_ignored() -> None:
    events = [Event("ping", "x"), ServerSentEvent("message", b""), Event("endpoint", "https://elsewhere.org/")]
    source, got = Source(*events, Event("message", JSON_ONE)), list[Message]()
    transport = over(Server(), source)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [ONE] == got
    assert transport.failure is None


async def test_a_message_over_the_limit_is_handed_on_as_invalid() -> None:
    source, got = (
        Source(Event("message", "x" * 70), FrameTooLarge(64, 99, b"y"), Event(None, JSON_ONE)),
        list[Message](),
    )
    transport = over(Server(), source, max_frame_bytes=64)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    reason = "a frame of {} bytes is over the limit of 64 bytes (`max_frame_bytes`)"
    too_large = [InvalidMessage(-32600, reason.format(70), None, b"x" * 70)]
    assert [*too_large, InvalidMessage(-32600, reason.format(99), None, b"y"), ONE] == got


async def test_an_async_generator_will_do_as_an_event_source() -> None:
    async def events(url: str) -> AsyncIterator[ServerSentEvent]:
        yield ServerSentEvent("message", JSON_ONE)
        await asyncio.Event().wait()

    got = list[Message]()
    transport = create_http_sse_transport(
        endpoint=ENDPOINT, fetch_impl=Server(), event_source_impl=events, wait_for_endpoint=False
    )
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [ONE] == got


async def test_the_end_of_the_stream_is_an_orderly_close() -> None:
    source, seen = Source(Event("message", JSON_ONE), None), list[object]()
    transport = over(Server(), source)
    transport.on_close(lambda: seen.append("closed"))
    transport.on_message(seen.append)
    await closed(transport)
    await transport.close()

    assert [ONE, "closed"] == seen
    assert transport.failure is None
    assert 1 == source.closed


async def test_a_stream_that_breaks_closes_with_a_failure() -> None:
    transport = over(Server(), Source(BROKEN))
    transport.on_message(lambda _: None)
    await closed(transport)
    await transport.close()

    assert transport.failure is not None
    assert (MCP_CODES.TRANSPORT_ERROR, BROKEN) == (transport.failure.code, transport.failure.cause)
    assert "https://example.org/mcp/sse failed" in transport.failure.message
    with pytest.raises(MCPTransportError) as raised:
        transport.post(ONE)
    assert f"the transport is closed: {transport.failure.message}" == raised.value.message


# The endpoint event


@pytest.mark.requirement("transports-share-one-interface")
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("/messages?session=1", "https://example.org/messages?session=1"),
        ("messages", "https://example.org/mcp/messages"),
        ("https://example.org:443/m\n", "https://example.org:443/m"),
        ("?s=1", "https://example.org/mcp/sse?s=1"),
    ],
)
async def test_posts_wait_for_the_endpoint_event_and_go_where_it_says(named: str, expected: str) -> None:
    server, source = Server(), Source()
    transport = over(server, source, wait_for_endpoint=True)
    transport.on_message(lambda _: None)
    transport.post(ONE)
    sending = asyncio.create_task(transport.send(TWO))
    await turns()
    assert [] == server.posts
    source.feed(Event("endpoint", named), Event("endpoint", "/later"))
    await sending
    await transport.send(THREE)
    await transport.close()

    assert [expected] * 3 == [url for _, url, *_ in server.posts]


async def test_a_message_that_waits_for_the_endpoint_opens_the_stream() -> None:
    server, source = Server(), Source(Event("endpoint", "/messages"))
    transport = over(server, source, wait_for_endpoint=True)
    await transport.send(ONE)
    await transport.close()

    assert [JSON_ONE] == server.bodies


async def test_the_endpoint_may_be_named_before_there_is_anything_to_post() -> None:
    server, source = Server(), Source(Event("endpoint", "/messages"))
    transport = over(server, source, wait_for_endpoint=True)
    transport.on_message(lambda _: None)
    await turns()
    await transport.send(ONE)
    await transport.close()

    assert ["https://example.org/messages"] == [url for _, url, *_ in server.posts]


@pytest.mark.parametrize(
    "named",
    [
        "https://evil.org/messages",
        "//evil.org/messages",
        "http://example.org/messages",
        "https://example.org:8443/messages",
        "https://example.org@evil.org/",
        "https://example.org:port/",
        "https://[",
        "file:///etc/passwd",
        b"\xff",
    ],
)
async def test_an_endpoint_of_another_origin_is_refused_and_nothing_is_posted(named: str | bytes) -> None:
    server, source = Server(), Source(Event("endpoint", named), None)
    transport = over(server, source, wait_for_endpoint=True)
    sending = asyncio.create_task(transport.send(ONE))
    await closed(transport)
    with pytest.raises(MCPTransportError) as raised:
        await sending
    await transport.close()

    assert transport.failure is not None
    assert "not of the origin" in transport.failure.message
    assert (MCP_CODES.TRANSPORT_CLOSED, transport.failure) == (raised.value.code, raised.value.cause)
    assert [] == server.posts


async def test_a_stream_that_ends_before_it_names_the_endpoint_is_a_failure() -> None:
    transport = over(Server(), Source(None), wait_for_endpoint=True)
    with pytest.raises(MCPTransportError, match="closed"):
        await transport.send(ONE)
    await transport.close()

    assert transport.failure is not None
    assert "before it named the endpoint" in transport.failure.message


# Closing


async def test_close_posts_what_is_queued() -> None:
    server = Server()
    transport = over(server, Source())
    transport.post(ONE)
    transport.post(TWO)
    await transport.close()

    assert [JSON_ONE, JSON_TWO] == server.bodies


async def test_close_does_not_wait_for_ever_for_a_post_and_tells_whoever_waits() -> None:
    server, source = Server(), Source()
    server.gate.clear()
    transport = over(server, source)
    transport.on_message(lambda _: None)
    first, second = (asyncio.create_task(transport.send(message)) for message in (ONE, TWO))
    await turns()
    second.cancel()
    transport.post(THREE)
    await transport.close()

    with pytest.raises(MCPTransportError, match="closed"):
        await first
    assert 1 == source.closed


async def test_close_before_the_endpoint_is_named_drops_what_waits_at_once() -> None:
    server, source = Server(), Source()
    transport = create_http_sse_transport(
        endpoint=ENDPOINT, fetch_impl=server, event_source_impl=source, close_timeout=3600
    )
    sending = asyncio.create_task(transport.send(ONE))
    await turns()
    await transport.close()

    with pytest.raises(MCPTransportError, match="closed"):
        await sending
    assert [] == server.posts


# Simple stand-ins


@dataclass
class Status:
    status: int


@dataclass
class PlainReply(Status):
    reads: int = 0

    def text(self) -> str:
        self.reads += 1
        return "gone"


@dataclass
class Data:
    data: str


@pytest.mark.parametrize("reply", [Status(200), PlainReply(200)])
async def test_fetch_may_be_a_plain_function_and_its_answer_just_a_status(reply: Status) -> None:
    posted: list[bytes] = []

    def fetch(url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> Status:
        posted.append(body)
        return reply

    transport = create_http_sse_transport(
        endpoint=ENDPOINT, fetch_impl=fetch, event_source_impl=Source(), wait_for_endpoint=False
    )
    await transport.send(ONE)
    await transport.close()

    assert [JSON_ONE] == posted


@pytest.mark.parametrize(("reply", "said"), [(Status(410), "b''"), (PlainReply(410), "'gone'")])
async def test_a_refusal_tells_the_body_where_there_is_one(reply: Status, said: str) -> None:
    transport = over(Server([reply]), Source())

    with pytest.raises(MCPTransportError, match=f"answered with 410: {said}"):
        await transport.send(ONE)
    await transport.close()


@pytest.mark.parametrize(
    "event", [{"event": "message", "data": JSON_ONE}, {"data": JSON_ONE.decode()}, Data(JSON_ONE.decode())]
)
async def test_events_may_be_dicts_or_have_no_type(event: object) -> None:
    got: list[Message] = []
    transport = over(Server(), Source({"event": "ping"}, event))
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [ONE] == got


async def test_a_source_may_be_awaited_for_and_closed_by_a_plain_function() -> None:
    class PlainSource:
        def __init__(self) -> None:
            self.closed = 0

        async def __aiter__(self) -> AsyncIterator[Event]:
            yield Event(None, JSON_TWO)
            await asyncio.Event().wait()

        def close(self) -> None:
            self.closed += 1

    source = PlainSource()
    got: list[Message] = []

    async def open_source(url: str) -> PlainSource:
        return source

    transport = create_http_sse_transport(endpoint=ENDPOINT, fetch_impl=Server(), event_source_impl=open_source)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [TWO] == got
    assert 1 == source.closed
