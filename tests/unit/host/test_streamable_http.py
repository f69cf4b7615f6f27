"""A transport over Streamable HTTP that owns its HTTP client."""

import asyncio
import json

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.host.streamable_http import connect_streamable_http
from suaveplan_mcp.jsonrpc.messages import Message, Notification, Request, Response
from suaveplan_mcp.transport.asgi import Receive, Scope, Send
from suaveplan_mcp.transport.base import Delivery
from tests.transports.plain_process import open_descriptors
from tests.transports.web_server import until, web_server


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with its headers, and never one that is to wait."""
    message = json.loads((await receive())["body"])
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    if message.get("method") == "wait":
        await receive()
        return
    kind = (b"content-type", b"application/json")
    status, result = (200, {"jsonrpc": "2.0", "id": message["id"], "result": headers}) if "id" in message else (202, "")
    await send({"type": "http.response.start", "status": status, "headers": [kind]})
    await send({"type": "http.response.body", "body": json.dumps(result).encode() if result else b""})


async def test_messages_go_out_with_the_headers_of_the_client_and_their_own() -> None:
    received: asyncio.Queue[tuple[Message, Delivery]] = asyncio.Queue()
    async with web_server(echo) as url:
        transport = connect_streamable_http(f"{url}/mcp", headers={"Authorization": "once", "Accept": "none"})
        transport.on_message(lambda message, delivery: received.put_nowait((message, delivery)))
        await transport.send(Notification("notifications/x"))
        await transport.send(Request(1, "tools/list"), delivery=Delivery(headers={"X-Call": "own"}))
        message, delivery = await received.get()
        await transport.close()

    assert isinstance(message, Response)
    headers = json.loads(bytes(message.result))  # pyright: ignore[reportArgumentType]
    assert (1, "once", "own") == (delivery.related_request, headers["authorization"], headers["x-call"])
    assert "application/json, text/event-stream" == headers["accept"]


async def test_nothing_stays_open_when_it_is_closed() -> None:
    async with web_server(echo) as url:
        before = open_descriptors()
        failures: list[MCPError] = []
        transport = connect_streamable_http(url)
        for id_ in range(3):
            transport.begin(Request(id_, "wait"), failed=failures.append)
        await until(lambda: len(open_descriptors() - before) >= 3)
        await asyncio.gather(transport.close(), transport.close())
        await until(lambda: not open_descriptors() - before)
        assert [] == failures
        unused = connect_streamable_http(url)
        await unused.close()


async def test_a_server_that_is_not_there_fails_the_request_and_not_the_transport() -> None:
    async with web_server(echo) as url:
        pass
    failed: asyncio.Queue[MCPError] = asyncio.Queue()
    transport = connect_streamable_http(f"{url}/mcp?key=secret")
    transport.begin(Request(1, "tools/list"), failed=failed.put_nowait)
    error = await failed.get()

    assert (MCP_CODES.TRANSPORT_ERROR, False) == (error.code, transport.closed)
    assert error.message.startswith(f"the POST of tools/list to {url}/mcp failed: ClientConnectorError: Cannot connect")
    await transport.close()
