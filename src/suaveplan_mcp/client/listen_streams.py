"""The listen streams of one connection: what each was promised, what came on it, and how it ended.

Spec: basic/patterns/subscriptions
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self, cast

from msgspec import UNSET, Struct, UnsetType

from suaveplan_mcp.client.arguments import Meta, copy_meta, refusal, require_text
from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.client.resources import find_above
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import JsonValue, RequestId
from suaveplan_mcp.protocol.era import method_not_found
from suaveplan_mcp.runtime.timers import TimerHandle, Timers
from suaveplan_mcp.types.base import NotificationParams
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.meta import SUBSCRIPTION_ID_KEY
from suaveplan_mcp.types.resources import ResourceUpdatedNotificationParams
from suaveplan_mcp.types.subscriptions import (
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"

RESULT_GRACE: Final = 1.0
"""Seconds that a stream waits for the result of a server that has said that it ends it."""

MAX_DUE: Final = 10_000
"""How many notices of one stream are kept apart for a reader that is slow."""

_MAX_LEFT: Final = 1000
_NO_REASON: Final = "the server ended the stream"


class ChangeNotice(Struct, frozen=True):
    """Something of the server's has changed.

    Args:
        method: the notification: `notifications/tools/list_changed` or its like for prompts and resources, or
            `notifications/resources/updated`.
        uri: the resource that has changed, where it is about one.
    """

    method: str
    uri: str | None = None


class ListenStream:
    """The notices that were asked for, in the order they came, until one of both sides has enough.

    `async with` opens the stream, waiting for the server's word, and leaves it. `async for` gives the notices: a change
    that comes again before its notice is read is told once. The loop is over when the server ends the stream, `ended`
    then says why; it raises when the stream is lost.

    Args:
        streams: the streams of the connection.
        params: what to ask for.
        timeout: seconds to wait for the acknowledgement; None waits for ever.
        headers: those of the request.
        own: whether the client opened it for itself.

    Attributes:
        asked: what is asked for.
        honoured: what the server has promised to tell of; a part of that.
        ended: why the server ended the stream; None as long as it has not.
        failure: what it was lost by; None where it was not.
    """

    def __init__(
        self,
        streams: "ListenStreams",
        params: SubscriptionsListenRequestParams,
        timeout: float | None,
        headers: Mapping[str, str] | None = None,
        *,
        own: bool = False,
    ) -> None:
        self.own = own
        self.asked = params.notifications
        self.honoured = SubscriptionFilter()
        self.ended: str | None = None
        self.failure: BaseException | None = None
        self._streams = streams
        self._params = params
        self._timeout = timeout
        self._headers = headers
        self._id: RequestId | None = None
        self._methods: frozenset[str] = frozenset()
        self._uris: frozenset[str] = frozenset()
        self._task: asyncio.Task[SubscriptionsListenResult] | None = None
        self._acknowledged: asyncio.Future[None] | None = None
        self._due: OrderedDict[ChangeNotice, None] = OrderedDict()
        self._woken = asyncio.Event()
        self._promised = False
        self._over = False
        self._grace: TimerHandle | None = None
        self._on_end: Callable[[], object] | None = None

    @property
    def id(self) -> RequestId | None:
        """The id of the request, which is the subscription's; None before it is opened."""
        return self._id

    @property
    def ongoing(self) -> bool:
        """Whether notices may still come."""
        return self._task is not None and not self._over

    async def open(self) -> None:
        """Ask for the notices and wait until the server has said which of them will come.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, the connection is of the handshake era; `TIMEOUT`, there was no
                acknowledgement in time; `PROTOCOL_INVALID`, the stream ended without one; or what the server answered.
            MCPTransportError: the connection or the stream was lost.
        """
        connection, loop = self._streams.connection, asyncio.get_running_loop()
        if not connection.stateless:
            revision = connection.greeting.revision
            raise method_not_found(LISTEN, f" in revision {revision}; use `subscribe_resource` and the client's events")
        if self._task is not None:
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, "a listen stream is opened once; call `listen` again")
        acknowledged = self._acknowledged = loop.create_future()
        self._task = loop.create_task(self._request(connection))
        self._task.add_done_callback(self._note_end)
        timer = None if self._timeout is None else self._streams.timers.call_later(self._timeout, self._expire)
        try:
            await acknowledged
        except BaseException:
            await self.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def __aenter__(self) -> Self:
        """Open the stream; raises what `open` raises."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the stream."""
        await self.close()

    def __aiter__(self) -> Self:
        """Iterate over the notices."""
        return self

    async def __anext__(self) -> ChangeNotice:
        """Return the next notice.

        Raises:
            StopAsyncIteration: the server ended the stream, or it was left.
            MCPError: `NOT_INITIALIZED`, the stream was not opened; or the server answered with an error, though it had
                acknowledged.
            MCPTransportError: the connection or the stream was lost.
        """
        if self._task is None:
            text = "the stream is not open; `async with client.listen(…) as stream` opens it"
            raise MCPError(MCP_CODES.NOT_INITIALIZED, text)
        while not self._due:
            if self._over:
                if self.failure is not None:
                    raise self.failure
                raise StopAsyncIteration
            self._woken.clear()
            await self._woken.wait()
        return self._due.popitem(last=False)[0]

    async def close(self) -> None:
        """Leave the stream; the server is told where it has not ended it itself. A second call does nothing."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))

    def promises(self, method: str, uri: str | None) -> bool:
        """Tell whether the server has promised to tell of a change."""
        return self.ongoing and (method in self._methods if uri is None else find_above(uri, self._uris) is not None)

    def call_at_end(self, callback: Callable[[], object]) -> None:
        """Call back once when the stream is over, however it ended; soon, if it is."""
        self._on_end = callback
        if not self.ongoing:
            asyncio.get_running_loop().call_soon(callback)

    # What comes in, by way of the streams

    def take_acknowledgement(self, honoured: SubscriptionFilter) -> str | None:
        """Take the server's word; return what is wrong with it."""
        if self._promised:
            return "it was acknowledged before"
        acknowledged = cast("asyncio.Future[None]", self._acknowledged)
        if acknowledged.done():
            # Whoever waited for it has given up just now.
            return None
        self._promised = True
        self.honoured = _part_of(self.asked, honoured)
        self._methods = _methods_of(self.honoured)
        self._uris = frozenset(self.honoured.resource_subscriptions or ())
        acknowledged.set_result(None)
        return None

    def take_change(self, method: str, uri: str | None) -> str | None:
        """Take a notice; return what is wrong with it."""
        if not self._promised:
            return "it came before the acknowledgement"
        if self.ended is not None:
            return "it came after the end"
        above = None if uri is None else find_above(uri, self._uris)
        if above is None and method not in self._methods:
            return "it was not asked for, or not promised"
        if self.own:
            # Nobody reads it: it is followed as soon as it comes.
            return None
        # Of the resources below one there may be any number; what is known of them all is that something changed there.
        self._due[ChangeNotice(method, uri if len(self._due) < MAX_DUE else above)] = None
        self._woken.set()
        return None

    def take_cancellation(self, reason: str | None) -> None:
        """Note that the server has ended the stream; its result should come now."""
        if self.ended is None:
            self.ended = reason or _NO_REASON
            self._grace = self._streams.timers.call_later(RESULT_GRACE, self._stop)

    # Parts

    async def _request(self, connection: ServerConnection) -> SubscriptionsListenResult:
        result: SubscriptionsListenResult = await connection.request(
            LISTEN,
            self._params,
            timeout=None,
            total_timeout=None,
            headers=self._headers,
            on_sent=self._note_sent,
        )
        return result

    def _note_sent(self, id_: RequestId) -> None:
        self._id = id_
        self._streams.add(id_, self)

    def _expire(self) -> None:
        text = f"no acknowledgement of {LISTEN} within {self._timeout:g} s (timeout)"
        self._fail_opening(MCPError(MCP_CODES.TIMEOUT, text, context={"method": LISTEN, "timeout": self._timeout}))

    def _fail_opening(self, error: BaseException) -> None:
        acknowledged = cast("asyncio.Future[None]", self._acknowledged)
        if not acknowledged.done():
            acknowledged.set_exception(error)

    def _stop(self) -> None:
        cast("asyncio.Task[SubscriptionsListenResult]", self._task).cancel()

    def _note_end(self, task: "asyncio.Task[SubscriptionsListenResult]") -> None:
        """Note that the request is over: answered, failed, or given up on this side."""
        self._over = True
        if self._id is not None:
            self._streams.discard(self._id, self)
        if self._grace is not None:
            self._grace.cancel()
        failure = None if task.cancelled() else task.exception()
        if failure is None and not task.cancelled():
            self.ended = self.ended or _NO_REASON
        # A server that has said that it ends the stream need not say more.
        self.failure = failure if self.ended is None else None
        how = "was left" if self.ended is None else f"ended ({self.ended})"
        early = MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, f"the stream {how} before it was acknowledged")
        self._fail_opening(self.failure or early)
        self._woken.set()
        if self._on_end is not None:
            self._on_end()


class ListenStreams:
    """The listen streams that are open on one connection.

    Args:
        connection: the connection.
        timers: what sets timers.
        timeout: seconds to wait for an acknowledgement.
    """

    __slots__ = ("_left", "_open", "_timeout", "connection", "timers")

    def __init__(self, connection: ServerConnection, timers: Timers, timeout: float | None) -> None:
        self.connection = connection
        self.timers = timers
        self._timeout = timeout
        # `1` and `"1"` are different ids, and so, in Python, must be `1` and `True`.
        self._open: dict[tuple[type, RequestId], ListenStream] = {}
        self._left: OrderedDict[tuple[type, RequestId], None] = OrderedDict()

    def listen(
        self,
        wanted: SubscriptionFilter,
        *,
        timeout: float | None | UnsetType = UNSET,
        meta: Meta = None,
        headers: Mapping[str, str] | None = None,
        own: bool = False,
    ) -> ListenStream:
        """Return a stream that is not open yet.

        Args:
            wanted: what to ask for.
            timeout: seconds to wait for the acknowledgement, those of the client by default; None waits for ever.
            meta: `_meta` of the params.
            headers: those of the request.
            own: whether the client opens it for itself.
        """
        params = SubscriptionsListenRequestParams(notifications=wanted, meta=copy_meta(meta))
        return ListenStream(self, params, self._timeout if timeout is UNSET else timeout, headers, own=own)

    def patience(self, most: float) -> float:
        """Return the seconds to wait for an acknowledgement, but no more than `most`."""
        return most if self._timeout is None else min(self._timeout, most)

    def add(self, id_: RequestId, stream: ListenStream) -> None:
        """Hand on what comes for a subscription from now on."""
        self._left.pop((type(id_), id_), None)
        self._open[type(id_), id_] = stream

    def discard(self, id_: RequestId, stream: ListenStream) -> None:
        """Hand on no more to a stream that is over."""
        key = (type(id_), id_)
        # Where the connection was opened again, another stream may have the id.
        if self._open.get(key) is stream:
            del self._open[key]
            self._left[key] = None
            if len(self._left) > _MAX_LEFT:
                self._left.popitem(last=False)

    def take(self, method: str, params: NotificationParams) -> ListenStream | None:
        """Take a notification; return the stream it came on.

        What belongs to no stream, or should not have come on it, is reported, and None is returned.
        """
        id_ = None if params.meta is None else params.meta.get(SUBSCRIPTION_ID_KEY)
        if isinstance(params, CancelledNotificationParams) and id_ is None:
            # It names the request anyhow.
            id_ = params.request_id
        stream = self._find(id_)
        if stream is not None:
            fault = _hand_on(stream, method, params)
        elif self._knew(id_):
            # It was on its way when the stream was left.
            return None
        else:
            fault = "there is no such stream"
        if fault is not None:
            self.connection.report(f"{method} for subscription {id_!r} is ignored: {fault}")
        return stream if fault is None else None

    def _find(self, id_: JsonValue) -> ListenStream | None:
        return self._open.get((type(id_), id_)) if isinstance(id_, int | str) else None

    def _knew(self, id_: JsonValue) -> bool:
        return isinstance(id_, int | str) and (type(id_), id_) in self._left


def make_filter(*, tools: bool, prompts: bool, resources: bool, uris: Iterable[str]) -> SubscriptionFilter:
    """Return a filter.

    Raises:
        MCPError: `INVALID_PARAMS`, the URIs are none, or nothing is wanted.
    """
    if isinstance(uris, str):
        raise refusal("uris", "expected several strings, got one")
    wanted = list(dict.fromkeys(require_text("uris", uri) for uri in uris))
    if not (tools or prompts or resources or wanted):
        text = "there is nothing to listen for: choose at least one of `tools`, `prompts`, `resources` and `uris`"
        raise MCPError(MCP_CODES.INVALID_PARAMS, text)
    return SubscriptionFilter(
        tools_list_changed=tools or None,
        prompts_list_changed=prompts or None,
        resources_list_changed=resources or None,
        resource_subscriptions=wanted or None,
    )


def _hand_on(stream: ListenStream, method: str, params: NotificationParams) -> str | None:
    """Give a notification to its stream; return what is wrong with it."""
    if isinstance(params, SubscriptionsAcknowledgedNotificationParams):
        return stream.take_acknowledgement(params.notifications)
    if isinstance(params, CancelledNotificationParams):
        if (type(params.request_id), params.request_id) != (type(stream.id), stream.id):
            return f"it is about the request {params.request_id!r}"
        stream.take_cancellation(params.reason)
        return None
    return stream.take_change(method, params.uri if isinstance(params, ResourceUpdatedNotificationParams) else None)


def _part_of(asked: SubscriptionFilter, honoured: SubscriptionFilter) -> SubscriptionFilter:
    """Return what is in both."""
    uris = frozenset(honoured.resource_subscriptions or ())
    return SubscriptionFilter(
        tools_list_changed=(asked.tools_list_changed and honoured.tools_list_changed) or None,
        prompts_list_changed=(asked.prompts_list_changed and honoured.prompts_list_changed) or None,
        resources_list_changed=(asked.resources_list_changed and honoured.resources_list_changed) or None,
        resource_subscriptions=[uri for uri in asked.resource_subscriptions or () if uri in uris] or None,
    )


def _methods_of(honoured: SubscriptionFilter) -> frozenset[str]:
    kinds = {
        "tools": honoured.tools_list_changed,
        "prompts": honoured.prompts_list_changed,
        "resources": honoured.resources_list_changed,
    }
    return frozenset(f"notifications/{kind}/list_changed" for kind, chosen in kinds.items() if chosen)
