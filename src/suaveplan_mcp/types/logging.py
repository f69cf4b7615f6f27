"""Log messages from a server. Spec: server/utilities/logging"""

from typing import Literal, TypeAlias

from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.types.base import NotificationParams, RequestParams

LoggingLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""How severe a message is, least first, as syslog counts. Spec: server/utilities/logging"""


class SetLevelRequestParams(RequestParams, frozen=True, kw_only=True):
    """Ask for log messages at a level or above.

    Spec: server/utilities/logging
    """

    level: LoggingLevel


class LoggingMessageNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Carry one log message.

    Args:
        data: anything that is JSON, `null` included.
        logger: the name of what is speaking.

    Spec: server/utilities/logging
    """

    level: LoggingLevel
    data: JsonValue
    logger: str | None = None
