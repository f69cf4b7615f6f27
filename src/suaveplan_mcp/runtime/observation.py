"""What others may see of a connection: events, telemetry and reports of faults. Free of cost without an observer."""

import asyncio
import logging
from contextvars import Context
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import (
    ConnectionClosed,
    ConnectionOpened,
    EventBus,
    FaultReported,
    NotificationEmitted,
    Outcome,
    RequestCompleted,
    RequestReceived,
    Side,
)
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.protocol.admission import meta_of
from suaveplan_mcp.protocol.era import peer_of
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.runtime.timers import Clock
from suaveplan_mcp.telemetry import OTHER_METHOD, Operation, Telemetry
from suaveplan_mcp.types.base import RequestParams

logger: Final = logging.getLogger("suaveplan_mcp")

# A peer can make up any number of different faults; past this many, none is worth a warning of its own.
_WARNINGS: Final = 100
_LONGEST: Final = 500


class Observer:
    """Tells the event bus, OpenTelemetry and the log what happens on one connection.

    Args:
        side: which side of the connection this is.
        dispatcher_id: names the connection in events.
        events: the bus to emit on.
        clock: seconds on any scale.
        peer_counts: whether the peer, in the same process, counts what it sends; then it is not counted here again.
    """

    __slots__ = (
        "_clock",
        "_counts_received",
        "_dispatcher_id",
        "_events",
        "_open",
        "_side",
        "_telemetry",
        "_warned",
    )

    def __init__(
        self, side: Side, dispatcher_id: str, events: EventBus, clock: Clock, *, peer_counts: bool = False
    ) -> None:
        self._side: Side = side
        self._counts_received = not peer_counts
        self._dispatcher_id = dispatcher_id
        self._events = events
        self._clock = clock
        self._telemetry = Telemetry.active()
        # Made when first used: most connections have no fault.
        self._warned: set[str] | None = None
        self._open = True

    def opened(self) -> None:
        """Say that the connection is ready."""
        self._events.emit("connection:opened", ConnectionOpened(self._side, self._dispatcher_id))

    def closed(self, reason: str | None) -> None:
        """Say that the connection has ended."""
        self._open = False
        self._events.emit("connection:closed", ConnectionClosed(self._side, self._dispatcher_id, reason))

    def fault(self, fault: str, error: BaseException | None = None) -> None:
        """Report what no caller is waiting to hear: as an event, and once as a warning in the log."""
        fault = _legible(fault)
        if self._events.has_listeners("fault:reported"):
            self._events.emit("fault:reported", FaultReported(self._side, self._dispatcher_id, fault, error))
        warned = self._warned = self._warned or set()
        if fault in warned or len(warned) >= _WARNINGS:
            logger.debug("%s: %s", self._side, fault)
            return
        warned.add(fault)
        logger.warning("%s: %s", self._side, fault, exc_info=error)

    def unsent(self, failure: MCPError) -> None:
        """Report a message that did not go out and that no caller waits for; after the end that is no news."""
        if self._open:
            self.fault(f"a message could not be sent: {failure.message}", failure)

    def notification_sent(self, method: str, params: Payload) -> None:
        """Say that a notification went out."""
        if self._events.has_listeners("notification:emitted"):
            self._events.emit("notification:emitted", NotificationEmitted(self._side, method, params))
        if self._telemetry is not None:
            self._telemetry.notification(self._side, method)

    def notification_received(self, method: str) -> None:
        """Count a notification that came in."""
        if self._telemetry is not None and self._counts_received:
            self._telemetry.notification(peer_of(self._side), method if method in METHODS else OTHER_METHOD)

    @property
    def observes_requests(self) -> bool:
        """Whether requests of ours have an observer."""
        return self._telemetry is not None

    def request_sent(
        self, method: str, id_: RequestId, params: Payload, revision: str | None
    ) -> "tuple[Observation | None, Payload]":
        """Begin to observe a request of ours.

        Returns:
            The observation, None without an observer; and the params, with the trace context in `_meta`. Spec: basic,
            General fields (`_meta`)
        """
        if self._telemetry is None:
            return None, params
        meta = meta_of(params)
        operation = self._telemetry.start_span(
            self._side,
            method,
            received=False,
            request_id=id_,
            target=_target_of(params),
            revision=revision,
            meta=meta,
        )
        traced = operation.inject(meta)
        if traced:
            if isinstance(params, RequestParams):
                params = replace(params, meta=traced)
            elif params is None or params is UNSET:
                params = {"_meta": traced}
            elif isinstance(params, dict):
                params = {**params, "_meta": traced}
        return Observation(self._clock(), operation), params

    def request_answered(self, observation: "Observation", error: BaseException | None, result: object) -> None:
        """Say how a request of ours ended: by its error, or else with its result."""
        self._finish(observation, error, result, error.jsonrpc_code if isinstance(error, MCPError) else None)

    def call_refused(self, method: str | None) -> None:
        """Count a request of theirs that was not admitted; `method` is None for what was not even a request."""
        if self._telemetry is not None and method is not None and self._counts_received:
            known = method if method in METHODS else OTHER_METHOD
            self._telemetry.request_finished(peer_of(self._side), known, "error", 0.0)

    def call_received(self, method: str, id_: RequestId, params: Payload, revision: str | None) -> "Observation | None":
        """Say that a call of theirs was admitted; None where there is no observer of its end."""
        if self._events.has_listeners("request:received"):
            self._events.emit("request:received", RequestReceived(self._side, method, id_))
        operation = None
        if self._telemetry is not None:
            operation = self._telemetry.start_span(
                peer_of(self._side),
                method,
                received=True,
                request_id=id_,
                revision=revision,
                meta=meta_of(params),
                counted=self._counts_received,
            )
        elif not self._events.has_listeners("request:completed"):
            return None
        return Observation(self._clock(), operation)

    def call_ended(
        self,
        method: str,
        id_: RequestId,
        observation: "Observation",
        *,
        error: BaseException | None,
        result: object = None,
        number: int | None = None,
    ) -> None:
        """Say how a call of theirs ended: by its error and the number it was answered with, or else with its result."""
        duration_ms, outcome = self._finish(observation, error, result, number)
        if self._events.has_listeners("request:completed"):
            completed = RequestCompleted(self._side, method, id_, duration_ms, outcome)
            self._events.emit("request:completed", completed)

    def _finish(
        self, observation: "Observation", error: BaseException | None, result: object, number: int | None
    ) -> tuple[float, Outcome]:
        duration_ms = (self._clock() - observation.started) * 1000
        outcome = _outcome(error)
        if observation.operation is not None:
            observation.operation.finish(
                outcome,
                duration_ms,
                number=number if outcome == "error" else None,
                message=error.message if isinstance(error, MCPError) else None,
                error_type=_error_type(error, result),
            )
        return duration_ms, outcome


class Observation:
    """One request under observation."""

    __slots__ = ("operation", "started")

    def __init__(self, started: float, operation: Operation | None) -> None:
        self.started = started
        self.operation = operation

    def enter(self, context: Context) -> None:
        """Make the span of this request the current one for all that runs in `context`."""
        if self.operation is not None:
            self.operation.enter(context)

    def enter_here(self) -> None:
        """Make the span of this request the current one for all that runs from now on in the current context."""
        if self.operation is not None:
            self.operation.enter_here()

    def name_target(self, target: str) -> None:
        """Say what the request is about, once that is known to exist."""
        if self.operation is not None:
            self.operation.name_target(target)


def _target_of(params: Payload) -> str | None:
    """Return what a request is about: the name of a tool or prompt, or the URI of a resource."""
    for key in ("name", "uri"):
        target: object = params.get(key) if isinstance(params, dict) else getattr(params, key, None)
        if isinstance(target, str):
            return target
    return None


def _outcome(error: BaseException | None) -> Outcome:
    if error is None:
        return "success"
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    return "cancelled" if isinstance(error, MCPError) and error.code == MCP_CODES.REQUEST_CANCELLED else "error"


def _error_type(error: BaseException | None, result: object) -> str | None:
    if isinstance(error, MCPError) and error.code == MCP_CODES.TIMEOUT:
        return "timeout"
    return "tool_error" if getattr(result, "is_error", None) else None


def _legible(text: str) -> str:
    """Return a text that fits on one line of a log, since a peer may have written part of it."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
