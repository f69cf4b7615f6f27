"""THE table: what every method carries, who sends it, and in which revisions it lives.

Nothing else in the library lists methods. A row belongs to a sender, so a name that means the same from both sides has
one row that both find, and a name that one side sends longer, or with another capability, has two. Extensions index
rows of their own with `index_methods`. Spec: basic, and the page of each method
"""

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct
from msgspec.json import Decoder

from suaveplan_mcp.events import Side
from suaveplan_mcp.protocol.revisions import (
    LATEST_HANDSHAKE,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    is_at_least,
)
from suaveplan_mcp.types.base import NotificationParams, RequestParams, Result, WireStruct
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.completion import CompleteRequestParams, CompleteResult
from suaveplan_mcp.types.discover import DiscoverResult
from suaveplan_mcp.types.elicitation import ElicitationCompleteNotificationParams, ElicitRequestParams, ElicitResult
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult
from suaveplan_mcp.types.logging import LoggingMessageNotificationParams, SetLevelRequestParams
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.ping import EmptyResult
from suaveplan_mcp.types.progress import ProgressNotificationParams
from suaveplan_mcp.types.prompts import GetPromptRequestParams, GetPromptResult, ListPromptsResult
from suaveplan_mcp.types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceUpdatedNotificationParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from suaveplan_mcp.types.roots import ListRootsResult
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from suaveplan_mcp.types.subscriptions import (
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from suaveplan_mcp.types.tasks import (
    CancelTaskRequestParams,
    CancelTaskResult,
    GetTaskPayloadRequestParams,
    GetTaskPayloadResult,
    GetTaskRequestParams,
    GetTaskResult,
    ListTasksResult,
    TaskStatusNotificationParams,
)
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult

CLIENT_COMPLETIONS: Final = "suaveplan/completions"
"""The key under `experimental` by which our client says that it completes arguments."""

SERVER_ROOTS: Final = "suaveplan/roots"
"""The key under `experimental` by which our server says that it has roots."""


@cache
def _decoder(kind: type[WireStruct]) -> Decoder[WireStruct]:
    """Make the decoder of a type when it is first needed, and keep it for all methods that share the type."""
    return Decoder(kind)


class Method(Struct, frozen=True, dict=True):
    """Describe one method, as one sender or both may use it.

    Args:
        name: as on the wire.
        kind: whether it wants an answer.
        sender: the side that may send it.
        params: what it carries. Params that are not sent decode like `{}`, so only a required field can be missing.
        result: what answers it; None for a notification. A result that asks for input, or that creates a task, may
            come in its place where the params are `InputResponseRequestParams` or have a `task`.
        first: the oldest revision it lives in.
        last: the newest, or None where it lives on.
        cacheable: its result says how long it stays fresh.
        capability: the path, with dots, of what the receiver must have declared.
        capability_first: the oldest revision that knows the capability, where that is newer than `first`.
    """

    name: str
    kind: Literal["request", "notification"]
    sender: Literal["client", "server", "either"]
    params: type[WireStruct]
    result: type[Result] | None = None
    first: str = V2024_11_05
    last: str | None = None
    cacheable: bool = False
    capability: str | None = None
    capability_first: str | None = None

    @cached_property
    def params_decoder(self) -> Decoder[WireStruct]:
        """The decoder of the params, made when first asked for."""
        return _decoder(self.params)

    @cached_property
    def result_decoder(self) -> Decoder[WireStruct]:
        """The decoder of the result, made when first asked for. A notification has none.

        Raises:
            AttributeError: the method is a notification.
        """
        if self.result is None:
            raise AttributeError(f"{self.name} has no result")
        return _decoder(self.result)


ROWS: Final[tuple[Method, ...]] = (
    # The handshake, and whether the peer is there.
    Method("initialize", "request", "client", InitializeRequestParams, InitializeResult, last=LATEST_HANDSHAKE),
    Method("notifications/initialized", "notification", "client", NotificationParams, last=LATEST_HANDSHAKE),
    Method("ping", "request", "either", RequestParams, EmptyResult, last=LATEST_HANDSHAKE),
    # What the stateless era has in their place.
    Method("server/discover", "request", "client", RequestParams, DiscoverResult, first=V2026_07_28, cacheable=True),
    Method(
        "subscriptions/listen",
        "request",
        "client",
        SubscriptionsListenRequestParams,
        SubscriptionsListenResult,
        first=V2026_07_28,
    ),
    Method(
        "notifications/subscriptions/acknowledged",
        "notification",
        "server",
        SubscriptionsAcknowledgedNotificationParams,
        first=V2026_07_28,
    ),
    # About other requests. A client of the stateless era has nothing to report progress on.
    Method("notifications/cancelled", "notification", "either", CancelledNotificationParams),
    Method("notifications/progress", "notification", "server", ProgressNotificationParams),
    Method("notifications/progress", "notification", "client", ProgressNotificationParams, last=LATEST_HANDSHAKE),
    # What a server offers.
    Method(
        "tools/list", "request", "client", PaginatedRequestParams, ListToolsResult, cacheable=True, capability="tools"
    ),
    Method("tools/call", "request", "client", CallToolRequestParams, CallToolResult, capability="tools"),
    Method("notifications/tools/list_changed", "notification", "server", NotificationParams),
    Method(
        "resources/list",
        "request",
        "client",
        PaginatedRequestParams,
        ListResourcesResult,
        cacheable=True,
        capability="resources",
    ),
    Method(
        "resources/templates/list",
        "request",
        "client",
        PaginatedRequestParams,
        ListResourceTemplatesResult,
        cacheable=True,
        capability="resources",
    ),
    Method(
        "resources/read",
        "request",
        "client",
        ReadResourceRequestParams,
        ReadResourceResult,
        cacheable=True,
        capability="resources",
    ),
    Method(
        "resources/subscribe",
        "request",
        "client",
        SubscribeRequestParams,
        EmptyResult,
        last=LATEST_HANDSHAKE,
        capability="resources.subscribe",
    ),
    Method(
        "resources/unsubscribe",
        "request",
        "client",
        UnsubscribeRequestParams,
        EmptyResult,
        last=LATEST_HANDSHAKE,
        capability="resources.subscribe",
    ),
    Method("notifications/resources/list_changed", "notification", "server", NotificationParams),
    Method("notifications/resources/updated", "notification", "server", ResourceUpdatedNotificationParams),
    Method(
        "prompts/list",
        "request",
        "client",
        PaginatedRequestParams,
        ListPromptsResult,
        cacheable=True,
        capability="prompts",
    ),
    Method("prompts/get", "request", "client", GetPromptRequestParams, GetPromptResult, capability="prompts"),
    Method("notifications/prompts/list_changed", "notification", "server", NotificationParams),
    Method(
        "completion/complete",
        "request",
        "client",
        CompleteRequestParams,
        CompleteResult,
        capability="completions",
        capability_first=V2025_03_26,
    ),
    Method(
        "logging/setLevel",
        "request",
        "client",
        SetLevelRequestParams,
        EmptyResult,
        last=LATEST_HANDSHAKE,
        capability="logging",
    ),
    Method("notifications/message", "notification", "server", LoggingMessageNotificationParams),
    # What a client offers. In the stateless era these travel inside input-required results, and are no messages.
    Method(
        "sampling/createMessage",
        "request",
        "server",
        CreateMessageRequestParams,
        CreateMessageResult,
        last=LATEST_HANDSHAKE,
        capability="sampling",
    ),
    Method(
        "roots/list", "request", "server", RequestParams, ListRootsResult, last=LATEST_HANDSHAKE, capability="roots"
    ),
    Method("notifications/roots/list_changed", "notification", "client", NotificationParams, last=LATEST_HANDSHAKE),
    Method(
        "elicitation/create",
        "request",
        "server",
        ElicitRequestParams,
        ElicitResult,
        first=V2025_06_18,
        last=LATEST_HANDSHAKE,
        capability="elicitation",
    ),
    Method(
        "notifications/elicitation/complete",
        "notification",
        "server",
        ElicitationCompleteNotificationParams,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
        capability="elicitation.url",
    ),
    # Tasks, as one revision has them in its core.
    Method(
        "tasks/get",
        "request",
        "either",
        GetTaskRequestParams,
        GetTaskResult,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
        capability="tasks",
    ),
    Method(
        "tasks/result",
        "request",
        "either",
        GetTaskPayloadRequestParams,
        GetTaskPayloadResult,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
        capability="tasks",
    ),
    Method(
        "tasks/cancel",
        "request",
        "either",
        CancelTaskRequestParams,
        CancelTaskResult,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
        capability="tasks.cancel",
    ),
    Method(
        "tasks/list",
        "request",
        "either",
        PaginatedRequestParams,
        ListTasksResult,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
        capability="tasks.list",
    ),
    Method(
        "notifications/tasks/status",
        "notification",
        "either",
        TaskStatusNotificationParams,
        first=V2025_11_25,
        last=LATEST_HANDSHAKE,
    ),
    # Ours, and in no specification: a client that completes, and a server that has roots. Only where the peer says so.
    Method(
        "completion/complete",
        "request",
        "server",
        CompleteRequestParams,
        CompleteResult,
        last=LATEST_HANDSHAKE,
        capability=f"experimental.{CLIENT_COMPLETIONS}",
    ),
    Method(
        "roots/list",
        "request",
        "client",
        RequestParams,
        ListRootsResult,
        last=LATEST_HANDSHAKE,
        capability=f"experimental.{SERVER_ROOTS}",
    ),
)
"""Every method of every revision, and two of ours."""


def index_methods(rows: Iterable[Method]) -> Mapping[str, Mapping[Side, Method]]:
    """Arrange rows for look-up by name, then by sender. A later row takes the place of an earlier one."""
    table: dict[str, dict[Side, Method]] = {}
    for row in rows:
        senders = table.setdefault(row.name, {})
        if row.sender != "server":
            senders["client"] = row
        if row.sender != "client":
            senders["server"] = row
    return MappingProxyType({name: MappingProxyType(senders) for name, senders in table.items()})


METHODS: Final = index_methods(ROWS)
"""Every method by name, then by sender: `METHODS["ping"]["client"]`."""


def find(name: str, sender: Side) -> Method | None:
    """Return the row of a method that a side may send, in some revision, or None."""
    senders = METHODS.get(name)
    return None if senders is None else senders.get(sender)


def lives_in(method: Method, revision: str) -> bool:
    """Tell whether a method is a message of its own in a revision."""
    return is_at_least(revision, method.first) and (method.last is None or is_at_least(method.last, revision))


def capability_in(method: Method, revision: str) -> str | None:
    """Return the path of what the receiver must have declared in a revision, or None where nothing is demanded.

    The oldest revision has completion without a capability for it.
    """
    since = method.capability_first
    return method.capability if since is None or is_at_least(revision, since) else None


@cache
def methods_of(sender: Side, revision: str) -> Mapping[str, Method]:
    """Return what a side may send in a revision, by name."""
    rows = ((name, senders.get(sender)) for name, senders in METHODS.items())
    return MappingProxyType({name: row for name, row in rows if row is not None and lives_in(row, revision)})
