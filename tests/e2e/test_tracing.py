"""A trace from the client's request to the server's handler, through the wire."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from suaveplan_mcp import MCPServer, connect
from suaveplan_mcp.telemetry import Telemetry


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Let telemetry be active with providers of the test's own: the global ones can be set only once."""
    exporter = InMemorySpanExporter()
    meters, tracers = MeterProvider(shutdown_on_exit=False), TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(meters, tracers)
    monkeypatch.setattr(Telemetry, "active", lambda: telemetry)
    yield exporter
    meters.shutdown()
    tracers.shutdown()


def _named(spans: tuple[ReadableSpan, ...], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name]


async def test_what_the_server_does_is_part_of_the_caller_s_trace_and_named_after_what_was_asked(
    exporter: InMemorySpanExporter,
) -> None:
    server = MCPServer("traced", "1")

    @server.tool
    async def wave() -> str:
        return "~"

    @server.prompt
    def greet() -> str:
        return "hello"

    @server.resource("note://one")
    def note() -> str:
        return "text"

    async with connect(server) as client:
        await client.call_tool("wave")
        await client.get_prompt("greet")
        await client.read_resource("note://one")
    spans = exporter.get_finished_spans()

    for name in ("tools/call wave", "prompts/get greet"):
        served, asked = _named(spans, name)
        assert served.parent is not None
        assert asked.context is not None
        assert asked.context.span_id == served.parent.span_id
    assert ["note://one", "note://one"] == [
        (span.attributes or {})["mcp.resource.uri"] for span in _named(spans, "resources/read")
    ]
