"""The server's side of the handshake: what it says of itself. Spec: basic/lifecycle"""

from collections.abc import Callable

from suaveplan_mcp.protocol.methods import SERVER_ROOTS
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.capabilities import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult
from suaveplan_mcp.types.ping import EmptyResult


class Lifecycle:
    """Opens connections.

    Args:
        connections: those it opens.
        info: what the server calls itself.
        instructions: how to use it, for a model.
        has_roots: whether it has roots of its own to tell of.
    """

    __slots__ = ("_connections", "_has_roots", "info", "instructions")

    def __init__(
        self, connections: Connections, info: Implementation, instructions: str | None, has_roots: Callable[[], bool]
    ) -> None:
        self._connections = connections
        self.info = info
        self.instructions = instructions
        self._has_roots = has_roots

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

    async def handle_ping(self, params: RequestParams, call: InboundCall) -> EmptyResult:
        """Answer `ping`."""
        return EmptyResult()
