"""A client that opens its connection again when the server has ended by itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import ConnectionClosed, ConnectionOpened, FaultReported
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import FakeClock
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.meta import LOG_LEVEL_KEY
from tests.unit.server.peers import settle


class Successors:
    """A server that ends when it is told to, and its successors, which begin when they are told to."""

    def __init__(self, *, prefetch: bool = False, timeout: float = 60, protocol: str = "handshake") -> None:
        self.clock = FakeClock()
        self.client = MCPClient(
            protocol=protocol, prefetch=prefetch, timeout=timeout, clock=self.clock, timers=self.clock
        )
        self.server = MCPServer("successors", instructions="first")
        self.begun = asyncio.Semaphore(0)
        self.given_up: MCPError | None = None
        self.spoils: list[Callable[[Transport], Any]] = []
        self.faults: list[str] = []
        self.events: list[str] = []

        def note_opened(_: ConnectionOpened) -> None:
            self.events.append("opened")

        def note_closed(closed: ConnectionClosed) -> None:
            self.events.append("closed")

        def note_fault(reported: FaultReported) -> None:
            self.faults.append(reported.fault)

        self.client.events.on("connection:opened", note_opened)
        self.client.events.on("connection:closed", note_closed)
        self.client.events.on("fault:reported", note_fault)

        @self.server.tool
        async def wait() -> None:
            await asyncio.Event().wait()

        @self.server.resource("mem://a")
        async def a() -> str:
            return "content"

    async def make(self) -> Transport:
        near, self.far = InMemoryTransport.pair()
        if self.spoils:
            self.spoils.pop(0)(self.far)
        else:
            await self.server.attach(self.far)
        return near

    async def reopen(self) -> Transport:
        await self.begun.acquire()
        if self.given_up is not None:
            raise self.given_up
        return await self.make()

    async def open(self) -> None:
        await self.client.connect(await self.make(), reopen=self.reopen)

    async def die(self) -> None:
        await self.far.close()
        await settle()

    async def begin(self) -> None:
        self.begun.release()
        await settle()

    async def close(self) -> None:
        await self.client.disconnect()
        await self.server.stop()


async def test_what_is_in_flight_fails_and_the_connection_is_opened_again() -> None:
    servers = Successors()
    await servers.open()
    calling = asyncio.create_task(servers.client.call_tool("wait"))
    await settle()
    await servers.die()
    with pytest.raises(MCPTransportError) as raised:
        await calling
    assert (MCP_CODES.TRANSPORT_CLOSED, False) == (raised.value.code, servers.client.initialized)

    await servers.begin()
    await servers.client.ping()

    assert servers.client.initialized
    assert (["opened", "closed", "opened"], []) == (servers.events, servers.faults)
    await servers.close()


async def test_it_is_opened_again_as_often_as_the_server_ends() -> None:
    servers = Successors()
    await servers.open()
    for _ in range(3):
        await servers.die()
        await servers.begin()
        await servers.client.ping()

    assert 4 == servers.events.count("opened")
    await servers.close()


async def test_calls_that_are_made_meanwhile_wait() -> None:
    servers = Successors()
    await servers.open()
    await servers.die()
    calls = [asyncio.create_task(servers.client.ping(timeout=timeout)) for timeout in (5, None)]
    await settle()
    assert not any(call.done() for call in calls)

    await servers.begin()
    await asyncio.gather(*calls)

    await servers.close()


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_call_waits_no_longer_than_its_timeout() -> None:
    servers = Successors(timeout=7)
    await servers.open()
    await servers.die()
    calls = [asyncio.create_task(servers.client.ping(timeout=5)), asyncio.create_task(servers.client.ping())]
    await settle()

    await servers.clock.advance_async(5)
    with pytest.raises(MCPError, match="is not back within 5 s") as raised:
        await calls[0]
    assert (MCP_CODES.TIMEOUT, False) == (raised.value.code, calls[1].done())
    await servers.clock.advance_async(2)
    with pytest.raises(MCPError, match="is not back within 7 s"):
        await calls[1]
    await servers.close()


async def test_a_call_that_waits_may_be_given_up() -> None:
    servers, controller = Successors(), AbortController()
    await servers.open()
    await servers.die()
    aborted = asyncio.create_task(servers.client.ping(signal=controller.signal))
    cancelled = asyncio.create_task(servers.client.ping(signal=AbortController().signal))
    await settle()
    controller.abort("enough")
    cancelled.cancel()

    with pytest.raises(MCPError, match="enough") as raised:
        await aborted
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert MCP_CODES.REQUEST_CANCELLED == raised.value.code
    await servers.begin()
    await servers.client.ping(signal=AbortController().signal)
    await servers.close()


async def test_a_call_that_was_aborted_and_timed_out_in_one_turn_fails_once() -> None:
    servers, controller = Successors(), AbortController()
    await servers.open()
    await servers.die()
    calling = asyncio.create_task(servers.client.ping(signal=controller.signal, timeout=5))
    await settle()
    controller.abort("enough")
    servers.clock.advance(5)

    with pytest.raises(MCPError, match="enough"):
        await calling
    await servers.close()


async def test_where_it_is_given_up_calls_fail_with_how_the_server_ended() -> None:
    servers = Successors()
    await servers.open()
    await servers.die()
    calling = asyncio.create_task(servers.client.ping())
    servers.given_up = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "it does not stay")
    await servers.begin()

    for call in (calling, servers.client.ping()):
        with pytest.raises(MCPTransportError) as raised:
            await call
        assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    assert ["the connection is not opened again: it does not stay"] == servers.faults
    await servers.close()


async def test_a_successor_that_cannot_be_opened_is_reported_and_the_next_one_is_tried() -> None:
    servers = Successors()
    await servers.open()
    servers.spoils.append(lambda far: asyncio.ensure_future(far.close()))
    await servers.die()
    await servers.begin()
    assert not servers.client.initialized
    await servers.begin()

    assert servers.client.initialized
    assert 1 == len(servers.faults)
    assert servers.faults[0].startswith("the connection could not be opened again: ")
    await servers.close()


async def test_what_the_server_was_told_is_told_again() -> None:
    servers = Successors(prefetch=True)
    await servers.open()
    await servers.client.subscribe_resource("mem://a")
    await servers.client.set_log_level("error")
    await servers.die()
    servers.server.register_tool(lambda: "new", name="new")
    await servers.begin()
    await settle()

    (connection,) = servers.server._connections
    assert ({"mem://a"}, "error") == (connection.subscriptions, connection.log_level)
    assert ["wait", "new"] == [tool.name for tool in servers.client.tools()]
    await servers.close()


async def test_in_the_stateless_era_every_request_still_asks_for_the_log_messages_that_are_wanted() -> None:
    levels: list[object] = []
    servers = Successors(protocol="stateless")

    @servers.server.tool
    async def note(ctx: Context) -> None:
        levels.append(ctx.meta.get(LOG_LEVEL_KEY))

    await servers.open()
    await servers.client.set_log_level("error")
    await servers.die()
    await servers.begin()
    await servers.client.call_tool("note")

    assert ["error"] == levels
    assert [] == servers.faults
    await servers.close()


async def test_what_cannot_be_told_again_is_reported() -> None:
    servers = Successors()
    await servers.open()
    await servers.client.subscribe_resource("mem://a")
    await servers.die()
    servers.server.set_authorizer(lambda request: request.method != "resources/subscribe")
    await servers.begin()
    await settle()

    assert servers.client.initialized
    assert 1 == len(servers.faults)
    assert servers.faults[0].startswith("resources/subscribe failed after the connection was opened again: ")
    await servers.close()


@pytest.mark.parametrize("moment", ["open", "waiting", "not begun"])
async def test_a_client_that_is_closed_is_not_opened_again(moment: str) -> None:
    servers = Successors()
    await servers.open()
    calling: asyncio.Task[None] | None = None
    if moment == "waiting":
        await servers.die()
        calling = asyncio.create_task(servers.client.ping())
        await settle()
    elif moment == "not begun":
        await servers.far.close()
    await servers.client.disconnect()
    await servers.begin()

    if calling is not None:
        with pytest.raises(MCPTransportError):
            await calling
    assert not servers.client.initialized
    assert 1 == servers.events.count("opened")
    await servers.close()
