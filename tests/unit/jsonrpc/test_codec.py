"""Bytes to message and back: every legal frame is read, every other one is described, nothing escapes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct
from msgspec import json as msgspec_json

from suaveplan_mcp.jsonrpc.codec import decode_message, encode, encode_message, identify
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    JsonValue,
    Message,
    Notification,
    Request,
    Response,
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600

# What JSON, lines and Unicode treat in ways of their own. All of Unicode would make hypothesis build its tables first.
texts = st.text('aZ0 "\\/{}[]:,\0\t\n\r\x1f\x7f\x85\xe9\u2028\u2029\ud7ff\ue000\ufeff\uffff\U0001f600\U0010ffff')
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids = st.integers() | texts
payloads = st.just(UNSET) | json_values
messages = st.one_of(
    st.builds(Request, ids, texts, payloads),
    st.builds(Notification, texts, payloads),
    st.builds(Response, ids, json_values),
    st.builds(ErrorResponse, st.none() | ids, st.builds(ErrorObject, st.integers(), texts, payloads)),
)


class Params(Struct):
    name: str


class CarriesRaw:
    def __init__(self, raw: object) -> None:
        self.raw = raw


def invalid(frame: bytes) -> InvalidMessage:
    message = decode_message(frame)
    assert isinstance(message, InvalidMessage)
    return message


def plain(value: Any) -> JsonValue:
    """Return a payload with everything raw in it decoded."""
    return msgspec_json.decode(value) if isinstance(value, Raw) else value


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize("id_", [0, -1, 7, "7", "", "ü", 2**53 + 1, 10**30])
def test_a_request_is_read_with_its_id_as_it_is(id_: int | str) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping"}).encode()

    assert Request(id_, "ping") == decode_message(frame)


def test_params_stay_raw() -> None:
    message = decode_message(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a": [1,  2]}}')

    assert Request(1, "m", Raw(b'{"a": [1,  2]}')) == message


def test_null_params_are_not_absent_params() -> None:
    assert Request(1, "m", Raw(b"null")) == decode_message(b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}')


@pytest.mark.requirement("wire-types-have-one-source")
def test_a_message_with_a_method_and_no_id_is_a_notification() -> None:
    frame = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'

    assert Notification("notifications/progress", Raw(b"{}")) == decode_message(frame)


@pytest.mark.requirement("wire-types-have-one-source")
def test_a_result_makes_a_response_even_when_it_is_null() -> None:
    assert Response("a", Raw(b"null")) == decode_message(b'{"jsonrpc":"2.0","id":"a","result":null}')


@pytest.mark.requirement("wire-types-have-one-source")
def test_an_error_makes_an_error_response_with_decoded_data() -> None:
    frame = b'{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"bad","data":{"path":"a"}}}'

    assert ErrorResponse(3, ErrorObject(-32602, "bad", {"path": "a"})) == decode_message(frame)


@pytest.mark.parametrize("id_", [b'"id":null,', b""])
def test_an_error_response_may_have_no_id(id_: bytes) -> None:
    frame = b'{"jsonrpc":"2.0",' + id_ + b'"error":{"code":-32700,"message":"unreadable"}}'

    assert ErrorResponse(None, ErrorObject(-32700, "unreadable")) == decode_message(frame)


def test_members_nobody_knows_are_ignored() -> None:
    assert Request(1, "m") == decode_message(b'{"x":{"id":2},"jsonrpc":"2.0","id":1,"method":"m","extra":[]}')


def test_a_byte_order_mark_is_ignored() -> None:
    assert Notification("m") == decode_message(b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"m"}')


def test_text_that_is_not_ascii_is_read() -> None:
    assert Notification("größe") == decode_message('{"jsonrpc":"2.0","method":"größe"}'.encode())


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "truncated"),
        (b"   ", "truncated"),
        (b'{"jsonrpc":"2.0","method":"m"', "truncated"),
        (b"[1,", "truncated"),
        (b"Listening on port 80", "malformed"),
        (b'{"jsonrpc":"2.0","method":"m"} trailing', "trailing"),
        (b'{"jsonrpc":"2.0","method":"m","params":NaN}', "malformed"),
        (b'{"jsonrpc":"1.0","method":', "truncated"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xff"}}', "not UTF-8 at byte 45"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 at byte 0"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_a_frame_that_is_not_json_is_a_parse_error(frame: bytes, reason: str) -> None:
    message = invalid(frame)

    assert (PARSE_ERROR, None, False) == (message.number, message.id, message.answers)
    assert reason in message.reason


@pytest.mark.requirement("wire-types-have-one-source")
@pytest.mark.parametrize(
    ("frame", "reason", "id_"),
    [
        (b'{"id":1,"method":"m"}', "`jsonrpc`", 1),
        (b'{"jsonrpc":"1.0","id":"a","method":"m"}', "$.jsonrpc", "a"),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', "$.jsonrpc", 1),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "$.method", 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', "$.method", 1),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', "$.id", None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', "$.id", None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', "$.id", None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', "`id`", None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","result":1}', "`method` together with", 1),
        (b'{"jsonrpc":"2.0","method":"m","error":{"code":1,"message":"m"}}', "`method` together with", None),
        (b"5", "Expected `object`", None),
        (b"null", "Expected `object`", None),
        (b'"text"', "Expected `object`", None),
        (b"[]", "empty batch", None),
        (b" [ ] ", "empty batch", None),
    ],
)
def test_json_that_is_no_request_is_refused_with_the_id_that_could_be_read(
    frame: bytes, reason: str, id_: int | str | None
) -> None:
    message = invalid(frame)

    assert (INVALID_REQUEST, id_, False) == (message.number, message.id, message.answers)
    assert reason in message.reason


@pytest.mark.parametrize(
    ("frame", "reason", "id_"),
    [
        (b'{"jsonrpc":"2.0","id":1}', "none of `method`, `result`, `error`", 1),
        (b'{"jsonrpc":"2.0"}', "none of `method`, `result`, `error`", None),
        (b'{"jsonrpc":"2.0","result":{}}', "`id` is missing", None),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', "`id` is missing", None),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}', "both `result` and `error`", 1),
        (b'{"jsonrpc":"2.0","id":1,"error":"text"}', "`error` is malformed", 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "`message`", 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}', "$.code", 1),
        (b'{"id":1,"result":{}}', "`jsonrpc`", 1),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', "$.id", None),
    ],
)
def test_a_broken_answer_is_marked_as_one_so_that_its_caller_need_not_hang(
    frame: bytes, reason: str, id_: int | str | None
) -> None:
    message = invalid(frame)

    assert (INVALID_REQUEST, id_, True) == (message.number, message.id, message.answers)
    assert reason in message.reason


def test_only_the_beginning_of_a_broken_frame_is_kept() -> None:
    frame = b"x" * 10_000

    assert frame[:200] == invalid(frame).sample


def test_a_batch_is_read_member_by_member() -> None:
    message = decode_message(b' [{"jsonrpc":"2.0","id":1,"method":"a"}, {"jsonrpc":"2.0","method":"b"}]')

    assert Batch((Request(1, "a"), Notification("b"))) == message


def test_a_bad_member_of_a_batch_spoils_no_other() -> None:
    message = decode_message(b'[5,{"jsonrpc":"2.0","id":1,"method":"a"},[]]')

    assert isinstance(message, Batch)
    bad, good, empty = message.messages
    assert Request(1, "a") == good
    assert isinstance(bad, InvalidMessage)
    assert isinstance(empty, InvalidMessage)


def test_a_batch_within_a_batch_is_refused() -> None:
    message = decode_message(b'[[{"jsonrpc":"2.0","id":1,"method":"a"}]]')

    assert isinstance(message, Batch)
    (inner,) = message.messages
    assert isinstance(inner, InvalidMessage)
    assert (INVALID_REQUEST, "a batch within a batch") == (inner.number, inner.reason)


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        (Request(1, "m"), b'{"jsonrpc":"2.0","id":1,"method":"m"}'),
        (Request("1", "m", Params("x")), b'{"jsonrpc":"2.0","id":"1","method":"m","params":{"name":"x"}}'),
        (Notification("m", {"a": None}), b'{"jsonrpc":"2.0","method":"m","params":{"a":null}}'),
        (Response(1, None), b'{"jsonrpc":"2.0","id":1,"result":null}'),
        (Response(1, Raw(b'{"a": 1}')), b'{"jsonrpc":"2.0","id":1,"result":{"a": 1}}'),
        (ErrorResponse(None, ErrorObject(1, "m")), b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'),
        (
            ErrorResponse(1, ErrorObject(1, "m", None)),
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}',
        ),
        (
            Batch((Notification("a"), Notification("b"))),
            b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]',
        ),
    ],
)
def test_a_message_is_written_with_exactly_its_members(message: Message, frame: bytes) -> None:
    assert frame == encode_message(message)


def test_raw_json_that_is_spread_over_lines_is_written_on_one() -> None:
    frame = encode_message(Response(1, Raw(b'{\r\n  "a": "x\\ny"\n}')))

    assert b'{"jsonrpc":"2.0","id":1,"result":{  "a": "x\\ny"}}' == frame


def test_line_breaks_inside_text_are_written_as_escapes() -> None:
    frame = encode_message(Response(1, "a\r\nb\u2028c"))

    assert b"\n" not in frame
    assert Response(1, Raw('"a\\r\\nb\u2028c"'.encode())) == decode_message(frame)


def test_a_value_that_carries_its_own_json_is_written_as_that() -> None:
    assert b'[{"type":"hologram"}]' == encode([CarriesRaw(Raw(b'{"type":"hologram"}'))])


@pytest.mark.parametrize("value", [object(), CarriesRaw("no raw JSON"), {"deep": [object]}])
def test_a_value_without_a_json_form_is_refused_by_the_name_of_its_type(value: object) -> None:
    with pytest.raises(TypeError, match="type (object|CarriesRaw|type) cannot be written as JSON"):
        encode(value)


@given(messages)
def test_every_message_comes_back_as_it_was_written(message: Request | Notification | Response | ErrorResponse) -> None:
    read = decode_message(encode_message(message))

    assert type(message) is type(read)
    for name in message.__struct_fields__:
        assert plain(getattr(message, name)) == plain(getattr(read, name))


@given(messages)
def test_a_written_message_has_no_line_break(message: Message) -> None:
    assert set() == set(encode_message(message)) & set(b"\r\n")


@given(st.lists(messages, min_size=1, max_size=4))
def test_a_batch_reads_like_its_members(members: list[Request | Notification | Response | ErrorResponse]) -> None:
    batch = decode_message(encode_message(Batch(tuple(members))))

    assert Batch(tuple(decode_message(encode_message(member)) for member in members)) == batch  # pyright: ignore[reportArgumentType]


@given(st.binary())
def test_any_bytes_are_read_as_some_message(frame: bytes) -> None:
    assert isinstance(decode_message(frame), Message)


@given(json_values)
def test_any_json_is_read_as_some_message(value: JsonValue) -> None:
    assert isinstance(decode_message(encode(value)), Message)


@given(messages, st.data())
def test_a_cut_or_changed_frame_is_read_as_some_message(message: Message, data: st.DataObject) -> None:
    frame = bytearray(encode_message(message))
    position = data.draw(st.integers(0, len(frame) - 1))
    frame[position] = data.draw(st.integers(0, 255))

    assert isinstance(decode_message(bytes(frame)), Message)
    assert isinstance(decode_message(bytes(frame[:position])), InvalidMessage)


def test_half_a_surrogate_pair_becomes_the_replacement_character_and_costs_nothing_else() -> None:
    message = decode_message(rb'{"jsonrpc":"2.0","id":1,"result":"\\ud83d cut: \ud83d, whole: \ud83d\ude00, \udc00"}')

    assert isinstance(message, Response)
    assert "\\ud83d cut: \ufffd, whole: 😀, \ufffd" == plain(message.result)


def test_a_frame_with_half_a_pair_that_is_broken_otherwise_stays_broken() -> None:
    assert PARSE_ERROR == invalid(rb'{"jsonrpc":"2.0","id":1,"result":"\ud83d').number


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}', Response),
        (b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}', ErrorResponse),
    ],
)
def test_the_member_that_does_not_apply_may_be_null(frame: bytes, expected: type) -> None:
    assert expected is type(decode_message(frame))


def test_a_batch_of_too_many_messages_is_refused_before_they_are_looked_at() -> None:
    assert "more than 1000" in invalid(b"[" + b"1," * 1000 + b"1]").reason


def test_a_deeply_nested_batch_costs_one_look() -> None:
    batch = decode_message(b"[" * 200 + b"]" * 200)

    assert isinstance(batch, Batch)
    assert ["a batch within a batch"] == [getattr(member, "reason", None) for member in batch.messages]


@pytest.mark.parametrize("value", ["\ud83d", 10**5000], ids=["half a pair", "5000 digits"])
def test_text_and_numbers_beyond_json_are_refused_like_any_other_value(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        encode(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)

    with pytest.raises(TypeError, match="no JSON form"):
        encode(ring)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"content":[', b'"}]}}', (7, True)),
        (b'{"result":{"content":[', b']},"jsonrpc":"2.0","id":"a-1"}', ("a-1", True)),
        (b'{"result":{"content":[', b']},"id":3,"jsonrpc":"2.0"}\r', (3, True)),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{', b"}}", (7, False)),
        (b'{"method":"tools/call","params":{"id":1,', b'},"jsonrpc":"2.0","id":2}', (2, False)),
        (b'{"result":{"id":5,"content":[', b'"x":{"id":6}}}', (None, False)),
        (b"[[[[", b"]]]]", (None, False)),
    ],
)
def test_a_frame_of_which_only_the_ends_are_left_still_tells_whose_it_was(
    start: bytes, end: bytes, expected: object
) -> None:
    assert expected == identify(start, end)


@pytest.mark.parametrize("result", [b'{"structuredContent":NaN}', b"[" * 5000 + b"]" * 5000])
def test_an_answer_that_cannot_be_read_still_tells_who_waits_for_it(result: bytes) -> None:
    message = invalid(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}")

    assert (7, True) == (message.id, message.answers)


def test_what_is_nested_too_deeply_is_called_so() -> None:
    assert "the message is nested too deeply" == invalid(b'{"a":' * 100_000).reason


class Measured(Struct):
    """A struct with a number in it."""

    value: float


@dataclass
class Weighed:
    """A dataclass with a number in it."""

    value: float


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: {"a": [None, n]}, lambda n: (n,), Measured, Weighed])
def test_nan_and_infinity_are_refused_wherever_they_are(number: float, wrap: Callable[[float], object]) -> None:
    with pytest.raises(TypeError, match="NaN"):
        encode(wrap(number))


@pytest.mark.parametrize("value", [None, {"a": None, "b": 1.5}, [Measured(2.0), None, "null"]])
def test_null_and_finite_numbers_are_json(value: object) -> None:
    assert b"null" in encode(value)
