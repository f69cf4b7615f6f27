"""A response that is an event stream, with a web server made of futures."""

import asyncio
import logging

import pytest

from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport import event_stream
from suaveplan_mcp.transport.asgi import AsgiMessage
from suaveplan_mcp.transport.event_stream import EventStream


class WebServer:
    """Takes what is sent, as far as its gate is open; its client goes away when told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.broken: Exception | None = None
        self.bodies: list[bytes] = []
        self.complete = False
        self.asked = 0

    async def receive(self) -> AsgiMessage:
        self.asked += 1
        if self.asked == 1:
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: AsgiMessage) -> None:
        await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            self.complete = not message["more_body"]


async def turns(count: int = 8) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def serve(stream: EventStream, server: WebServer) -> "asyncio.Task[None]":
    return asyncio.create_task(stream.respond(server.receive, server.send))


async def test_what_is_written_is_sent_in_order_and_the_end_comes_last() -> None:
    stream, server = EventStream(), WebServer()
    stream.write(b"a")
    stream.write(b"b")
    responding = serve(stream, server)
    await turns()
    stream.write(b"c")
    stream.end()
    await responding

    assert ([b"ab", b"c", b""], True, 0) == (server.bodies, server.complete, stream.unsent)


async def test_a_client_that_goes_away_ends_the_response_with_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    stream, server = EventStream(), WebServer()
    responding = serve(stream, server)
    await turns()
    server.gone.set()
    await responding
    stream.write(b"late")

    assert ([], False) == (server.bodies, server.complete)
    assert ["a client closed its event stream"] == [record.getMessage() for record in caplog.records]


async def test_a_send_that_raises_ends_the_response_with_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    stream, server = EventStream(), WebServer()
    server.broken = OSError("reset")
    stream.write(b"a")
    await serve(stream, server)

    assert ["an event stream broke off: OSError('reset')"] == [record.getMessage() for record in caplog.records]


async def test_a_client_that_goes_away_while_it_does_not_read_leaves_nothing_waiting() -> None:
    stream, server = EventStream(), WebServer()
    server.gate.clear()
    responding = serve(stream, server)
    stream.write(b"x" * (event_stream.HIGH_WATER + 1))
    draining = [asyncio.create_task(stream.drain()) for _ in range(2)]
    await turns()
    assert not any(task.done() for task in draining)
    server.gone.set()
    await responding
    await asyncio.gather(*draining)

    await stream.drain()


async def test_drain_waits_while_too_much_is_unsent() -> None:
    stream, server = EventStream(), WebServer()
    responding = serve(stream, server)
    await turns()
    server.gate.clear()
    stream.write(b"x" * event_stream.HIGH_WATER)
    await stream.drain()
    stream.write(b"y")
    draining = asyncio.create_task(stream.drain())
    await turns()
    assert not draining.done()
    server.gate.set()
    await draining
    stream.end()
    await responding

    assert 0 == stream.unsent


async def test_room_is_there_only_when_enough_of_what_waits_is_sent() -> None:
    stream, server = EventStream(), WebServer()
    responding = serve(stream, server)
    await turns()
    server.gate.clear()
    stream.write(b"x" * (event_stream.HIGH_WATER + 1))
    draining = asyncio.create_task(stream.drain())
    await turns()
    stream.write(b"y" * (event_stream.HIGH_WATER + 1))
    server.gate.set()
    await draining

    assert (2, 0) == (len(server.bodies), stream.unsent)
    stream.end()
    await responding


async def test_a_cancelled_wait_for_room_does_not_disturb_another() -> None:
    stream, server = EventStream(), WebServer()
    server.gate.clear()
    responding = serve(stream, server)
    stream.write(b"x" * (event_stream.HIGH_WATER + 1))
    first, second = (asyncio.create_task(stream.drain()) for _ in range(2))
    await turns()
    first.cancel()
    await turns()
    server.gate.set()
    await second
    stream.end()
    await responding

    assert first.cancelled()


async def test_an_aborted_response_ends_as_it_is() -> None:
    stream, server = EventStream(), WebServer()
    stream.abort()
    server.gate.clear()
    responding = serve(stream, server)
    stream.write(b"a")
    await turns()
    stream.abort()
    await responding

    assert ([], False) == (server.bodies, server.complete)


async def test_a_response_whose_task_is_cancelled_leaves_no_task_and_no_timer() -> None:
    clock = FakeClock()
    stream, server = EventStream(call_later=clock.call_later), WebServer()
    responding = serve(stream, server)
    await turns()
    responding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await responding
    await stream.wait_ended()

    assert ([], {asyncio.current_task()}) == (clock.pending, asyncio.all_tasks())


async def test_the_end_of_a_response_can_be_waited_for() -> None:
    stream, server = EventStream(), WebServer()
    await stream.wait_ended()
    responding = serve(stream, server)
    await turns()
    waiting = asyncio.create_task(stream.wait_ended())
    await turns()
    assert not waiting.done()
    stream.end()
    await waiting
    await responding


async def test_silence_is_broken_by_comments_and_only_silence() -> None:
    clock = FakeClock()
    stream, server = EventStream(keep_alive=15.0, call_later=clock.call_later), WebServer()
    stream.write(b"endpoint")
    responding = serve(stream, server)
    # The first event was no silence.
    await clock.advance_async(15.0)
    assert [b"endpoint"] == server.bodies
    await clock.advance_async(15.0)
    # A comment of our own is not news either.
    await clock.advance_async(15.0)
    stream.write(b"news")
    await clock.advance_async(15.0)
    stream.end()
    await responding

    assert [b"endpoint", b": keep-alive\n\n", b": keep-alive\n\n", b"news", b""] == server.bodies
    assert [] == clock.pending


async def test_without_keep_alive_no_timer_is_set() -> None:
    stream, server = EventStream(keep_alive=None), WebServer()
    responding = serve(stream, server)
    await turns()
    stream.end()
    await responding

    assert [b""] == server.bodies
