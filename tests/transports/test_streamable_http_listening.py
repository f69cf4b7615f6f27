"""A listen stream over HTTP that a server which writes raw bytes ends in every way there is."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from suaveplan_mcp import connect
from suaveplan_mcp.errors import MCPError, MCPTransportError
from suaveplan_mcp.host.streamable_http import connect_streamable_http
from tests.transports.raw_mcp_server import RESET, STREAM, Answer, Call, chunk, event, raw_server, respond
from tests.transports.web_server import DEADLINE, until

END = chunk(b"")
TOOLS = "notifications/tools/list_changed"


def notice(call: Call, method: bytes, params: bytes = b"") -> bytes:
    meta = b'"_meta":{"io.modelcontextprotocol/subscriptionId":%b}' % call.id
    return event(b'{"jsonrpc":"2.0","method":"notifications/%b","params":{%b%b}}' % (method, meta, params))


def acknowledged(call: Call) -> bytes:
    promised = b',"notifications":{"toolsListChanged":true}'
    return notice(call, b"subscriptions/acknowledged", promised)


def change(call: Call) -> bytes:
    return notice(call, b"tools/list_changed")


def cancelled(call: Call) -> bytes:
    return notice(call, b"cancelled", b',"requestId":%b,"reason":"enough"' % call.id)


def result(call: Call) -> bytes:
    meta = b'{"io.modelcontextprotocol/subscriptionId":%b}' % call.id
    return event(b'{"jsonrpc":"2.0","id":%b,"result":{"resultType":"complete","_meta":%b}}' % (call.id, meta))


class Heard(NamedTuple):
    """What came on a stream, how it ended, and what was raised for that."""

    methods: list[str]
    ended: str | None
    lost: list[MCPTransportError]


async def listen(answer: Answer) -> Heard:
    """Read a stream to its end."""

    def serve(call: Call) -> Sequence[bytes]:
        return answer(call) if call.message["method"] == "subscriptions/listen" else [respond(b"{}")]

    async with asyncio.timeout(DEADLINE), raw_server(serve) as server:
        async with connect(connect_streamable_http(server.url), protocol="2026-07-28") as client:
            stream = client.listen(tools=True)
            heard = Heard([], None, [])
            try:
                async with stream:
                    async for notice in stream:
                        heard.methods.append(notice.method)
            except MCPTransportError as error:
                heard.lost.append(error)
        await until(lambda: not server.open)
        return heard._replace(ended=stream.ended)


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
@pytest.mark.parametrize("last", [b"", END, RESET])
async def test_a_stream_that_breaks_off_is_lost(last: bytes) -> None:
    heard = await listen(lambda call: [STREAM, acknowledged(call), change(call), last])

    assert (None, 1) == (heard.ended, len(heard.lost))


async def test_what_came_before_the_loss_is_heard() -> None:
    heard = await listen(lambda call: [STREAM, acknowledged(call), change(call), END])

    assert ([TOOLS], 1) == (heard.methods, len(heard.lost))


async def test_the_notice_of_the_end_and_the_result_end_it() -> None:
    heard = await listen(lambda call: [STREAM, acknowledged(call), change(call), cancelled(call), result(call), END])

    assert Heard([TOOLS], "enough", []) == heard


async def test_the_result_alone_ends_it() -> None:
    heard = await listen(lambda call: [STREAM, acknowledged(call), change(call), result(call), END])

    assert Heard([TOOLS], "the server ended the stream", []) == heard


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
@pytest.mark.parametrize("last", [b"", END])
async def test_the_notice_of_the_end_is_enough(last: bytes) -> None:
    heard = await listen(lambda call: [STREAM, acknowledged(call), change(call), cancelled(call), last])

    assert Heard([TOOLS], "enough", []) == heard


async def test_a_refusal_is_raised_on_entering() -> None:
    refused = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32603,"message":"too many subscriptions"}}'

    with pytest.raises(MCPError, match="too many subscriptions"):
        await listen(lambda call: [respond(refused % call.id)])
