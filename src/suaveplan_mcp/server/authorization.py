"""Who may call what: one function that is asked before every request but the handshake."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Final, TypeAlias, cast

from msgspec import Struct

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.runtime.handlers import HandlerFunction, HandlerTable
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.transport.base import Delivery


class AuthorizationRequest(Struct, frozen=True):
    """What an authorizer decides on.

    Args:
        method: the method.
        params: its typed params.
        id: the request id.
        headers: the HTTP headers, where the transport has them.
        principal: who is calling, where the transport knows.
    """

    method: str
    params: Payload
    id: RequestId
    headers: Mapping[str, str]
    principal: object | None


Authorizer: TypeAlias = Callable[[AuthorizationRequest], bool | Awaitable[bool]]
"""Says whether a request may be served."""

_NOWHERE: Final = Delivery()


class GuardedHandlers:
    """The handlers of a server, behind its authorizer if it has one.

    Without one the handlers stand in the table themselves, so that it costs nothing.

    Args:
        open_methods: those that pass without being asked about.
    """

    __slots__ = ("_authorizer", "_endless", "_exempt", "_handlers", "_open_methods", "table")

    def __init__(self, open_methods: frozenset[str]) -> None:
        self.table = HandlerTable()
        self._handlers: dict[str, HandlerFunction] = {}
        self._exempt: set[str] = set()
        self._endless: set[str] = set()
        self._open_methods = open_methods
        self._authorizer: Authorizer | None = None

    @property
    def authorizer(self) -> Authorizer | None:
        """Who is asked."""
        return self._authorizer

    def register(self, method: str, handler: HandlerFunction, *, exempt: bool = False, endless: bool = False) -> None:
        """Serve a method.

        Args:
            method: the method.
            handler: what answers.
            exempt: whether it is answered at once, however many handlers are at work.
            endless: whether it goes on until one of both sides has enough.
        """
        self._handlers[method] = handler
        if exempt:
            self._exempt.add(method)
        if endless:
            self._endless.add(method)
        self._enter(method, handler)

    def guard(self, authorizer: Authorizer | None) -> None:
        """Ask `authorizer` from now on; None for no function."""
        self._authorizer = authorizer
        for method, handler in self._handlers.items():
            self.table.unregister(method)
            self._enter(method, handler)

    def _enter(self, method: str, handler: HandlerFunction) -> None:
        exempt, endless = method in self._exempt, method in self._endless
        self.table.register(method, self._guarded(method, handler), exempt=exempt, endless=endless)

    def _guarded(self, method: str, handler: HandlerFunction) -> HandlerFunction:
        authorizer = self._authorizer
        if authorizer is None or method in self._open_methods:
            return handler

        async def ask_first(params: Payload, call: InboundCall) -> object:
            delivery = call.delivery or _NOWHERE
            request = AuthorizationRequest(method, params, call.id, delivery.headers, delivery.principal)
            allowed = authorizer(request)
            if not (await allowed if isawaitable(allowed) else allowed):
                raise MCPError(MCP_CODES.UNAUTHORIZED, f"{method} is not allowed")
            return await cast("Awaitable[object]", handler(params, call))

        return ask_first
