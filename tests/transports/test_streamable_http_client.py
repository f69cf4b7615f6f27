"""Our client against a server that writes raw bytes: what it sends, and that nothing it gets back makes it hang."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp import MCPClient, connect
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.host.streamable_http import connect_streamable_http
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.targets import Connection
from tests.transports.raw_mcp_server import (
    RESET,
    STREAM,
    WAIT,
    Answer,
    Call,
    RawServer,
    chunk,
    event,
    raw_server,
    respond,
    result,
)
from tests.transports.web_server import DEADLINE, until

END = chunk(b"")


def client_of(server: RawServer, *, timeout: float | None = 60, **options: Any) -> Connection:
    transport = connect_streamable_http(f"{server.url}?key=secret", **options)
    return connect(transport, protocol="2026-07-28", timeout=timeout)


@asynccontextmanager
async def connected(answer: Answer, **options: Any) -> AsyncGenerator[tuple[MCPClient, RawServer]]:
    """Connect to a server that answers tool calls so."""
    async with asyncio.timeout(DEADLINE), raw_server(answer) as server:
        async with client_of(server, **options) as client:
            yield client, server
        await until(lambda: not server.open)


def text_of(answered: Any) -> str:
    return answered.content[0].text


# Good answers


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
@pytest.mark.parametrize(
    "pieces",
    [
        lambda body: [respond(body)],
        lambda body: [STREAM + event(body) + END],
        lambda body: [STREAM, chunk(b": alive\r\n\r\n"), event(body), END],
        lambda body: [
            STREAM,
            *[chunk(b"data: %b\n\n"[:6])],
            *[chunk(bytes([byte])) for byte in body],
            chunk(b"\n\n"),
            END,
        ],
        lambda body: [b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: " + body + b"\n\n", b""],
    ],
)
async def test_an_answer_is_read_in_either_form(pieces: Any) -> None:
    async with connected(lambda call: pieces(result(call))) as (client, _):
        assert ["well", "well"] == [text_of(await client.call_tool("a")) for _ in range(2)]


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
@pytest.mark.parametrize("streamed", [False, True])
async def test_one_connection_serves_call_after_call(*, streamed: bool) -> None:
    def answer(call: Call) -> Sequence[bytes]:
        return [STREAM + event(result(call)) + END] if streamed else [respond(result(call))]

    async with connected(answer) as (client, server):
        for _ in range(20):
            await client.call_tool("a")

        assert (1, 20) == (server.connections, len(server.of("tools/call")))


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
async def test_many_calls_are_answered_at_once_and_each_gets_its_own_answer() -> None:
    def answer(call: Call) -> Sequence[bytes]:
        return [respond(result(call, call.id))]

    async with connected(answer) as (client, server):
        answers = await asyncio.gather(*(client.call_tool("a") for _ in range(100)))

        assert sorted(int(call.id) for call in server.of("tools/call")) == [int(text_of(each)) for each in answers]


async def test_large_bodies_go_both_ways() -> None:
    size = 5_000_000

    def answer(call: Call) -> Sequence[bytes]:
        got = call.message["params"]["arguments"]["a"]  # pyright: ignore[reportIndexIssue]
        return [STREAM + event(result(call, got.encode())) + END]

    async with connected(answer) as (client, _):
        assert size == len(text_of(await client.call_tool("a", {"a": "x" * size})))


async def test_progress_comes_before_the_answer_and_is_taken() -> None:
    def answer(call: Call) -> Sequence[bytes]:
        token = call.message["params"]["_meta"]["progressToken"]  # pyright: ignore[reportIndexIssue]
        progress = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}'
        return [STREAM, *[event(progress % (token, value)) for value in (1, 2)], event(result(call)), END]

    reported: list[float] = []
    async with connected(answer) as (client, _):
        await client.call_tool("a", on_progress=lambda progress: reported.append(progress.progress))

    assert [1, 2] == reported


async def test_headers_say_what_the_body_says_and_a_call_may_have_its_own() -> None:
    async with connected(lambda call: [respond(result(call))], headers={"Authorization": "x"}) as (client, server):
        await client.call_tool("büro", headers={"X-Trace": "1", "Mcp-Method": "lie"})
        headers = server.of("tools/call")[0].headers

    assert ("2026-07-28", "tools/call", "=?base64?YsO8cm8=?=", "1", "x") == tuple(
        headers[name] for name in ("mcp-protocol-version", "mcp-method", "mcp-name", "x-trace", "authorization")
    )
    assert "application/json, text/event-stream" == headers["accept"]


# Broken answers


def _wrong_id(call: Call) -> bytes:
    return result(Call({}, {"id": str(call.message["id"])}))


BROKEN: dict[str, tuple[Answer, str]] = {
    "nothing": (lambda _: [b""], "ServerDisconnectedError"),
    "a reset": (lambda _: [RESET], "ClientOSError|ServerDisconnectedError"),
    "no HTTP": (lambda _: [b"hello\r\n\r\n", b""], "what came is no HTTP"),
    "half a head": (lambda _: [b"HTTP/1.1 200 X\r\nContent-", b""], "ServerDisconnectedError|no HTTP"),
    "a short body": (lambda call: [respond(result(call))[:-5], b""], "broke off: ClientPayloadError"),
    "no body": (lambda _: [respond(b"")], "is empty"),
    "half of the JSON": (lambda call: [respond(result(call)[:-5])], "is malformed: Input data was truncated"),
    "no JSON": (lambda _: [respond(b"oops")], "is malformed: JSON is malformed"),
    "no UTF-8": (lambda call: [respond(result(call, b"\xff"))], "not UTF-8"),
    "the wrong id": (lambda call: [respond(_wrong_id(call))], "has the wrong id: '1' in place of 1"),
    "no answer": (lambda _: [respond(b'{"jsonrpc":"2.0","method":"x"}')], "no response, but a notification"),
    "HTML": (lambda _: [respond(b"<html>", kind="text/html")], "is 200, text/html: b'<html>'"),
    "no type": (lambda call: [respond(result(call), kind="")], "is 200, of no type"),
    "a wrong success": (lambda _: [respond(b"", 202, kind="")], "is 202, of no type"),
    "a gateway": (lambda _: [respond(b"<h1>", 502, kind="text/html")], "is 502, text/html: b'<h1>'"),
    "an unknown caller": (lambda _: [respond(b"", 401, kind="", WWW_Authenticate="Bearer")], "is 401, of no type"),
    "a redirect": (lambda _: [respond(b"", 302, kind="", Location="/login?a")], "is 302, .*which leads to /login:"),
    "another origin": (
        lambda _: [respond(b"", 307, kind="", Location="https://else.example/?key=secret")],
        "redirects to another origin, 'https://else.example/'",
    ),
    "a stream that ends early": (lambda _: [STREAM, END], "ended before it was complete"),
    "a stream that breaks off": (lambda _: [STREAM, chunk(b": a\n"), b""], "broke off: ClientPayloadError"),
    "a stream with a broken chunk": (lambda _: [STREAM, b"zz\r\n", b""], "broke off|no HTTP"),
    "a stream that is reset": (lambda _: [STREAM, chunk(b": a\n"), RESET], "broke off|ClientOSError"),
    "a stream with the wrong id": (lambda call: [STREAM, event(_wrong_id(call)), WAIT], "has the wrong id"),
    "a stream of nonsense": (lambda _: [STREAM, event(b"oops"), END], "cannot be used: JSON is malformed"),
    "an unfinished event": (lambda call: [STREAM, event(result(call))[:-4] + b"\r\n", b""], "broke off"),
    "no gzip": (lambda _: [respond(b"oops", Content_Encoding="gzip")], "broke off"),
}


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_answer_is_an_error_at_once_and_the_next_call_is_answered(name: str) -> None:
    broken, said = BROKEN[name]
    answers = iter([broken])

    def answer(call: Call) -> Sequence[bytes]:
        return next(answers, lambda call: [respond(result(call))])(call)

    async with connected(answer, timeout=None) as (client, server):
        with pytest.raises(MCPTransportError, match=said) as raised:
            await client.call_tool("a", headers={"Authorization": "secret"})
        assert (MCP_CODES.TRANSPORT_ERROR, False) == (raised.value.code, "secret" in raised.value.message)
        assert server.url in raised.value.message
        assert "well" == text_of(await client.call_tool("a"))
        assert 2 == len(server.of("tools/call"))


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
async def test_an_answer_over_the_limit_is_an_error_that_names_the_setting() -> None:
    async with connected(lambda call: [respond(result(call, b"x" * 100_000))], max_frame_bytes=1000) as (client, _):
        with pytest.raises(MCPTransportError, match=r"over the limit of 1000 bytes \(`max_frame_bytes`\)"):
            await client.call_tool("a")


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize("status", [200, 400, 404, 500])
@pytest.mark.parametrize("id_", [b'"id":null,', b""])
async def test_an_error_of_the_server_is_its_own_whatever_the_status(status: int, id_: bytes) -> None:
    body = b'{"jsonrpc":"2.0",%b"error":{"code":4001,"message":"no","data":0}}' % id_
    async with connected(lambda _: [respond(body, status)]) as (client, _):
        with pytest.raises(MCPError, match="no") as raised:
            await client.call_tool("a")

    assert (True, 4001, 0) == (raised.value.received, raised.value.jsonrpc_code, raised.value.data)


# Giving up


@pytest.mark.requirement("a-request-over-http-is-given-up-by-closing-its-answer")
@pytest.mark.parametrize("pieces", [[WAIT], [STREAM, WAIT]])
@pytest.mark.parametrize("how", ["timeout", "task", "signal"])
async def test_a_call_that_is_given_up_closes_its_connection_and_sends_nothing(pieces: list[bytes], how: str) -> None:
    async with connected(lambda _: pieces) as (client, server):
        controller = AbortController()
        calling = asyncio.ensure_future(
            client.call_tool("a", timeout=0.05 if how == "timeout" else None, signal=controller.signal)
        )
        await until(lambda: bool(server.of("tools/call")))
        if how == "task":
            calling.cancel()
        elif how == "signal":
            controller.abort()
        with pytest.raises(BaseException):  # noqa: B017, PT011  each way has its own
            await calling
        await until(lambda: server.open == 0)

        assert [] == server.of("notifications/cancelled")


@pytest.mark.requirement("a-request-over-http-is-given-up-by-closing-its-answer")
async def test_closing_the_client_ends_what_is_in_flight_at_once() -> None:
    async with asyncio.timeout(DEADLINE), raw_server(lambda _: [STREAM, WAIT]) as server:
        async with client_of(server, timeout=None) as client:
            calling = [asyncio.ensure_future(client.call_tool("a")) for _ in range(10)]
            await until(lambda: len(server.of("tools/call")) == 10)
        for call in calling:
            with pytest.raises(MCPTransportError, match="closed"):
                await call
        await until(lambda: not server.open)


# A server of the handshake era


def _of_the_handshake(call: Call, refusal: Sequence[bytes], *, streamed: bool) -> Sequence[bytes]:
    method = call.message["method"]
    if method == "server/discover":
        return refusal
    if method == "initialize":
        agreed = b'{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (call.id, agreed)
        return [respond(body, Mcp_Session_Id="s-1")]
    if "id" not in call.message:
        return [respond(b"", 202, kind="")]
    return [STREAM + event(result(call)) + END] if streamed else [respond(result(call))]


@pytest.mark.requirement("each-message-over-streamable-http-goes-its-own-way")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "refusal",
    [
        [respond(b"", 400, kind="")],
        [respond(b"no such page", 404, kind="text/plain")],
        [respond(b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no session"}}', 400)],
        [respond(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not initialized"}}', 400)],
    ],
)
async def test_a_server_of_the_handshake_is_talked_to_in_its_session(
    refusal: Sequence[bytes], *, streamed: bool
) -> None:
    def answer(call: Call) -> Sequence[bytes]:
        return _of_the_handshake(call, refusal, streamed=streamed)

    async with asyncio.timeout(DEADLINE), raw_server(answer, stateless=False) as server:
        async with connect(connect_streamable_http(server.url)) as client:
            assert "well" == text_of(await client.call_tool("a"))
        seen = [
            (call.message["method"], call.headers.get("mcp-session-id"), call.headers.get("mcp-protocol-version"))
            for call in server.calls
        ]

    assert [
        ("server/discover", None, "2026-07-28"),
        ("initialize", None, None),
        ("notifications/initialized", "s-1", "2025-11-25"),
        ("tools/call", "s-1", "2025-11-25"),
    ] == seen


async def test_a_server_of_the_handshake_is_answered_with_a_post_and_told_of_what_is_given_up() -> None:
    ping = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'

    def answer(call: Call) -> Sequence[bytes]:
        if call.message.get("method") == "tools/call":
            return [STREAM, event(ping), WAIT]
        return (
            _of_the_handshake(call, [respond(b"", 404, kind="")], streamed=False)
            if "method" in call.message
            else [respond(b"", 202, kind="")]
        )

    async with asyncio.timeout(DEADLINE), raw_server(answer, stateless=False) as server:
        async with connect(connect_streamable_http(server.url)) as client:
            calling = asyncio.ensure_future(client.call_tool("a"))
            await until(lambda: any("result" in call.message for call in server.calls))
            calling.cancel()
            await until(lambda: bool(server.of("notifications/cancelled")))
        answered = next(call for call in server.calls if "result" in call.message)
        (cancelled,) = server.of("notifications/cancelled")

    assert ("p", "s-1", "s-1") == (
        answered.message["id"],
        answered.headers["mcp-session-id"],
        cancelled.headers["mcp-session-id"],
    )
    assert calling.cancelled()


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_that_is_out_of_order_is_not_taken_for_one_of_the_handshake(status: int) -> None:
    async with raw_server(lambda _: [respond(b"", status, kind="")], stateless=False) as server:
        with pytest.raises(MCPTransportError, match=f"is {status}, of no type"):
            await connect(connect_streamable_http(server.url)).__aenter__()

    assert ["server/discover"] == [call.message["method"] for call in server.calls]
