"""Lines out of bytes that were cut anywhere."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.framing.lines import LineDecoder, encode_line

# Bytes that mean something to the decoder, often, between any others.
STREAMS = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b"\xef\xbb\xbf", b"\xef", b"{}", "≤🎉".encode(), b"x" * 40])
    | st.binary(max_size=6),
    max_size=30,
).map(b"".join)


def decode(*chunks: bytes, limit: int = 1000) -> list[bytes | FrameTooLarge]:
    decoder = LineDecoder(limit)
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    return frames + decoder.finish()


def cut(stream: bytes, places: set[int]) -> list[bytes]:
    edges = [0, *sorted(place for place in places if place < len(stream)), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def test_a_newline_ends_a_line() -> None:
    assert [b"one", b"two"] == decode(b"one\ntwo\n")


def test_a_line_is_delivered_as_soon_as_it_is_complete() -> None:
    assert [b"one"] == LineDecoder(10).feed(b"one\ntw")


def test_one_carriage_return_before_the_newline_is_taken_off() -> None:
    assert [b"one", b"two\r"] == decode(b"one\r\ntwo\r\r\n")


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert [b"one\rtwo"] == decode(b"one\rtwo\n")


@pytest.mark.parametrize("line", [b"", b"\r", b" \t", b"\xef\xbb\xbf", b"\xef\xbb\xbf \r", b" \xef\xbb\xbf", b"\v\f"])
def test_a_blank_line_is_skipped(line: bytes) -> None:
    assert [b"one", b"two"] == decode(b"one\n" + line + b"\ntwo\n")


@pytest.mark.parametrize("line", [b"\xff\xfe", b"Server started", b"\xef\xbb", b" {}", b"\xef\xbb\xbf{}"])
def test_a_line_that_is_not_blank_is_handed_on_as_it_is(line: bytes) -> None:
    assert [line] == decode(line + b"\n")


def test_the_last_line_needs_no_newline() -> None:
    assert [b"one", b"two"] == decode(b"one\ntwo")


def test_a_character_cut_by_a_read_is_whole_again() -> None:
    line = "a≤b🎉".encode()

    assert [line] == decode(*(bytes([byte]) for byte in line + b"\n"))


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert [b"12345"] == decode(b"12345\n", limit=5)


def test_a_line_over_the_limit_is_reported_once_and_the_next_one_passes() -> None:
    assert [FrameTooLarge(5, 6, b"123456", b"123456"), b"ok"] == decode(b"123456\nok\n", limit=5)


def test_a_line_over_the_limit_is_reported_at_the_end_of_the_stream_too() -> None:
    assert [FrameTooLarge(5, 9, b"123456789", b"123456789")] == decode(b"123456", b"789", limit=5)


def test_a_long_line_takes_time_in_proportion_to_its_length() -> None:
    def seconds(mebibytes: int) -> float:
        decoder = LineDecoder(1 << 30)
        started = time.perf_counter()
        for _ in range(mebibytes * 16):
            decoder.feed(bytes(65536))
        decoder.feed(b"\n")
        return time.perf_counter() - started

    # Ten times the length: quadratic work would take a hundred times as long.
    assert min(seconds(40) for _ in range(3)) < 40 * max(seconds(4) for _ in range(3))


@given(stream=STREAMS, places=st.sets(st.integers(1, 150)), limit=st.sampled_from([0, 3, 30, 1000]))
def test_where_a_stream_is_cut_changes_nothing(stream: bytes, places: set[int], limit: int) -> None:
    assert decode(stream, limit=limit) == decode(*cut(stream, places), limit=limit)


@given(frames=st.lists(st.binary(min_size=1).map(lambda data: b"{" + data.replace(b"\n", b"") + b"}")))
def test_what_was_encoded_is_decoded(frames: list[bytes]) -> None:
    assert frames == decode(b"".join(map(encode_line, frames)), limit=10_000)


def test_a_line_is_written_with_one_newline() -> None:
    assert b"{}\n" == encode_line(b"{}")
