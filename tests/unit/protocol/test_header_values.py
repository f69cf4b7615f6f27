"""Text of a request as the value of an HTTP header, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suaveplan_mcp.errors import HEADER_MISMATCH, MCP_CODES
from suaveplan_mcp.protocol.header_values import (
    HeaderValueError,
    decode_header_value,
    encode_header_value,
    header_mismatch,
    show,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("~", "~"),
        ("file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("büro", "=?base64?YsO8cm8=?="),
        ("file:///notes/résumé.txt", "=?base64?ZmlsZTovLy9ub3Rlcy9yw6lzdW3DqS50eHQ=?="),
        (" pad ", "=?base64?IHBhZCA=?="),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("a\tb", "=?base64?YQli?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("us-west1\n", "=?base64?dXMtd2VzdDEK?="),
        ("a\x00", "=?base64?YQA=?="),
        ("a\x7f", "=?base64?YX8=?="),
        ("=?base64?ZmFzdA==?=", "=?base64?PT9iYXNlNjQ/Wm1GemRBPT0/PQ==?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?open", "=?base64?open"),
        ("=?BASE64?ZmFzdA==?=", "=?BASE64?ZmFzdA==?="),
    ],
)
def test_a_text_goes_out_as_it_is_or_as_base64(text: str, value: str) -> None:
    assert value == encode_header_value(text)
    assert text == decode_header_value(value)


@given(TEXTS)
def test_every_text_arrives_as_it_was_sent(text: str) -> None:
    assert text == decode_header_value(encode_header_value(text))


@given(TEXTS, st.text(" \t"), st.text(" \t"))
def test_whitespace_around_a_value_is_no_part_of_it(text: str, before: str, after: str) -> None:
    assert text == decode_header_value(before + encode_header_value(text) + after)


@given(st.text())
def test_nothing_but_printable_ascii_ever_goes_out(text: str) -> None:
    try:
        value = encode_header_value(text)
    except HeaderValueError:
        return

    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" fast ", "fast"),
        ("a\tb", "a\tb"),
        ("=?base64?ZmFzdA==?=", "fast"),
        ("=?base64??=", ""),
        ("=?BASE64?ZmFzdA==?=", "=?BASE64?ZmFzdA==?="),
        ("=?base64?ZmFzdA==", "=?base64?ZmFzdA=="),
        ("ZmFzdA==", "ZmFzdA=="),
        ("=?base64?=", "=?base64?="),
    ],
)
def test_what_came_is_read_as_it_was_meant(value: str, text: str) -> None:
    assert text == decode_header_value(value)


@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGVsbG8?=",  # no padding
        "=?base64?SGVs!!!bG8=?=",  # no base64
        "=?base64?SGVsbG9=?=",  # bits left over
        "=?base64?-_8=?=",  # the alphabet of URLs
        "=?base64?ZmFz dA==?=",  # a space inside
        "=?base64?/w==?=",  # no UTF-8
        "=?base64?7aCA?=",  # half of a surrogate pair, in UTF-8
        "=?base64?=?=",
    ],
)
def test_base64_that_is_not_what_encoding_gives_is_refused(value: str) -> None:
    with pytest.raises(HeaderValueError, match="marked as base64"):
        decode_header_value(value)


@pytest.mark.parametrize("value", ["b\xc3\xbcro", "b\xfcro", "a\rb", "a\nb", "a\x00b", "a\x7fb", "=?base64?YQ==?=\x00"])
def test_characters_that_no_header_may_hold_are_refused(value: str) -> None:
    with pytest.raises(HeaderValueError, match="neither visible ASCII nor a space"):
        decode_header_value(value)


@given(st.text(st.characters(max_codepoint=255)))
def test_whatever_comes_is_read_or_refused(value: str) -> None:
    try:
        text = decode_header_value(value)
    except HeaderValueError:
        return

    assert text == decode_header_value(encode_header_value(text))


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(HeaderValueError, match="character 1 is half of a surrogate pair"):
        encode_header_value("a\ud800")


def test_a_mismatch_has_the_number_of_the_specification() -> None:
    error = header_mismatch("Mcp-Name is missing")

    assert (HEADER_MISMATCH, {"code": MCP_CODES.PROTOCOL_INVALID}) == (error.jsonrpc_code, error.data)
    assert (MCP_CODES.PROTOCOL_INVALID, "Header mismatch: Mcp-Name is missing") == (error.code, error.message)


def test_a_long_text_is_shown_in_part_and_without_line_ends() -> None:
    assert r"'a\r\nb'" == show("a\r\nb")
    assert f"'{'x' * 100}…'" == show("x" * 5000)
