"""The server's side of HTTP+SSE, driven without a web server."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Message, Notification
from suaveplan_mcp.testing.asgi import AsgiClient, AsgiExchange
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport import event_stream, http_sse_app
from suaveplan_mcp.transport.asgi import AsgiMessage
from suaveplan_mcp.transport.base import Delivery, Transport, find_failure
from suaveplan_mcp.transport.http_guard import HttpGuard
from suaveplan_mcp.transport.http_sse_app import HttpSseApp, HttpSseSession

JSON_HEADERS = {"Content-Type": "application/json"}
ONE, JSON_ONE = Notification("one"), b'{"jsonrpc":"2.0","method":"one"}'


class Server:
    """Keeps the transports it is given and what they bring."""

    def __init__(self) -> None:
        self.transports: list[HttpSseSession] = []
        self.received: list[tuple[Message, Delivery]] = []

    async def attach(self, transport: Transport) -> None:
        assert isinstance(transport, HttpSseSession)
        self.transports.append(transport)
        transport.on_message(lambda message, delivery: self.received.append((message, delivery)))

    def app(self, **options: object) -> HttpSseApp:
        numbers = count(1)
        options.setdefault("keep_alive", None)
        return HttpSseApp(self.attach, lambda: f"session-{next(numbers)}", **options)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def opened(client: AsgiClient, path: str = "/sse", **headers: str) -> AsyncGenerator[tuple[AsgiExchange, str]]:
    """Open an event stream; give it and the URL it names."""
    async with client.open("GET", path, headers=headers) as stream:
        assert 200 == await stream.start()
        endpoint = await stream.next_event()
        assert "endpoint" == endpoint.event
        yield stream, endpoint.data.decode()


async def post(
    client: AsgiClient, url: str, body: bytes = JSON_ONE, *, content_type: str = "application/json", **headers: str
) -> AsgiExchange:
    return await client.request("POST", url, headers={"Content-Type": content_type, **headers}, body=body)


# The stream


async def test_a_stream_first_names_the_url_to_post_to() -> None:
    client = AsgiClient(Server().app())
    async with opened(client) as (stream, url):
        assert "/messages?session_id=session-1" == url
        assert {
            "content-type": "text/event-stream",
            "cache-control": "no-cache",
            "x-accel-buffering": "no",
        } == stream.headers


async def test_every_stream_has_a_session_of_its_own() -> None:
    server = Server()
    app = server.app()
    client = AsgiClient(app)
    async with opened(client) as (first, _), opened(client) as (second, url):
        assert 2 == len(app)
        await post(client, url)
        await server.transports[1].send(ONE)
        assert JSON_ONE == (await second.next_event()).data
        assert b"one" not in first.body

    assert (0, 1) == (len(app), len(server.received))


async def test_an_id_of_a_session_may_hold_any_character() -> None:
    server = Server()
    client = AsgiClient(HttpSseApp(server.attach, lambda: "a/b&c=d é", keep_alive=None))
    async with opened(client) as (_, url):
        assert "/messages?session_id=a%2Fb%26c%3Dd%20%C3%A9" == url
        assert 202 == (await post(client, url)).status


async def test_messages_go_out_as_message_events() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (stream, _):
        server.transports[0].post(ONE)
        event = await stream.next_event()

    assert ("message", JSON_ONE) == (event.event, event.data)


async def test_a_message_that_is_not_json_is_refused_and_the_stream_goes_on() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (stream, _):
        with pytest.raises(MCPProtocolError):
            server.transports[0].post(Notification("one", {"a": object()}))  # pyright: ignore[reportArgumentType]
        await server.transports[0].send(ONE)
        assert JSON_ONE == (await stream.next_event()).data


async def test_a_silent_stream_gets_comments() -> None:
    clock = FakeClock()
    client = AsgiClient(Server().app(keep_alive=5.0, call_later=clock.call_later))
    async with opened(client) as (stream, _):
        await clock.advance_async(10.0)
        assert b": keep-alive\n\n" in stream.body

    assert [] == clock.pending


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", "Text/*, application/json;q=0", ""])
async def test_whoever_takes_an_event_stream_gets_one(accept: str) -> None:
    async with opened(AsgiClient(Server().app()), Accept=accept):
        pass


async def test_whoever_takes_no_event_stream_is_told_so() -> None:
    server = Server()
    refused = await AsgiClient(server.app()).request("GET", "/sse", headers={"Accept": "application/json"})

    assert (406, []) == (refused.status, server.transports)


# Messages


async def test_a_posted_message_is_handed_on_with_its_headers() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url):
        answer = await post(client, url, Authorization="Bearer x")

    ((message, delivery),) = server.received
    assert (202, ONE, "Bearer x") == (answer.status, message, delivery.headers["authorization"])


async def test_a_body_in_parts_is_one_message() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url), client.open("POST", url, headers=JSON_HEADERS, body=None) as posting:
        posting.send_body(JSON_ONE[:10], more=True)
        posting.send_body(JSON_ONE[10:])
        assert 202 == await posting.start()

    assert [ONE] == [message for message, _ in server.received]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'"text"'])
async def test_a_body_that_is_no_message_is_handed_on_as_invalid(body: bytes) -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url):
        answer = await post(client, url, body)

    assert (202, [InvalidMessage]) == (answer.status, [type(message) for message, _ in server.received])


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json;charset=utf-8", 'Application/JSON; charset="utf-8"']
)
async def test_json_is_known_by_any_spelling_of_its_type(content_type: str) -> None:
    client = AsgiClient(Server().app())
    async with opened(client) as (_, url):
        assert 202 == (await post(client, url, content_type=content_type)).status


@pytest.mark.parametrize("content_type", ["text/plain; a=application/json", "application/jsonp", ""])
async def test_another_type_is_refused_and_nothing_is_handed_on(content_type: str) -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url):
        assert 415 == (await post(client, url, content_type=content_type)).status

    assert [] == server.received


@pytest.mark.parametrize("url", ["/messages", "/messages?session_id=", "/messages?session_id=session-2"])
async def test_an_unknown_session_is_not_found(url: str) -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client):
        assert 404 == (await post(client, url)).status

    assert [] == server.received


async def test_the_session_of_a_stream_that_has_ended_is_not_found() -> None:
    client = AsgiClient(Server().app())
    async with opened(client) as (_, url):
        pass

    assert 404 == (await post(client, url)).status


async def test_a_message_whose_stream_ends_while_it_comes_is_not_found() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (stream, url), client.open("POST", url, headers=JSON_HEADERS, body=None) as posting:
        posting.send_body(JSON_ONE[:5], more=True)
        await asyncio.sleep(0)
        await stream.disconnect()
        posting.send_body(JSON_ONE[5:])
        assert 404 == await posting.start()

    assert [] == server.received


async def test_a_message_over_the_limit_is_refused_and_the_setting_named() -> None:
    server = Server()
    client = AsgiClient(server.app(guard=HttpGuard(max_body_bytes=len(JSON_ONE))))
    async with opened(client) as (_, url):
        assert 202 == (await post(client, url)).status
        refused = await post(client, url, JSON_ONE + b" ")

    assert (413, 1, True) == (refused.status, len(server.received), b"max_body_bytes" in refused.body)


async def test_a_message_that_is_cut_off_is_not_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url):
        caplog.set_level(logging.DEBUG, "suaveplan_mcp")
        posting = client.open("POST", url, headers=JSON_HEADERS, body=None)
        posting.send_body(JSON_ONE[:5], more=True)
        await posting.disconnect()
        assert ["a client went away in the middle of a message"] == [record.getMessage() for record in caplog.records]

    assert (None, []) == (posting.status, server.received)


# Where it is


@pytest.mark.parametrize("root_path", ["", "/api", "/proxy/api"])
@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_mounted_application_names_a_url_that_leads_to_it(root_path: str, slash: str) -> None:
    client = AsgiClient(Server().app(), root_path=root_path)
    async with opened(client, f"{root_path}/sse{slash}") as (_, url):
        path, _, query = url.partition("?")
        assert f"{root_path}/messages" == path
        assert 202 == (await post(client, f"{path}{slash}?{query}")).status


async def test_the_paths_can_be_chosen() -> None:
    client = AsgiClient(Server().app(path="/", messages_path="/in box/"))
    async with opened(client, "/") as (_, url):
        assert "/in%20box?session_id=session-1" == url
        assert 202 == (await post(client, url)).status


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ({"path": "sse"}, "`path` must begin with a slash"),
        ({"messages_path": ""}, "`messages_path` must begin with a slash"),
        ({"path": "/mcp", "messages_path": "/mcp/"}, "must differ"),
    ],
)
def test_paths_that_cannot_be_are_refused_where_the_application_is_made(paths: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Server().app(**paths)


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("POST", "/sse", 405, "GET"),
        ("HEAD", "/sse", 405, "GET"),
        ("GET", "/messages", 405, "POST"),
        ("OPTIONS", "/messages", 405, "POST"),
        ("GET", "/", 404, None),
        ("GET", "/sse/sse", 404, None),
        ("POST", "/other/messages", 404, None),
    ],
)
async def test_another_method_or_path_is_answered_without_a_redirect(
    method: str, path: str, status: int, allow: str | None
) -> None:
    answer = await AsgiClient(Server().app()).request(method, path)

    assert (status, allow) == (answer.status, answer.headers.get("allow"))


@pytest.mark.parametrize(("path", "named"), [("/sse", b"/api/sse"), ("/", b"/api/")])
async def test_whoever_asks_elsewhere_is_told_where_the_stream_is(path: str, named: bytes) -> None:
    answer = await AsgiClient(Server().app(path=path), root_path="/api").request("GET", "/api/other")

    assert (404, True) == (answer.status, answer.body.endswith(b" " + named))


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)]
)
async def test_the_guard_stands_before_everything(method: str, headers: dict[str, str], status: int) -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (_, url):
        path = "/sse" if method == "GET" else url
        assert status == (await client.request(method, path, headers={**JSON_HEADERS, **headers})).status

    assert (1, []) == (len(server.transports), server.received)


async def test_the_lifespan_of_a_process_is_answered_each_time() -> None:
    app = Server().app()
    for _ in range(2):
        async with AsgiClient(app).lifespan():
            assert 0 == len(app)


async def test_a_web_socket_is_closed() -> None:
    sent: list[AsgiMessage] = []

    async def receive() -> AsgiMessage:
        raise AssertionError("not asked for")

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    await Server().app()({"type": "websocket"}, receive, send)

    assert [{"type": "websocket.close"}] == sent


# Ends


async def test_a_client_that_goes_away_closes_its_transport_and_leaves_nothing_behind() -> None:
    server = Server()
    app = server.app()
    async with opened(AsgiClient(app)):
        (transport,) = server.transports
        assert not transport.closed

    assert (True, None, 0) == (transport.closed, find_failure(transport), len(app))
    assert {asyncio.current_task()} == asyncio.all_tasks()
    with pytest.raises(MCPTransportError) as raised:
        transport.post(ONE)
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


async def test_a_connection_that_breaks_closes_its_transport() -> None:
    server = Server()
    async with opened(AsgiClient(server.app())) as (stream, _):
        stream.break_off()
        await server.transports[0].send(ONE)
        await stream.finish()
        assert server.transports[0].closed


async def test_the_server_closes_a_stream_in_order() -> None:
    server = Server()
    client = AsgiClient(server.app())
    async with opened(client) as (stream, _):
        server.transports[0].post(ONE)
        await server.transports[0].close()
        assert (await stream.read()).endswith(JSON_ONE + b"\n\n")
        await stream.finish()


async def test_a_server_that_cannot_take_a_client_leaves_nothing_behind() -> None:
    async def attach(transport: Transport) -> None:
        transport.on_message(print)
        raise RuntimeError("full")

    app = HttpSseApp(attach, lambda: "a", keep_alive=None)
    with pytest.raises(RuntimeError, match="full"):
        await AsgiClient(app).request("GET", "/sse")

    assert 0 == len(app)


async def test_at_the_end_of_the_process_streams_end_and_new_ones_are_refused() -> None:
    server = Server()
    app = server.app()
    client = AsgiClient(app)
    async with opened(client) as (first, _), opened(client) as (second, _):
        await app.close()
        assert (await first.read()).endswith(b"\n\n")
        assert (await second.read()).endswith(b"\n\n")

    refused = await client.request("GET", "/sse")
    assert (503, "1") == (refused.status, refused.headers["retry-after"])


async def blocked(server: Server, **options: object) -> AsgiExchange:
    """Return a stream whose client does not read."""
    stream = AsgiClient(server.app(**options)).open("GET", "/sse")
    await stream.next_event()
    stream.pause()
    return stream


async def test_send_waits_for_a_client_that_does_not_read() -> None:
    server = Server()
    stream = await blocked(server)
    await server.transports[0].send(Notification("big", {"text": "x" * (event_stream.HIGH_WATER - 100)}))
    sending = asyncio.create_task(server.transports[0].send(Notification("big", {"text": "x" * 200})))
    for _ in range(8):
        await asyncio.sleep(0)
    assert not sending.done()
    await stream.disconnect()
    await sending


async def test_a_client_that_never_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sse_app, "MAX_UNSENT_BYTES", 1000)
    server = Server()
    stream = await blocked(server)
    (transport,) = server.transports
    with pytest.raises(MCPTransportError, match="does not read") as raised:
        transport.post(Notification("big", {"text": "x" * 1000}))
    await stream.finish()

    assert (MCP_CODES.TRANSPORT_ERROR, raised.value) == (raised.value.code, find_failure(transport))


async def test_a_close_does_not_wait_for_ever_for_a_client_that_does_not_read() -> None:
    server = Server()
    stream = await blocked(server, close_timeout=0.01)
    server.transports[0].post(ONE)
    await server.transports[0].close()
    await stream.finish()

    assert JSON_ONE not in stream.body
