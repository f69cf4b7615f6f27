"""Everybody a server serves: clients that stay, each on a transport of its own, and requests that come alone."""

import asyncio
from collections.abc import Callable, Collection

from msgspec import Struct

from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import Message, RequestId
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.server.answering import Answering, MakeBinding
from suaveplan_mcp.server.connections import Connections, ServerConnection
from suaveplan_mcp.server.eras import ServerEras
from suaveplan_mcp.server.handshake import ServerHandshake
from suaveplan_mcp.server.lifespan import Lifespan
from suaveplan_mcp.server.subscriptions import Subscriptions
from suaveplan_mcp.transport.base import Delivery, Transport


class Ways(Struct, frozen=True):
    """How every client of one server is served.

    Args:
        handlers: who answers what.
        stateless: the rules of requests that speak for themselves.
        eras: which clients are served, `"handshake"` and `"stateless"` or one of them.
        make_binding: makes what compares a request with its headers.
        events: the bus to report on.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
        id_generator: gives the ids of requests to clients.
        max_concurrent: how many calls of one client may run at once.
    """

    handlers: HandlerTable
    stateless: StatelessEra
    eras: Collection[str]
    make_binding: MakeBinding
    events: EventBus
    clock: Clock | None
    timers: Timers | None
    id_generator: Callable[[], RequestId] | None
    max_concurrent: int


class Clients:
    """Those who are served.

    Args:
        ways: how.
        connections: the clients that stay.
        subscriptions: what listens for changes.
        lifespan: what has to be open first.
    """

    __slots__ = ("_answering", "_connections", "_lifespan", "_subscriptions", "_ways")

    def __init__(self, ways: Ways, connections: Connections, subscriptions: Subscriptions, lifespan: Lifespan) -> None:
        self._ways = ways
        self._connections = connections
        self._subscriptions = subscriptions
        self._lifespan = lifespan
        self._answering = Answering(
            ways.handlers, ways.stateless, ways.make_binding, lifespan, ways.events, ways.clock, ways.timers
        )

    async def attach(self, transport: Transport) -> ServerConnection:
        """Serve one more transport; see `MCPServer.attach`."""
        # Before anything is opened for it, and again: opening takes a while.
        self._connections.require_usable(transport)
        await self._lifespan.enter()
        self._connections.require_usable(transport)
        ways, era = self._ways, self._make_era()
        dispatcher = JsonRpcDispatcher(
            transport,
            era=era,
            side="server",
            handlers=ways.handlers,
            events=ways.events,
            clock=ways.clock,
            timers=ways.timers,
            id_generator=ways.id_generator,
            max_concurrent=ways.max_concurrent,
        )
        connection = ServerConnection(dispatcher, era)
        self._connections.add(connection, transport)
        return connection

    async def answer(self, exchange: Transport, message: Message, delivery: Delivery) -> None:
        """Serve one message that came alone; see `MCPServer.answer`."""
        await self._answering.answer(exchange, message, delivery)

    async def close(self, reason: str | None) -> None:
        """Let everybody go: those who listen are told, the others' connections are closed."""
        try:
            await self._subscriptions.end(reason)
        finally:
            # Also where a handler calls this, which is stopped by it, and where a connection could not be closed.
            connections = (connection.dispatcher.close(reason) for connection in self._connections)
            closing = asyncio.gather(self._answering.close(), *connections)
            try:
                await asyncio.shield(closing)
            finally:
                await self._lifespan.leave()

    def _make_era(self) -> ServerHandshake:
        """Return the rules of a new connection."""
        ways = self._ways
        if "stateless" not in ways.eras:
            return ServerHandshake(ways.handlers)
        return ServerEras(ways.handlers, ways.stateless, HANDSHAKE_REVISIONS if "handshake" in ways.eras else ())
