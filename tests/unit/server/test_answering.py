"""Messages that come alone: each is served in its own task, on a way of its own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.events import ConnectionOpened, RequestCompleted
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, JsonObject, Message, Notification, Request, Response
from suaveplan_mcp.protocol.revisions import V2026_07_28
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.tools import CallToolResult
from tests.unit.server.peers import settle

META: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": V2026_07_28,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _server() -> MCPServer:
    server = MCPServer("alone", "1")

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.principal} {ctx.headers['x-key']}"

    @server.tool
    async def wait(ctx: Context) -> None:
        ctx.progress(1)
        await asyncio.Event().wait()

    return server


class Exchange:
    """One message, and what is said in reply."""

    def __init__(self) -> None:
        self.near, self._far = InMemoryTransport.pair()
        self.said: list[Message] = []
        self._far.on_message(self.said.append)

    async def ask(self, server: MCPServer, method: str, name: str | None = None, **headers: str) -> Any:
        params: JsonObject = {"_meta": META, **({} if name is None else {"name": name})}
        named = {"mcp-protocol-version": V2026_07_28, "mcp-method": method, "mcp-name": str(name), "x-key": "k"}
        await server.answer(self.near, Request(7, method, params), Delivery(headers=named | headers, principal="Ada"))
        return self.said[-1]


@asynccontextmanager
async def _waiting(server: MCPServer) -> AsyncGenerator[tuple[Exchange, "asyncio.Task[Any]"]]:
    exchange = Exchange()
    asking = asyncio.create_task(exchange.ask(server, "tools/call", "wait"))
    await settle()
    yield exchange, asking


async def test_a_request_that_comes_alone_is_answered_and_its_handler_knows_who_sent_it() -> None:
    answer = await Exchange().ask(_server(), "tools/call", "who")

    assert isinstance(answer, Response)
    assert isinstance(answer.result, CallToolResult)
    assert [TextContent(text="Ada k")] == answer.result.content


async def test_nothing_is_kept_from_one_to_the_next() -> None:
    server = _server()
    opened: list[ConnectionOpened] = []
    ended: list[RequestCompleted] = []
    server.events.on("connection:opened", opened.append)
    server.events.on("request:completed", ended.append)

    for _ in range(3):
        exchange = Exchange()
        await exchange.ask(server, "tools/list")
        assert not exchange.near.closed

    assert (0, [], 3) == (server.get_info().connections, opened, len(ended))


async def test_headers_that_say_something_else_are_refused() -> None:
    answer = await Exchange().ask(_server(), "tools/call", "who", **{"mcp-name": "wait"})

    assert isinstance(answer, ErrorResponse)
    assert (-32020, 7) == (answer.error.code, answer.id)


async def test_a_notification_that_comes_alone_is_taken_in_silence() -> None:
    exchange = Exchange()

    await _server().answer(exchange.near, Notification("notifications/cancelled", {"requestId": 1}), Delivery())

    assert [] == exchange.said


async def test_closing_the_way_gives_the_request_up() -> None:
    async with _waiting(_server()) as (exchange, asking):
        await exchange.near.close()

        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_stopping_the_server_gives_every_request_up() -> None:
    server = _server()
    async with _waiting(server) as (_, asking):
        await server.stop()

        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not server.get_info().running
