"""What a server says of itself, to those who open with a handshake and to those who ask. Spec: basic/lifecycle"""

from collections.abc import Callable

from msgspec.structs import replace

from suaveplan_mcp.protocol.methods import SERVER_ROOTS
from suaveplan_mcp.protocol.revisions import STATELESS_REVISIONS
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.capabilities import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from suaveplan_mcp.types.discover import DiscoverResult
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult
from suaveplan_mcp.types.ping import EmptyResult


class Lifecycle:
    """Introduces a server.

    Args:
        connections: those it opens.
        info: what the server calls itself.
        instructions: how to use it, for a model.
        has_roots: whether it has roots of its own to tell of.
        ttl_ms: milliseconds that what it says of itself may be kept, where that is said.
    """

    __slots__ = ("_connections", "_has_roots", "_ttl_ms", "info", "instructions")

    def __init__(
        self,
        connections: Connections,
        info: Implementation,
        instructions: str | None,
        has_roots: Callable[[], bool],
        ttl_ms: int = 0,
    ) -> None:
        self._connections = connections
        self.info = info
        self.instructions = instructions
        self._has_roots = has_roots
        self._ttl_ms = ttl_ms

    def capabilities(self) -> ServerCapabilities:
        """Return what the server can do. What may be registered later is declared from the start: it is served."""
        return ServerCapabilities(
            tools=ToolsCapability(list_changed=True),
            resources=ResourcesCapability(subscribe=True, list_changed=True),
            prompts=PromptsCapability(list_changed=True),
            completions={},
            logging={},
            experimental={SERVER_ROOTS: {}} if self._has_roots() else None,
        )

    async def handle_initialize(self, params: InitializeRequestParams, call: InboundCall) -> InitializeResult:
        """Answer `initialize`; the connection's era has agreed on the revision already."""
        connection = self._connections[call.peer]
        connection.greet_soon()
        return InitializeResult(
            protocol_version=str(call.caller.revision),
            capabilities=self.capabilities(),
            server_info=self.info,
            instructions=self.instructions,
        )

    async def handle_discover(self, params: RequestParams, call: InboundCall) -> DiscoverResult:
        """Answer `server/discover`. Spec: server/discover"""
        # Asking the server for its roots is of the handshake era alone.
        return DiscoverResult(
            supported_versions=sorted(STATELESS_REVISIONS, reverse=True),
            capabilities=replace(self.capabilities(), experimental=None),
            instructions=self.instructions,
            ttl_ms=self._ttl_ms,
            cache_scope="public",
        )

    async def handle_ping(self, params: RequestParams, call: InboundCall) -> EmptyResult:
        """Answer `ping`."""
        return EmptyResult()
