"""The listen streams that are open, and what each of them is told. Spec: basic/patterns/subscriptions"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Final, NamedTuple

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
from suaveplan_mcp.protocol.era import CANCELLED
from suaveplan_mcp.runtime.in_flight import InboundCall, Peer
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers
from suaveplan_mcp.server.authorization import AuthorizationRequest, Authorizer
from suaveplan_mcp.server.connections import UPDATED
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.base import NotificationParams
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.capabilities import ServerCapabilities
from suaveplan_mcp.types.meta import SUBSCRIPTION_ID_KEY
from suaveplan_mcp.types.resources import ReadResourceRequestParams, ResourceUpdatedNotificationParams
from suaveplan_mcp.types.subscriptions import (
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

END_GRACE: Final = 1.0
"""Seconds that `Subscriptions.end` gives clients to take their last message; one that reads needs none of them."""

_NOTHING_WANTED: Final = "nothing of what was asked for can be sent"
_STOPPED: Final = "the server stops"
_NOWHERE: Final = Delivery()


class SubscriptionLimits(NamedTuple):
    """How much may be listened to at once.

    Args:
        max_subscriptions: how many streams there may be in all.
        per_connection: how many there may be on one connection. Over HTTP every stream is one of its own.
        uris: how many resources one stream may name.
        uris_in_all: how many all streams together may name.
    """

    max_subscriptions: int = 1000
    per_connection: int = 100
    uris: int = 10_000
    uris_in_all: int = 100_000


class ListenStream:
    """One client that listens, until one of both sides has enough.

    What is due to it is kept by kind and resource, so a client that reads slowly is told once of what changed often,
    and what is kept for it is never more than what it asked for.

    Args:
        call: the request that is answered when the stream ends.
        honoured: what it will be told of.
    """

    __slots__ = ("_call", "_due", "_honoured", "_loop", "_methods", "_queue", "_reason", "_uris", "_woken")

    def __init__(self, call: InboundCall, honoured: SubscriptionFilter) -> None:
        self._call = call
        self._honoured = honoured
        self._loop = asyncio.get_running_loop()
        self._methods = _methods_of(honoured)
        self._uris = frozenset(honoured.resource_subscriptions or ())
        self._queue: deque[tuple[str, str | None]] = deque()
        self._due: set[tuple[str, str | None]] = set()
        self._woken: asyncio.Event = asyncio.Event()
        self._reason: str | None = None if self._methods or self._uris else _NOTHING_WANTED

    def tell(self, method: str, uri: str | None = None) -> None:
        """Let the client know of a change, if it wants to. May be called from any thread.

        Args:
            method: the notification.
            uri: the resource that has changed, where it is about one.
        """
        due = (method, uri)
        # What is in `_due` goes out after now, since it leaves that before it is sent.
        if (method in self._methods if uri is None else uri in self._uris) and due not in self._due:
            self._due.add(due)
            self._queue.append(due)
            self._wake()

    def end(self, reason: str) -> None:
        """End the stream in order; its client is told."""
        self._reason = reason
        self._wake()

    async def serve(self) -> SubscriptionsListenResult:
        """Acknowledge, then tell of every change until the end; return the answer that ends the stream."""
        acknowledged = SubscriptionsAcknowledgedNotificationParams(meta=self._tag(), notifications=self._honoured)
        await self._post(ACKNOWLEDGED, acknowledged)
        while self._queue or self._reason is None:
            if not self._queue:
                self._woken.clear()
                await self._woken.wait()
                continue
            due = self._queue.popleft()
            self._due.discard(due)
            await self._post(due[0], self._describe(due[1]))
        await self._post(
            CANCELLED, CancelledNotificationParams(meta=self._tag(), request_id=self._call.id, reason=self._reason)
        )
        return SubscriptionsListenResult(meta=self._tag())

    def _wake(self) -> None:
        if not self._loop.is_closed():
            # Also in the thread of the loop: what changes in one turn is told once.
            self._loop.call_soon_threadsafe(self._woken.set)

    def _tag(self) -> JsonObject:
        return {SUBSCRIPTION_ID_KEY: self._call.id}

    def _describe(self, uri: str | None) -> NotificationParams:
        if uri is None:
            return NotificationParams(meta=self._tag())
        return ResourceUpdatedNotificationParams(meta=self._tag(), uri=uri)

    async def _post(self, method: str, params: Payload) -> None:
        """Send something, and wait where the client has not read what came before."""
        await self._call.peer.post_notification(method, params, delivery=self._call.reply_delivery)


class Subscriptions:
    """All listen streams of one server.

    Args:
        capabilities: what the server can do now; nothing else is promised.
        authorizer: returns who is asked whether a caller may read a resource; None where everybody may.
        limits: how much may be listened to at once.
        timers: what sets timers.
    """

    __slots__ = ("_authorizer", "_by_peer", "_capabilities", "_limits", "_streams", "_timers", "_uris")

    def __init__(
        self,
        capabilities: Callable[[], ServerCapabilities],
        authorizer: Callable[[], Authorizer | None] = lambda: None,
        limits: SubscriptionLimits | None = None,
        timers: Timers | None = None,
    ) -> None:
        self._capabilities = capabilities
        self._authorizer = authorizer
        self._limits = limits or SubscriptionLimits()
        self._timers = timers or LOOP_TIMERS
        # None for one that is being opened: it counts, but hears of nothing yet.
        self._streams: dict[InboundCall, ListenStream | None] = {}
        self._by_peer: dict[Peer, int] = {}
        self._uris = 0

    def __len__(self) -> int:
        """Return how many streams there are."""
        return len(self._streams)

    async def handle_listen(self, params: SubscriptionsListenRequestParams, call: InboundCall) -> Payload:
        """Serve `subscriptions/listen`; returns when the server ends the stream.

        A client's own cancellation, or the end of its connection, cancels this instead, and nothing is answered.

        Raises:
            MCPError: `INTERNAL_ERROR`, there are as many streams as there may be; the error names the limit.
        """
        uris = tuple(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        self._require_room(call.peer, len(uris))
        self._streams[call] = None
        self._by_peer[call.peer] = self._by_peer.get(call.peer, 0) + 1
        self._uris += len(uris)
        try:
            honoured = await self._honour(params.notifications, uris, call)
            stream = self._streams[call] = ListenStream(call, honoured)
            return await stream.serve()
        finally:
            del self._streams[call]
            self._uris -= len(uris)
            left = self._by_peer[call.peer] - 1
            if left:
                self._by_peer[call.peer] = left
            else:
                del self._by_peer[call.peer]

    def tell_list_changed(self, method: str) -> None:
        """Tell those who listen for it that a list has changed, once for a burst. May be called from any thread.

        Args:
            method: the notification, `notifications/tools/list_changed` for example.
        """
        for stream in self._open():
            stream.tell(method)

    def tell_updated(self, uri: str) -> None:
        """Tell those who listen for it that a resource has changed. May be called from any thread."""
        for stream in self._open():
            stream.tell(UPDATED, uri)

    async def end(self, reason: str | None = None) -> None:
        """End every stream in order, before their connections are closed.

        Returns when the clients were told, or `END_GRACE` later: one that does not read has to do without.

        Args:
            reason: for people.
        """
        tasks = [call.task for call in self._streams if call.task is not None]
        for stream in self._open():
            stream.end(reason or _STOPPED)
        if not tasks:
            return
        enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        told = asyncio.create_task(_wait_for(tasks))
        timer = self._timers.call_later(END_GRACE, enough.cancel)
        try:
            await asyncio.wait((told, enough), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            told.cancel()

    def _open(self) -> Iterable[ListenStream]:
        return [stream for stream in tuple(self._streams.values()) if stream is not None]

    def _require_room(self, peer: Peer, uris: int) -> None:
        limits = self._limits
        for number, limit, text in (
            (len(self._streams) + 1, limits.max_subscriptions, "max_subscriptions, of the whole server"),
            (self._by_peer.get(peer, 0) + 1, limits.per_connection, "per_connection"),
            (uris, limits.uris, "uris, the resources of one"),
            (self._uris + uris, limits.uris_in_all, "uris_in_all, the resources of all"),
        ):
            if number > limit:
                reason = f"too many subscriptions: the limit is {limit} ({text})"
                raise MCPError(MCP_CODES.INTERNAL_ERROR, reason, context={"limit": limit})

    async def _honour(self, wanted: SubscriptionFilter, uris: Iterable[str], call: InboundCall) -> SubscriptionFilter:
        """Return that part of what is wanted which the server has, and which the caller may know of."""
        can = self._capabilities()
        tools = can.tools is not None and can.tools.list_changed and wanted.tools_list_changed
        prompts = can.prompts is not None and can.prompts.list_changed and wanted.prompts_list_changed
        resources = can.resources is not None and can.resources.list_changed and wanted.resources_list_changed
        readable: list[str] = []
        if can.resources is not None and can.resources.subscribe:
            readable = [uri for uri in uris if await self._may_read(uri, call)]
        return SubscriptionFilter(
            tools_list_changed=tools or None,
            prompts_list_changed=prompts or None,
            resources_list_changed=resources or None,
            resource_subscriptions=readable or None,
        )

    async def _may_read(self, uri: str, call: InboundCall) -> bool:
        authorizer = self._authorizer()
        if authorizer is None:
            return True
        delivery = call.delivery or _NOWHERE
        reading = ReadResourceRequestParams(uri=uri)
        allowed = authorizer(
            AuthorizationRequest("resources/read", reading, call.id, delivery.headers, delivery.principal)
        )
        return bool(await allowed if isawaitable(allowed) else allowed)


async def _wait_for(tasks: "Sequence[asyncio.Task[None]]") -> None:
    """Return when tasks are over, however they ended; giving this up leaves them alone."""
    await asyncio.wait(tasks)


def _methods_of(wanted: SubscriptionFilter) -> frozenset[str]:
    kinds = {
        "tools": wanted.tools_list_changed,
        "prompts": wanted.prompts_list_changed,
        "resources": wanted.resources_list_changed,
    }
    return frozenset(f"notifications/{kind}/list_changed" for kind, chosen in kinds.items() if chosen)
