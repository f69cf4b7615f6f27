"""One event of a stream, written and cut in every way there is, arrives as the same message (case 34)."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import pytest
from msgspec import Raw, json

from suaveplan_mcp.host.http_sse import connect_http_sse
from suaveplan_mcp.jsonrpc.messages import Message, Response
from suaveplan_mcp.transport.http_sse import HttpSseTransport

LINES = (
    "event: message",
    'data: {"jsonrpc":"2.0","id":1,',
    'data: "result":{"resultType":"complete",',
    'data:"tools":[],"ttlMs":0,"cacheScope":"private","x":"≤🎉"}}',
    "",
    "",
)
RESULT = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private", "x": "≤🎉"}
ENDS = pytest.mark.parametrize("end", ["\r\n", "\n", "\r"], ids=["CRLF", "LF", "CR"])


def event(end: str) -> bytes:
    return end.join(LINES).encode()


@asynccontextmanager
async def streaming(pieces: Iterable[bytes], *, chunked: bool = False) -> AsyncGenerator[HttpSseTransport]:
    """Serve an event stream piece by piece, each piece read before the next is written; connect to it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        encoding = "Transfer-Encoding: chunked\r\n" if chunked else ""
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=UTF-8\r\n{encoding}\r\n".encode())
        for piece in (b"event: endpoint\ndata: /messages\n\n", *pieces, *([b""] if chunked else [])):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            # The loop that reads is this one, so it has read before a few turns are over.
            for _ in range(3):
                await asyncio.sleep(0)
        writer.close()

    serving: list[asyncio.Task[None]] = []
    server = await asyncio.start_server(
        lambda reader, writer: serving.append(asyncio.ensure_future(serve(reader, writer))), "127.0.0.1", 0
    )
    transport = connect_http_sse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sse")
    try:
        yield transport
    finally:
        server.close()
        await asyncio.wait(serving)
        await transport.close()


async def results(pieces: Iterable[bytes], *, chunked: bool = False) -> list[object]:
    """Return the results that arrive until the stream ends."""
    messages: list[Message] = []
    ended = asyncio.Event()
    async with streaming(pieces, chunked=chunked) as transport:
        transport.on_close(ended.set)
        transport.on_message(messages.append)
        await ended.wait()
        assert None is transport.failure
    return [decode(message) for message in messages]


def decode(message: Message) -> object:
    assert isinstance(message, Response), message
    assert 1 == message.id
    assert isinstance(message.result, Raw)
    return json.decode(message.result)


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
@ENDS
@pytest.mark.parametrize("chunked", [False, True], ids=["plain", "chunked"])
async def test_an_event_that_is_whole_is_one_message(end: str, chunked: bool) -> None:  # noqa: FBT001
    assert [RESULT] == await results([event(end)], chunked=chunked)


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
@ENDS
async def test_an_event_one_byte_at_a_time_is_one_message(end: str) -> None:
    whole = event(end)

    assert [RESULT] == await results([whole[at : at + 1] for at in range(len(whole))])


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
@pytest.mark.requirement("case-2-a-character-that-a-read-cuts-stays-whole")
@ENDS
@pytest.mark.parametrize("chunked", [False, True], ids=["plain", "chunked"])
async def test_an_event_that_is_cut_anywhere_is_one_message(end: str, chunked: bool) -> None:  # noqa: FBT001
    whole = event(end)
    pieces = [piece for cut in range(1, len(whole)) for piece in (whole[:cut], whole[cut:])]

    assert [RESULT] * (len(whole) - 1) == await results(pieces, chunked=chunked)


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
@ENDS
async def test_two_events_in_one_piece_are_two_messages(end: str) -> None:
    assert [RESULT, RESULT] == await results([event(end) * 2])


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
@ENDS
async def test_a_line_of_five_megabytes_is_one_message(end: str) -> None:
    text = "x" * 5_000_000
    body = f'data: {{"jsonrpc":"2.0","id":1,"result":"{text}"}}{end}{end}'.encode()

    (result,) = await results([body[at : at + 1_000_000] for at in range(0, len(body), 1_000_000)])
    assert text == result


@pytest.mark.requirement("case-34-an-event-is-one-message-however-it-is-written-and-cut")
async def test_an_event_that_the_end_cuts_off_is_no_message() -> None:
    assert [RESULT] == await results([event("\n"), event("\n")[:-1]])
