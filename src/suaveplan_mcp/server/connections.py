"""The connections a server has, and what is kept for each. Spec: basic/lifecycle"""

import asyncio
from collections.abc import Callable, Iterator

from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel


class ServerConnection:
    """One client of a server.

    Attributes:
        dispatcher: what talks to it.
        subscriptions: the URIs it wants to hear about.
        log_level: the least level it wants to hear, None where it has not said.
    """

    __slots__ = ("_changed", "_ended", "_era", "_greeted", "_loop", "dispatcher", "log_level", "subscriptions")

    def __init__(self, dispatcher: JsonRpcDispatcher, era: HandshakeEra) -> None:
        self.dispatcher = dispatcher
        self._era = era
        self._loop = asyncio.get_running_loop()
        self._greeted = False
        self._changed: set[str] = set()
        self.subscriptions: set[str] = set()
        self.log_level: LoggingLevel | None = None
        self._ended: asyncio.Event = asyncio.Event()

    @property
    def revision(self) -> str | None:
        """The revision agreed on; None before the handshake."""
        return self._era.revision

    @property
    def client_info(self) -> Implementation | None:
        """What the client calls itself; None before the handshake."""
        return self._era.peer_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do; nothing before the handshake."""
        capabilities = self._era.peer_capabilities
        return capabilities if isinstance(capabilities, ClientCapabilities) else ClientCapabilities()

    @property
    def busy(self) -> bool:
        """Whether a handler is at work for the client."""
        return self.dispatcher.busy

    @property
    def greeted(self) -> bool:
        """Whether the client has been given its answer to `initialize`, before which it expects nothing else."""
        return self._greeted

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

    def _greet(self) -> None:
        self._greeted = True

    def _tell_changed(self, method: str) -> None:
        self._changed.discard(method)
        self.tell(method)


class Connections:
    """All connections of one server."""

    __slots__ = ("_connections",)

    def __init__(self) -> None:
        self._connections: dict[object, ServerConnection] = {}

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

    def add(self, connection: ServerConnection) -> None:
        """Keep one until it ends."""
        self._connections[connection.dispatcher] = connection

    def remove(self, connection: ServerConnection) -> None:
        """Forget one that has ended."""
        self._connections.pop(connection.dispatcher, None)
        connection.end()

    def of(self, peer: object) -> ServerConnection | None:
        """Return the connection a call came on; None for a call made in this process, and where it is over."""
        return self._connections.get(peer)

    def tell_soon(self, method: str) -> None:
        """Send a notification without params to every client, once for a burst of changes."""
        for connection in self:
            connection.tell_soon(method)


def run_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call a function in the thread of a loop: now if that is here, soon if not, never once the loop is closed."""
    if is_running(loop):
        function()
    elif not loop.is_closed():
        loop.call_soon_threadsafe(function)


def is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether this is the thread of a loop, while it runs. A thread may have a loop of its own."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
