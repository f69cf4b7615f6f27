"""The driver of ASGI applications, with applications of a few lines."""

import asyncio

import pytest

from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.transport.asgi import Receive, Scope, Send


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with what the scope says, and the body."""
    parts: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message["body"])
        if not message["more_body"]:
            break
    headers = [(b"x-path", scope["path"].encode()), (b"x-query", scope["query_string"]), *scope["headers"]]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": b"".join(parts)})


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    """Send one event, then wait until the client goes away."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass
    assert "http.disconnect" == (await receive())["type"]


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def mute(scope: Scope, receive: Receive, send: Send) -> None:
    """End without an answer."""


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("broken")


async def talking(scope: Scope, receive: Receive, send: Send) -> None:
    """Send until that fails."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b".", "more_body": True})
        await asyncio.sleep(0)


async def test_a_request_is_answered_in_full() -> None:
    answer = await AsgiClient(echo).request("POST", "/a%20b?c=d", headers={"X-Name": "v"}, body=b"body")

    assert (201, b"body") == (answer.status, answer.body)
    assert {"x-path": "/a b", "x-query": "c=d", "host": "127.0.0.1:8000", "x-name": "v"} == answer.headers


async def test_a_header_can_be_sent_twice() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def keep(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend(scope["headers"])
        await echo(scope, receive, send)

    await AsgiClient(keep).request("GET", "/", headers={"X-A": "1"}, further_headers=[("x-a", "2")])
    assert [b"1", b"2"] == [value for name, value in seen if name == b"x-a"]


async def test_a_body_can_be_sent_in_parts() -> None:
    async with AsgiClient(echo).open("POST", "/", body=None) as exchange:
        exchange.send_body(b"o", more=True)
        exchange.send_body(b"ne")
        assert b"one" == await exchange.read()


async def test_events_are_read_as_they_come_and_the_client_goes_away_at_will() -> None:
    async with AsgiClient(stream).open("GET", "/") as exchange:
        assert 200 == await exchange.start()
        assert b"one" == (await exchange.next_event()).data

    assert b"data: one\n\n" == exchange.body


async def test_a_paused_client_takes_nothing() -> None:
    exchange = AsgiClient(stream).open("GET", "/")
    exchange.pause()
    for _ in range(5):
        await asyncio.sleep(0)
    assert None is exchange.status
    exchange.resume()
    assert 200 == await exchange.start()
    await exchange.disconnect()


async def test_a_broken_connection_makes_every_send_raise() -> None:
    exchange = AsgiClient(talking).open("GET", "/")
    await exchange.start()
    exchange.break_off()
    with pytest.raises(OSError, match="broken"):
        await exchange.finish()


async def test_what_an_application_raises_reaches_the_test() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        await AsgiClient(failing).request("GET", "/")


async def test_an_application_that_does_not_answer_fails_the_test() -> None:
    exchange = AsgiClient(silent, deadline=0.01).open("GET", "/")
    with pytest.raises(AssertionError, match="no response within"):
        await exchange.start()
    with pytest.raises(AssertionError, match="still runs"):
        await exchange.finish()


async def test_an_application_that_ends_without_a_response_fails_the_test() -> None:
    exchange = AsgiClient(mute).open("GET", "/")
    with pytest.raises(AssertionError, match="without a response"):
        await exchange.start()
    with pytest.raises(AssertionError, match="ended before the next event"):
        await exchange.next_event()


async def test_a_lifespan_that_is_not_taken_part_in_fails_the_test() -> None:
    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "lifespan.startup.failed"})

    with pytest.raises(AssertionError, match="startup.failed"):
        async with AsgiClient(refusing).lifespan():
            pass
    with pytest.raises(AssertionError, match="no answer"):
        async with AsgiClient(silent, deadline=0.01).lifespan():
            pass
