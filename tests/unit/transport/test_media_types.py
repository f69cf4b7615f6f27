"""Media types are compared as HTTP means them (case 35)."""

import pytest

from suaveplan_mcp.transport.media_types import EVENT_STREAM, JSON, is_acceptable, media_type_of


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", JSON),
        ("application/json;charset=utf-8", JSON),
        ('Application/JSON; charset="utf-8"', JSON),
        ("application/json;", JSON),
        (" text/event-stream;charset=UTF-8", EVENT_STREAM),
        ("text/plain; a=application/json", "text/plain"),
        ("application/jsonp", "application/jsonp"),
        ("", ""),
    ],
)
def test_the_type_is_read_without_case_and_parameters(header: str, expected: str) -> None:
    assert expected == media_type_of(header)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", True),
        (" ", True),
        ("*/*", True),
        ("text/*", True),
        ("text/event-stream", True),
        ("Application/JSON;charset=utf-8 , TEXT/event-stream", True),
        ("application/*, text/*;q=0.5", True),
        ("application/json", False),
        ("application/*", False),
        ("text/event-streams", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream; Q=0.000", False),
        ("text/event-stream;q=0;x=1", False),
        ("text/event-stream;q=0.001", True),
        ("text/event-stream;q=nonsense", True),
        ("*/*, text/event-stream;q=0", False),
        ("text/event-stream;q=0, */*", False),
        ("text/*;q=0, text/event-stream", True),
    ],
)
def test_the_most_specific_range_decides_what_is_acceptable(accept: str, expected: bool) -> None:  # noqa: FBT001
    assert expected is is_acceptable(accept, EVENT_STREAM)
