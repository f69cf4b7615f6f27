"""Giving up on a request. Spec: basic/patterns/cancellation"""

from suaveplan_mcp.jsonrpc.messages import RequestId
from suaveplan_mcp.types.base import NotificationParams


class CancelledNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Name the request that is no longer wanted.

    Args:
        request_id: the id of the request. One revision lets it be absent, for tasks; what has none cancels nothing.
        reason: why, for a log or a person.

    Spec: basic/patterns/cancellation
    """

    request_id: RequestId | None = None
    reason: str | None = None
