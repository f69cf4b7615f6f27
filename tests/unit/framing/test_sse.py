"""Events out of bytes that were cut anywhere."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.framing.sse import ServerSentEvent, SseDecoder, encode_comment, encode_event

Decoded = list[ServerSentEvent | FrameTooLarge]

STREAMS = st.lists(
    st.sampled_from(
        [
            *(b"\n", b"\r", b"\r\n", b"data:", b"data", b"data: x", b"event: e", b"id: 7", b"id", b"retry: 10", b":"),
            *(b" ", b"\xef\xbb\xbf", "≤🎉".encode(), b"\0", b"y" * 20),
        ]
    )
    | st.binary(max_size=3),
    max_size=40,
).map(b"".join)

# The example of a client and a server that end lines in three ways.
LINES = ["event: message", 'data: {"id":1,', 'data: "x":"≤🎉",', 'data:"y":2}', "", ""]
EVENT = ServerSentEvent("message", '{"id":1,\n"x":"≤🎉",\n"y":2}'.encode())


def decode(*chunks: bytes, limit: int = 10_000) -> Decoded:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def message(data: bytes, **more: str | int) -> ServerSentEvent:
    return ServerSentEvent(**{"event": "message", "data": data} | more)  # pyright: ignore[reportArgumentType]


def decode_naively(stream: bytes) -> list[ServerSentEvent]:
    """Follow the standard's text step by step, on the whole stream."""
    events: list[ServerSentEvent] = []
    kind, data, last_id, retry = b"", b"", None, None
    for line in re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        name, value = re.findall(rb"(?s)\A([^:]*)(?:: ?)?(.*)\Z", line)[0]
        match name:
            case b"" if not line:
                if data:
                    events.append(
                        ServerSentEvent(kind.decode(errors="replace") or "message", data[:-1], last_id, retry)
                    )
                kind, data, retry = b"", b"", None
            case b"event":
                kind = value
            case b"data":
                data += value + b"\n"
            case b"id" if b"\0" not in value:
                last_id = value.decode(errors="replace")
            case b"retry" if re.fullmatch(rb"[0-9]{1,15}", value):
                retry = int(value)
            case _:
                pass
    return events


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_an_event_is_the_same_whatever_ends_its_lines_and_wherever_it_is_cut(end: str) -> None:
    stream = end.join(LINES).encode()

    assert [EVENT] == decode(stream)
    assert [EVENT] == decode(*(bytes([byte]) for byte in stream))
    for place in range(len(stream)):
        assert [EVENT] == decode(stream[:place], stream[place:])


def test_two_events_in_one_chunk_are_two() -> None:
    assert [message(b"a"), message(b"b")] == decode(b"data: a\n\ndata: b\n\n")


def test_an_event_is_delivered_without_waiting_for_the_byte_after_its_last_carriage_return() -> None:
    assert [message(b"a")] == decode(b"data: a\r\r")


def test_an_empty_chunk_between_carriage_return_and_line_feed_changes_nothing() -> None:
    assert [message(b"a\nb")] == decode(b"data: a\r", b"", b"\ndata: b\n\n")


def test_a_long_line_in_small_chunks_comes_through() -> None:
    data = b"x" * 5_000_000
    stream = b"data: " + data + b"\n\n"
    chunks = [stream[start : start + 4096] for start in range(0, len(stream), 4096)]

    assert [message(data)] == decode(*chunks, limit=5_000_000)


def test_only_one_space_after_the_colon_is_taken_off() -> None:
    assert [message(b"a\nb\n c")] == decode(b"data:a\ndata: b\ndata:  c\n\n")


def test_a_byte_order_mark_is_ignored_only_where_the_stream_starts() -> None:
    assert [message(b"a")] == decode(b"\xef", b"\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n")


def test_comments_and_unknown_fields_are_ignored() -> None:
    assert [message(b"a")] == decode(b": hello\ndata: a\nfoo: bar\nDATA: b\n\n")


def test_the_type_holds_for_one_event_and_is_message_where_none_is_named() -> None:
    assert [ServerSentEvent("ping", b"a"), message(b"b")] == decode(b"event: ping\ndata: a\n\nevent:\ndata: b\n\n")


def test_a_type_without_data_is_forgotten() -> None:
    assert [message(b"a")] == decode(b"event: ping\n\ndata: a\n\n")


def test_the_last_id_stays_until_it_is_replaced() -> None:
    stream = b"data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid\ndata: d\n\n"

    assert [message(b"a"), message(b"b", id="1"), message(b"c", id="1"), message(b"d", id="")] == decode(stream)


def test_an_id_with_a_null_character_is_ignored() -> None:
    assert [message(b"a", id="1")] == decode(b"id: 1\nid: 2\0\ndata: a\n\n")


def test_an_event_without_data_is_not_returned_but_its_id_and_retry_are_kept() -> None:
    decoder = SseDecoder(100)

    assert [] == decoder.feed(b"id: 5\nretry: 300\n\n")
    assert ("5", 300) == (decoder.last_event_id, decoder.retry)


def test_an_event_with_an_empty_data_field_is_returned() -> None:
    assert [message(b"", id="5"), message(b"\n", id="5")] == decode(b"id: 5\ndata:\n\ndata\ndata\n\n")


@pytest.mark.parametrize("value", [b"", b"-1", b"1.5", b"1s", b" 1", "\u0661".encode(), b"1" * 16, b"1" * 5000])
def test_a_retry_of_anything_but_digits_is_ignored(value: bytes) -> None:
    assert [message(b"a")] == decode(b"retry: " + value + b"\ndata: a\n\n")


def test_the_retry_belongs_to_the_event_that_set_it() -> None:
    assert [message(b"a", retry=10), message(b"b")] == decode(b"retry: 10\ndata: a\n\ndata: b\n\n")


def test_an_event_that_the_end_leaves_unfinished_is_dropped() -> None:
    assert [message(b"a")] == decode(b"data: a\n\ndata: b\n")


def test_broken_utf8_in_a_type_or_id_does_not_raise_and_stays_in_the_data() -> None:
    assert [ServerSentEvent("\ufffd", b"\xff", "\ufffd")] == decode(b"event: \xff\nid: \xff\ndata: \xff\n\n")


def test_data_of_exactly_the_limit_passes() -> None:
    assert [message(b"12345")] == decode(b"\xef\xbb\xbfdata: 12345\n\n", limit=5)


@pytest.mark.parametrize(
    "data", [b"data: 123456", b"data: 123\ndata: 45", b"data:123456", b"data: 123\ndata:\ndata: 4"]
)
def test_data_over_the_limit_is_reported_once_and_the_next_event_passes(data: bytes) -> None:
    content = data.replace(b"data:", b"").replace(b" ", b"")

    assert [FrameTooLarge(5, 6, content, content), message(b"ok")] == decode(data + b"\n\ndata: ok\n\n", limit=5)


def test_a_line_far_over_the_limit_is_reported_with_the_size_of_its_data() -> None:
    assert [FrameTooLarge(5, 1000, b"x" * 194, b"x" * 194)] == decode(b"data: " + b"x" * 1000 + b"\n\n", limit=5)


def test_a_comment_over_the_limit_is_just_a_comment() -> None:
    assert [message(b"a")] == decode(b":" + b"x" * 1000 + b"\ndata: a\n\n", limit=5)


def test_an_event_with_another_field_over_the_limit_is_reported() -> None:
    stream = b"event: " + b"x" * 993 + b"\ndata: a\n\ndata: b\n\n"

    assert [FrameTooLarge(5, 1001, b"a", b"a"), message(b"b")] == decode(stream, limit=5)


@given(stream=STREAMS, places=st.sets(st.integers(1, 120)), limit=st.sampled_from([0, 3, 15, 10_000]))
def test_where_a_stream_is_cut_changes_nothing(stream: bytes, places: set[int], limit: int) -> None:
    edges = [0, *sorted(place for place in places if place < len(stream)), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]

    assert decode(stream, limit=limit) == decode(*chunks, limit=limit)


@given(stream=STREAMS)
def test_the_events_are_those_of_the_standard(stream: bytes) -> None:
    assert decode_naively(stream) == decode(stream)


def test_an_event_is_written_field_by_field() -> None:
    assert b"event: e\nid: 7\nretry: 10\ndata: {}\n\n" == encode_event(b"{}", event="e", id="7", retry=10)


def test_an_event_of_data_alone_has_no_other_field() -> None:
    assert b"data: {}\n\n" == encode_event(b"{}")


@given(
    data=st.lists(st.sampled_from([b"\r", b"\n", b"a", b" ", b":"])).map(b"".join),
    event=st.sampled_from([None, "x", " y:"]),
    id=st.sampled_from([None, "", " 1"]),
    retry=st.none() | st.integers(0, 10**6),
)
def test_what_was_encoded_is_decoded(data: bytes, event: str | None, id: str | None, retry: int | None) -> None:
    arrived = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    stream = encode_event(data, event=event, id=id, retry=retry)

    assert [ServerSentEvent(event or "message", arrived, id, retry)] == decode(stream)


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0"])
def test_a_type_or_id_that_cannot_be_carried_is_refused_by_name(value: str) -> None:
    with pytest.raises(ValueError, match="the event of"):
        encode_event(b"", event=value)
    with pytest.raises(ValueError, match="the id of"):
        encode_event(b"", id=value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", b": \n\n"), ("alive", b": alive\n\n"), ("a\r\ndata: b\n", b": a\n: data: b\n\n")],
)
def test_a_comment_stays_a_comment(text: str, expected: bytes) -> None:
    assert expected == encode_comment(text)
    assert [] == decode(encode_comment(text))
