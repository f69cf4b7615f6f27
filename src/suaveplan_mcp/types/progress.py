"""Progress of a long request. Spec: basic/patterns/progress"""

from typing import TypeAlias

from suaveplan_mcp.types.base import NotificationParams

ProgressToken: TypeAlias = int | str
"""What the sender of a request chose to recognise its progress by. Spec: basic/patterns/progress"""


class ProgressNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Tell how far a request has come.

    Args:
        progress: grows with every notification.
        total: what `progress` will reach, where that is known.
        message: what is going on, for people.

    Spec: basic/patterns/progress
    """

    progress_token: ProgressToken
    progress: int | float
    total: int | float | None = None
    message: str | None = None
