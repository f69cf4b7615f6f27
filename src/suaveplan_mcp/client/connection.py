"""A connection that is open, whichever era opened it."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol, cast

from msgspec import UNSET, Struct, UnsetType

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.protocol.capabilities import declares, undeclared
from suaveplan_mcp.protocol.methods import capability_in, find
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.timers import Clock
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.capabilities import ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel


class Greeting(Struct, frozen=True):
    """What a server said of itself when the connection was opened.

    Args:
        revision: the protocol revision both sides speak.
        server_info: what it calls itself, None where it does not say.
        capabilities: what it declared.
        instructions: how to use it, for a model.
    """

    revision: str
    server_info: Implementation | None
    capabilities: ServerCapabilities
    instructions: str | None = None


class Limits(Struct, frozen=True):
    """How long a request may take where its caller did not say: seconds, None for without limit."""

    timeout: float | None
    total_timeout: float | None


class SendsRequests(Protocol):
    """Sends the requests of a connection, each in the way of its era."""

    def request(  # noqa: PLR0913  every option stands for itself
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        delivery: Delivery | None = None,
        on_sent: Callable[[RequestId], object] | None = None,
        fresh: bool = False,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request; see `JsonRpcDispatcher.request`.

        Args:
            method: the method.
            params: its params.
            timeout: seconds of silence to bear.
            total_timeout: seconds to bear in all.
            signal: gives the request up when it is aborted.
            on_progress: called for every report of progress.
            delivery: the headers of this one request.
            on_sent: called with the id of the request.
            fresh: ask even where a result is kept.
        """
        ...

    def take_notice(self, method: str, uri: str | None = None) -> None:
        """Forget what a notification of the server's makes stale."""
        ...


class ServerConnection:
    """An open connection to a server: every request of the client passes here.

    Args:
        dispatcher: runs it.
        greeting: what the server said of itself.
        limits: for requests that bring none of their own.
        clock: what the dispatcher's clock is.
        requests: sends its requests, where that is not the dispatcher alone.
    """

    __slots__ = ("_clock", "_dispatcher", "_limits", "_observer", "_permitted", "_requests", "greeting")

    def __init__(
        self,
        dispatcher: JsonRpcDispatcher,
        greeting: Greeting,
        limits: Limits,
        clock: Clock,
        requests: SendsRequests | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._requests = requests
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

    def request(  # noqa: PLR0913  every option stands for itself
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None | UnsetType = UNSET,
        total_timeout: float | None | UnsetType = UNSET,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        on_sent: Callable[[RequestId], object] | None = None,
        fresh: bool = False,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request; await what this returns for the result.

        Args:
            method: the method.
            params: its params.
            timeout: seconds of silence to bear, those of the client by default.
            total_timeout: seconds to bear in all, likewise.
            signal: gives the request up when it is aborted.
            on_progress: called for every report of progress.
            headers: those of this one request.
            on_sent: called with the id of the request, before it goes out.
            fresh: ask even where a result is kept.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, the server did not declare the capability that the method needs.
        """
        if method not in self._permitted:
            self._permit(method)
        limits = self._limits
        if timeout is UNSET:
            timeout = limits.timeout
        if total_timeout is UNSET:
            total_timeout = limits.total_timeout
        delivery = None if headers is None else Delivery(headers=headers)
        requests = self._requests
        send = self._dispatcher.request if requests is None else partial(requests.request, fresh=fresh)
        return send(
            method,
            params,
            timeout=timeout,
            total_timeout=total_timeout,
            signal=signal,
            on_progress=on_progress,
            delivery=delivery,
            on_sent=on_sent,
        )

    def take_notice(self, method: str, uri: str | None = None) -> None:
        """Forget what a notification of the server's makes stale of what is kept, before anybody acts on it.

        Args:
            method: the notification's.
            uri: the resource that has changed, where it names one.
        """
        if self._requests is not None:
            self._requests.take_notice(method, uri)

    @property
    def stateless(self) -> bool:
        """Whether each request speaks for itself, so that the server keeps nothing that was said before."""
        return isinstance(self._dispatcher.era, StatelessEra)

    def want_logs(self, level: LoggingLevel) -> None:
        """Ask for log messages at a level or above with every request from now on; for a stateless connection."""
        cast("StatelessEra", self._dispatcher.era).log_level = level

    def notify(self, method: str) -> Coroutine[Any, Any, None]:
        """Send a notification that carries nothing; await what this returns until the transport has taken it."""
        return self._dispatcher.notify(method)

    def offers(self, method: str) -> bool:
        """Tell whether the server declared the capability that a method needs."""
        return self._missing_capability(method) is None

    def report(self, fault: str, error: BaseException | None = None) -> None:
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
