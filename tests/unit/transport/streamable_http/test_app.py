"""What the endpoint takes, and with which status it refuses the rest."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.jsonrpc.messages import ErrorObject, ErrorResponse, InvalidMessage, Notification, Request
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.transport.http_guard import HttpGuard
from suaveplan_mcp.transport.streamable_http import app as module
from suaveplan_mcp.transport.streamable_http.app import StreamableHttpApp
from suaveplan_mcp.transport.streamable_http.exchange import HttpExchange
from tests.unit.transport.streamable_http.scripted import (
    HEADERS,
    JSON_RESULT,
    NOTIFICATION,
    REQUEST,
    Scripted,
    error_of,
    say_result,
)

# What is served


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_request_is_answered_with_plain_json() -> None:
    server = Scripted()
    answer = await server.post()

    assert (200, JSON_RESULT) == (answer.status, answer.body)
    assert {"content-type": "application/json", "content-length": str(len(JSON_RESULT))} == answer.headers
    assert 0 == len(server.app)


async def test_the_server_hears_the_message_and_its_headers() -> None:
    server = Scripted()
    await server.post(mcp_method="do")

    ((message, delivery),) = server.received
    assert isinstance(message, Request)
    assert (7, "do", None) == (delivery.headers["mcp-method"] and message.id, message.method, delivery.principal)


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_notification_is_accepted_without_a_body() -> None:
    async def nothing(exchange: HttpExchange) -> None:
        pass

    server = Scripted(nothing)
    answer = await server.post(NOTIFICATION)

    assert (202, b"") == (answer.status, answer.body)
    assert isinstance(server.received[0][0], Notification)


async def test_a_notification_that_is_refused_is_answered_with_the_error() -> None:
    async def refuse(exchange: HttpExchange) -> None:
        exchange.post(ErrorResponse(None, ErrorObject(-32600, "no")))

    assert 400 == (await Scripted(refuse).post(NOTIFICATION)).status


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("root_path", ["", "/a/b"])
async def test_both_spellings_of_the_path_are_served_under_any_root(path: str, root_path: str) -> None:
    client = AsgiClient(Scripted().app, root_path=root_path)
    assert 200 == (await client.request("POST", root_path + path, headers=HEADERS, body=REQUEST)).status


async def test_the_path_may_be_the_root() -> None:
    client = AsgiClient(Scripted(path="/").app)
    assert 200 == (await client.request("POST", "/", headers=HEADERS, body=REQUEST)).status
    missing = await client.request("POST", "/x", headers=HEADERS, body=REQUEST)
    assert (404, b"there is nothing here; messages are posted to /") == (missing.status, missing.body)


async def test_another_path_leads_nowhere_and_the_answer_says_where_to_go() -> None:
    client = AsgiClient(Scripted().app, root_path="/root")
    answer = await client.request("POST", "/root/other", headers=HEADERS, body=REQUEST)
    assert (404, b"there is nothing here; messages are posted to /root/mcp") == (answer.status, answer.body)


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD", "OPTIONS", "PUT"])
async def test_only_post_is_served(method: str) -> None:
    server = Scripted()
    answer = await server.client.request(method, "/mcp", headers=HEADERS)
    assert (405, "POST", []) == (answer.status, answer.headers["allow"], server.received)


async def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any: ...

    await Scripted().app({"type": "websocket"}, receive, send)
    assert [{"type": "websocket.close"}] == sent


# Types


@pytest.mark.parametrize(
    "content_type", ["application/json;charset=utf-8", 'Application/JSON; charset="utf-8"', "application/json;"]
)
async def test_json_is_known_however_it_is_written(content_type: str) -> None:
    assert 200 == (await Scripted().post(content_type=content_type)).status


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize("content_type", ["text/plain; a=application/json", "application/jsonp", ""])
async def test_another_type_is_not_served(content_type: str) -> None:
    server = Scripted()
    answer = await server.post(content_type=content_type)
    assert (415, []) == (answer.status, server.received)


async def test_a_message_without_a_type_is_not_served() -> None:
    answer = await Scripted().client.request("POST", "/mcp", headers={"accept": "*/*"}, body=REQUEST)
    assert 415 == answer.status


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/*, text/*;q=0.5",
        "Application/JSON;charset=utf-8 , TEXT/event-stream",
        "",
        "application/json",
    ],
)
async def test_whoever_takes_json_is_served(accept: str) -> None:
    assert 200 == (await Scripted().post(accept=accept)).status


async def test_nothing_need_be_said_of_what_is_taken() -> None:
    answer = await Scripted().client.request("POST", "/mcp", headers={"content-type": "application/json"}, body=REQUEST)
    assert 200 == answer.status


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize("accept", ["application/json;q=0, text/event-stream", "text/event-stream", "text/html"])
async def test_whoever_takes_no_json_is_not_served(accept: str) -> None:
    server = Scripted()
    answer = await server.post(accept=accept)
    assert (406, []) == (answer.status, server.received)


# What is no message


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
@pytest.mark.parametrize(
    ("body", "number", "id_"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"x",', -32700, 3),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}", -32700, 1),
        (b"1", -32600, None),
        (b'{"id":5,"method":"x"}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, None),
    ],
)
async def test_what_is_no_message_is_an_error_with_the_id_where_it_can_be_read(
    body: bytes, number: int, id_: int | None
) -> None:
    async def drop(exchange: HttpExchange) -> None:
        pass

    server = Scripted(drop)
    answer = await server.post(body)
    assert (400, number, id_) == error_of(answer)
    # There is no null: the id of an error is a request's id, or absent.
    assert (id_ is not None) == ("id" in json.loads(answer.body))
    assert isinstance(server.received[0][0], InvalidMessage)


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "a response"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', "a response"),
        (b"[" + REQUEST + b"]", "a batch"),
    ],
)
async def test_only_requests_and_notifications_are_taken(body: bytes, what: str) -> None:
    server = Scripted()
    answer = await server.post(body)
    assert ((400, -32600, None), []) == (error_of(answer), server.received)
    assert f"not {what}".encode() in answer.body


# Limits


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_a_length_over_the_limit_is_refused_before_anything_is_read() -> None:
    server = Scripted(guard=HttpGuard(max_body_bytes=100))
    async with server.open(None, content_length="101") as exchange:
        assert 413 == await exchange.start()
        assert b"100 bytes (`max_body_bytes`)" in await exchange.read()


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_a_body_over_the_limit_is_refused_as_soon_as_it_is() -> None:
    server = Scripted(guard=HttpGuard(max_body_bytes=100))
    async with server.open(None) as exchange:
        exchange.send_body(b" " * 100, more=True)
        exchange.send_body(b" ", more=True)
        assert 413 == await exchange.start()
    assert [] == server.received


async def test_a_body_in_pieces_is_put_together() -> None:
    server = Scripted()
    async with server.open(None) as exchange:
        for at in range(len(REQUEST)):
            exchange.send_body(REQUEST[at : at + 1], more=True)
        exchange.send_body(b"")
        assert 200 == await exchange.start()


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_body_that_is_cut_off_is_never_served(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Scripted()
    async with server.open(None) as exchange:
        exchange.send_body(REQUEST[:-5], more=True)
        await server.clock.settle()

    assert (None, [], 0) == (exchange.status, server.received, len(server.app))
    assert ["DEBUG"] == [record.levelname for record in caplog.records if record.name.startswith("suaveplan_mcp")]


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_a_body_that_takes_too_long_is_refused() -> None:
    server = Scripted(body_timeout=2.0)
    async with server.open(None) as exchange:
        exchange.send_body(REQUEST[:-5], more=True)
        await server.clock.advance_async(1.9)
        assert exchange.status is None
        await server.clock.advance_async(0.3)
        assert 408 == exchange.status
        assert b"2 seconds (`body_timeout`)" in exchange.body

    assert ([], [], 0) == (server.received, server.clock.pending, len(server.app))


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize(
    ("options", "text"), [({"max_headers": 3}, b"3 headers (`max_headers`)"), ({"max_header_bytes": 90}, b"90 bytes")]
)
async def test_headers_over_a_limit_are_refused(options: dict[str, int], text: bytes) -> None:
    server = Scripted(say_result, **options)
    assert 200 == (await server.post()).status
    answer = await server.post(x_more="and more")
    assert (431, True, 1) == (answer.status, text in answer.body, len(server.received))


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region"])
async def test_a_header_that_came_twice_is_refused(name: str) -> None:
    server = Scripted()
    twice = [(name.lower(), "a"), (name.lower(), "a")]
    answer = await server.client.request("POST", "/mcp", headers=HEADERS, further_headers=twice, body=REQUEST)
    assert ((400, -32020, None), []) == (error_of(answer), server.received)


async def test_other_headers_may_come_twice() -> None:
    server = Scripted()
    twice = [("x-of", "a"), ("x-of", "b")]
    answer = await server.client.request("POST", "/mcp", headers=HEADERS, further_headers=twice, body=REQUEST)
    assert (200, "a, b") == (answer.status, server.received[0][1].headers["x-of"])


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_more_requests_than_may_be_open_are_sent_away() -> None:
    server = Scripted(max_requests=2)
    server.script = server.wait
    async with server.open(), server.open():
        await server.until_waiting(2)
        answer = await server.post()
        assert (503, "1", True) == (answer.status, answer.headers["retry-after"], b"`max_requests`" in answer.body)
        await server.until_watched()

    server.script = Scripted().script
    assert 200 == (await server.post()).status


@pytest.mark.parametrize("name", ["max_requests", "max_headers", "max_header_bytes", "body_timeout"])
def test_a_limit_that_lets_nothing_through_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` must be more than 0, but is 0"):
        Scripted(say_result, **{name: 0})


def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="`path` must begin with a slash: 'mcp'"):
        Scripted(path="mcp")


# Who is let in


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_foreign_pages_are_kept_out_however_often_they_ask() -> None:
    server = Scripted()
    for _ in range(2):
        answer = await server.post(origin="http://evil.example")
        assert (403, True) == (answer.status, b"`allowed_origins`" in answer.body)
        answer = await server.post(host="evil.example")
        assert (421, True) == (answer.status, b"`allowed_hosts`" in answer.body)
    assert [] == server.received


async def test_an_empty_origin_is_not_taken_for_none() -> None:
    server = Scripted()
    assert (200, 403) == ((await server.post()).status, (await server.post(origin="")).status)


async def test_those_who_were_let_in_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(HttpGuard):
        checks = 0

        def check(self, headers: Mapping[str, str], server: str) -> None:
            self.checks += 1

    monkeypatch.setattr(module, "_MOST_REMEMBERED", 1)
    guard = Counting()
    server = Scripted(guard=guard)
    for host in ("x" * 300, "x" * 300, "one", "one", "two", "two"):
        assert 200 == (await server.post(host=host)).status
    assert 5 == guard.checks


async def test_who_sends_a_request_is_told_to_the_server() -> None:
    seen: list[str] = []

    async def authenticate(headers: Mapping[str, str]) -> str | None:
        seen.append(headers["authorization"])
        return "Ann"

    server = Scripted(authenticate=authenticate)
    await server.post(authorization="x")
    assert (["x"], "Ann") == (seen, server.received[0][1].principal)


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
@pytest.mark.parametrize(
    ("headers", "expected"), [({}, "Bearer"), ({"authorization": "Bearer x"}, 'Bearer error="invalid_token"')]
)
async def test_whoever_does_not_show_who_they_are_is_not_served_and_nothing_is_read(
    headers: dict[str, str], expected: str
) -> None:
    async def authenticate(headers: Mapping[str, str]) -> None: ...

    server = Scripted(authenticate=authenticate)
    async with server.open(None, **headers) as exchange:
        assert (401, expected) == (await exchange.start(), exchange.headers["www-authenticate"])


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_a_fault_of_the_authentication_serves_nobody_and_leaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def authenticate(headers: Mapping[str, str]) -> object:
        raise LookupError("secret")

    server = Scripted(authenticate=authenticate)
    answer = await server.post()
    assert ((500, -32603, None), [], False) == (error_of(answer), server.received, b"secret" in answer.body)
    assert "secret" in caplog.text


# Web pages of other origins

PAGE = "https://app.example.com"


def shared(server_options: dict[str, Any] | None = None) -> Scripted:
    return Scripted(cors=True, guard=HttpGuard(allowed_origins=[PAGE]), **(server_options or {}))


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_a_page_may_ask_before_it_shows_who_it_is() -> None:
    async def authenticate(headers: Mapping[str, str]) -> None: ...

    server = shared({"authenticate": authenticate})
    asking = {"origin": PAGE, "access-control-request-method": "POST"}
    asked = {"access-control-request-headers": "content-type, Authorization,mcp-param-region,b\x00d"}
    answer = await server.client.request("OPTIONS", "/mcp", headers=asking | asked)

    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert {"authorization", "content-type", "mcp-method", "mcp-name", "mcp-param-region"} <= set(allowed)
    assert "b\x00d" not in allowed
    assert (204, b"", PAGE) == (answer.status, answer.body, answer.headers["access-control-allow-origin"])
    assert ("POST", "600") == (
        answer.headers["access-control-allow-methods"],
        answer.headers["access-control-max-age"],
    )


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_every_response_may_be_read_by_the_page() -> None:
    async def authenticate(headers: Mapping[str, str]) -> str | None:
        return headers.get("authorization")

    server = shared({"authenticate": authenticate, "max_headers": 9})
    page = {**HEADERS, "origin": PAGE, "authorization": "x"}
    changes: list[tuple[str, str, dict[str, str], int]] = [
        ("POST", "/mcp", {}, 200),
        ("POST", "/other", {}, 404),
        ("GET", "/mcp", {}, 405),
        ("OPTIONS", "/mcp", {}, 405),
        ("POST", "/mcp", {"content-type": "text/plain"}, 415),
        ("POST", "/mcp", {"content-length": "999999999"}, 413),
    ]
    for method, path, change, status in changes:
        answer = await server.client.request(method, path, headers=page | change, body=REQUEST)
        assert (status, PAGE, "Origin") == (
            answer.status,
            answer.headers["access-control-allow-origin"],
            answer.headers["vary"],
        )
        assert "www-authenticate" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers
    del page["authorization"]
    answer = await server.client.request("POST", "/mcp", headers=page, body=REQUEST)
    assert (401, PAGE) == (answer.status, answer.headers["access-control-allow-origin"])


async def test_a_page_that_may_not_use_the_server_is_told_nothing() -> None:
    answer = await shared().post(origin="https://evil.example")
    assert (403, None) == (answer.status, answer.headers.get("access-control-allow-origin"))


async def test_an_answer_without_an_origin_says_that_it_depends_on_it() -> None:
    answer = await shared().post()
    assert ("Origin", None) == (answer.headers["vary"], answer.headers.get("access-control-allow-origin"))


async def test_nothing_is_said_of_origins_where_nobody_asked_for_it() -> None:
    answer = await Scripted(guard=HttpGuard(allowed_origins=[PAGE])).post(origin=PAGE)
    assert (200, None, None) == (
        answer.status,
        answer.headers.get("access-control-allow-origin"),
        answer.headers.get("vary"),
    )


# The end


async def test_after_the_close_nothing_more_is_served() -> None:
    server = Scripted()
    await server.app.close()
    answer = await server.post()
    assert (503, "1", []) == (answer.status, answer.headers["retry-after"], server.received)


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_a_web_server_may_start_and_end_the_application_more_than_once() -> None:
    steps: list[str] = []

    async def start() -> None:
        steps.append("start")

    async def stop() -> None:
        steps.append("stop")

    server = Scripted(on_startup=start, on_shutdown=stop)
    for _ in range(2):
        async with server.client.lifespan():
            assert 200 == (await server.post()).status
        assert 503 == (await server.post()).status
    assert ["start", "stop", "start", "stop"] == steps


async def test_without_hooks_there_is_nothing_to_be_done_at_either_end() -> None:
    server = Scripted()
    async with server.client.lifespan():
        assert 200 == (await server.post()).status


async def test_what_fails_at_the_start_is_told_to_the_web_server(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise LookupError("no database")

    with pytest.raises(AssertionError, match="LookupError: no database"):
        async with Scripted(on_startup=fail).client.lifespan():
            pass
    assert "no database" in caplog.text


def test_an_application_has_defaults_for_everything() -> None:
    async def answer(*_: object) -> None: ...

    assert 0 == len(StreamableHttpApp(answer))
