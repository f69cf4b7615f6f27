"""Telemetry: what is counted, which spans there are, how a trace crosses `_meta`, and that it is off by default."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import baggage, metrics, trace
from opentelemetry.context import attach, detach
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, SpanContext, SpanKind, StatusCode

from suaveplan_mcp.events import Outcome
from suaveplan_mcp.telemetry import NAME, OTHER_METHOD, Operation, Telemetry

REMOTE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}
REMOTE_TRACE = 0x0AF7651916CD43DD8448EB211C80319C
REMOTE_SPAN = 0x00F067AA0BA902B7


@dataclass
class Sdk:
    """An SDK that keeps everything in memory, and the telemetry that feeds it."""

    meter_provider: MeterProvider
    tracer_provider: TracerProvider
    reader: InMemoryMetricReader
    exporter: InMemorySpanExporter
    telemetry: Telemetry

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            if scope.scope.name == NAME
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def counts(self, name: str) -> list[tuple[Mapping[str, object], int]]:
        return [(dict(point.attributes), point.value) for point in self.points(name)]

    def durations(self, name: str) -> list[tuple[Mapping[str, object], int, float]]:
        return [(dict(point.attributes), point.count, point.sum) for point in self.points(name)]

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()


@pytest.fixture
def sdk() -> Iterator[Sdk]:
    reader, exporter = InMemoryMetricReader(), InMemorySpanExporter()
    meter_provider = MeterProvider([reader], shutdown_on_exit=False)
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield Sdk(meter_provider, tracer_provider, reader, exporter, Telemetry(meter_provider, tracer_provider))
    meter_provider.shutdown()
    tracer_provider.shutdown()


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let a test set the global providers: the real setters work only once in a process."""
    monkeypatch.setattr(Telemetry, "_current", None)
    monkeypatch.setattr(metrics, "get_meter_provider", NoOpMeterProvider)
    monkeypatch.setattr(trace, "get_tracer_provider", NoOpTracerProvider)
    return monkeypatch


def ids(context: SpanContext | None) -> tuple[int, int]:
    assert context is not None
    return context.trace_id, context.span_id


def start(sdk: Sdk, method: str = "ping", **details: object) -> Operation:
    return sdk.telemetry.start_span("client", method, **{"received": False, "request_id": 7, **details})  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("telemetry-counts-every-message")
def test_a_finished_request_is_counted_and_timed_by_direction_and_method(sdk: Sdk) -> None:
    sdk.telemetry.request_finished("client", "tools/list", "success", 12.5)
    sdk.telemetry.request_finished("client", "tools/list", "success", 7.5)

    labels = {"direction": "client", "method": "tools/list"}
    assert [({**labels, "status": "success"}, 2)] == sdk.counts("mcp_request_total")
    assert [(labels, 2, 20.0)] == sdk.durations("mcp_request_duration_ms")


@pytest.mark.requirement("telemetry-counts-every-message")
@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_failed_and_cancelled_requests_are_told_apart(sdk: Sdk, status: Outcome) -> None:
    sdk.telemetry.request_finished("server", "roots/list", status, 1.0)

    labels = {"direction": "server", "method": "roots/list", "status": status}
    assert [(labels, 1)] == sdk.counts("mcp_request_total")


@pytest.mark.requirement("telemetry-counts-every-message")
def test_a_notification_is_counted_by_direction_and_method(sdk: Sdk) -> None:
    sdk.telemetry.notification("server", "notifications/progress")
    sdk.telemetry.notification("server", "notifications/progress")

    labels = {"direction": "server", "method": "notifications/progress"}
    assert [(labels, 2)] == sdk.counts("mcp_notification_total")


def test_methods_nobody_knows_share_one_label(sdk: Sdk) -> None:
    sdk.telemetry.notification("client", OTHER_METHOD)

    assert [({"direction": "client", "method": "_OTHER"}, 1)] == sdk.counts("mcp_notification_total")


def test_a_finished_operation_is_counted_like_any_request(sdk: Sdk) -> None:
    start(sdk).finish("success", 3.0)

    labels = {"direction": "client", "method": "ping"}
    assert [({**labels, "status": "success"}, 1)] == sdk.counts("mcp_request_total")
    assert [(labels, 1, 3.0)] == sdk.durations("mcp_request_duration_ms")


@pytest.mark.parametrize(
    ("received", "kind", "metric"),
    [
        (False, SpanKind.CLIENT, "mcp.client.operation.duration"),
        (True, SpanKind.SERVER, "mcp.server.operation.duration"),
    ],
)
def test_sender_and_receiver_each_have_their_kind_of_span_and_histogram(
    sdk: Sdk, *, received: bool, kind: SpanKind, metric: str
) -> None:
    start(sdk, received=received).finish("success", 250.0)

    assert [kind] == [span.kind for span in sdk.spans]
    assert [({"mcp.method.name": "ping"}, 1, 0.25)] == sdk.durations(metric)


def test_operation_durations_use_the_boundaries_of_the_conventions(sdk: Sdk) -> None:
    start(sdk).finish("success", 1.0)

    (point,) = sdk.points("mcp.client.operation.duration")
    assert (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300) == tuple(point.explicit_bounds)


def test_a_tool_call_is_named_after_its_tool(sdk: Sdk) -> None:
    start(sdk, "tools/call", target="echo", revision="r-1").finish("success", 1000.0)

    labels = {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "r-1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
    }
    (span,) = sdk.spans
    assert "tools/call echo" == span.name
    assert {**labels, "jsonrpc.request.id": "7"} == span.attributes
    assert [(labels, 1, 1.0)] == sdk.durations("mcp.client.operation.duration")


def test_a_prompt_is_named_after_it_was_found(sdk: Sdk) -> None:
    operation = start(sdk, "prompts/get", received=True)
    operation.name_target("greeting")
    operation.finish("success", 1.0)

    (span,) = sdk.spans
    assert "prompts/get greeting" == span.name
    assert "greeting" == (span.attributes or {})["gen_ai.prompt.name"]


def test_a_resource_uri_is_on_the_span_but_labels_no_metric(sdk: Sdk) -> None:
    start(sdk, "resources/read", target="mem://x").finish("success", 1000.0)

    (span,) = sdk.spans
    assert "resources/read" == span.name
    assert "mem://x" == (span.attributes or {})["mcp.resource.uri"]
    assert [({"mcp.method.name": "resources/read"}, 1, 1.0)] == sdk.durations("mcp.client.operation.duration")


def test_a_method_that_is_about_nothing_in_particular_ignores_a_target(sdk: Sdk) -> None:
    start(sdk, "ping", target="x").finish("success", 1.0)

    assert {"mcp.method.name": "ping", "jsonrpc.request.id": "7"} == sdk.spans[0].attributes


def test_a_request_that_gets_its_id_later_can_be_given_it_then(sdk: Sdk) -> None:
    operation = start(sdk, request_id=None)
    operation.name_id("late")
    operation.finish("success", 1.0)

    assert {"mcp.method.name": "ping", "jsonrpc.request.id": "late"} == sdk.spans[0].attributes


def test_a_successful_span_leaves_its_status_unset(sdk: Sdk) -> None:
    start(sdk).finish("success", 1.0)

    assert StatusCode.UNSET == sdk.spans[0].status.status_code


def test_an_answered_error_gives_its_number_and_message(sdk: Sdk) -> None:
    start(sdk).finish("error", 1000.0, number=-32602, message="Invalid request parameters")

    labels = {"mcp.method.name": "ping", "rpc.response.status_code": "-32602", "error.type": "-32602"}
    (span,) = sdk.spans
    assert (StatusCode.ERROR, "Invalid request parameters") == (span.status.status_code, span.status.description)
    assert {**labels, "jsonrpc.request.id": "7"} == span.attributes
    assert [(labels, 1, 1.0)] == sdk.durations("mcp.client.operation.duration")


@pytest.mark.parametrize(
    ("status", "given", "error_type"),
    [
        ("error", "timeout", "timeout"),
        ("error", None, "_OTHER"),
        ("cancelled", None, "cancelled"),
        ("success", "tool_error", "tool_error"),
    ],
)
def test_a_failure_without_a_number_is_classed_by_a_word(
    sdk: Sdk, status: Outcome, given: str | None, error_type: str
) -> None:
    start(sdk).finish(status, 1.0, error_type=given)

    (span,) = sdk.spans
    assert StatusCode.ERROR == span.status.status_code
    assert error_type == (span.attributes or {})["error.type"]


def test_trace_context_and_baggage_are_added_to_the_meta_that_is_sent(sdk: Sdk) -> None:
    token = attach(baggage.set_baggage("user", "alice"))
    try:
        operation = start(sdk)
        meta = {"progressToken": 1}
        injected = operation.inject(meta)
    finally:
        detach(token)
    operation.finish("success", 1.0)

    context = sdk.spans[0].get_span_context()
    assert context is not None
    assert {
        "progressToken": 1,
        "traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}",
        "baggage": "user=alice",
    } == injected
    assert {"progressToken": 1} == meta


def test_trace_context_is_injected_where_there_was_no_meta(sdk: Sdk) -> None:
    assert ["traceparent"] == list(start(sdk).inject(None))


def test_a_received_trace_context_becomes_the_parent(sdk: Sdk) -> None:
    start(sdk, received=True, meta=REMOTE).finish("success", 1.0)

    (span,) = sdk.spans
    assert span.parent is not None
    assert (REMOTE_TRACE, REMOTE_SPAN, True) == (span.parent.trace_id, span.parent.span_id, span.parent.is_remote)
    assert () == tuple(span.links)


def test_a_trace_crosses_from_sender_to_receiver(sdk: Sdk) -> None:
    sent = start(sdk)
    received = start(sdk, received=True, meta=sent.inject(None))
    received.finish("success", 1.0)
    sent.finish("success", 1.0)

    receiver, sender = sdk.spans
    assert ids(sender.get_span_context()) == ids(receiver.parent)


def test_the_current_span_is_the_parent_where_meta_has_no_trace_context(sdk: Sdk) -> None:
    with sdk.tracer_provider.get_tracer("app").start_as_current_span("outer") as outer:
        start(sdk, meta={"progressToken": 1}).finish("success", 1.0)

    assert outer.get_span_context() == sdk.spans[0].parent
    assert () == tuple(sdk.spans[0].links)


def test_the_current_span_is_linked_where_meta_names_another_parent(sdk: Sdk) -> None:
    with sdk.tracer_provider.get_tracer("app").start_as_current_span("transport") as ambient:
        start(sdk, received=True, meta=REMOTE).finish("success", 1.0)

    span = sdk.spans[0]
    assert span.parent is not None
    assert REMOTE_SPAN == span.parent.span_id
    assert [ambient.get_span_context()] == [link.context for link in span.links]


@pytest.mark.parametrize(
    "value", [5, None, [], {"a": 1}, True, "", "garbage", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"]
)
def test_a_hostile_trace_context_is_ignored(sdk: Sdk, value: object) -> None:
    start(sdk, received=True, meta={"traceparent": value, "tracestate": value, "baggage": value}).finish("success", 1.0)

    assert [None] == [span.parent for span in sdk.spans]


def test_a_handlers_context_sees_the_span_and_its_callers_does_not(sdk: Sdk) -> None:
    operation, context = start(sdk, received=True), copy_context()

    operation.enter(context)
    context.run(lambda: start(sdk, "roots/list").finish("success", 1.0))
    operation.finish("success", 1.0)

    inner, outer = sdk.spans
    assert ids(outer.get_span_context()) == ids(inner.parent)
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_span_can_be_the_current_one_right_here(sdk: Sdk) -> None:
    operation = start(sdk, received=True)

    def serve() -> None:
        operation.enter_here()
        start(sdk, "roots/list").finish("success", 1.0)

    copy_context().run(serve)
    operation.finish("success", 1.0)

    inner, outer = sdk.spans
    assert ids(outer.get_span_context()) == ids(inner.parent)


@pytest.mark.requirement("telemetry-counts-every-message")
@pytest.mark.usefixtures("configure")
def test_telemetry_is_off_while_the_providers_do_nothing() -> None:
    assert Telemetry.active() is None


def test_telemetry_is_off_while_the_providers_are_the_apis_own_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_PYTHON_METER_PROVIDER", raising=False)
    monkeypatch.delenv("OTEL_PYTHON_TRACER_PROVIDER", raising=False)

    assert Telemetry.active() is None


def test_a_meter_provider_alone_switches_telemetry_on(configure: pytest.MonkeyPatch, sdk: Sdk) -> None:
    configure.setattr(metrics, "get_meter_provider", lambda: sdk.meter_provider)

    telemetry = Telemetry.active()
    assert telemetry is not None
    telemetry.start_span("client", "ping", received=False).finish("success", 1.0)

    assert [1] == [value for _, value in sdk.counts("mcp_request_total")]


def test_a_tracer_provider_alone_switches_telemetry_on(configure: pytest.MonkeyPatch, sdk: Sdk) -> None:
    configure.setattr(trace, "get_tracer_provider", lambda: sdk.tracer_provider)

    telemetry = Telemetry.active()
    assert telemetry is not None
    telemetry.start_span("client", "ping", received=False).finish("success", 1.0)

    assert ["ping"] == [span.name for span in sdk.spans]


def test_every_connection_gets_the_same_telemetry_until_a_provider_changes(
    configure: pytest.MonkeyPatch, sdk: Sdk
) -> None:
    configure.setattr(metrics, "get_meter_provider", lambda: sdk.meter_provider)
    stand_in = NoOpTracerProvider()
    configure.setattr(trace, "get_tracer_provider", lambda: stand_in)
    first, second = Telemetry.active(), Telemetry.active()

    configure.setattr(trace, "get_tracer_provider", lambda: sdk.tracer_provider)
    third, fourth = Telemetry.active(), Telemetry.active()

    other = MeterProvider(shutdown_on_exit=False)
    configure.setattr(metrics, "get_meter_provider", lambda: other)

    assert first is second
    assert second is not third
    assert third is fourth
    assert fourth is not Telemetry.active()


CONFIGURED_LATER = """
import sys

from suaveplan_mcp.telemetry import Telemetry

before = Telemetry.active()
loaded = [name for name in sys.modules if name.startswith("opentelemetry.")]

import opentelemetry.trace

with_api_only = Telemetry.active()
also_loaded = "opentelemetry.metrics" in sys.modules

from opentelemetry.sdk.metrics import MeterProvider

opentelemetry.metrics.set_meter_provider(MeterProvider(shutdown_on_exit=False))
print(before, loaded, with_api_only, also_loaded, type(Telemetry.active()).__name__)
"""


def test_an_sdk_configured_later_is_seen_and_nothing_is_loaded_before_that() -> None:
    ran = subprocess.run([sys.executable, "-c", CONFIGURED_LATER], capture_output=True, text=True, check=False)

    assert ("None [] None False Telemetry\n", "") == (ran.stdout, ran.stderr)


TRACER_ONLY = """
import sys

import opentelemetry.trace

from suaveplan_mcp.telemetry import Telemetry


class OwnProvider(opentelemetry.trace.NoOpTracerProvider):
    pass


opentelemetry.trace.set_tracer_provider(OwnProvider())
before = "opentelemetry.metrics" in sys.modules
print(before, type(Telemetry.active()).__name__)
"""


def test_a_tracer_is_seen_where_nobody_has_loaded_the_meters() -> None:
    ran = subprocess.run([sys.executable, "-c", TRACER_ONLY], capture_output=True, text=True, check=False)

    assert ("False Telemetry\n", "") == (ran.stdout, ran.stderr)


def test_what_the_other_side_counts_is_timed_and_traced_but_not_counted_again(sdk: Sdk) -> None:
    start(sdk, received=True, counted=False).finish("success", 5.0)

    assert [] == sdk.counts("mcp_request_total")
    assert 1 == len(sdk.points("mcp.server.operation.duration"))
    assert 1 == len(sdk.spans)
