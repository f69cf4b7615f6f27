"""Lines of JSON over byte streams, here with streams made of queues."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Message, Notification
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.stdio import ByteWriter, StdioTransport, create_stdio_transport

ONE, TWO, THREE = Notification("one"), Notification("two"), Notification("three")
LINE_ONE, LINE_TWO, LINE_THREE = (b'{"jsonrpc":"2.0","method":"%b"}\n' % name for name in (b"one", b"two", b"three"))
BROKEN = OSError("the pipe is broken")


class Source:
    """The bytes a peer writes."""

    def __init__(self, *chunks: bytes | None) -> None:
        self.queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.started = False
        self.feed(*chunks)

    def feed(self, *chunks: bytes | Exception | None) -> None:
        for chunk in chunks:
            self.queue.put_nowait(chunk)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.started = True
        while (chunk := await self.queue.get()) is not None:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class Writer:
    """Writes without delay, unless it is told to wait or to fail."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = 0
        self.error: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()

    async def write(self, data: bytes, /) -> None:
        await self.open.wait()
        if self.error is not None:
            raise self.error
        self.writes.append(data)

    async def close(self) -> None:
        self.closed += 1


class PromptWriter(Writer):
    """Takes bytes at once; `drain` waits until it is told that the buffer is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.drained = 0
        self.unwritten = 0

    def write_soon(self, data: bytes, /) -> None:
        if self.error is not None:
            raise self.error
        self.writes.append(data)
        self.unwritten += len(data)

    async def drain(self) -> None:
        await self.open.wait()
        if self.error is not None:
            raise self.error
        self.unwritten = 0
        self.drained += 1


WRITERS = pytest.mark.parametrize("make_writer", [Writer, PromptWriter])


def over(
    writable: ByteWriter, readable: Source | None = None, *, max_frame_bytes: int = 1000, high_water: int = 1000
) -> StdioTransport:
    return create_stdio_transport(
        readable=readable or Source(),
        writable=writable,
        max_frame_bytes=max_frame_bytes,
        high_water=high_water,
        close_timeout=0.01,
    )


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def closed(transport: StdioTransport) -> None:
    gone = asyncio.Event()
    transport.on_close(gone.set)
    await gone.wait()


# Reading


@pytest.mark.requirement("transports-share-one-interface")
async def test_parses_newline_delimited_json_from_readable() -> None:
    source, got = Source(LINE_ONE + LINE_TWO[:5], LINE_TWO[5:]), list[Message]()
    transport = over(Writer(), source)
    assert isinstance(transport, Transport)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [ONE, TWO] == got


async def test_carriage_returns_and_blank_lines_between_messages_are_ignored() -> None:
    source, got = Source(LINE_ONE.replace(b"\n", b"\r\n") + b"\r\n\n \n" + LINE_TWO, None), list[Message]()
    transport = over(Writer(), source)
    transport.on_message(got.append)
    await closed(transport)
    await transport.close()

    assert [ONE, TWO] == got


@pytest.mark.requirement("transports-share-one-interface")
async def test_a_message_that_comes_one_byte_at_a_time_is_whole() -> None:
    line = '{"jsonrpc":"2.0","method":"a≤b🎉"}\n'.encode()
    got = list[Message]()
    transport = over(Writer(), Source(*(bytes([byte]) for byte in line)))
    transport.on_message(got.append)
    await turns(100)
    await transport.close()

    assert [Notification("a≤b🎉")] == got


async def test_a_broken_line_is_handed_on_as_invalid_and_reading_goes_on() -> None:
    lines = [b"\xef\xbb\xbf\n", b"\xff\xfe\n", b"\n", b"Server started\n", b"[Breadcrumb] {\n", b'"text"\n', b"42\n"]
    source, got = Source(*lines, b"\xef\xbb\xbf" + LINE_ONE), list[Message]()
    transport = over(Writer(), source)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    assert [b"\xff\xfe", b"Server started", b"[Breadcrumb] {", b'"text"', b"42", ONE] == [
        message.sample if isinstance(message, InvalidMessage) else message for message in got
    ]


async def test_a_line_over_the_limit_is_handed_on_as_invalid_naming_the_setting() -> None:
    source, got = Source(b"x" * 70 + b"\n" + LINE_ONE), list[Message]()
    transport = over(Writer(), source, max_frame_bytes=64)
    transport.on_message(got.append)
    await turns()
    await transport.close()

    reason = "a frame of 70 bytes is over the limit of 64 bytes (`max_frame_bytes`)"
    assert [InvalidMessage(-32600, reason, None, b"x" * 70), ONE] == got


async def test_reading_starts_with_the_first_handler() -> None:
    source = Source(LINE_ONE)
    transport = over(Writer(), source)
    await turns()
    assert not source.started
    transport.on_message(lambda _: None)
    transport.on_message(lambda _: None)
    await turns()
    await transport.close()

    assert source.started


async def test_a_last_line_without_newline_is_delivered_before_the_end() -> None:
    seen = list[object]()
    transport = over(Writer(), Source(LINE_ONE.rstrip(), None))
    transport.on_close(lambda: seen.append("closed"))
    transport.on_message(seen.append)
    await closed(transport)
    await transport.close()

    assert [ONE, "closed"] == seen


async def test_the_end_of_readable_is_an_orderly_close() -> None:
    writer = Writer()
    transport = over(writer, Source(None))
    transport.on_message(lambda _: None)
    await closed(transport)
    await transport.close()

    assert transport.closed
    assert transport.failure is None
    assert 1 == writer.closed


async def test_an_error_while_reading_closes_with_a_failure() -> None:
    source, writer = Source(), Writer()
    source.feed(BROKEN)
    transport = over(writer, source)
    transport.on_message(lambda _: None)
    await closed(transport)
    await transport.close()

    assert transport.failure is not None
    assert (MCP_CODES.TRANSPORT_ERROR, BROKEN) == (transport.failure.code, transport.failure.cause)
    assert "reading" in transport.failure.message
    assert 1 == writer.closed


# Writing


@pytest.mark.requirement("transports-share-one-interface")
@WRITERS
async def test_frames_newline_delimited_json_on_send(make_writer: Callable[[], Writer]) -> None:
    writer = make_writer()
    transport = over(writer)
    await transport.send(ONE)
    await transport.send(TWO)
    assert [LINE_ONE, LINE_TWO] == writer.writes
    await transport.close()


@pytest.mark.requirement("transports-share-one-interface")
@WRITERS
async def test_raises_transport_closed_after_close(make_writer: Callable[[], Writer]) -> None:
    transport = over(make_writer())
    await transport.close()
    with pytest.raises(MCPTransportError) as raised:
        await transport.send(ONE)
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    with pytest.raises(MCPTransportError) as raised:
        transport.post(ONE)
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


@WRITERS
async def test_a_message_that_is_not_json_is_refused_and_nothing_is_written(make_writer: Callable[[], Writer]) -> None:
    writer = make_writer()
    transport = over(writer)
    with pytest.raises(MCPProtocolError, match="object"):
        transport.post(Notification("one", {"a": object()}))  # pyright: ignore[reportArgumentType]
    with pytest.raises(MCPProtocolError, match="object"):
        await transport.send(Notification("one", {"a": object()}))  # pyright: ignore[reportArgumentType]
    await transport.close()

    assert [] == writer.writes
    assert transport.failure is None


async def test_messages_posted_in_one_iteration_are_written_together() -> None:
    writer = Writer()
    transport = over(writer)
    transport.post(ONE)
    transport.post(TWO)
    assert [] == writer.writes
    await turns()
    transport.post(THREE)
    await turns()
    await transport.close()

    assert [LINE_ONE + LINE_TWO, LINE_THREE] == writer.writes


async def test_messages_posted_during_a_write_go_together_in_the_next() -> None:
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    transport.post(ONE)
    await turns()
    transport.post(TWO)
    transport.post(THREE)
    writer.open.set()
    await turns()
    await transport.close()

    assert [LINE_ONE, LINE_TWO + LINE_THREE] == writer.writes


async def test_a_prompt_writer_gets_the_first_message_at_once_and_the_others_together() -> None:
    writer = PromptWriter()
    transport = over(writer)
    transport.post(ONE)
    assert [LINE_ONE] == writer.writes
    transport.post(TWO)
    transport.post(THREE)
    assert [LINE_ONE] == writer.writes
    await turns()
    assert [LINE_ONE, LINE_TWO + LINE_THREE] == writer.writes
    transport.post(ONE)
    assert [LINE_ONE, LINE_TWO + LINE_THREE, LINE_ONE] == writer.writes
    await transport.close()


async def test_order_is_kept_between_post_and_send_to_a_prompt_writer() -> None:
    writer = PromptWriter()
    transport = over(writer)
    transport.post(ONE)
    transport.post(TWO)
    await transport.send(THREE)
    await transport.close()

    assert LINE_ONE + LINE_TWO + LINE_THREE == b"".join(writer.writes)


async def test_send_does_not_wait_for_a_prompt_writer_below_high_water() -> None:
    writer = PromptWriter()
    writer.open.clear()
    transport = over(writer, high_water=2 * len(LINE_ONE))
    await transport.send(ONE)
    await transport.send(TWO)
    assert [LINE_ONE, LINE_TWO] == writer.writes
    writer.open.set()
    await transport.close()


async def test_send_waits_for_a_prompt_writer_above_high_water() -> None:
    writer = PromptWriter()
    writer.open.clear()
    transport = over(writer, high_water=len(LINE_ONE))
    await transport.send(ONE)
    waiting = [asyncio.create_task(transport.send(message)) for message in (TWO, THREE)]
    await turns()
    assert not any(task.done() for task in waiting)
    writer.open.set()
    await asyncio.gather(*waiting)
    await transport.send(ONE)

    assert 2 == writer.drained
    await transport.close()


async def test_send_waits_until_a_plain_writer_has_written() -> None:
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    waiting = [asyncio.create_task(transport.send(message)) for message in (ONE, TWO)]
    await turns()
    assert not any(task.done() for task in waiting)
    writer.open.set()
    await asyncio.gather(*waiting)
    await transport.close()

    assert LINE_ONE + LINE_TWO == b"".join(writer.writes)


async def test_a_send_that_is_cancelled_leaves_the_others_alone() -> None:
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    first, second = (asyncio.create_task(transport.send(message)) for message in (ONE, TWO))
    await turns()
    first.cancel()
    writer.open.set()
    await second
    await transport.close()

    assert first.cancelled()
    assert [LINE_ONE + LINE_TWO] == writer.writes


@WRITERS
async def test_a_failing_write_is_raised_to_the_sender_and_closes_with_a_failure(
    make_writer: Callable[[], Writer],
) -> None:
    writer = make_writer()
    writer.error = BROKEN
    transport = over(writer)
    with pytest.raises(MCPTransportError) as raised:
        await transport.send(ONE)
    assert (MCP_CODES.TRANSPORT_ERROR, BROKEN) == (raised.value.code, raised.value.cause)
    assert raised.value is transport.failure
    with pytest.raises(MCPTransportError) as later:
        await transport.send(TWO)
    assert (MCP_CODES.TRANSPORT_CLOSED, transport.failure) == (later.value.code, later.value.cause)
    await transport.close()

    assert 1 == writer.closed


async def test_a_failing_write_is_raised_to_every_sender_that_still_waits() -> None:
    writer = Writer()
    writer.open.clear()
    writer.error = BROKEN
    transport = over(writer)
    writing = [asyncio.create_task(transport.send(message)) for message in (ONE, TWO)]
    await turns()
    queued = asyncio.create_task(transport.send(THREE))
    await turns()
    writing[0].cancel()
    writer.open.set()
    results = await asyncio.gather(*writing, queued, return_exceptions=True)
    await transport.close()

    assert isinstance(results[0], asyncio.CancelledError)
    assert [transport.failure] * 2 == results[1:]
    assert [] == writer.writes


async def test_a_posted_message_that_cannot_be_written_closes_with_a_failure() -> None:
    writer = Writer()
    writer.error = BROKEN
    transport = over(writer)
    transport.post(ONE)
    await closed(transport)
    await transport.close()

    assert transport.failure is not None
    assert BROKEN is transport.failure.cause


async def test_a_prompt_write_that_fails_at_the_end_of_the_iteration_closes_with_a_failure() -> None:
    writer = PromptWriter()
    transport = over(writer)
    transport.post(ONE)
    transport.post(TWO)
    writer.error = BROKEN
    await closed(transport)
    await transport.close()

    assert transport.failure is not None
    assert BROKEN is transport.failure.cause


async def test_a_drain_that_fails_is_raised_to_the_sender() -> None:
    writer = PromptWriter()
    writer.open.clear()
    transport = over(writer, high_water=1)
    sending = asyncio.create_task(transport.send(ONE))
    await turns()
    writer.error = BROKEN
    writer.open.set()
    with pytest.raises(MCPTransportError, match="writing"):
        await sending
    await transport.close()


# Closing


@WRITERS
async def test_close_writes_what_is_queued_and_then_closes_the_writer(make_writer: Callable[[], Writer]) -> None:
    writer = make_writer()
    transport = over(writer)
    transport.post(ONE)
    transport.post(TWO)
    await transport.close()

    assert LINE_ONE + LINE_TWO == b"".join(writer.writes)
    assert 1 == writer.closed


@WRITERS
async def test_what_is_queued_is_still_written_when_the_peer_ends(make_writer: Callable[[], Writer]) -> None:
    source, writer = Source(LINE_ONE, None), make_writer()
    transport = over(writer, source)
    transport.on_message(transport.post)
    await closed(transport)
    await transport.close()

    assert [LINE_ONE] == writer.writes


@WRITERS
async def test_close_does_not_wait_for_ever_for_a_peer_that_does_not_read(make_writer: Callable[[], Writer]) -> None:
    writer = make_writer()
    writer.open.clear()
    transport = over(writer)
    transport.on_message(lambda _: None)
    transport.post(ONE)
    await turns()
    await transport.close()

    assert transport.closed
    assert 1 == writer.closed


async def test_a_sender_that_waits_while_the_transport_closes_is_told() -> None:
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    sending = asyncio.create_task(transport.send(ONE))
    await turns()
    await transport.close()

    with pytest.raises(MCPTransportError, match="closed before"):
        await sending


async def test_several_tasks_may_close_and_all_wait_for_the_end() -> None:
    writer, told = Writer(), list[str]()
    transport = over(writer)
    transport.on_message(lambda _: None)
    transport.on_close(lambda: told.append("closed"))
    await asyncio.gather(*(asyncio.create_task(transport.close()) for _ in range(3)))
    await transport.close()

    assert (1, ["closed"]) == (writer.closed, told)


async def test_a_close_that_is_cancelled_still_runs_to_its_end() -> None:
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    transport.post(ONE)
    closing = asyncio.create_task(transport.close())
    await turns()
    closing.cancel()
    await turns()
    assert closing.cancelled()
    writer.open.set()
    await transport.close()

    assert ([LINE_ONE], 1) == (writer.writes, writer.closed)


async def test_a_close_handler_may_ask_for_the_close_again() -> None:
    writer, tasks = Writer(), list[asyncio.Task[None]]()
    transport = over(writer)
    transport.on_close(lambda: tasks.append(asyncio.create_task(transport.close())))
    await transport.close()
    await tasks[0]

    assert 1 == writer.closed


async def test_a_writer_that_fails_to_close_does_not_disturb() -> None:
    class Stubborn(Writer):
        async def close(self) -> None:
            raise BROKEN

    transport = over(Stubborn())
    await transport.close()

    assert transport.closed


async def test_nothing_is_delivered_once_the_close_has_begun() -> None:
    source, writer, got = Source(), Writer(), list[Message]()
    writer.open.clear()
    transport = over(writer, source)
    transport.on_message(got.append)
    transport.post(TWO)
    await turns()
    closing = asyncio.create_task(transport.close())
    await turns()
    source.feed(LINE_ONE)
    await turns()
    writer.open.set()
    await closing

    assert [] == got


async def test_a_reader_that_leaves_the_loop_takes_the_writer_with_it() -> None:
    # As when the loop shuts down: every task is cancelled, ours among them.
    writer = Writer()
    writer.open.clear()
    transport = over(writer)
    sending = asyncio.create_task(transport.send(ONE))
    await turns()
    for task in asyncio.all_tasks() - {asyncio.current_task(), sending}:
        task.cancel()

    with pytest.raises(MCPTransportError):
        await sending
    await transport.close()
    assert transport.failure is not None


# A peer that does not read


@WRITERS
async def test_what_is_unwritten_is_counted_until_it_is_written(make_writer: Callable[[], Writer]) -> None:
    writer, seen = make_writer(), list[tuple[bool, bool]]()
    writer.open.clear()
    transport = over(writer, high_water=len(LINE_ONE))
    for count in (4, 1, 60):
        for _ in range(count):
            transport.post(ONE)
        seen.append((transport.congested, transport.overfull))
    await turns()
    writer.open.set()
    await transport.drained()
    seen.append((transport.congested, transport.overfull))

    assert [(False, False), (True, False), (True, True), (False, False)] == seen
    await transport.drained()
    assert 65 * LINE_ONE == b"".join(writer.writes)
    await transport.close()


@WRITERS
async def test_waiting_for_room_ends_without_an_error_when_the_write_fails(make_writer: Callable[[], Writer]) -> None:
    writer = make_writer()
    writer.open.clear()
    transport = over(writer, high_water=1)
    transport.post(ONE)
    assert transport.congested
    waiting = asyncio.create_task(transport.drained())
    await turns()
    writer.error = BROKEN
    writer.open.set()
    await waiting

    assert not transport.congested
    assert transport.failure is not None
    assert BROKEN is transport.failure.cause
    await transport.close()


@WRITERS
async def test_no_more_is_read_from_a_peer_that_does_not_read(make_writer: Callable[[], Writer]) -> None:
    source, writer, got = Source(LINE_ONE), make_writer(), list[Message]()
    writer.open.clear()
    transport = over(writer, source, high_water=1)
    transport.may_pause = lambda: True
    transport.on_message(got.append)
    await turns()
    transport.post(THREE)
    source.feed(LINE_TWO)
    await turns()
    transport.post(THREE)
    await turns()
    assert [ONE] == got
    writer.open.set()
    await turns(10)

    assert [ONE, TWO] == got
    await transport.close()


async def test_reading_goes_on_where_nobody_said_that_it_may_stop() -> None:
    source, writer, got = Source(LINE_ONE), Writer(), list[Message]()
    writer.open.clear()
    transport = over(writer, source, high_water=1)
    transport.on_message(got.append)
    transport.post(THREE)
    await turns()

    assert transport.congested
    assert [ONE] == got
    await transport.close()


@pytest.mark.parametrize("request_is", ["sent", "waiting"])
async def test_reading_goes_on_as_soon_as_there_is_a_request(request_is: str) -> None:
    source, writer, got, pausing = Source(), Writer(), list[Message](), [True]
    writer.open.clear()
    transport = over(writer, source, high_water=1)
    transport.may_pause = lambda: pausing[0]
    transport.on_message(got.append)
    transport.post(THREE)
    source.feed(LINE_ONE)
    await turns()
    assert [] == got

    pausing[0] = False
    waiting = asyncio.create_task(transport.drained() if request_is == "waiting" else transport.send(TWO))
    await turns()

    assert [ONE] == got
    writer.open.set()
    await waiting
    await transport.close()


async def test_a_transport_that_has_stopped_reading_can_be_closed() -> None:
    source, writer, got = Source(), PromptWriter(), list[Message]()
    writer.open.clear()
    transport = over(writer, source, high_water=1)
    transport.may_pause = lambda: True
    transport.on_message(got.append)
    transport.post(THREE)
    source.feed(LINE_ONE)
    await turns()
    await transport.close()

    assert ([], 1) == (got, writer.closed)


async def test_a_prompt_writer_that_cannot_tell_its_size_is_waited_for() -> None:
    writer = PromptWriter()
    del writer.unwritten
    transport = over(writer)
    await transport.send(ONE)

    assert ([LINE_ONE], 0) == (writer.writes, writer.drained)
    await transport.close()
