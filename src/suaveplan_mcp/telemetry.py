"""OpenTelemetry: the meter and tracer `@suaveplan/mcp`, bypassed while no OpenTelemetry SDK is configured.

Two families of instruments are fed at once: this library's own, which count messages by direction, and those of
OpenTelemetry's semantic conventions for MCP. Trace context travels in `_meta`. Spec: basic, General fields (`_meta`)
"""

from collections.abc import Mapping
from contextvars import Context
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final

# Importing the API costs 12 ms, 7 of them for meter and tracer alone, and most processes never configure an SDK. The
# bare name is a namespace package and costs 0.1 ms; its parts show up in it once they have been imported, which is
# what configuring an SDK begins with. `active` looks for that and only then loads the parts itself.
import opentelemetry

from suaveplan_mcp.events import Outcome, Side
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, RequestId

if TYPE_CHECKING:
    import opentelemetry.context
    import opentelemetry.metrics
    import opentelemetry.propagate
    import opentelemetry.trace  # noqa: TC004  loaded at run time by `_load_api`

NAME: Final = "@suaveplan/mcp"
"""The name of the meter and of the tracer."""

OTHER_METHOD: Final = "_OTHER"
"""Stands for the method of a message that was refused because its method is unknown: peers may invent any number."""

_API: Final = ("opentelemetry.metrics", "opentelemetry.trace")
_loaded: Final = vars(opentelemetry)

# The conventions ask for these boundaries; the SDK's own are made for milliseconds.
_SECONDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

_TOOL_CALL: Final = "tools/call"

# Names are few and may label a metric or a span; URIs are many and may not.
_NAMED: Final = {_TOOL_CALL: "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}
_LOCATED: Final = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})


def _load_api() -> None:
    for part in ("context", "metrics", "propagate", "trace"):
        import_module(f"opentelemetry.{part}")


def _does_something(provider: object) -> bool:
    """Tell a configured provider from the stand-ins that the API itself brings along."""
    return not type(provider).__module__.startswith(_API)


class Telemetry:
    """Record requests and notifications; one object serves every connection of the process.

    Args:
        meter_provider: where the instruments come from.
        tracer_provider: where the spans come from.
    """

    __slots__ = (
        "_as_receiver",
        "_as_sender",
        "_durations",
        "_meter_provider",
        "_notifications",
        "_requests",
        "_tracer",
        "_tracer_provider",
    )

    _current: ClassVar["Telemetry | None"] = None

    def __init__(
        self,
        meter_provider: "opentelemetry.metrics.MeterProvider",
        tracer_provider: "opentelemetry.trace.TracerProvider",
    ) -> None:
        _load_api()
        self._meter_provider = meter_provider
        self._tracer_provider = tracer_provider
        meter = meter_provider.get_meter(NAME)
        self._tracer = tracer_provider.get_tracer(NAME)
        self._requests = meter.create_counter("mcp_request_total", "{request}", "Requests that have ended")
        self._notifications = meter.create_counter("mcp_notification_total", "{notification}", "Notifications")
        self._durations = meter.create_histogram("mcp_request_duration_ms", "ms", "How long requests took")
        self._as_sender = meter.create_histogram(
            "mcp.client.operation.duration",
            "s",
            "How long requests took, as seen by the side that sent them",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._as_receiver = meter.create_histogram(
            "mcp.server.operation.duration",
            "s",
            "How long requests took, as seen by the side that received them",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    @classmethod
    def active(cls) -> "Telemetry | None":
        """Return the telemetry to use, or None while neither a meter nor a tracer provider is configured.

        Ask once for each connection: an SDK may be configured at any time. Providers that only an environment
        variable names are found as soon as anything in the process has imported the API.
        """
        if "metrics" not in _loaded and "trace" not in _loaded:
            return None
        metered = "metrics" in _loaded and _does_something(opentelemetry.metrics.get_meter_provider())
        traced = "trace" in _loaded and _does_something(opentelemetry.trace.get_tracer_provider())
        if not metered and not traced:
            return None
        _load_api()
        meter_provider = opentelemetry.metrics.get_meter_provider()
        tracer_provider = opentelemetry.trace.get_tracer_provider()
        current = cls._current
        if (
            current is None
            or current._meter_provider is not meter_provider
            or current._tracer_provider is not tracer_provider
        ):
            current = cls._current = cls(meter_provider, tracer_provider)
        return current

    def request_finished(self, direction: Side, method: str, status: Outcome, duration_ms: float) -> None:
        """Count a request that has ended; `Operation.finish` does it for those that have a span.

        Args:
            direction: which side sent it.
            method: its method; `OTHER_METHOD` for one that is unknown.
            status: how it ended.
            duration_ms: milliseconds from sending, or receipt, to the answer.
        """
        self._requests.add(1, {"direction": direction, "method": method, "status": status})
        self._durations.record(duration_ms, {"direction": direction, "method": method})

    def notification(self, direction: Side, method: str) -> None:
        """Count a notification that was sent or received.

        Args:
            direction: which side sent it.
            method: its method; `OTHER_METHOD` for one that is unknown.
        """
        self._notifications.add(1, {"direction": direction, "method": method})

    def start_span(
        self,
        direction: Side,
        method: str,
        *,
        received: bool,
        request_id: RequestId | None = None,
        target: str | None = None,
        revision: str | None = None,
        meta: Mapping[str, object] | None = None,
        counted: bool = True,
    ) -> "Operation":
        """Begin to observe a request.

        Trace context found in `meta` becomes the parent, and a span that is current here is linked; without it the
        current span is the parent.

        Args:
            direction: which side sent it.
            method: its method; `OTHER_METHOD` for one that is unknown.
            received: whether it is this side that received it.
            request_id: its id, if it has one yet; else it goes to `Operation.name_id`.
            target: what it is about: the name of a tool or prompt, or the URI of a resource. A name that a peer chose
                goes to `Operation.name_target` instead, once it is known to exist.
            revision: the protocol revision of the connection, once there is one.
            meta: its `_meta`, as it was received or as the caller wants it sent.
            counted: whether this library's own instruments count it; false where the other side, in the same process,
                does.

        Returns:
            The operation, on which `finish` is to be called once.
        """
        labels = {"mcp.method.name": method}
        if method == _TOOL_CALL:
            labels["gen_ai.operation.name"] = "execute_tool"
        if revision is not None:
            labels["mcp.protocol.version"] = revision
        span, inner = self._open_span(method, labels, meta, received=received)
        observed = self._as_receiver if received else self._as_sender
        operation = Operation(self, direction, method, observed, span, inner, labels, counted=counted)
        if request_id is not None:
            operation.name_id(request_id)
        if target is not None:
            operation.name_target(target)
        return operation

    def _open_span(
        self, method: str, labels: Mapping[str, str], meta: Mapping[str, object] | None, *, received: bool
    ) -> "tuple[opentelemetry.trace.Span, opentelemetry.context.Context]":
        """Start a span, as a child of the trace that `meta` carries; return it and a context in which it is current."""
        trace = opentelemetry.trace
        ambient = trace.get_current_span()
        # A peer may put anything into `_meta`, and propagators expect text.
        carrier = {key: value for key, value in meta.items() if isinstance(value, str)} if meta else {}
        context = opentelemetry.propagate.extract(carrier, opentelemetry.context.get_current())
        adopted = trace.get_current_span(context) is not ambient
        span = self._tracer.start_span(
            method,
            context,
            trace.SpanKind.SERVER if received else trace.SpanKind.CLIENT,
            labels,
            [trace.Link(ambient.get_span_context())] if adopted and ambient.get_span_context().is_valid else None,
        )
        return span, trace.set_span_in_context(span, context)


class Operation:
    """One request under way, as the side sees it that started this operation."""

    __slots__ = ("_context", "_counted", "_direction", "_labels", "_method", "_observed", "_span", "_telemetry")

    def __init__(
        self,
        telemetry: Telemetry,
        direction: Side,
        method: str,
        observed: "opentelemetry.metrics.Histogram",
        span: "opentelemetry.trace.Span",
        context: "opentelemetry.context.Context",
        labels: dict[str, str],
        *,
        counted: bool,
    ) -> None:
        self._telemetry = telemetry
        self._counted = counted
        self._direction: Side = direction
        self._method = method
        self._observed = observed
        self._span = span
        self._context = context
        self._labels = labels

    def name_id(self, request_id: RequestId) -> None:
        """Say which id the request was given, once it has one."""
        self._span.set_attribute("jsonrpc.request.id", str(request_id))

    def name_target(self, target: str) -> None:
        """Say what the request is about, once that is known to exist: a peer may ask for any number of other names.

        Args:
            target: the name of a tool or prompt, or the URI of a resource; ignored for other methods.
        """
        attribute = _NAMED.get(self._method)
        if attribute is not None:
            self._labels[attribute] = target
            self._span.update_name(f"{self._method} {target}")
            self._span.set_attribute(attribute, target)
        elif self._method in _LOCATED:
            self._span.set_attribute("mcp.resource.uri", target)

    def inject(self, meta: Mapping[str, JsonValue] | None) -> JsonObject:
        """Return a copy of `meta` with the trace context of this operation, for the request about to be sent.

        Spec: basic, General fields (`_meta`): `traceparent`, `tracestate`, `baggage`
        """
        carrier: JsonObject = dict(meta) if meta else {}
        opentelemetry.propagate.inject(carrier, self._context)
        return carrier

    def enter(self, context: Context) -> None:
        """Make this operation's span the current one for all that runs in `context`."""
        context.run(opentelemetry.context.attach, self._context)

    def enter_here(self) -> None:
        """Make this operation's span the current one for all that runs from now on in the current context."""
        opentelemetry.context.attach(self._context)

    def finish(
        self,
        status: Outcome,
        duration_ms: float,
        *,
        number: int | None = None,
        message: str | None = None,
        error_type: str | None = None,
    ) -> None:
        """Record how the request ended, in every instrument, and end the span.

        Args:
            status: how it ended.
            duration_ms: milliseconds from sending, or receipt, to the answer.
            number: the JSON-RPC error number of the answer.
            message: the message of the answer's error.
            error_type: a few-valued word for what went wrong where there is no number: `timeout`, or `tool_error` for a
                tool's `isError` result, which is a success otherwise.
        """
        if self._counted:
            self._telemetry.request_finished(self._direction, self._method, status, duration_ms)
        if number is not None:
            error_type = self._labels["rpc.response.status_code"] = str(number)
        elif error_type is None and status != "success":
            error_type = "cancelled" if status == "cancelled" else OTHER_METHOD
        if error_type is not None:
            self._labels["error.type"] = error_type
            trace = opentelemetry.trace
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, message))
            self._span.set_attributes(self._labels)
        self._observed.record(duration_ms / 1000, self._labels)
        self._span.end()
