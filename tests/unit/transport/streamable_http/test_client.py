"""The client's side of Streamable HTTP, with a fetch made of scripts."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Raw

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import (
    InvalidMessage,
    JsonObject,
    Message,
    Notification,
    Payload,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.transport.base import Delivery, Transport, find_begin, find_post
from suaveplan_mcp.transport.streamable_http.client import (
    StreamableHttpTransport,
    create_streamable_http_transport,
)
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from tests.unit.transport.streamable_http.scripted_fetch import SSE, Reply, Server, event

ENDPOINT = "https://me:secret@example.org/mcp?key=secret"
META: JsonObject = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
NOTICE = b'{"jsonrpc":"2.0","method":"notifications/progress"}'
INITIALIZE = Request(0, "initialize", {"protocolVersion": "2025-11-25"})
INITIALIZED = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}'


def modern(id_: RequestId = 1, method: str = "tools/list", **params: Any) -> Request:
    return Request(id_, method, {"_meta": META, **params})


def answer(id_: int = 1) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id_


def accepted() -> Reply:
    return Reply(status=202, kind="")


class Client:
    """A transport, what it has handed on, and what has failed."""

    def __init__(self, *replies: object, close_timeout: float = 0.01, max_frame_bytes: int = 1000) -> None:
        self.server = Server(list(replies))
        self.failures: list[MCPError] = []
        self.received: list[tuple[Message, Delivery | None]] = []
        self.transport: StreamableHttpTransport = create_streamable_http_transport(
            endpoint=ENDPOINT, fetch_impl=self.server, close_timeout=close_timeout, max_frame_bytes=max_frame_bytes
        )
        self.transport.on_message(lambda message, delivery=None: self.received.append((message, delivery)))

    def begin(self, message: Message, **headers: str) -> None:
        delivery = Delivery(headers=headers) if headers else None
        self.transport.begin(message, delivery=delivery, failed=self.failures.append)

    @property
    def messages(self) -> list[Message]:
        return [message for message, _ in self.received]

    @property
    def ids(self) -> list[object]:
        return [getattr(message, "id", None) for message in self.messages]


async def turns(count: int = 8) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# What goes out


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
async def test_each_message_is_a_post_with_the_headers_of_its_body() -> None:
    client = Client(Reply(answer()))
    client.begin(modern(1, "tools/call", name="büro"))
    await turns()
    await client.transport.close()

    (post,) = client.server.posts
    assert (ENDPOINT, "POST") == (post.url, post.method)
    assert {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?YsO8cm8=?=",
    } == post.headers
    assert b'"id":1,"method":"tools/call"' in post.body


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
async def test_a_callers_own_headers_go_out_but_cannot_contradict_the_body() -> None:
    client = Client(Reply(answer()))
    client.begin(
        modern(),
        **{"Mcp-Param-Region": "west", "Accept": "text/plain", "MCP-Method": "x", "Mcp-Name": "x", "X-Trace": "1"},
    )
    await turns()
    await client.transport.close()

    headers = client.server.posts[0].headers
    assert ("west", "1", "tools/list") == (headers["mcp-param-region"], headers["x-trace"], headers["mcp-method"])
    assert ("application/json, text/event-stream", False) == (headers["accept"], "mcp-name" in headers)


@pytest.mark.parametrize("endpoint", ["http://[::1", "https://a]b/mcp"])
def test_what_is_no_url_is_refused_at_once(endpoint: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        create_streamable_http_transport(endpoint=endpoint, fetch_impl=Server())


def test_a_limit_no_message_fits_in_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="max_frame_bytes"):
        create_streamable_http_transport(endpoint=ENDPOINT, fetch_impl=Server(), max_frame_bytes=0)


async def test_it_is_a_transport_whose_messages_go_their_own_way() -> None:
    transport = Client().transport

    assert isinstance(transport, Transport)
    assert (False, None) == (find_begin(transport) is None, find_post(transport))
    await transport.close()


async def test_what_cannot_be_sent_fails_and_nothing_goes_out() -> None:
    client = Client()
    client.begin(Request(1, "x", {"a": object()}))  # pyright: ignore[reportArgumentType]
    client.begin(modern(2, "büro"))

    assert [MCP_CODES.PROTOCOL_INVALID, MCP_CODES.INVALID_PARAMS] == [error.code for error in client.failures]
    with pytest.raises(MCPProtocolError):
        await client.transport.send(Notification("x", {"a": object()}))  # pyright: ignore[reportArgumentType]
    assert [] == client.server.posts
    await client.transport.close()


# What comes back


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
async def test_answers_come_in_their_own_time_and_say_which_request_they_belong_to() -> None:
    slow, fast = Reply(kind=SSE, opened=True), Reply(answer(2))
    client = Client(slow, fast)
    client.begin(modern(1))
    client.begin(modern(2))
    await turns()
    slow.feed(event(NOTICE))
    await turns()
    slow.feed(event(answer(1)))
    await turns()

    assert [2, None, 1] == client.ids
    assert [2, 1, 1] == [delivery and delivery.related_request for _, delivery in client.received]
    assert [] == client.failures
    await client.transport.close()


async def test_a_response_is_read_to_its_end_and_closed() -> None:
    reply = Reply(event(answer()), event(NOTICE), kind=SSE)
    client = Client(reply)
    client.begin(modern())
    await turns()

    assert (True, 1, [1]) == (reply.read_to_end, reply.closed, client.ids)
    await client.transport.close()


async def test_a_response_that_goes_on_after_the_answer_is_closed_after_a_while() -> None:
    reply = Reply(event(answer()), kind=SSE, opened=True)
    client = Client(reply, close_timeout=0)
    client.begin(modern())
    while not reply.closed:
        await asyncio.sleep(0)
    await turns()

    assert ([1], []) == (client.ids, client.failures)
    await client.transport.close()


async def test_a_connection_that_breaks_after_the_answer_is_no_failure() -> None:
    client = Client(Reply(event(answer()), OSError("reset"), kind=SSE))
    client.begin(modern())
    await turns()

    assert ([1], []) == (client.ids, client.failures)
    await client.transport.close()


async def test_a_request_without_an_answer_fails_once_and_leaves_the_others() -> None:
    client = Client(Reply(b"<html>", kind="text/html", status=502), Reply(answer(2)))
    client.begin(modern(1))
    client.begin(modern(2))
    await turns()

    (error,) = client.failures
    assert isinstance(error, MCPTransportError)
    assert (MCP_CODES.TRANSPORT_ERROR, 502) == (error.code, error.context["status"])
    assert "the answer of https://example.org/mcp to tools/list is 502, text/html: b'<html>'" == error.message
    assert ([2], False) == (client.ids, client.transport.closed)
    await client.transport.close()


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (OSError(f"cannot reach {ENDPOINT}"), "OSError: cannot reach https://example.org/mcp"),
        (MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "redirected", context={"status": 307}), "redirected"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
async def test_a_fetch_that_fails_is_an_error_without_the_secrets_of_the_url(raised: BaseException, said: str) -> None:
    client = Client(raised)
    client.begin(modern())
    await turns()

    (error,) = client.failures
    assert f"the POST of tools/list to https://example.org/mcp failed: {said}" == error.message
    assert getattr(raised, "context", {}) == error.context
    await client.transport.close()


async def test_a_fetch_and_a_response_may_be_no_coroutines() -> None:
    received: list[Message] = []
    transport = create_streamable_http_transport(endpoint=ENDPOINT, fetch_impl=lambda *_, **__: Reply(answer()))
    transport.on_message(lambda message, _: received.append(message))
    await transport.send(modern())
    await turns()

    assert [Response] == [type(message) for message in received]
    await transport.close()


# Notifications


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
@pytest.mark.parametrize("status", [200, 202, 204])
async def test_a_notification_is_sent_when_the_server_has_taken_it(status: int) -> None:
    reply = Reply(status=status, kind="")
    client = Client(reply)
    await client.transport.send(Notification("notifications/x", {"_meta": META}))
    await turns()

    assert ([], 1, "notifications/x") == (client.received, reply.closed, client.server.posts[0].headers["mcp-method"])
    await client.transport.close()


async def test_a_notification_that_is_refused_fails() -> None:
    client = Client(Reply(b"no", status=400, kind="text/plain"), Reply(b"no", status=400, kind="text/plain"))
    notice = Notification("notifications/x")
    client.begin(notice)
    with pytest.raises(MCPTransportError, match="to notifications/x is 400, text/plain: b'no'") as raised:
        await client.transport.send(notice)

    assert ([400], 400) == ([error.context["status"] for error in client.failures], raised.value.context["status"])
    await client.transport.close()


async def test_an_answer_of_ours_is_posted() -> None:
    client = Client(accepted())
    await client.transport.send(Response(7, {}))

    assert b'{"jsonrpc":"2.0","id":7,"result":{}}' == client.server.posts[0].body
    await client.transport.close()


# Sending requests


async def test_a_request_is_sent_when_its_stream_opens() -> None:
    reply = Reply(kind=SSE, opened=True)
    client = Client(reply)
    await client.transport.send(modern())
    assert [] == client.received
    reply.feed(event(answer()))
    await turns()

    assert [1] == client.ids
    await client.transport.close()


async def test_what_goes_wrong_after_a_request_was_sent_is_handed_on_as_its_answer() -> None:
    reply = Reply(kind=SSE, opened=True)
    client = Client(reply)
    await client.transport.send(modern())
    reply.end()
    await turns()

    (message,) = client.messages
    assert isinstance(message, InvalidMessage)
    assert (1, True, True) == (message.id, message.answers, "ended before it was complete" in message.reason)
    await client.transport.close()


async def test_a_request_that_is_refused_raises() -> None:
    client = Client(Reply(status=202, kind=""))
    with pytest.raises(MCPTransportError, match="is 202, of no type"):
        await client.transport.send(modern())

    assert [] == client.received
    await client.transport.close()


async def test_a_sender_that_gave_up_waiting_hears_of_nothing() -> None:
    refusals = [Reply(status=400, kind="", opened=True) for _ in range(2)]
    client = Client(*refusals)
    sending = [asyncio.create_task(client.transport.send(Notification("notifications/x"))) for _ in refusals]
    await turns()
    for waiting in sending:
        waiting.cancel()
    refusals[0].end()
    await turns()
    await client.transport.close()

    assert ([True, True], []) == ([waiting.cancelled() for waiting in sending], client.received)


# Giving up


CANCEL_PARAMS: list[Payload] = [
    {"requestId": 1},
    CancelledNotificationParams(request_id=1, reason="why"),
    Raw(b'{"requestId":1,"_meta":{}}'),
]


@pytest.mark.requirement("a-request-over-http-is-given-up-by-closing-its-answer")
@pytest.mark.parametrize("params", CANCEL_PARAMS)
async def test_a_request_is_given_up_by_closing_its_stream(params: Payload) -> None:
    reply = Reply(event(NOTICE), kind=SSE, opened=True)
    client = Client(reply)
    client.begin(modern())
    await turns()
    reply.feed(event(NOTICE), event(answer()))
    client.begin(Notification("notifications/cancelled", params))
    await turns()

    assert (1, 1, [None], []) == (len(client.server.posts), reply.closed, client.ids, client.failures)
    await client.transport.close()


async def test_a_request_is_given_up_before_it_is_answered_or_even_sent() -> None:
    busy = Client()
    busy.begin(modern(1))
    await turns()
    busy.begin(modern(2))
    for id_ in (1, 2):
        await busy.transport.send(Notification("notifications/cancelled", {"requestId": id_}))
    await turns()

    assert (1, 1, []) == (len(busy.server.posts), busy.server.dropped, busy.failures)
    await busy.transport.close()


async def test_a_sender_of_a_request_that_is_given_up_waits_no_more() -> None:
    busy = Client()
    sending = asyncio.create_task(busy.transport.send(modern()))
    await turns()
    busy.begin(Notification("notifications/cancelled", {"requestId": 1}))
    await sending

    assert (1, []) == (busy.server.dropped, busy.received)
    await busy.transport.close()


async def test_ids_of_different_types_are_given_up_apart() -> None:
    busy = Client()
    busy.begin(modern(1))
    busy.begin(modern("1"))
    await turns()
    busy.begin(Notification("notifications/cancelled", {"requestId": "1"}))
    await turns()

    assert (2, 1) == (len(busy.server.posts), busy.server.dropped)
    await busy.transport.close()


@pytest.mark.parametrize("params", [{"requestId": 9}, {}])
async def test_giving_up_what_is_not_in_flight_is_nothing(params: JsonObject) -> None:
    busy = Client()
    busy.begin(Notification("notifications/cancelled", params))
    await turns()

    assert ([], []) == (busy.server.posts, busy.failures)
    await busy.transport.close()


async def test_a_malformed_notice_goes_out_as_any_other() -> None:
    client = Client(accepted(), accepted())
    await client.transport.send(Notification("notifications/cancelled", {"requestId": [1]}))
    await client.transport.send(Notification("notifications/cancelled"))

    assert 2 == len(client.server.posts)
    await client.transport.close()


@pytest.mark.requirement("a-request-over-http-is-given-up-by-closing-its-answer")
async def test_in_the_other_era_a_server_is_told_that_a_request_is_given_up() -> None:
    opened = Reply(kind=SSE, opened=True)
    client = Client(Reply(INITIALIZED), opened, accepted(), accepted())
    client.begin(INITIALIZE)
    await turns()
    client.begin(Request(1, "tools/list"))
    await turns()
    for id_ in (1, 9):
        client.begin(Notification("notifications/cancelled", {"requestId": id_}))
    opened.feed(event(answer()))
    await turns()

    assert (4, 1, [0], []) == (len(client.server.posts), opened.closed, client.ids, client.failures)
    await client.transport.close()


# The handshake era


async def test_the_session_and_the_revision_of_a_handshake_go_out_with_what_follows() -> None:
    client = Client(Reply(INITIALIZED, mcp_session_id="s-1"), accepted(), Reply(INITIALIZED), Reply(answer()))
    for message in (INITIALIZE, Notification("notifications/initialized"), INITIALIZE, modern()):
        client.begin(message)
        await turns()
    await client.transport.close()

    assert [(None, None), ("s-1", "2025-11-25"), (None, None), (None, "2026-07-28")] == [
        (post.headers.get("mcp-session-id"), post.headers.get("mcp-protocol-version")) for post in client.server.posts
    ]


@pytest.mark.parametrize(
    "result", [b'"result":{}', b'"result":{"protocolVersion":1}', b'"error":{"code":1,"message":"no"}']
)
async def test_a_handshake_that_came_to_nothing_leaves_nothing(result: bytes) -> None:
    client = Client(Reply(b'{"jsonrpc":"2.0","id":0,%b}' % result, mcp_session_id="s"), accepted())
    client.begin(INITIALIZE)
    await turns()
    client.begin(Notification("x"))
    await turns()

    assert "mcp-session-id" not in client.server.posts[1].headers
    await client.transport.close()


# Closing


@pytest.mark.requirement("a-request-over-http-is-given-up-by-closing-its-answer")
async def test_the_close_ends_every_request_and_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    replies = [Reply(kind=SSE, opened=True), Reply(event(answer(2)), kind=SSE, opened=True)]
    client = Client(*replies, close_timeout=5)
    for id_ in range(1, 4):
        client.begin(modern(id_))
    await turns()
    client.begin(modern(4))
    await asyncio.gather(client.transport.close(), client.transport.close())

    assert ([1, 1], 2, []) == ([reply.closed for reply in replies], client.server.dropped, client.failures)
    assert (before, [2]) == (asyncio.all_tasks(), client.ids)


async def test_a_message_that_needs_no_answer_is_still_sent_at_the_close() -> None:
    client = Client(accepted(), close_timeout=5)
    client.begin(Notification("notifications/x"))
    await client.transport.close()

    assert (1, []) == (len(client.server.posts), client.failures)


async def test_whoever_waits_at_the_close_is_told() -> None:
    client = Client()
    sending = [
        asyncio.create_task(client.transport.send(message)) for message in (modern(), Notification("notifications/x"))
    ]
    await turns()
    await client.transport.close()

    for waiting in sending:
        with pytest.raises(MCPTransportError, match="closed"):
            await waiting


async def test_the_close_does_not_wait_for_a_fetch_that_does_not_heed_it() -> None:
    released = asyncio.Event()

    async def stubborn(*_: object, **__: object) -> Reply:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return Reply(answer())

    transport = create_streamable_http_transport(endpoint=ENDPOINT, fetch_impl=stubborn, close_timeout=0.01)
    failures: list[MCPError] = []
    transport.begin(modern(), failed=failures.append)
    await turns()
    await transport.close()
    released.set()
    await turns()

    assert [] == failures


@pytest.mark.requirement("transports-share-one-interface")
async def test_raises_transport_closed_after_close() -> None:
    client = Client()
    await client.transport.close()
    client.begin(modern())
    with pytest.raises(MCPTransportError) as raised:
        await client.transport.send(modern())

    assert [MCP_CODES.TRANSPORT_CLOSED] * 2 == [raised.value.code, client.failures[0].code]


async def test_iterating_over_a_generator_will_do() -> None:
    class Generated(Reply):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield event(NOTICE)
            yield event(answer())
            yield b": over\n\n"

    client = Client(Generated(kind=SSE))
    client.begin(modern())
    await turns()

    assert [None, 1] == client.ids
    await client.transport.close()
