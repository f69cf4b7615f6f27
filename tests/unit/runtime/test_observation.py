"""What others may see of a connection: events, telemetry, and faults in one line of the log."""

import asyncio
import logging
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import UNSET

from suaveplan_mcp import telemetry
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import (
    ConnectionClosed,
    ConnectionOpened,
    EventBus,
    FaultReported,
    NotificationEmitted,
    RequestCompleted,
    RequestReceived,
)
from suaveplan_mcp.jsonrpc.messages import Payload, Request
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.runtime.observation import Observation, Observer
from suaveplan_mcp.testing import FakeClock
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.resources import ReadResourceRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult
from tests.unit.runtime.pairs import connected, facing_a_script, turns

LOG = "suaveplan_mcp"


@dataclass
class FakeOperation:
    """Stands for one span and remembers how it ended."""

    trace: dict[str, Any]
    ended: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    entered: list[Context] = field(default_factory=list[Context])
    entered_here: int = 0

    def inject(self, meta: dict[str, Any] | None) -> dict[str, Any]:
        return {**(meta or {}), **self.trace}

    def enter(self, context: Context) -> None:
        self.entered.append(context)

    def enter_here(self) -> None:
        self.entered_here += 1

    def finish(self, status: str, duration_ms: float, **more: Any) -> None:
        self.ended.append({"status": status, "duration_ms": duration_ms, **more})


@dataclass
class FakeTelemetry:
    """Stands where OpenTelemetry would be and remembers what it was told."""

    trace: dict[str, Any] = field(default_factory=lambda: {"traceparent": "00-1"})
    spans: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    operations: list[FakeOperation] = field(default_factory=list[FakeOperation])
    counted: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def start_span(self, direction: str, method: str, **more: Any) -> FakeOperation:
        self.spans.append({"direction": direction, "method": method, **more})
        self.operations.append(FakeOperation(self.trace))
        return self.operations[-1]

    def notification(self, direction: str, method: str) -> None:
        self.counted.append(("notification", direction, method))

    def request_finished(self, direction: str, method: str, status: str, duration_ms: float) -> None:
        self.counted.append(("request", direction, method, status, duration_ms))

    @property
    def ended(self) -> list[dict[str, Any]]:
        return [end for operation in self.operations for end in operation.ended]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> FakeTelemetry:
    fake = FakeTelemetry()
    monkeypatch.setattr(telemetry.Telemetry, "active", lambda: fake)
    return fake


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two ends in memory pass for ends in two processes, each with telemetry of its own."""
    monkeypatch.setattr(InMemoryTransport, "in_process", False)


def observe(clock: FakeClock | None = None) -> tuple[Observer, EventBus]:
    events = EventBus("server")
    return Observer("server", "server-1", events, clock or FakeClock()), events


# Events


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_the_beginning_and_the_end_are_told() -> None:
    observer, events = observe()
    seen: list[object] = []
    events.on("connection:opened", seen.append)
    events.on("connection:closed", seen.append)

    observer.opened()
    observer.closed("done")

    assert [ConnectionOpened("server", "server-1"), ConnectionClosed("server", "server-1", "done")] == seen


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
def test_a_notification_is_told_as_it_was_sent() -> None:
    observer, events = observe()
    seen: list[object] = []
    observer.notification_sent("news", {"x": 0})
    events.on("notification:emitted", seen.append)
    observer.notification_sent("news", {"x": 1})
    observer.notification_received("news")

    assert [NotificationEmitted("server", "news", {"x": 1})] == seen


def test_nobody_looks_so_nothing_is_observed() -> None:
    observer, _ = observe()

    assert not observer.observes_requests
    assert (None, {"x": 1}) == observer.request_sent("ask", 1, {"x": 1}, None)
    assert observer.call_received("ask", 1, None, None) is None


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "success"),
        (ValueError(), "error"),
        (SystemExit(), "error"),
        (KeyboardInterrupt(), "error"),
        (asyncio.CancelledError(), "cancelled"),
        (MCPError(MCP_CODES.REQUEST_CANCELLED, "x"), "cancelled"),
        (MCPError(MCP_CODES.NOT_FOUND, "x"), "error"),
        (MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "x"), "error"),
    ],
)
def test_a_call_is_told_when_it_comes_and_how_it_ends(error: BaseException | None, outcome: Any) -> None:
    clock = FakeClock()
    observer, events = observe(clock)
    seen: list[object] = []
    events.on("request:received", seen.append)
    events.on("request:completed", seen.append)

    observation = observer.call_received("ask", 1, None, None)
    assert observation is not None
    clock.advance(0.5)
    observer.call_ended("ask", 1, observation, error=error)

    assert [RequestReceived("server", "ask", 1), RequestCompleted("server", "ask", 1, 500.0, outcome)] == seen


def test_whoever_comes_late_still_hears_of_the_end_and_whoever_left_hears_nothing() -> None:
    observer, events = observe()
    seen: list[object] = []
    stop = events.on("request:completed", seen.append)
    observation = observer.call_received("ask", 1, None, None)
    assert observation is not None
    stop()

    observer.call_ended("ask", 1, observation, error=None)

    assert [] == seen


def test_only_a_span_has_a_place_in_a_context() -> None:
    context = copy_context()
    before = dict(context.items())

    Observation(0, None).enter(context)
    context.run(Observation(0, None).enter_here)

    assert before == dict(context.items())


# Faults


def test_a_fault_is_an_event_each_time_and_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    observer, events = observe()
    seen: list[object] = []
    error = ValueError("x")
    observer.fault("nobody hears this one")
    caplog.clear()
    events.on("fault:reported", seen.append)
    with caplog.at_level(logging.DEBUG, LOG):
        observer.fault("it broke", error)
        observer.fault("it broke", error)

    assert [FaultReported("server", "server-1", "it broke", error)] * 2 == seen
    assert [(logging.WARNING, "server: it broke"), (logging.DEBUG, "server: it broke")] == [
        (record.levelno, record.getMessage()) for record in caplog.records
    ]


def test_a_peer_cannot_fill_the_log_with_different_faults(caplog: pytest.LogCaptureFixture) -> None:
    observer, _ = observe()
    with caplog.at_level(logging.WARNING, LOG):
        for number in range(1000):
            observer.fault(f"an answer to {number}")

    assert 100 == len(caplog.records)


def test_a_fault_is_one_short_legible_line_whatever_the_peer_wrote_into_it() -> None:
    observer, events = observe()
    seen: list[str] = []
    events.on("fault:reported", lambda event: seen.append(event.fault))

    observer.fault("büro 🎉")
    observer.fault("a\r\nWARNING fake\x1b[2J\ud800")
    observer.fault("x" * 1_000_000)

    assert ["büro 🎉", "a\\r\\nWARNING fake\\x1b[2J\\ud800", "x" * 500 + "…"] == seen


def test_a_message_that_did_not_go_out_is_a_fault_until_the_end() -> None:
    observer, events = observe()
    seen: list[str] = []
    events.on("fault:reported", lambda event: seen.append(event.fault))
    failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "disk full")

    observer.unsent(failure)
    observer.closed(None)
    observer.unsent(failure)

    assert ["a message could not be sent: disk full"] == seen


# Telemetry


@pytest.mark.parametrize(
    ("params", "sent", "target"),
    [
        (None, {"_meta": {"traceparent": "00-1"}}, None),
        (UNSET, {"_meta": {"traceparent": "00-1"}}, None),
        ({"name": "t", "_meta": {"a": 1}}, {"name": "t", "_meta": {"a": 1, "traceparent": "00-1"}}, "t"),
        ([1], [1], None),
        (RequestParams(), RequestParams(meta={"traceparent": "00-1"}), None),
        (
            CallToolRequestParams(name="t", meta={"a": 1}),
            CallToolRequestParams(name="t", meta={"a": 1, "traceparent": "00-1"}),
            "t",
        ),
        (
            ReadResourceRequestParams(uri="a:b"),
            ReadResourceRequestParams(uri="a:b", meta={"traceparent": "00-1"}),
            "a:b",
        ),
    ],
)
def test_a_request_carries_the_trace_where_it_can(
    recorded: FakeTelemetry, params: Payload, sent: Payload, target: str | None
) -> None:
    observer, _ = observe()

    observation, traced = observer.request_sent("ask", 7, params, "rev")

    assert observation is not None
    assert sent == traced
    span = recorded.spans[0]
    assert ("server", "ask", False, 7, target, "rev") == (
        span["direction"],
        span["method"],
        span["received"],
        span["request_id"],
        span["target"],
        span["revision"],
    )


def test_without_a_trace_the_params_stay_as_they_are(recorded: FakeTelemetry) -> None:
    recorded.trace = {}
    observer, _ = observe()

    assert observer.request_sent("ask", 7, None, None)[1] is None


@pytest.mark.requirement("telemetry-counts-every-message")
@pytest.mark.parametrize(
    ("error", "result", "expected"),
    [
        (None, "fine", ("success", None, None, None)),
        (None, CallToolResult(content=[], is_error=True), ("success", None, None, "tool_error")),
        (MCPError(MCP_CODES.NOT_FOUND, "gone", jsonrpc_code=-5), None, ("error", -5, "gone", None)),
        (MCPError(MCP_CODES.TIMEOUT, "late"), None, ("error", None, "late", "timeout")),
        (MCPError(MCP_CODES.REQUEST_CANCELLED, "stop", jsonrpc_code=-32002), None, ("cancelled", None, "stop", None)),
        (asyncio.CancelledError(), None, ("cancelled", None, None, None)),
    ],
)
def test_the_end_of_a_request_is_recorded(
    recorded: FakeTelemetry, error: BaseException | None, result: object, expected: tuple[Any, ...]
) -> None:
    clock = FakeClock()
    observer, _ = observe(clock)
    observation, _ = observer.request_sent("ask", 7, None, None)
    assert observation is not None
    clock.advance(0.25)

    observer.request_answered(observation, error, result)

    status, number, message, error_type = expected
    assert [
        {
            "status": status,
            "duration_ms": 250.0,
            "number": number,
            "message": message,
            "error_type": error_type,
        }
    ] == recorded.ended


def test_a_refused_request_is_counted_and_one_nobody_knows_under_no_name_of_its_own(recorded: FakeTelemetry) -> None:
    observer, _ = observe()
    observer.call_refused("tools/list")
    observer.call_refused("made/up/1234")
    observer.call_refused(None)

    assert [
        ("request", "client", "tools/list", "error", 0.0),
        ("request", "client", "_OTHER", "error", 0.0),
    ] == recorded.counted


@pytest.mark.requirement("telemetry-counts-every-message")
def test_notifications_are_counted_on_both_ways(recorded: FakeTelemetry) -> None:
    observer, _ = observe()
    observer.notification_sent("news", None)
    observer.notification_received("notifications/cancelled")
    observer.notification_received("made/up/1234")

    assert [
        ("notification", "server", "news"),
        ("notification", "client", "notifications/cancelled"),
        ("notification", "client", "_OTHER"),
    ] == recorded.counted


# A whole connection under observation


async def test_notification_that_is_dropped_is_counted_under_its_name_where_that_is_known(
    recorded: FakeTelemetry, apart: None
) -> None:
    async with facing_a_script("server", era=HandshakeEra("server", ())) as alone:
        alone.peer.notify("notifications/initialized")
        alone.peer.notify("made/up/1234")
        alone.peer.respond(7, "to nobody")

        assert [
            ("notification", "client", "notifications/initialized"),
            ("notification", "client", "_OTHER"),
        ] == recorded.counted
        assert 3 == len(alone.faults)


@pytest.mark.requirement("telemetry-counts-every-message")
async def test_both_sides_of_a_call_are_recorded_and_the_trace_crosses_over(recorded: FakeTelemetry) -> None:
    async with connected() as pair:
        pair.server.register_handler("echo", lambda params: params)

        assert {"x": 1, "_meta": {"traceparent": "00-1"}} == await pair.client.request("echo", {"x": 1})
        await turns()

        assert [("client", False, None), ("client", True, {"traceparent": "00-1"})] == [
            (span["direction"], span["received"], span["meta"]) for span in recorded.spans
        ]
        assert ["success", "success"] == [end["status"] for end in recorded.ended]
        assert 1 == len(recorded.operations[1].entered)


@pytest.mark.requirement("telemetry-counts-every-message")
async def test_what_both_sides_see_in_one_process_is_counted_once(recorded: FakeTelemetry) -> None:
    async with connected() as pair:
        pair.server.register_handler("echo", lambda params: params)
        await pair.client.request("echo")
        await pair.client.notify("news")
        with pytest.raises(MCPError):
            await pair.client.request("made/up")

    assert [True, False, True] == [span.get("counted", True) for span in recorded.spans]
    assert [("notification", "client", "news")] == recorded.counted


async def test_a_call_is_recorded_with_the_number_of_its_answer(recorded: FakeTelemetry, apart: None) -> None:
    def fail(_: object) -> None:
        raise MCPError(MCP_CODES.NOT_FOUND, "gone")

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("fail", fail)
        alone.peer.request(1, "fail")
        alone.peer.request(2, "made/up")
        await turns()

        assert ("error", -32602) == (recorded.ended[0]["status"], recorded.ended[0]["number"])
        assert [("request", "client", "_OTHER", "error", 0.0)] == recorded.counted


async def test_a_request_that_may_not_be_sent_is_recorded_as_failed(recorded: FakeTelemetry) -> None:
    params: Any = {"x": object()}
    async with facing_a_script() as alone:
        with pytest.raises(MCPError):
            await alone.dispatcher.request("ask", params)
        asking = asyncio.create_task(alone.dispatcher.request("ask"))

        assert Request(1, "ask", {"_meta": {"traceparent": "00-1"}}) == await alone.peer.receive()
        asking.cancel()
        await asyncio.wait([asking])

    assert ["error", "cancelled"] == [end["status"] for end in recorded.ended]


@pytest.mark.requirement("telemetry-counts-every-message")
async def test_a_message_that_comes_alone_is_recorded_around_its_handler(recorded: FakeTelemetry) -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", lambda params: params)

        await alone.dispatcher.serve(Request(1, "echo", {}))

        assert ["success"] == [end["status"] for end in recorded.ended]
        assert ([], 1) == (recorded.operations[0].entered, recorded.operations[0].entered_here)
