"""How a client is opened and closed, and the one way its requests take. Spec: basic/lifecycle"""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, Self, Unpack

from msgspec import UNSET, UnsetType

from suaveplan_mcp.client.arguments import RequestOptions
from suaveplan_mcp.client.cache import CachedLists
from suaveplan_mcp.client.cache_store import MemoryCacheStore
from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.client.changes import Changes, listen_for_changes
from suaveplan_mcp.client.connecting import choose_opener
from suaveplan_mcp.client.connection import Limits, ServerConnection
from suaveplan_mcp.client.opening import KnownServer, Setup, Verdict
from suaveplan_mcp.client.pagination import require_max_pages
from suaveplan_mcp.client.reopening import Reopen, ReopeningConnection
from suaveplan_mcp.client.resources import Subscriptions
from suaveplan_mcp.client.response_cache import ResponseCache
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload, RequestId
from suaveplan_mcp.protocol.input_rounds import MAX_ROUNDS, require_max_rounds
from suaveplan_mcp.runtime.handlers import Listener
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Clock, Timers, loop_clock
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.types.capabilities import ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel, LoggingMessageNotificationParams, SetLevelRequestParams
from suaveplan_mcp.types.resources import SubscribeRequestParams
from suaveplan_mcp.version import VERSION


class ClientLifecycle:
    """Holds one connection at a time, and what is known of the server at its other end.

    It may be opened and closed from any task, and opened again.

    Args:
        name: what the client calls itself.
        version: of what version.
        protocol: `"handshake"`, `"stateless"`, `"auto"` for the newest that the server knows, or a revision to speak no
            other.
        prefetch: list what the server offers when connecting, so that `tools()` and its like are filled; in the
            stateless era, where a server tells of changes only to those who listen, listen for changes of them too.
        timeout: seconds of silence that a request bears; progress starts them anew. None bears any.
        total_timeout: seconds that a request bears in all.
        accepted_versions: the revisions the client speaks, all of the era by default; it asks for the newest.
        experimental: what the client declares beside its providers, by key.
        max_pages: how many pages of one list are too many to be true.
        max_rounds: how often a server of the stateless era may ask for input before it has to complete a request.
        on_log: called with the params of every log message of the server's.
        events: the bus to report on; one of its own by default.
        clock: seconds on a scale that never goes back; the loop's by default.
        timers: what sets timers; the loop by default.
        id_generator: gives the ids of requests; integers from 0 by default.
        cache: what keeps results that a server of the stateless era lets it keep; one of its own by default, which
            several clients may share; None keeps nothing.
        server: what is known of the server beforehand; `connect` says it.

    Raises:
        ValueError: `protocol` and `accepted_versions` leave nothing to speak; the message names what there is.
        MCPError: `INVALID_PARAMS`, `max_pages` or `max_rounds` is less than 1.
    """

    def __init__(  # noqa: PLR0913  every option stands for itself, and all but the first two are named
        self,
        name: str = "suaveplan-mcp",
        version: str = VERSION,
        *,
        protocol: str = "handshake",
        prefetch: bool = True,
        timeout: float | None = 60.0,
        total_timeout: float | None = 600.0,
        accepted_versions: Collection[str] | None = None,
        experimental: Mapping[str, JsonObject] | None = None,
        max_pages: int = 1000,
        max_rounds: int = MAX_ROUNDS,
        on_log: Callable[[LoggingMessageNotificationParams], object] | None = None,
        events: EventBus | None = None,
        clock: Clock | None = None,
        timers: Timers | None = None,
        id_generator: Callable[[], RequestId] | None = None,
        cache: ResponseCache | None | UnsetType = UNSET,
        server: KnownServer | None = None,
    ) -> None:
        self.events = events if events is not None else EventBus("client")
        self._opener = choose_opener(protocol, accepted_versions)
        self._callbacks = Callbacks(experimental)
        self._setup = Setup(
            info=Implementation(name=name, version=version),
            callbacks=self._callbacks,
            limits=Limits(timeout, total_timeout),
            events=self.events,
            clock=clock or loop_clock,
            timers=timers or LOOP_TIMERS,
            id_generator=id_generator,
            server=server or KnownServer(Verdict()),
            cache=ResponseCache(MemoryCacheStore(clock=clock or loop_clock)) if cache is UNSET else cache,
            max_rounds=require_max_rounds(max_rounds),
        )
        self._prefetch = prefetch
        self._max_pages = require_max_pages(max_pages)
        self._opening: Transport | None = None
        self._connection: ServerConnection | None = None
        self._changes: Changes | None = None
        self._lists = CachedLists(max_pages)
        self._subscriptions = Subscriptions()
        self._log_level: LoggingLevel | None = None
        listen_for_changes(self._callbacks.handlers, lambda: self._changes)
        if on_log is not None:
            self.on_notification("notifications/message", on_log)

    # Opening and closing

    async def __aenter__(self) -> Self:
        """Return the client; connect it inside the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.disconnect()

    async def connect(self, transport: Transport, *, reopen: Reopen | None = None) -> None:
        """Open a connection over `transport`, which is closed where that fails.

        Args:
            transport: the way to the server.
            reopen: gives another one when the server has ended by itself, so that the connection is opened anew. What
                was in flight fails; later requests wait, for as long as their timeout. Resources are subscribed to
                again, and the log level is set again. None ends the connection with the server.

        Raises:
            MCPError: `ALREADY_CONNECTED`, there is an open connection; `PROTOCOL_VERSION_MISMATCH`, `PROTOCOL_INVALID`
                or `TIMEOUT`, the server and the client cannot agree; or what the server answered.
            MCPTransportError: `TRANSPORT_CLOSED` or `TRANSPORT_ERROR`.
        """
        if self._opening is not None or self.initialized:
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, "the client is connected already; disconnect it first")
        self._opening = transport
        try:
            # A connection that the server ended may still be there.
            await self._let_go(None)
            connection = self._connection = await self._open(transport, reopen)
            self._changes = Changes(connection, self._lists, self._subscriptions, self._setup)
            if self._prefetch:
                if connection.stateless:
                    # First, so that no change after the listing is missed.
                    await self._changes.listening.follow_lists()
                await self._lists.fill(connection)
            connection.require_open()
        except BaseException as error:
            await self._let_go(str(error) or "connecting was given up")
            raise
        finally:
            self._opening = None

    async def disconnect(self, reason: str | None = None) -> None:
        """Close the connection, or give up opening one; requests in flight fail. A second call does nothing more.

        Args:
            reason: for the event `connection:closed`.
        """
        if self._connection is None and self._opening is not None:
            # The caller that is opening it fails now, and lets go of the rest.
            await self._opening.close()
        else:
            await self._let_go(reason)

    @property
    def initialized(self) -> bool:
        """Whether there is an open connection."""
        return self._connection is not None and not self._connection.closed

    @property
    def protocol_version(self) -> str | None:
        """The revision both sides speak; None before connecting."""
        return None if self._connection is None else self._connection.greeting.revision

    @property
    def server_info(self) -> Implementation | None:
        """What the server calls itself; None before connecting."""
        return None if self._connection is None else self._connection.greeting.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities | None:
        """What the server declared; None before connecting."""
        return None if self._connection is None else self._connection.greeting.capabilities

    @property
    def instructions(self) -> str | None:
        """How to use the server, for a model; None before connecting, and where it gave none."""
        return None if self._connection is None else self._connection.greeting.instructions

    # Any request

    def request(
        self, method: str, params: Payload = None, **options: Unpack[RequestOptions]
    ) -> Coroutine[Any, Any, Any]:
        """Send any request; await what this returns for the result, typed where the method is known.

        Args:
            method: the method; it must live in the revision, and the server must have declared what it needs.
            params: a struct of the method's type, or plain JSON.
            options: see `RequestOptions`.

        Raises:
            MCPError: `NOT_INITIALIZED`; `METHOD_NOT_FOUND`, naming the capability the server lacks; `TIMEOUT`;
                `REQUEST_CANCELLED`; or what the server answered.
            MCPTransportError: `TRANSPORT_CLOSED` or `TRANSPORT_ERROR`.
        """
        return self._require_connection().request(method, params, **options)

    def on_notification(self, method: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the params of every such notification of the server's.

        Args:
            method: the method, such as `notifications/message` or `notifications/elicitation/complete`.
            listener: a plain function, which must not block, or a coroutine function; if it raises, that is reported.

        Returns:
            A function that ends it.
        """
        return self._callbacks.handlers.listen(method, listener)

    def _require_connection(self) -> ServerConnection:
        if self._connection is None:
            raise MCPError(
                MCP_CODES.NOT_INITIALIZED, "the client is not connected; `await client.connect(transport)` first"
            )
        return self._connection

    async def _open(self, transport: Transport, reopen: Reopen | None) -> ServerConnection:
        def open_(transport: Transport) -> Awaitable[ServerConnection]:
            return self._opener.open(transport, self._setup)

        opened = await open_(transport)
        if reopen is None:
            return opened
        return ReopeningConnection(opened, transport, reopen, open_, self._restore, self._setup.timers)

    async def _restore(self, connection: ServerConnection) -> None:
        """Bring back what a server that was started again does not know of; what fails is reported."""
        lost: list[tuple[str, Payload]] = []
        if not connection.stateless:
            lost += [("resources/subscribe", SubscribeRequestParams(uri=uri)) for uri in self._subscriptions]
        elif self._changes is not None:
            await self._changes.listening.restore(self._subscriptions)
        if self._log_level is not None and connection.stateless:
            connection.want_logs(self._log_level)
        elif self._log_level is not None:
            lost.append(("logging/setLevel", SetLevelRequestParams(level=self._log_level)))
        for method, params in lost:
            try:
                await connection.request(method, params)
            except MCPError as error:
                connection.report(f"{method} failed after the connection was opened again: {error.message}", error)
        if self._prefetch:
            await self._lists.fill(connection)

    async def _let_go(self, reason: str | None) -> None:
        connection, changes, self._connection, self._changes = self._connection, self._changes, None, None
        self._lists, self._subscriptions = CachedLists(self._max_pages), Subscriptions()
        self._log_level = None
        self._callbacks.release()
        if connection is not None and changes is not None:
            try:
                await changes.listening.close()
            finally:
                await connection.close(reason)
