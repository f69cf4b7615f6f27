"""A connection that is open, whichever era opened it."""

from collections.abc import Coroutine, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.capabilities import declares, undeclared
from suaveplan_mcp.protocol.methods import capability_in, find
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.timers import Clock
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.capabilities import ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation


class Greeting(Struct, frozen=True):
    """What a server said of itself when the connection was opened.

    Args:
        revision: the protocol revision both sides speak.
        server_info: what it calls itself.
        capabilities: what it declared.
        instructions: how to use it, for a model.
    """

    revision: str
    server_info: Implementation
    capabilities: ServerCapabilities
    instructions: str | None = None


class Limits(Struct, frozen=True):
    """How long a request may take where its caller did not say: seconds, None for without limit."""

    timeout: float | None
    total_timeout: float | None


class ServerConnection:
    """An open connection to a server: every request of the client passes here.

    Args:
        dispatcher: runs it.
        greeting: what the server said of itself.
        limits: for requests that bring none of their own.
        clock: what the dispatcher's clock is.
    """

    __slots__ = ("_clock", "_dispatcher", "_limits", "_observer", "_permitted", "greeting")

    def __init__(self, dispatcher: JsonRpcDispatcher, greeting: Greeting, limits: Limits, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._limits = limits
        self._clock = clock
        self._observer = Observer("client", dispatcher.dispatcher_id, dispatcher.events, clock)
        # Capabilities never change while a connection lasts, so each method is looked up once.
        self._permitted: set[str] = set()
        self.greeting = greeting

    @property
    def closed(self) -> bool:
        """Whether it has ended, from either side."""
        return self._dispatcher.closed

    def request(
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None | UnsetType = UNSET,
        total_timeout: float | None | UnsetType = UNSET,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request; await what this returns for the result.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, the server did not declare the capability that the method needs.
        """
        if method not in self._permitted:
            self._permit(method)
        limits = self._limits
        return self._dispatcher.request(
            method,
            params,
            timeout=limits.timeout if timeout is UNSET else timeout,
            total_timeout=limits.total_timeout if total_timeout is UNSET else total_timeout,
            signal=signal,
            on_progress=on_progress,
            delivery=None if headers is None else Delivery(headers=headers),
        )

    def notify(self, method: str) -> Coroutine[Any, Any, None]:
        """Send a notification that carries nothing; await what this returns until the transport has taken it."""
        return self._dispatcher.notify(method)

    def offers(self, method: str) -> bool:
        """Tell whether the server declared the capability that a method needs."""
        return self._missing_capability(method) is None

    def report(self, fault: str, error: BaseException) -> None:
        """Report what no caller is waiting to hear."""
        self._observer.fault(fault, error)

    def require_open(self) -> None:
        """Make sure that the connection has not ended.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`.
        """
        if self._dispatcher.closed:
            raise MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "the connection closed while it was being opened")

    async def close(self, reason: str | None) -> None:
        """End the connection; a second call does nothing more."""
        await self._dispatcher.close(reason)

    def _permit(self, method: str) -> None:
        path = self._missing_capability(method)
        if path is not None:
            raise undeclared(method, path)
        self._permitted.add(method)

    def _missing_capability(self, method: str) -> str | None:
        row = find(method, "client")
        # Whether the method exists at all is for the rules of the era to say.
        path = None if row is None else capability_in(row, self.greeting.revision)
        return None if path is None or declares(self.greeting.capabilities, path) else path
