"""Following what the server says has changed. Spec: server/tools, server/resources, server/prompts"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from suaveplan_mcp.client.cache import CachedLists
from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.client.listen_streams import ACKNOWLEDGED, UPDATED, ListenStreams
from suaveplan_mcp.client.listening import Listening
from suaveplan_mcp.client.opening import Setup
from suaveplan_mcp.client.resources import Subscriptions
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.events import ListChanged, ListKind, ResourceUpdated
from suaveplan_mcp.protocol.era import CANCELLED
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
        setup: what the client brings; a change is told on its bus once it has been followed.

    Attributes:
        streams: the listen streams of the connection.
        listening: the one of them that keeps what is known up to date, in the stateless era.
    """

    __slots__ = ("_connection", "_events", "_lists", "_running", "_subscriptions", "listening", "streams")

    def __init__(
        self, connection: ServerConnection, lists: CachedLists, subscriptions: Subscriptions, setup: Setup
    ) -> None:
        self._connection = connection
        self._lists = lists
        self._subscriptions = subscriptions
        self._events = setup.events
        # What is being followed now, and whether it has changed again since that began.
        self._running: dict[str, bool] = {}
        self.streams = ListenStreams(connection, setup.timers, setup.limits.timeout)
        self.listening = Listening(self.streams, setup.clock, self._catch_up)

    def accept(self, method: str, params: NotificationParams, uri: str | None = None) -> bool:
        """Tell whether a notice is to be acted on: in the stateless era only what came on a stream that asked for it.

        Of a change that is told on several streams, the client's own says enough.
        """
        if not self._connection.stateless:
            return True
        stream = self.streams.take(method, params)
        return stream is not None and self.listening.leaves_to(stream, method, uri)

    def forget(self, method: str, uri: str | None = None) -> None:
        """Forget what a notice makes stale of the results that are kept."""
        self._connection.take_notice(method, uri)

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

    async def _catch_up(self, kinds: Collection[ListKind], uris: Collection[str]) -> None:
        """Follow what may have changed without anybody telling."""
        for kind in kinds:
            self.forget(f"notifications/{kind}/list_changed")
        for uri in uris:
            self.forget(UPDATED, uri)
        await asyncio.gather(*map(self.take_list_changed, kinds), *map(self.take_resource_updated, uris))

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
        method = f"notifications/{kind}/list_changed"
        handlers.listen(method, _list_listener(method, kind, current))

    def take_updated(params: ResourceUpdatedNotificationParams) -> Awaitable[None] | None:
        changes = current()
        if changes is None:
            return None
        # Whoever sends it: what is asked for anew can only be right.
        changes.forget(UPDATED, params.uri)
        return changes.take_resource_updated(params.uri) if changes.accept(UPDATED, params, params.uri) else None

    handlers.listen(UPDATED, take_updated)
    for method in (ACKNOWLEDGED, CANCELLED):
        handlers.listen(method, _stream_listener(method, current))


def _list_listener(
    method: str, kind: ListKind, current: Callable[[], Changes | None]
) -> Callable[[NotificationParams], Awaitable[None] | None]:
    def take(params: NotificationParams) -> Awaitable[None] | None:
        changes = current()
        if changes is None:
            return None
        changes.forget(method)
        return changes.take_list_changed(kind) if changes.accept(method, params) else None

    return take


def _stream_listener(method: str, current: Callable[[], Changes | None]) -> Callable[[NotificationParams], object]:
    def take(params: NotificationParams) -> object:
        changes = current()
        return None if changes is None else changes.accept(method, params)

    return take
