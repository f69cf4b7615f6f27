"""What contexts ask of their server, gathered from the features that answer."""

from collections.abc import Sequence
from typing import Any

from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.asking import Ask, AskResult
from suaveplan_mcp.server.client_requests import ClientRequests
from suaveplan_mcp.server.context import Context, Outward
from suaveplan_mcp.server.input_rounds import InputRounds
from suaveplan_mcp.server.lifespan import Lifespan
from suaveplan_mcp.server.logging import Logs
from suaveplan_mcp.types.logging import LoggingLevel, LoggingMessageNotificationParams


class ServerOutward(Outward):
    """Answers for the server.

    Args:
        logs: decides who hears what.
        client_requests: asks clients.
        lifespan: what lives as long as the server runs.
        input_rounds: asks the clients that can only be asked in the answers to their own requests; by default with a
            key of its own.
    """

    def __init__(
        self,
        logs: Logs,
        client_requests: ClientRequests,
        lifespan: Lifespan,
        input_rounds: InputRounds | None = None,
    ) -> None:
        self._lifespan = lifespan
        self._input_rounds = InputRounds(client_requests) if input_rounds is None else input_rounds
        self._logs = logs
        self._client_requests = client_requests

    def context_of(self, call: InboundCall) -> Context:
        """Return the context of a call."""
        return Context(call, self, self._input_rounds.begin(call))

    async def ask(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
        """Ask the client behind a call."""
        return await self._client_requests.ask_caller(call, asks)

    def message_for(
        self, call: InboundCall, level: LoggingLevel, data: JsonValue, logger: str | None
    ) -> LoggingMessageNotificationParams | None:
        """Return a log message for the client behind a call, or None where it does not want that level."""
        return self._logs.message_for(call.caller, level, data, logger)

    @property
    def lifespan(self) -> Any:
        """The value of the server's lifespan."""
        return self._lifespan.value
