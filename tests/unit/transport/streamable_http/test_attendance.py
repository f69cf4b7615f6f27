"""The one timer that looks after requests that take long."""

import asyncio

import pytest

from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport.streamable_http.attendance import INTERVAL, Attendance
from tests.unit.transport.streamable_http.scripted import JSON_RESULT, Scripted


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_many_requests_share_a_timer_and_it_is_set_only_while_there_is_one_to_look_after() -> None:
    server = Scripted()
    server.script = server.wait
    answers = [server.open() for _ in range(3)]
    await server.until_waiting(3)
    assert 1 == len(server.clock.pending)
    await server.until_watched()
    # All are watched by now, which takes no timer.
    assert [] == server.clock.pending
    for answer in answers:
        await answer.disconnect()
    assert 3 == server.cancelled


async def test_a_request_that_is_over_soon_is_never_looked_at() -> None:
    server = Scripted()
    for _ in range(3):
        assert JSON_RESULT == (await server.post()).body
    assert 1 == len(server.clock.pending)
    await server.clock.advance_async(INTERVAL)
    assert [] == server.clock.pending


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
def test_an_application_may_be_used_on_one_loop_after_another() -> None:
    server = Scripted()

    async def leave() -> None:
        server.script = server.wait
        async with server.open():
            await server.until_watched()

    async def use() -> None:
        await server.post()

    asyncio.run(use())
    asyncio.run(leave())
    assert 1 == server.cancelled


async def test_without_requests_the_end_is_at_once() -> None:
    clock = FakeClock()
    await Attendance(clock.call_later).end(1.0)
    assert [] == clock.pending


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_the_end_waits_for_requests_but_not_for_ever() -> None:
    server = Scripted(close_timeout=1.0)
    released = asyncio.Event()

    async def stubborn(exchange: object) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    server.script = stubborn
    answer = server.open()
    await server.clock.settle()
    closing = [asyncio.create_task(server.app.close()) for _ in range(2)]
    await server.clock.settle()
    # Both timers fire in one turn of the loop.
    server.clock.advance(1.0)
    await asyncio.gather(*closing)
    assert 1 == len(server.app)
    released.set()
    await answer.finish()
    assert (0, None) == (len(server.app), answer.status)


async def test_the_end_is_over_with_the_last_request() -> None:
    server = Scripted(close_timeout=1.0)
    server.script = server.wait
    answers = [server.open() for _ in range(2)]
    await server.until_waiting(2)
    await server.app.close()
    assert [503, 503] == [answer.status for answer in answers]
    for answer in answers:
        await answer.finish()
