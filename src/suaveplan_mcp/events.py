"""What happens on a connection, as typed events, and the bus that hands them to its listeners.

The bus does no I/O and starts no task: handlers are plain callables and run inside `emit`.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, overload

from msgspec import Struct

from suaveplan_mcp.jsonrpc.messages import RequestId

Side: TypeAlias = Literal["client", "server"]
"""Which side of a connection reports."""

Outcome: TypeAlias = Literal["success", "error", "cancelled"]
"""How a request ended."""

ListKind: TypeAlias = Literal["tools", "resources", "prompts", "roots"]
"""Which list changed."""

Unsubscribe: TypeAlias = Callable[[], None]
"""Ends a subscription; calling it again does nothing."""


class ConnectionOpened(Struct, frozen=True):
    """A connection is ready for messages."""

    side: Side
    dispatcher_id: str


class ConnectionClosed(Struct, frozen=True):
    """A connection has ended; `reason` is what was given when it was closed, or why it broke."""

    side: Side
    dispatcher_id: str
    reason: str | None = None


class RequestReceived(Struct, frozen=True):
    """A request of the peer was admitted and its handler is about to run."""

    side: Side
    method: str
    id: RequestId


class RequestCompleted(Struct, frozen=True):
    """A request of the peer was answered, refused or given up; the duration is in milliseconds."""

    side: Side
    method: str
    id: RequestId
    duration_ms: float
    outcome: Outcome


class NotificationEmitted(Struct, frozen=True):
    """A notification was sent; `params` is what was sent, typed or plain."""

    side: Side
    method: str
    params: object


class ResourceUpdated(Struct, frozen=True):
    """A subscribed resource changed and has been read again."""

    uri: str


class ListChanged(Struct, frozen=True):
    """The peer's list changed and the cached copy has been refreshed."""

    kind: ListKind


class FaultReported(Struct, frozen=True):
    """Something went wrong that no caller is waiting to hear about.

    Args:
        side: who noticed it; None where the bus belongs to neither side.
        dispatcher_id: the connection it happened on; None where it belongs to no single one.
        fault: one sentence that says what happened.
        error: the exception behind it, if there was one.
    """

    side: Side | None
    dispatcher_id: str | None
    fault: str
    error: BaseException | None = None


EventName: TypeAlias = Literal[
    "connection:opened",
    "connection:closed",
    "request:received",
    "request:completed",
    "notification:emitted",
    "resource:updated",
    "list:changed",
    "fault:reported",
]

EVENTS: Final[dict[str, type[Struct]]] = {
    "connection:opened": ConnectionOpened,
    "connection:closed": ConnectionClosed,
    "request:received": RequestReceived,
    "request:completed": RequestCompleted,
    "notification:emitted": NotificationEmitted,
    "resource:updated": ResourceUpdated,
    "list:changed": ListChanged,
    "fault:reported": FaultReported,
}
"""Every event name with the type of its payload."""

_FAULT: Final = "fault:reported"

_Handler: TypeAlias = Callable[[Any], object]


def _require_known(name: str) -> None:
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r}; the events are {', '.join(EVENTS)}")


class EventBus:
    """Hand events to subscribers, in the order they subscribed.

    Emitters on a hot path ask `has_listeners` first, so an event without listeners is never even built. A handler
    that raises does not disturb the emitter or the other handlers: it is reported as `fault:reported`.

    Args:
        side: whose bus it is; goes into the faults that the bus itself reports.
    """

    __slots__ = ("_handlers", "_side")

    def __init__(self, side: Side | None = None) -> None:
        self._side: Side | None = side
        # A name is present only while it has a handler, so `has_listeners` is one look-up.
        self._handlers: dict[str, dict[object, _Handler]] = {}

    @overload
    def on(self, name: Literal["connection:opened"], handler: Callable[[ConnectionOpened], object]) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["connection:closed"], handler: Callable[[ConnectionClosed], object]) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["request:received"], handler: Callable[[RequestReceived], object]) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["request:completed"], handler: Callable[[RequestCompleted], object]) -> Unsubscribe: ...
    @overload
    def on(
        self, name: Literal["notification:emitted"], handler: Callable[[NotificationEmitted], object]
    ) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["resource:updated"], handler: Callable[[ResourceUpdated], object]) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["list:changed"], handler: Callable[[ListChanged], object]) -> Unsubscribe: ...
    @overload
    def on(self, name: Literal["fault:reported"], handler: Callable[[FaultReported], object]) -> Unsubscribe: ...

    def on(self, name: EventName, handler: _Handler) -> Unsubscribe:
        """Call `handler` with the payload of every event called `name`.

        Args:
            name: one of `EVENTS`.
            handler: a plain callable; subscribing it twice calls it twice.

        Returns:
            A function that ends this subscription.

        Raises:
            ValueError: there is no such event; the message lists those there are.
        """
        return self._subscribe(name, object(), handler)

    @overload
    def once(
        self, name: Literal["connection:opened"], handler: Callable[[ConnectionOpened], object]
    ) -> Unsubscribe: ...
    @overload
    def once(
        self, name: Literal["connection:closed"], handler: Callable[[ConnectionClosed], object]
    ) -> Unsubscribe: ...
    @overload
    def once(self, name: Literal["request:received"], handler: Callable[[RequestReceived], object]) -> Unsubscribe: ...
    @overload
    def once(
        self, name: Literal["request:completed"], handler: Callable[[RequestCompleted], object]
    ) -> Unsubscribe: ...
    @overload
    def once(
        self, name: Literal["notification:emitted"], handler: Callable[[NotificationEmitted], object]
    ) -> Unsubscribe: ...
    @overload
    def once(self, name: Literal["resource:updated"], handler: Callable[[ResourceUpdated], object]) -> Unsubscribe: ...
    @overload
    def once(self, name: Literal["list:changed"], handler: Callable[[ListChanged], object]) -> Unsubscribe: ...
    @overload
    def once(self, name: Literal["fault:reported"], handler: Callable[[FaultReported], object]) -> Unsubscribe: ...

    def once(self, name: EventName, handler: _Handler) -> Unsubscribe:
        """Call `handler` with the payload of the next event called `name`, and with no other.

        Args:
            name: one of `EVENTS`.
            handler: a plain callable.

        Returns:
            A function that ends this subscription before the event came.

        Raises:
            ValueError: there is no such event; the message lists those there are.
        """
        token = object()

        def first_only(payload: object) -> None:
            # An `emit` inside an earlier handler may have used this subscription up already.
            if self._remove(name, token):
                handler(payload)

        return self._subscribe(name, token, first_only)

    @overload
    def emit(self, name: Literal["connection:opened"], payload: ConnectionOpened) -> None: ...
    @overload
    def emit(self, name: Literal["connection:closed"], payload: ConnectionClosed) -> None: ...
    @overload
    def emit(self, name: Literal["request:received"], payload: RequestReceived) -> None: ...
    @overload
    def emit(self, name: Literal["request:completed"], payload: RequestCompleted) -> None: ...
    @overload
    def emit(self, name: Literal["notification:emitted"], payload: NotificationEmitted) -> None: ...
    @overload
    def emit(self, name: Literal["resource:updated"], payload: ResourceUpdated) -> None: ...
    @overload
    def emit(self, name: Literal["list:changed"], payload: ListChanged) -> None: ...
    @overload
    def emit(self, name: Literal["fault:reported"], payload: FaultReported) -> None: ...

    def emit(self, name: EventName, payload: Struct) -> None:
        """Call the handlers subscribed to `name` now; those that subscribe or leave meanwhile change nothing.

        Args:
            name: one of `EVENTS`.
            payload: the struct that `EVENTS` names for it.

        Raises:
            ValueError: there is no such event; the message lists those there are.
        """
        handlers = self._handlers.get(name)
        if handlers is None:
            _require_known(name)
            return
        for handler in tuple(handlers.values()):
            try:
                handler(payload)
            except Exception as error:
                self._report(name, error)

    def has_listeners(self, name: EventName) -> bool:
        """Tell whether a listener would hear an event called `name`; costs one look-up."""
        return name in self._handlers

    def _subscribe(self, name: str, token: object, handler: _Handler) -> Unsubscribe:
        _require_known(name)
        self._handlers.setdefault(name, {})[token] = handler

        def unsubscribe() -> None:
            self._remove(name, token)

        return unsubscribe

    def _remove(self, name: str, token: object) -> bool:
        handlers = self._handlers.get(name)
        if handlers is None or handlers.pop(token, None) is None:
            return False
        if not handlers:
            del self._handlers[name]
        return True

    def _report(self, name: str, error: Exception) -> None:
        # The failure of a fault's own handler ends here: reporting it would fail in the same way.
        if name != _FAULT:
            fault = f"a handler of the event {name} raised {type(error).__name__}"
            self.emit(_FAULT, FaultReported(self._side, None, fault, error))
