"""The server as its users see it: a facade that hands every job to the file of its feature."""

from collections.abc import Callable, Collection, Mapping
from typing import Unpack, cast

from msgspec import Raw, Struct
from msgspec.json import decode
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Message, RequestId
from suaveplan_mcp.protocol.handshake import INITIALIZE
from suaveplan_mcp.protocol.http_binding import HttpBinding
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.server.asking import roots as ask_for_roots
from suaveplan_mcp.server.asking import sampling_of
from suaveplan_mcp.server.authorization import Authorizer, GuardedHandlers
from suaveplan_mcp.server.client_requests import ClientRequests, SamplingProvider
from suaveplan_mcp.server.clients import Clients, Ways
from suaveplan_mcp.server.connections import Connections, ServerConnection
from suaveplan_mcp.server.entrances import Entrances
from suaveplan_mcp.server.eras import ERAS, require_eras
from suaveplan_mcp.server.features import ServerFeatures
from suaveplan_mcp.server.input_rounds import InputRounds, RoundOptions
from suaveplan_mcp.server.lifecycle import Lifecycle
from suaveplan_mcp.server.lifespan import Lifespan, MakeLifespan
from suaveplan_mcp.server.local_calls import LocalCall
from suaveplan_mcp.server.logging import Logs
from suaveplan_mcp.server.outward import ServerOutward
from suaveplan_mcp.server.paging import Listing, require_page_size, require_ttl
from suaveplan_mcp.server.registering import wire_form
from suaveplan_mcp.server.running import Runner
from suaveplan_mcp.server.subscriptions import LISTEN, Subscriptions
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.types.caching import CacheScope
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.prompts import PromptMessage
from suaveplan_mcp.types.resources import ReadResourceResult
from suaveplan_mcp.types.roots import ListRootsResult, Root
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from suaveplan_mcp.types.tools import CallToolResult

# A client can neither be told nor be asked anything before these are answered.
_OPEN_METHODS = frozenset({INITIALIZE, "server/discover", "ping"})


class ServerSummary(Struct, frozen=True):
    """What a server holds and does at one moment; the counts are of registrations and of open connections."""

    name: str
    version: str
    tools: int
    resources: int
    resource_templates: int
    prompts: int
    roots: int
    connections: int
    running: bool


class MCPServer(Entrances, ServerFeatures):
    """A server: register what it offers, then start it on a transport or run it.

    Args:
        name: what it calls itself.
        version: its own version.
        instructions: how to use it, for a model.
        title: its name for people.
        website_url: where to read about it.
        icons: pictures of it.
        page_size: how many items a page of a list has; None for all.
        reveal_tool_errors: whether the text of an exception that a tool raises reaches the caller.
        max_concurrent: how many calls of one client may run at once; further ones wait.
        max_threads: how many plain handlers may run at once.
        clock: seconds on a scale that never goes back; the event loop's by default.
        timers: what sets timers; the event loop by default.
        id_generator: gives the ids of requests to clients; integers from 0 by default.
        lifespan: makes an async context manager that is open from before the first client is served until the server is
            stopped, once for all clients; handlers find its value as `ctx.lifespan`.
        eras: which clients are served: `"handshake"`, those that open with `initialize`; `"stateless"`, those whose
            requests each speak for themselves.
        list_ttl_ms: milliseconds for which clients may keep lists; 0 by default.
        asking: `state_keys`, which the replicas of a server must share, `state_ttl`, `max_state_bytes`, `max_rounds`
            and `wall_clock`, for handlers that ask clients of the stateless era; see `RoundOptions`.

    Raises:
        MCPError: `INVALID_PARAMS`, an option cannot be used; the error names it.
    """

    def __init__(  # noqa: PLR0913  every option stands for itself, and all but the first three are named
        self,
        name: str = "suaveplan-mcp",
        version: str = "0.0.0",
        instructions: str | None = None,
        *,
        title: str | None = None,
        website_url: str | None = None,
        icons: list[Icon] | None = None,
        page_size: int | None = None,
        reveal_tool_errors: bool = True,
        max_concurrent: int = 1000,
        max_threads: int = 256,
        clock: Clock | None = None,
        timers: Timers | None = None,
        id_generator: Callable[[], RequestId] | None = None,
        lifespan: MakeLifespan | None = None,
        eras: Collection[str] = ERAS,
        list_ttl_ms: int = 0,
        **asking: Unpack[RoundOptions],
    ) -> None:
        eras, list_ttl_ms = require_eras(eras), require_ttl("list_ttl_ms", list_ttl_ms)
        self._timers = timers
        self._events = EventBus("server")
        self._connections = Connections()
        self._handlers = GuardedHandlers(_OPEN_METHODS)
        self._threads = WorkerThreads(max_threads)
        self._client_requests = ClientRequests(self._connections, self._threads)
        self._logs = Logs(self._connections)
        info = wire_form(
            name, Implementation(name=name, version=version, title=title, website_url=website_url, icons=icons)
        )
        stateless = StatelessEra("server", self._handlers.table, info=info)
        opened = Lifespan(lifespan)
        rounds = InputRounds.with_options(self._client_requests, **asking)
        outward = ServerOutward(self._logs, self._client_requests, opened, rounds)
        super().__init__(
            self._connections,
            Runner(outward.context_of, self._threads),
            Listing(self._cache_scope, stateless.complete, require_page_size(page_size), list_ttl_ms),
            reveal_tool_errors=reveal_tool_errors,
        )
        self._lifecycle = Lifecycle(
            self._connections, info, instructions, lambda: len(self._roots.registry) > 0, list_ttl_ms
        )
        self._subscriptions = Subscriptions(
            self._lifecycle.capabilities, lambda: self._handlers.authorizer, timers=timers
        )
        self._connections.publish_to(self._subscriptions)
        table, events = self._handlers.table, self._events
        ways = Ways(table, stateless, eras, self._binding_of, events, clock, timers, id_generator, max_concurrent)
        self._clients = Clients(ways, self._connections, self._subscriptions, opened)
        self._started = False
        self._serve()

    def _serve(self) -> None:
        register = self._handlers.register
        register(INITIALIZE, self._lifecycle.handle_initialize, exempt=True)
        register("server/discover", self._lifecycle.handle_discover, exempt=True)
        register("ping", self._lifecycle.handle_ping, exempt=True)
        register(LISTEN, self._subscriptions.handle_listen, endless=True)
        register("tools/list", self._tools.handle_list)
        register("tools/call", self._tools.handle_call)
        register("resources/list", self._resources.handle_list)
        register("resources/templates/list", self._resources.handle_list_templates)
        register("resources/read", self._resources.handle_read)
        register("resources/subscribe", self._resources.handle_subscribe)
        register("resources/unsubscribe", self._resources.handle_unsubscribe)
        register("prompts/list", self._prompts.handle_list)
        register("prompts/get", self._prompts.handle_get)
        register("completion/complete", self._completions.handle_complete)
        register("roots/list", self._roots.handle_list)
        register("logging/setLevel", self._logs.handle_set_level, exempt=True)

    @property
    def events(self) -> EventBus:
        """What happens on the server's connections."""
        return self._events

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self._lifecycle.info.name

    def get_info(self) -> ServerSummary:
        """Return what the server holds and does now."""
        return ServerSummary(
            name=self._lifecycle.info.name,
            version=self._lifecycle.info.version,
            tools=len(self._tools.registry),
            resources=len(self._resources.registry),
            resource_templates=len(self._resources.templates),
            prompts=len(self._prompts.registry),
            roots=len(self._roots.registry),
            connections=len(self._connections),
            running=self._started,
        )

    # Calls in this process

    async def invoke_tool(
        self,
        name: str,
        params: Mapping[str, object] | None = None,
        *,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        meta: JsonObject | None = None,
    ) -> CallToolResult:
        """Call a tool without a client.

        Args:
            name: the tool.
            params: its arguments.
            signal: gives the call up when it is aborted.
            on_progress: called with every report of progress.
            meta: `_meta` for the handler's context.

        Raises:
            MCPError: `NOT_FOUND`, `INVALID_PARAMS` naming the field, or `REQUEST_CANCELLED`. What the handler raises
                becomes an error result.
        """
        tool = self._tools.registry.find(name)
        arguments = self._tools.decode(tool, params)
        call = LocalCall("tools/call", on_progress=on_progress, meta=meta)
        result = await call.run(self._tools.run(tool, arguments, call), signal)
        content = cast("object", result.structured_content)
        return replace(result, structured_content=decode(content)) if isinstance(content, Raw) else result

    async def read_resource(
        self, uri: str, *, signal: AbortSignal | None = None, meta: JsonObject | None = None
    ) -> ReadResourceResult:
        """Read a resource without a client.

        Raises:
            MCPError: `NOT_FOUND`, `INVALID_PARAMS`, `REQUEST_CANCELLED`, or `HANDLER_FAILED` with the cause.
        """
        call = LocalCall("resources/read", meta=meta)
        return await call.run(self._resources.read(uri, call), signal)

    async def get_prompt_messages(
        self,
        name: str,
        args: Mapping[str, str] | None = None,
        *,
        signal: AbortSignal | None = None,
        meta: JsonObject | None = None,
    ) -> list[PromptMessage]:
        """Fill in a prompt without a client.

        Raises:
            MCPError: `NOT_FOUND`, `INVALID_PARAMS`, `REQUEST_CANCELLED`, or `HANDLER_FAILED` with the cause.
        """
        call = LocalCall("prompts/get", meta=meta)
        return (await call.run(self._prompts.get(name, args, call), signal)).messages

    # Clients

    def set_authorizer(self, authorizer: Authorizer | None) -> None:
        """Ask a function before every request but `initialize`, `server/discover` and `ping`; None asks no function.

        Args:
            authorizer: takes an `AuthorizationRequest`; says, perhaps as an awaitable, whether it may be served.
        """
        self._handlers.guard(authorizer)

    def set_sampling_provider(self, provider: SamplingProvider | None) -> None:
        """Let a function answer `ctx.sample` where the client cannot."""
        self._client_requests.sampling_provider = provider

    def set_log_level(self, level: LoggingLevel) -> None:
        """Set the least level that is sent to clients who have not asked for one; `info` at first.

        Raises:
            LogError: `INVALID_PARAMS`, there is no such level.
        """
        self._logs.set_level(level)

    def emit_log(self, level: LoggingLevel, data: JsonValue, logger: str | None = None) -> None:
        """Send a log message to every client that wants that level.

        Raises:
            LogError: `INVALID_PARAMS`, there is no such level.
        """
        self._logs.emit(level, data, logger)

    def mark_resource_updated(self, uri: str) -> None:
        """Tell every client that watches a resource that it has changed; before the start no client is told."""
        self._resources.mark_updated(uri)

    async def create_sampling_message(
        self, params: CreateMessageRequestParams | Mapping[str, object], *, signal: AbortSignal | None = None
    ) -> CreateMessageResult:
        """Ask the model of the one client that is connected. A handler asks its caller's with `ctx.sample`.

        Args:
            params: what to ask, as a struct or a mapping of its shape.
            signal: takes the question back when it is aborted.

        Raises:
            MCPError: `NOT_INITIALIZED` where no client, or more than one, is connected; `METHOD_NOT_FOUND` where it
                has not declared sampling; `INVALID_PARAMS` where the question is malformed; or what it answered.
        """
        return cast("CreateMessageResult", await self._client_requests.ask_only_client(sampling_of(params), signal))

    async def list_client_roots(self, *, signal: AbortSignal | None = None) -> list[Root]:
        """Ask the one client that is connected for its roots.

        Raises:
            MCPError: as `create_sampling_message`.
        """
        result = await self._client_requests.ask_only_client(ask_for_roots(), signal)
        return cast("ListRootsResult", result).roots

    # Running

    async def start(self, transport: Transport) -> ServerConnection:
        """Serve one transport; `attach` adds others.

        Raises:
            MCPError: `ALREADY_CONNECTED`, it was started and not stopped; or as `attach`.
        """
        if self._started:
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, "the server was started already; stop it first, or attach")
        self._started = True
        try:
            return await self._clients.attach(transport)
        except BaseException:
            self._started = len(self._connections) > 0
            raise

    async def attach(self, transport: Transport) -> ServerConnection:
        """Serve one more transport.

        Returns:
            The connection, which tells when it is over.

        Raises:
            MCPError: `ALREADY_CONNECTED`, it serves this transport already; or `TRANSPORT_CLOSED`.
            BaseException: what opening the lifespan raised.
        """
        connection = await self._clients.attach(transport)
        self._started = True
        return connection

    async def answer(self, exchange: Transport, message: Message, delivery: Delivery) -> None:
        """Serve one message of the stateless era that came alone, in the current task; for HTTP and its like.

        Args:
            exchange: takes all that is said to the client, and at last the answer, where the message is a request.
                Closing it gives the request up.
            message: what came.
            delivery: its headers, and who sent it.

        Raises:
            BaseException: what opening the lifespan raised.
            CancelledError: the request was given up.
        """
        self._started = True
        await self._clients.answer(exchange, message, delivery)

    async def stop(self, reason: str | None = None) -> None:
        """Close every connection; what runs is stopped. The server can be started again.

        Where a handler calls this it is stopped as well, and the connections close all the same.

        Args:
            reason: for `connection:closed`.
        """
        self._started = False
        self._threads.close()
        await self._clients.close(reason)

    def _binding_of(self, headers: Mapping[str, str]) -> HttpBinding:
        return HttpBinding(headers, self._tools.param_headers_of)

    def _cache_scope(self) -> CacheScope:
        return "public" if self._handlers.authorizer is None else "private"
