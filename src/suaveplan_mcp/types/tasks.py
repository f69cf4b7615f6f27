"""Requests that run as tasks, in the last handshake revision. Spec: basic/utilities/tasks"""

from typing import Literal, TypeAlias

from suaveplan_mcp.types.base import NotificationParams, Received, RequestParams, Result, WireStruct
from suaveplan_mcp.types.pagination import PaginatedResult

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
"""Where a task stands; the last three are final. Spec: basic/utilities/tasks"""


class TaskMetadata(WireStruct, frozen=True, kw_only=True):
    """Ask for a request to run as a task.

    Args:
        ttl: how long to keep the task, in milliseconds from its creation.

    Spec: basic/utilities/tasks
    """

    ttl: int | None = None


class RelatedTaskMetadata(WireStruct, frozen=True, kw_only=True):
    """Name, in `_meta`, the task that a message belongs to.

    Spec: basic/utilities/tasks
    """

    task_id: str


class TaskAugmentedRequestParams(RequestParams, frozen=True, kw_only=True):
    """Base the params of the requests that may run as tasks.

    Spec: basic/utilities/tasks
    """

    task: TaskMetadata | None = None


class Task(Received, frozen=True, kw_only=True):
    """Describe a task.

    Args:
        created_at: an ISO 8601 time, as is `last_updated_at`.
        ttl: how long it is kept, in milliseconds from its creation; `null` means without end, and is sent.
        status_message: why it stands where it does, for people.
        poll_interval: how long to wait between two looks, in milliseconds.

    Spec: basic/utilities/tasks
    """

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None


class CreateTaskResult(Result, frozen=True, kw_only=True):
    """Answer at once a request that runs as a task.

    Spec: basic/utilities/tasks
    """

    task: Task


class GetTaskRequestParams(RequestParams, frozen=True, kw_only=True):
    """Ask where a task stands.

    Spec: basic/utilities/tasks
    """

    task_id: str


class GetTaskResult(Result, frozen=True, kw_only=True):
    """Tell where a task stands: a result with the fields of `Task`.

    Spec: basic/utilities/tasks
    """

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None


class GetTaskPayloadRequestParams(RequestParams, frozen=True, kw_only=True):
    """Wait for what a task comes to.

    Spec: basic/utilities/tasks
    """

    task_id: str


class GetTaskPayloadResult(Result, frozen=True, kw_only=True):
    """Carry what a task came to: the result of the request that it ran. Its members are in `raw`.

    Spec: basic/utilities/tasks
    """


class CancelTaskRequestParams(RequestParams, frozen=True, kw_only=True):
    """Give up on a task.

    Spec: basic/utilities/tasks
    """

    task_id: str


class CancelTaskResult(GetTaskResult, frozen=True, kw_only=True):
    """Tell where a cancelled task stands: the same fields as `GetTaskResult`.

    Spec: basic/utilities/tasks
    """


class ListTasksResult(PaginatedResult, frozen=True, kw_only=True):
    """Give a page of the tasks.

    Spec: basic/utilities/tasks
    """

    tasks: list[Task]


class TaskStatusNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Tell, unasked, where a task stands: params with the fields of `Task`.

    Spec: basic/utilities/tasks
    """

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None
