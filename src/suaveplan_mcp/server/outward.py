"""What contexts ask of their server, gathered from the features that answer."""

from collections.abc import Sequence
from typing import Any

from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.asking import Ask, AskResult
from suaveplan_mcp.server.client_requests import ClientRequests
from suaveplan_mcp.server.connections import Connections, ServerConnection
from suaveplan_mcp.server.context import Context, Outward
from suaveplan_mcp.server.lifespan import Lifespan
from suaveplan_mcp.server.logging import Logs
from suaveplan_mcp.types.logging import LoggingLevel, LoggingMessageNotificationParams


class ServerOutward(Outward):
    """Answers for the server.

    Args:
        connections: the clients.
        logs: decides who hears what.
        client_requests: asks clients.
        lifespan: what lives as long as the server runs.
    """

    def __init__(
        self, connections: Connections, logs: Logs, client_requests: ClientRequests, lifespan: Lifespan
    ) -> None:
        self._lifespan = lifespan
        self._connections = connections
        self._logs = logs
        self._client_requests = client_requests

    def context_of(self, call: InboundCall) -> Context:
        """Return the context of a call."""
        return Context(call, self)

    async def ask(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
        """Ask the client behind a call."""
        return await self._client_requests.ask_caller(call, asks)

    def message_for(
        self, call: InboundCall, level: LoggingLevel, data: JsonValue, logger: str | None
    ) -> LoggingMessageNotificationParams | None:
        """Return a log message for the client behind a call, or None where it does not want that level."""
        return self._logs.message_for(call.caller, level, data, logger)

    def connection_of(self, call: InboundCall) -> ServerConnection | None:
        """Return the connection a call came on."""
        return self._connections.of(call.peer)

    @property
    def lifespan(self) -> Any:
        """The value of the server's lifespan."""
        return self._lifespan.value
