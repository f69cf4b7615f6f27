"""What every reader and writer over a file descriptor does, however it waits."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable

import pytest

from suaveplan_mcp.host.polled_streams import PolledReader, PolledWriter
from suaveplan_mcp.host.streams import MAX_CHUNKS, ByteReader, ByteWriter
from suaveplan_mcp.host.threaded_streams import ThreadedReader, ThreadedWriter

readers = pytest.mark.parametrize("kind", [PolledReader, ThreadedReader])
writers = pytest.mark.parametrize("kind", [PolledWriter, ThreadedWriter])

MakeReader = Callable[[int], ByteReader]
MakeWriter = Callable[..., ByteWriter]

BIG = bytes(range(256)) * 4096


async def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread or the kernel does; the runner's deadline ends it."""
    while not condition():
        await asyncio.sleep(0.001)


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


async def read_all(fd: int) -> bytes:
    """Read a pipe to its end in a thread, so that the loop goes on writing to it."""

    def read() -> bytes:
        with open(fd, "rb") as stream:
            return stream.read()

    return await asyncio.to_thread(read)


@readers
async def test_everything_written_is_read_in_order(kind: MakeReader) -> None:
    source, sink = os.pipe()
    reader = kind(source)

    def write() -> None:
        with open(sink, "wb") as stream:
            stream.write(BIG)

    writing = asyncio.create_task(asyncio.to_thread(write))
    read = [chunk async for chunk in reader]
    await writing

    assert BIG == b"".join(read)
    reader.close()


@readers
async def test_no_more_is_read_than_a_reader_has_room_for(kind: MakeReader) -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    reader = kind(source)
    first = asyncio.create_task(anext(reader))
    written = os.write(sink, b"x")
    assert b"x" == await first

    for _ in range(3 * MAX_CHUNKS):
        await asyncio.sleep(0.001)
        try:
            written += os.write(sink, bytes(60_000))
        except BlockingIOError:
            break
    else:
        pytest.fail("the reader never stopped")

    os.close(sink)
    assert written - 1 == sum([len(chunk) async for chunk in reader])
    reader.close()


@readers
async def test_a_reader_that_is_ended_stops_whoever_waits_for_it(kind: MakeReader) -> None:
    source, sink = os.pipe()
    reader = kind(source)
    waiting = asyncio.create_task(_collect(reader))
    await asyncio.sleep(0)

    reader.end()

    assert [] == await waiting
    os.close(sink)
    reader.close()


async def test_an_iteration_that_is_cancelled_loses_nothing() -> None:
    reader = ByteReader()
    waiting = asyncio.create_task(anext(reader))
    await asyncio.sleep(0)

    reader._push(b"kept")
    waiting.cancel()
    await asyncio.wait((waiting,))

    assert waiting.cancelled()
    assert b"kept" == await anext(reader)


@readers
async def test_a_closed_reader_gives_its_descriptor_back(kind: MakeReader) -> None:
    source, sink = os.pipe()
    reader = kind(source)
    waiting = asyncio.create_task(_collect(reader))
    await asyncio.sleep(0)

    reader.close()
    reader.close()
    os.close(sink)

    assert [] == await waiting
    await until(lambda: not is_open(source))


@writers
async def test_what_does_not_fit_is_written_as_soon_as_it_does(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    writer = kind(sink)
    writer.write_soon(BIG)
    writer.write_soon(b"and more")
    reading = asyncio.create_task(read_all(source))

    await writer.write(b" in the end")
    await writer.close()

    assert BIG + b"and more in the end" == await reading


@writers
async def test_draining_waits_for_several_at_once_and_may_be_cancelled(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    writer = kind(sink)
    writer.write_soon(BIG)
    drains = [asyncio.create_task(writer.drain()) for _ in range(3)]
    await asyncio.sleep(0)
    drains[0].cancel()
    reading = asyncio.create_task(read_all(source))

    outcomes = await asyncio.gather(*drains, return_exceptions=True)
    await writer.close()

    assert [asyncio.CancelledError, type(None), type(None)] == [type(outcome) for outcome in outcomes]
    assert BIG == await reading


@writers
async def test_writing_to_nobody_raises(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    writer = kind(sink)
    os.close(source)

    with pytest.raises(BrokenPipeError):
        await writer.write(b"x")
    with pytest.raises(BrokenPipeError):
        writer.write_soon(b"x")
    await writer.close()


@writers
async def test_a_writer_that_breaks_while_it_waits_raises_in_whoever_drains(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    writer = kind(sink)
    writer.write_soon(BIG)
    draining = asyncio.create_task(writer.drain())
    await asyncio.sleep(0)

    os.close(source)

    with pytest.raises(BrokenPipeError):
        await draining
    await writer.close()


async def test_a_polled_writer_that_finds_nobody_at_once_tells_so() -> None:
    source, sink = os.pipe()
    told: list[OSError] = []
    writer = PolledWriter(sink, told.append)

    os.close(source)
    writer.write_soon(b"x")

    assert [BrokenPipeError] == [type(error) for error in told]
    await writer.close()


@writers
async def test_a_writer_that_breaks_tells_once_and_drops_the_rest(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    told: list[OSError] = []
    writer = kind(sink, told.append)
    writer.write_soon(BIG)
    draining = asyncio.create_task(writer.drain())
    await asyncio.sleep(0)

    os.close(source)
    await draining
    writer.write_soon(b"x")
    await writer.drain()
    await writer.close()

    assert [BrokenPipeError] == [type(error) for error in told]


@writers
async def test_closing_drops_what_is_not_written_and_gives_the_descriptor_back(kind: MakeWriter) -> None:
    source, sink = os.pipe()
    writer = kind(sink)
    writer.write_soon(BIG)
    draining = asyncio.create_task(writer.drain())
    await asyncio.sleep(0)

    await writer.close()
    await writer.close()
    writer.write_soon(b"dropped")

    await draining
    reading = asyncio.create_task(read_all(source))
    assert BIG.startswith(await reading)
    await until(lambda: not is_open(sink))


async def test_a_polled_reader_takes_a_broken_connection_for_the_end() -> None:
    ours, theirs = socket.socketpair()
    ours.send(b"never read")
    reader = PolledReader(ours.detach())
    theirs.close()

    assert [] == await _collect(reader)
    reader.close()


async def test_a_polled_reader_bears_being_called_for_nothing() -> None:
    source, sink = os.pipe()
    os.set_blocking(source, False)
    reader = PolledReader(source)

    reader._read()

    os.write(sink, b"x")
    assert b"x" == await anext(reader)
    reader.close()
    os.close(sink)


async def test_a_polled_writer_bears_being_called_for_nothing() -> None:
    source, sink = os.pipe()
    writer = PolledWriter(sink)
    writer.write_soon(BIG)
    writer._write_queued()
    writer._write_queued()
    reading = asyncio.create_task(read_all(source))

    await writer.drain()
    await writer.close()

    assert BIG == await reading


async def test_a_polled_writer_waits_where_nothing_fits_at_all() -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    filled = os.write(sink, BIG)
    writer = PolledWriter(sink)
    writer.write_soon(b"then this")
    reading = asyncio.create_task(read_all(source))

    await writer.drain()
    await writer.close()

    assert b"then this" == (await reading)[filled:]


async def test_a_polled_writer_leaves_the_mode_of_its_descriptor_as_it_was() -> None:
    source, sink = os.pipe()
    shared = os.dup(sink)
    writer = PolledWriter(sink)
    assert not os.get_blocking(shared)

    await writer.close()

    assert os.get_blocking(shared)
    os.close(shared)
    os.close(source)


async def test_a_polled_writer_notices_that_the_other_end_was_closed_without_writing() -> None:
    source, sink = os.pipe()
    told = asyncio.Event()
    writer = PolledWriter(sink, lambda _: told.set())

    os.close(source)

    await told.wait()
    await writer.close()


async def test_a_threaded_reader_takes_what_cannot_be_read_for_the_end() -> None:
    reader = ThreadedReader(os.open("/", os.O_RDONLY))

    assert [] == await _collect(reader)
    reader.close()


async def test_a_threaded_writer_that_was_closed_tells_nobody_that_it_broke() -> None:
    source, sink = os.pipe()
    told: list[OSError] = []
    writer = ThreadedWriter(sink, told.append)
    writer.write_soon(BIG)

    await writer.close()
    os.close(source)

    await until(lambda: not is_open(sink))
    assert [] == told


def test_threads_bear_that_the_loop_ends_first() -> None:
    source, sink = os.pipe()
    echoed, echo = os.pipe()

    async def open_streams() -> tuple[ByteReader, ByteWriter]:
        return ThreadedReader(source), ThreadedWriter(echo)

    _, writer = asyncio.run(open_streams())
    writer._send(b"x")
    os.write(sink, b"x")
    os.close(sink)

    assert b"x" == os.read(echoed, 1)
    writer._release()
    for thread in threading.enumerate():
        if thread.name == "suaveplan-mcp-stream":
            thread.join()
    os.close(echoed)
    assert [False, False] == [is_open(source), is_open(echo)]


async def _collect(reader: ByteReader) -> list[bytes]:
    return [chunk async for chunk in reader]
