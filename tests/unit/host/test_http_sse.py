"""A transport that owns its HTTP client."""

import asyncio

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.http_sse import connect_http_sse
from suaveplan_mcp.jsonrpc.messages import Message, Notification
from suaveplan_mcp.transport.asgi import Receive, Scope, Send, respond
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.transport.http_sse_app import HttpSseApp
from tests.transports.plain_process import open_descriptors
from tests.transports.web_server import web_server

ONE = Notification("one")


async def test_messages_go_both_ways_and_headers_with_them() -> None:
    received: asyncio.Queue[tuple[Message, Delivery]] = asyncio.Queue()
    answers: asyncio.Queue[Message] = asyncio.Queue()
    served: list[Transport] = []

    async def attach(transport: Transport) -> None:
        served.append(transport)
        transport.on_message(lambda message, delivery: received.put_nowait((message, delivery)))

    app = HttpSseApp(attach, lambda: "a")
    async with web_server(app, app.close) as url:
        transport = connect_http_sse(f"{url}/sse", headers={"Authorization": "once"})
        transport.on_message(answers.put_nowait)
        await transport.send(ONE, delivery=Delivery(headers={"X-Call": "own"}))
        message, delivery = await received.get()
        await served[0].send(Notification("two"))

        assert "two" == getattr(await answers.get(), "method", None)
        assert (ONE, "once", "own") == (message, delivery.headers["authorization"], delivery.headers["x-call"])
        await transport.close()


async def test_nothing_stays_open_when_it_is_closed() -> None:
    async def attach(transport: Transport) -> None:
        transport.on_message(lambda *_: None)

    app = HttpSseApp(attach, lambda: "a")
    async with web_server(app, app.close) as url:
        before = open_descriptors()
        transport = connect_http_sse(f"{url}/sse")
        transport.on_message(lambda _: None)
        await transport.send(ONE)
        assert 2 <= len(open_descriptors() - before)
        await asyncio.gather(transport.close(), transport.close())
        while len(app):
            await asyncio.sleep(0.005)
        unused = connect_http_sse(f"{url}/sse")
        await unused.close()


async def test_a_server_that_has_no_event_stream_says_so() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, 401, "who are you?")

    async with web_server(app) as url:
        transport = connect_http_sse(f"{url}/sse")
        with pytest.raises(MCPTransportError, match="closed") as raised:
            await transport.send(ONE)
        await transport.close()

    failure = transport.failure
    assert failure is not None
    assert isinstance(failure.cause, MCPTransportError)
    assert ("MCP.TRANSPORT_CLOSED", MCP_CODES.TRANSPORT_ERROR) == (raised.value.code, failure.code)
    assert ({"status": 401}, True) == (failure.cause.context, "who are you?" in failure.message)
