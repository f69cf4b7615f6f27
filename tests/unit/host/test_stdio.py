"""This process's own streams while they carry messages."""

import asyncio
import os
import sys

import pytest

from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.host.stdio import (
    StandardStreams,
    hold_standard_streams,
    release_standard_streams,
    take_standard_streams,
)
from suaveplan_mcp.jsonrpc.messages import Message, Request, Response
from suaveplan_mcp.testing import FakeClock
from tests.transports.standard_streams import standard_streams

CALL = b'{"jsonrpc":"2.0","id":1,"method":"slow"}\n'


def test_what_is_printed_before_and_meanwhile_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with standard_streams() as wire:
        sys.stdout.write("before\n")
        streams = StandardStreams()
        sys.stdout.write("meanwhile\n")
        os.write(1, b"directly\n")
        assert b"" == os.read(0, 1)
        streams.restore()
        sys.stdout.write("after\n")
    wire.end_input()

    assert b"after\n" == wire.written()
    assert ["before", "directly", "meanwhile"] == sorted(capfd.readouterr().err.splitlines())


def test_a_process_without_an_output_stream_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)

    StandardStreams().restore()

    assert None is sys.stdout


def test_streams_that_were_held_are_taken_once() -> None:
    hold_standard_streams()
    held = take_standard_streams()
    fresh = take_standard_streams()
    fresh.restore()
    held.restore()

    assert held is not fresh


def test_streams_that_were_held_for_nobody_are_put_back() -> None:
    before = os.fstat(1).st_ino
    hold_standard_streams()
    assert before != os.fstat(1).st_ino

    release_standard_streams()
    release_standard_streams()

    assert before == os.fstat(1).st_ino


async def test_the_end_of_input_closes_where_no_call_is_open() -> None:
    with standard_streams() as wire:
        streams = StandardStreams()
        transport = streams.open_transport()
        closed = asyncio.Event()
        transport.on_close(closed.set)
        transport.on_message(print)
        wire.end_input()
        await closed.wait()
        await transport.close()
        streams.restore()

    assert b"" == wire.written()


async def test_handlers_at_work_when_the_input_ends_can_still_answer() -> None:
    clock = FakeClock()
    busy = True
    with standard_streams() as wire:
        streams = StandardStreams()
        transport = streams.open_transport(timers=clock)
        transport.is_busy = lambda: busy
        received: asyncio.Queue[Message] = asyncio.Queue()
        transport.on_message(received.put_nowait)
        wire.feed(CALL)
        assert Request(1, "slow") == await received.get()
        while not clock.pending:
            await asyncio.sleep(0)
        clock.advance(0.1)
        assert not transport.closed
        transport.post(Response(1, "done"))
        busy = False
        clock.advance(0.01)
        assert transport.closed
        await transport.close()
        streams.restore()

    assert b'{"jsonrpc":"2.0","id":1,"result":"done"}\n' == wire.written()


async def test_a_handler_that_goes_on_holds_the_end_up_no_longer_than_half_a_second() -> None:
    clock = FakeClock()
    with standard_streams() as wire:
        streams = StandardStreams()
        transport = streams.open_transport(timers=clock)
        transport.is_busy = lambda: True
        transport.on_message(lambda message: None)
        wire.feed(CALL)
        while not clock.pending:
            await asyncio.sleep(0)
        clock.advance(0.48)
        assert not transport.closed
        clock.advance(0.04)
        assert transport.closed
        with pytest.raises(MCPTransportError):
            transport.post(Response(1, "too late"))
        await transport.close()
        streams.restore()

    assert b"" == wire.written()
