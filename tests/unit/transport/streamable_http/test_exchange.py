"""How one POST is answered, and what becomes of it when its client goes away or the server closes."""

import asyncio
import json
import logging

import pytest

from suaveplan_mcp.errors import MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import ErrorObject, ErrorResponse, Notification, Response
from suaveplan_mcp.testing.asgi import AsgiExchange
from suaveplan_mcp.transport import event_stream
from suaveplan_mcp.transport.base import Transport, find_paced
from suaveplan_mcp.transport.streamable_http import exchange as module
from suaveplan_mcp.transport.streamable_http.exchange import HttpExchange
from tests.unit.transport.streamable_http.scripted import (
    JSON_PROGRESS,
    JSON_RESULT,
    NOTIFICATION,
    PROGRESS,
    RESULT,
    Script,
    Scripted,
    error_of,
    say_result,
)


async def nothing(exchange: HttpExchange) -> None:
    pass


async def stream(exchange: HttpExchange) -> None:
    exchange.post(PROGRESS)
    await exchange.send(PROGRESS)
    await exchange.send(RESULT)


async def events_of(answer: AsgiExchange, number: int) -> list[bytes]:
    return [(await answer.next_event()).data for _ in range(number)]


# Answers


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_the_first_message_that_is_no_answer_begins_a_stream() -> None:
    answer = await Scripted(stream).post()

    assert 200 == answer.status
    assert [JSON_PROGRESS, JSON_PROGRESS, JSON_RESULT] == await events_of(answer, 3)
    assert {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
    } == answer.headers


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_what_is_said_is_sent_before_the_answer_is_there() -> None:
    server = Scripted()
    server.script = server.stream_and_wait
    async with server.open() as answer:
        event = await answer.next_event()
        assert ("message", JSON_PROGRESS) == (event.event, event.data)


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (-32601, 404),
        (-32602, 400),
        (-32600, 400),
        (-32700, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32603, 200),
        (-31002, 200),
        (7, 200),
    ],
)
async def test_an_error_has_the_status_of_its_number(number: int, status: int) -> None:
    async def fail(exchange: HttpExchange) -> None:
        exchange.post(ErrorResponse(7, ErrorObject(number, "no")))

    answer = await Scripted(fail).post()
    assert ((status, number, 7), "application/json") == (error_of(answer), answer.headers["content-type"])


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_an_error_on_a_stream_travels_inside_it() -> None:
    async def fail(exchange: HttpExchange) -> None:
        exchange.post(PROGRESS)
        exchange.post(ErrorResponse(7, ErrorObject(-32601, "no")))

    answer = await Scripted(fail).post()
    _, last = await events_of(answer, 2)
    assert (200, -32601) == (answer.status, json.loads(last)["error"]["code"])


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
@pytest.mark.parametrize("script", [say_result, stream])
async def test_what_comes_after_the_answer_is_dropped(script: Script) -> None:
    async def go_on(exchange: HttpExchange) -> None:
        await script(exchange)
        exchange.post(PROGRESS)
        await exchange.send(Response(7, "another"))

    answer = await Scripted(go_on).post()
    assert (True, False) == (answer.body.count(b"done") == 1, b"another" in answer.body)


async def test_a_message_that_is_not_json_is_refused_and_another_can_take_its_place() -> None:
    async def mend(exchange: HttpExchange) -> None:
        for message in (Response(7, object()), Notification("x", object())):  # pyright: ignore[reportArgumentType]
            with pytest.raises(MCPProtocolError):
                await exchange.send(message)
        await exchange.send(RESULT)

    answer = await Scripted(mend).post()
    assert (200, JSON_RESULT) == (answer.status, answer.body)


async def test_a_request_that_nobody_answers_is_an_error() -> None:
    assert (500, -32603, 7) == error_of(await Scripted(nothing).post())


async def test_a_server_that_fails_is_an_error_that_leaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(exchange: HttpExchange) -> None:
        raise LookupError("secret")

    answer = await Scripted(fail).post()
    assert ((500, -32603, 7), False) == (error_of(answer), b"secret" in answer.body)
    assert "secret" in caplog.text


async def test_a_stream_of_a_server_that_fails_ends_with_an_error() -> None:
    async def fail(exchange: HttpExchange) -> None:
        exchange.post(PROGRESS)
        raise LookupError("secret")

    _, last = await events_of(await Scripted(fail).post(), 2)
    assert (7, -32603) == (json.loads(last)["id"], json.loads(last)["error"]["code"])


async def test_a_handler_that_gives_up_by_itself_leaves_its_answer() -> None:
    async def give_up(exchange: HttpExchange) -> None:
        await exchange.send(RESULT)
        raise asyncio.CancelledError

    answer = await Scripted(give_up).post()
    assert (200, JSON_RESULT) == (answer.status, answer.body)


# Clients that take no stream


async def test_a_client_that_takes_no_stream_is_spared_what_it_can_miss() -> None:
    answer = await Scripted(stream).post(accept="application/json")
    assert (200, JSON_RESULT) == (answer.status, answer.body)


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_a_client_that_takes_no_stream_is_told_where_one_is_needed() -> None:
    server = Scripted()

    async def listen(exchange: HttpExchange) -> None:
        exchange.post(Notification("notifications/subscriptions/acknowledged"))
        await server.wait(exchange)

    server.script = listen
    answer = await server.post(accept="application/json")
    assert ((406, -32600, 7), 1) == (error_of(answer), server.cancelled)


async def test_nothing_is_said_to_the_sender_of_a_notification() -> None:
    answer = await Scripted(stream).post(NOTIFICATION)
    assert (200, JSON_RESULT) == (answer.status, answer.body)


# Clients that go away


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_client_that_goes_away_before_its_answer_gives_the_request_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Scripted()
    server.script = server.wait
    async with server.open() as answer:
        await server.until_waiting()
        await server.until_watched()
        assert 0 == server.cancelled

    assert (1, None, 0) == (server.cancelled, answer.status, len(server.app))
    assert ["DEBUG"] == [record.levelname for record in caplog.records if record.name.startswith("suaveplan_mcp")]


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_client_that_goes_away_from_a_stream_gives_the_request_up_at_once() -> None:
    server = Scripted()
    server.script = server.stream_and_wait
    async with server.open() as answer:
        await answer.next_event()

    assert (1, 0) == (server.cancelled, len(server.app))


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_stream_that_breaks_gives_the_request_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Scripted()

    async def go_on(exchange: HttpExchange) -> None:
        exchange.post(PROGRESS)
        await server.clock.settle()
        exchange.post(PROGRESS)
        await server.wait(exchange)

    server.script = go_on
    answer = server.open()
    await answer.next_event()
    answer.break_off()
    await answer.finish()

    assert 1 == server.cancelled
    assert ["DEBUG"] == [record.levelname for record in caplog.records if record.name.startswith("suaveplan_mcp")]


async def test_a_receive_that_fails_means_that_the_client_is_gone() -> None:
    server = Scripted()
    server.script = server.wait

    async def receive() -> dict[str, object]:
        if server.received:
            raise OSError("reset")
        return {"type": "http.request", "body": b'{"jsonrpc":"2.0","id":7,"method":"do"}'}

    async def send(message: object) -> None: ...

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    task = asyncio.create_task(server.app(scope, receive, send))
    await server.until_waiting()
    await server.until_watched()
    await task
    assert 1 == server.cancelled


async def test_what_is_sent_to_a_client_that_is_gone_is_dropped() -> None:
    server = Scripted()

    async def insist(exchange: HttpExchange) -> None:
        exchange.post(PROGRESS)
        try:
            await server.wait(exchange)
        finally:
            exchange.post(PROGRESS)
            await exchange.send(RESULT)

    server.script = insist
    async with server.open() as answer:
        await answer.next_event()
    assert (True, False) == (answer.body.count(b"progress") == 2, b"done" in answer.body)


async def test_a_server_that_does_not_listen_for_the_end_is_cancelled_all_the_same() -> None:
    ended: list[str] = []
    server = Scripted()

    async def answer(exchange: Transport, *_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    server.app._answer = answer
    async with server.open():
        await server.until_watched()
    assert ["ended"] == ended


async def test_a_handler_that_swallows_its_cancellation_is_not_answered_and_harms_nobody() -> None:
    server = Scripted()

    async def swallow(exchange: HttpExchange) -> None:
        try:
            await server.wait(exchange)
        except asyncio.CancelledError:
            await exchange.send(RESULT)

    server.script = swallow
    async with server.open() as answer:
        await server.until_watched()
    assert (None, 1) == (answer.status, server.cancelled)


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
@pytest.mark.parametrize("script", ["wait", "stream_and_wait"])
async def test_a_cancellation_by_somebody_else_goes_on(script: str) -> None:
    server = Scripted()
    server.script = getattr(server, script)
    answer = server.open()
    await server.until_waiting()
    answer._task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer._task
    assert (1, 0) == (server.cancelled, len(server.app))


async def test_a_cancellation_by_somebody_else_goes_on_while_the_body_is_read() -> None:
    server = Scripted()
    answer = server.open(None)
    await server.clock.settle()
    answer._task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer._task


async def test_a_client_that_leaves_after_the_answer_is_no_matter(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = Scripted()
    goes_on = asyncio.Event()

    async def late(exchange: HttpExchange) -> None:
        await goes_on.wait()
        await say_result(exchange)

    server.script = late
    async with server.open() as answer:
        await server.until_watched()
        goes_on.set()
        assert JSON_RESULT == await answer.read()
    assert [] == [record for record in caplog.records if record.name.startswith("suaveplan_mcp")]


# Clients that do not read


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_client_that_does_not_read_makes_the_server_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (module, event_stream):
        monkeypatch.setattr(room, "HIGH_WATER", 100)
    monkeypatch.setattr(module, "_OVERFULL", 400)
    states: list[tuple[bool, bool]] = []
    server = Scripted()

    async def flood(exchange: HttpExchange) -> None:
        assert find_paced(exchange) is exchange
        await exchange.drained()
        states.append((exchange.congested, exchange.overfull))
        for _ in range(10):
            exchange.post(PROGRESS)
        states.append((exchange.congested, exchange.overfull))
        await exchange.send(PROGRESS)
        states.append((exchange.congested, exchange.overfull))
        await exchange.send(RESULT)

    server.script = flood
    answer = server.open()
    answer.pause()
    await server.clock.settle()
    assert [(False, False), (True, True)] == states
    answer.resume()
    await answer.read()
    await answer.finish()
    assert (False, False) == states[-1]


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_server_does_not_wait_for_a_client_that_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "HIGH_WATER", 0)
    server = Scripted(stream)
    answer = server.open()
    answer.pause()
    await server.clock.settle()
    assert 1 == len(server.app)
    # The server listens for no end: it has said all it has to say.
    await answer.disconnect()
    assert 0 == len(server.app)


async def test_a_client_that_never_reads_and_goes_away_leaves_nothing_behind() -> None:
    server = Scripted(stream)
    answer = server.open()
    answer.pause()
    await server.clock.settle()
    await answer.disconnect()
    assert 0 == len(server.app)


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_silent_stream_gets_comments() -> None:
    server = Scripted(keep_alive=5.0)
    server.script = server.stream_and_wait
    async with server.open() as answer:
        await answer.next_event()
        await server.clock.advance_async(10.0)
        assert b": keep-alive\n\n" in answer.body
    assert [] == server.clock.pending


# The end of the server


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_the_close_of_an_exchange_gives_the_request_up_and_says_so() -> None:
    server = Scripted()
    server.script = server.wait
    async with server.open() as answer:
        await server.until_waiting()
        await server.app.close()
        assert ((503, -32603, 7), 1) == (error_of(answer), server.cancelled)


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_the_close_ends_a_stream_in_order_with_an_error() -> None:
    server = Scripted()
    server.script = server.stream_and_wait
    async with server.open() as answer:
        await server.until_waiting()
        await server.app.close()
        _, last = await events_of(answer, 2)
        assert b"shutting down" in last
        await answer.read()
    assert 0 == len(server.app)


async def test_a_notification_that_is_given_up_is_not_accepted() -> None:
    server = Scripted()
    server.script = server.wait
    async with server.open(NOTIFICATION) as answer:
        await server.until_waiting()
        await server.app.close()
        assert (503, -32603, None) == error_of(answer)


async def test_an_answer_that_is_ready_is_sent_though_the_server_closes() -> None:
    server = Scripted()
    answer = server.open()

    async def close(exchange: HttpExchange) -> None:
        await exchange.send(RESULT)
        await exchange.close()

    server.script = close
    assert JSON_RESULT == await answer.read()
    await answer.finish()


async def test_a_stream_that_is_not_read_is_broken_off_in_time() -> None:
    server = Scripted(close_timeout=1.0)
    server.script = server.stream_and_wait
    answer = server.open()
    answer.pause()
    await server.until_waiting()
    closing = asyncio.create_task(server.app.close())
    await server.clock.advance_async(0.9)
    assert not closing.done()
    await server.clock.advance_async(0.2)
    await closing
    await answer.finish()
    assert 0 == len(server.app)
