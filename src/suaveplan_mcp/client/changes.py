"""Following what the server says has changed. Spec: server/tools, server/resources, server/prompts"""

from collections.abc import Awaitable, Callable
from typing import Final

from suaveplan_mcp.client.cache import CachedLists
from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.client.resources import Subscriptions
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.events import EventBus, ListChanged, ListKind, ResourceUpdated
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.types.base import NotificationParams
from suaveplan_mcp.types.resources import ResourceUpdatedNotificationParams

_KINDS: Final[tuple[ListKind, ...]] = ("tools", "resources", "prompts")


class Changes:
    """Keeps up to date what is known of one server.

    Args:
        connection: the connection to it.
        lists: what it listed.
        subscriptions: the resources that were subscribed to.
        events: where a change is told once it has been followed.
    """

    __slots__ = ("_connection", "_events", "_lists", "_running", "_subscriptions")

    def __init__(
        self, connection: ServerConnection, lists: CachedLists, subscriptions: Subscriptions, events: EventBus
    ) -> None:
        self._connection = connection
        self._lists = lists
        self._subscriptions = subscriptions
        self._events = events
        # What is being followed now, and whether it has changed again since that began.
        self._running: dict[str, bool] = {}

    async def take_list_changed(self, kind: ListKind) -> None:
        """List anew, then tell."""

        async def follow() -> None:
            await self._refresh(kind)
            self._events.emit("list:changed", ListChanged(kind))

        await self._coalesce(kind, follow)

    async def take_resource_updated(self, uri: str) -> None:
        """Read a resource again if it was subscribed to, then tell."""

        async def follow() -> None:
            await self._subscriptions.read_again(self._connection, uri)
            self._events.emit("resource:updated", ResourceUpdated(uri))

        if self._subscriptions.cover(uri):
            await self._coalesce(uri, follow)

    async def _refresh(self, kind: ListKind) -> None:
        lists, connection = self._lists, self._connection
        if kind == "tools":
            await lists.tools.refresh(connection)
        elif kind == "prompts":
            await lists.prompts.refresh(connection)
        else:
            await lists.resources.refresh(connection)
            await lists.resource_templates.refresh(connection)

    async def _coalesce(self, key: str, follow: Callable[[], Awaitable[None]]) -> None:
        """Follow a change; of those that come meanwhile, however many, one more round takes care."""
        if key in self._running:
            self._running[key] = True
            return
        self._running[key] = True
        try:
            while self._running[key]:
                self._running[key] = False
                await self._attempt(key, follow)
        finally:
            del self._running[key]

    async def _attempt(self, key: str, follow: Callable[[], Awaitable[None]]) -> None:
        try:
            await follow()
        except MCPError as error:
            self._connection.report(f"the change of {key} could not be followed: {error.message}", error)


def listen_for_changes(handlers: HandlerTable, current: Callable[[], Changes | None]) -> None:
    """Follow the notices of change that come in on whichever connection is current."""
    for kind in _KINDS:
        handlers.listen(f"notifications/{kind}/list_changed", _list_listener(kind, current))

    def take_updated(params: ResourceUpdatedNotificationParams) -> Awaitable[None] | None:
        changes = current()
        return None if changes is None else changes.take_resource_updated(params.uri)

    handlers.listen("notifications/resources/updated", take_updated)


def _list_listener(
    kind: ListKind, current: Callable[[], Changes | None]
) -> Callable[[NotificationParams], Awaitable[None] | None]:
    def take(_: NotificationParams) -> Awaitable[None] | None:
        changes = current()
        return None if changes is None else changes.take_list_changed(kind)

    return take
