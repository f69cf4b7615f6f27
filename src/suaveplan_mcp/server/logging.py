"""Log messages for clients, each at the level it wants. Spec: server/utilities/logging"""

from typing import Final, get_args

from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.protocol.caller import Caller, is_stateless
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.refusals import MismatchError
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.types.logging import LoggingLevel, LoggingMessageNotificationParams, SetLevelRequestParams
from suaveplan_mcp.types.ping import EmptyResult

MESSAGE: Final = "notifications/message"

_SEVERITY: Final[dict[str, int]] = {level: severity for severity, level in enumerate(get_args(LoggingLevel))}


class LogError(MCPError):
    """A log message that cannot be sent. It concerns the handler that logs, not its caller.

    Args:
        argument: what is wrong with it, `level` or `data`.
        reason: what was expected.
    """

    def __init__(self, argument: str, reason: str) -> None:
        context = {"path": argument, "reason": reason}
        super().__init__(MCP_CODES.INVALID_PARAMS, f"this cannot be logged: {argument}: {reason}", context=context)


class Logs:
    """What the server tells its clients of its doings.

    Args:
        connections: who hears it.
    """

    __slots__ = ("_connections", "_level")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._level: LoggingLevel = "info"

    def set_level(self, level: LoggingLevel) -> None:
        """Set the least level that is sent to clients of the handshake era who have not asked for one.

        Raises:
            LogError: `INVALID_PARAMS`, there is no such level.
        """
        require_level(level)
        self._level = level

    async def handle_set_level(self, params: SetLevelRequestParams, call: InboundCall) -> EmptyResult:
        """Take note of the level a client wants."""
        call.caller.log_level = params.level
        return EmptyResult()

    def emit(self, level: LoggingLevel, data: JsonValue, logger: str | None) -> None:
        """Send a message to every client that wants that level.

        Raises:
            LogError: `INVALID_PARAMS`, there is no such level, or a client wants the data and it is no JSON.
        """
        require_level(level)
        wanting = [connection for connection in self._connections if self._wants(connection.caller, level)]
        if wanting:
            params = _message_params(level, data, logger)
            for connection in wanting:
                connection.tell(MESSAGE, params)

    def message_for(
        self, caller: Caller, level: LoggingLevel, data: JsonValue, logger: str | None
    ) -> LoggingMessageNotificationParams | None:
        """Return a message for one client, or None where it does not want that level, or there is no client.

        Raises:
            LogError: as `emit`.
        """
        require_level(level)
        if caller.revision is None or not self._wants(caller, level):
            return None
        return _message_params(level, data, logger)

    def _wants(self, caller: Caller, level: LoggingLevel) -> bool:
        wanted = caller.log_level
        if wanted is None:
            # Where every request stands for itself, one that asks for no messages gets none.
            if is_stateless(caller):
                return False
            wanted = self._level
        return _SEVERITY[level] >= _SEVERITY[wanted]


def require_level(level: str) -> None:
    """Refuse a level that does not exist.

    Raises:
        LogError: `INVALID_PARAMS`, naming those there are.
    """
    if level not in _SEVERITY:
        raise LogError("level", f"{level!r} is none of {', '.join(_SEVERITY)}")


def _message_params(level: LoggingLevel, data: JsonValue, logger: str | None) -> LoggingMessageNotificationParams:
    try:
        # A copy, which a peer in this process may keep while the handler goes on with its own.
        plain: JsonValue = decode(encode_value(data))
    except MismatchError as error:
        raise LogError("data", error.reason) from error
    return LoggingMessageNotificationParams(level=level, data=plain, logger=logger)
