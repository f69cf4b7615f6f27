"""The connections a server has, and what is kept for each. Spec: basic/lifecycle"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Protocol, TypeVar

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.server.handshake import ServerHandshake
from suaveplan_mcp.transport.base import Transport, find_failure
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.resources import ResourceUpdatedNotificationParams

T = TypeVar("T")

UPDATED: Final = "notifications/resources/updated"


class Audience(Protocol):
    """Others than the clients that shook hands who want to hear of changes. Both may be called from any thread."""

    def tell_list_changed(self, method: str) -> None:
        """Take a notification that a list has changed."""
        ...

    def tell_updated(self, uri: str) -> None:
        """Take the URI of a resource that has changed."""
        ...


class ServerConnection:
    """One client of a server.

    Attributes:
        dispatcher: what talks to it.
        subscriptions: the URIs it wants to hear about.
    """

    __slots__ = ("_changed", "_ended", "_era", "_greeted", "_loop", "_waiting", "dispatcher", "subscriptions")

    def __init__(self, dispatcher: JsonRpcDispatcher, era: ServerHandshake) -> None:
        self.dispatcher = dispatcher
        self._era = era
        self._loop = asyncio.get_running_loop()
        self._greeted = False
        self._changed: set[str] = set()
        self.subscriptions: set[str] = set()
        self._ended: asyncio.Event = asyncio.Event()
        self._waiting: set[asyncio.Future[None]] = set()
        era.on_initialized = self._stop_waiting

    @property
    def caller(self) -> Caller:
        """Who the client is, as its calls carry it."""
        return self._era.caller

    @property
    def revision(self) -> str | None:
        """The revision agreed on; None before the handshake."""
        return self._era.caller.revision

    @property
    def client_info(self) -> Implementation | None:
        """What the client calls itself; None before the handshake."""
        return self._era.caller.info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do; nothing before the handshake."""
        return self._era.caller.capabilities

    @property
    def log_level(self) -> LoggingLevel | None:
        """The least level it wants to hear, None where it has not said."""
        return self._era.caller.log_level

    @property
    def busy(self) -> bool:
        """Whether a handler is at work for the client."""
        return self.dispatcher.busy

    @property
    def initialized(self) -> bool:
        """Whether the client has said that it is ready, before which it may be asked nothing but `ping`."""
        return self._era.initialized

    async def wait_initialized(self, signal: AbortSignal) -> None:
        """Return when the client has said that it is ready.

        Args:
            signal: ends the wait when it is aborted, as that of a call is when the client goes away.

        Raises:
            MCPError: `REQUEST_CANCELLED`, the signal was aborted.
        """
        if self.initialized:
            return
        signal.throw_if_aborted()
        waiter = self._loop.create_future()
        self._waiting.add(waiter)
        # The signal may be aborted in any thread.
        ignore = signal.add_listener(lambda: run_on(self._loop, lambda: _release(waiter)))
        try:
            await waiter
        finally:
            ignore()
            self._waiting.discard(waiter)
        signal.throw_if_aborted()

    def greet_soon(self) -> None:
        """Take note that the handler which calls this gives that answer as its very next step."""
        self._loop.call_soon(self._greet)

    def tell(self, method: str, params: Payload = None) -> None:
        """Send a notification, once there is a client to understand it. May be called from any thread."""
        if self._greeted:
            run_on(self._loop, lambda: self.dispatcher.post_notification(method, params))

    def tell_soon(self, method: str) -> None:
        """Send a notification without params, once for all the times this is called in one turn of the loop."""
        if method not in self._changed and not self._loop.is_closed():
            self._changed.add(method)
            self._loop.call_soon_threadsafe(self._tell_changed, method)

    def end(self) -> None:
        """Note that the connection is over."""
        self._ended.set()

    async def wait_closed(self) -> None:
        """Return when the connection is over."""
        await self._ended.wait()

    def _stop_waiting(self) -> None:
        for waiter in self._waiting:
            _release(waiter)

    def _greet(self) -> None:
        self._greeted = True

    def _tell_changed(self, method: str) -> None:
        self._changed.discard(method)
        self.tell(method)


class Connections:
    """All connections of one server."""

    __slots__ = ("_audience", "_connections", "_transports")

    def __init__(self) -> None:
        self._audience: Audience | None = None
        self._connections: dict[object, ServerConnection] = {}
        # By their ids, since a transport need not be hashable; one that is kept here keeps its id.
        self._transports: dict[int, Transport] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._connections)

    def __iter__(self) -> Iterator[ServerConnection]:
        """Iterate over them in the order they were made."""
        return iter(tuple(self._connections.values()))

    def __getitem__(self, peer: object) -> ServerConnection:
        """Return the connection a call came on, for handlers that only clients call.

        Raises:
            KeyError: it is over.
        """
        return self._connections[peer]

    def require_usable(self, transport: Transport) -> None:
        """Refuse a transport over which no new client can come.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, it is closed.
            MCPError: `ALREADY_CONNECTED`, it is one of those here.
        """
        if transport.closed:
            raise MCPTransportError(
                MCP_CODES.TRANSPORT_CLOSED, "the transport is closed already", cause=find_failure(transport)
            )
        if id(transport) in self._transports:
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, "the server serves this transport already")

    def add(self, connection: ServerConnection, transport: Transport) -> None:
        """Keep one until its transport closes."""
        self._connections[connection.dispatcher] = connection
        self._transports[id(transport)] = transport
        transport.on_close(lambda: self._remove(connection, transport))

    def _remove(self, connection: ServerConnection, transport: Transport) -> None:
        self._connections.pop(connection.dispatcher, None)
        self._transports.pop(id(transport), None)
        connection.end()

    def of(self, peer: object) -> ServerConnection | None:
        """Return the connection a call came on; None for a call made in this process, and where it is over."""
        return self._connections.get(peer)

    def publish_to(self, audience: Audience) -> None:
        """Tell others of every change as well, from now on."""
        self._audience = audience

    def tell_soon(self, method: str) -> None:
        """Send the notification that a list has changed to everybody, once for a burst of changes."""
        for connection in self:
            connection.tell_soon(method)
        if self._audience is not None:
            self._audience.tell_list_changed(method)

    def tell_updated(self, uri: str) -> None:
        """Tell everyone who watches a resource that it has changed, whichever way they asked for it."""
        for connection in self:
            if uri in connection.subscriptions:
                connection.tell(UPDATED, ResourceUpdatedNotificationParams(uri=uri))
        if self._audience is not None:
            self._audience.tell_updated(uri)


def _release(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def run_on(loop: asyncio.AbstractEventLoop, function: Callable[[], T]) -> T | None:
    """Call a function in the thread of a loop: now if that is here, soon if not, never once the loop is closed.

    Returns:
        What the function returned, if it was called now.
    """
    if is_running(loop):
        return function()
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)
    return None


def is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether this is the thread of a loop, while it runs. A thread may have a loop of its own."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
