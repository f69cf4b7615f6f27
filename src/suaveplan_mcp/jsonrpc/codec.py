"""Bytes to message and back: the only code that knows the JSON of the envelope."""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final, Literal, cast

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError
from msgspec.json import Decoder, Encoder, decode

from suaveplan_mcp.errors import INVALID_REQUEST, PARSE_ERROR
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    JsonValue,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)


class _Envelope(Struct):
    """Any message; msgspec cannot tell untagged structs apart, so the members decide afterwards."""

    jsonrpc: Literal["2.0"]
    id: RequestId | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


def _raw_form(value: object) -> Raw:
    """Write a value that carries its own JSON as `raw`."""
    raw = getattr(value, "raw", None)
    if isinstance(raw, Raw):
        return raw
    raise TypeError(f"a value of type {type(value).__qualname__} cannot be written as JSON")


_encoder: Final = Encoder(enc_hook=_raw_form)
_envelope: Final = Decoder(_Envelope)
_error: Final = Decoder(ErrorObject)
_raw_list: Final = Decoder(list[Raw])

_BOM: Final = b"\xef\xbb\xbf"
_SAMPLE: Final = 200

# Every escape in turn, so that the second of two backslashes never counts as the first of an escape.
_HALF_PAIRS: Final = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL)

# The members of the outer object that come before anything nested; an id, there or as one of the last two members.
_FLAT_START: Final = re.compile(rb"\s*\{[^{\[]*")
_ID: Final = re.compile(rb'"id"\s*:\s*(?P<id>-?\d+|"[^"\\]*")\s*,')
_ID_AT_THE_END: Final = re.compile(rb'"id"\s*:\s*(?P<id>-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

MOST_IN_A_BATCH: Final = 1000
"""How many messages one frame may hold."""

Single = Request | Notification | Response | ErrorResponse | InvalidMessage


def encode(value: object) -> bytes:
    """Write a struct or plain JSON as JSON; a value that carries its own JSON as `raw` goes in as it is.

    Raises:
        TypeError: a value inside it has no JSON form; the message names its type.
    """
    try:
        return require_finite(value, _encoder.encode(value))
    except (ValueError, OverflowError, RecursionError) as error:
        # Text with half a surrogate pair, an integer of thousands of digits, a list that contains itself.
        raise TypeError(f"the value has no JSON form: {error}") from error


def require_finite(value: object, encoded: bytes) -> bytes:
    """Return `encoded`, the JSON of `value`, unless a number in it was lost on the way.

    msgspec writes NaN and infinity as `null`; so where there is no `null` nothing needs to be looked for.

    Raises:
        TypeError: `value` holds NaN or infinity.
    """
    if b"null" in encoded and _holds_non_finite(value):
        raise TypeError("NaN and infinity have no JSON form")
    return encoded


def _holds_non_finite(value: object) -> bool:
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_holds_non_finite, cast("Mapping[object, object]", value).values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_non_finite, cast("Iterable[object]", value)))
    names: Iterable[str] = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", ())
    return any(_holds_non_finite(getattr(value, name, None)) for name in names)


def encode_message(message: Message) -> bytes:
    """Write one message as JSON on a single line.

    Raises:
        TypeError: a value inside it has no JSON form.
    """
    frame = encode(message.messages if type(message) is Batch else message)
    # Raw JSON from elsewhere is embedded as it is and may be spread over lines; between tokens a line break is mere
    # space.
    if b"\n" in frame or b"\r" in frame:
        return frame.translate(None, b"\r\n")
    return frame


def decode_message(frame: bytes) -> Message:
    """Read one frame; the answer is a message in any case.

    Args:
        frame: UTF-8 JSON; a byte order mark before it is ignored.

    Returns:
        The message, with params and result still raw. `InvalidMessage` says what is wrong with a frame that holds none.
    """
    if frame.startswith(_BOM):
        frame = frame[len(_BOM) :]
    # Raw members are not looked into by the decoder, so bad UTF-8 inside them must be found here.
    if not frame.isascii():
        try:
            frame.decode()
        except UnicodeDecodeError as error:
            return _broken(PARSE_ERROR, f"the frame is not UTF-8 at byte {error.start}", frame)
    try:
        return _classify(_envelope.decode(frame), frame)
    except ValidationError as error:
        return _batch_or_invalid(frame, str(error))
    except (DecodeError, RecursionError) as error:
        mended = _HALF_PAIRS.sub(_mend, frame) if b"\\u" in frame else frame
        return _unreadable(error, frame) if mended == frame else decode_message(mended)


def identify(start: bytes, end: bytes) -> tuple[RequestId | None, bool]:
    """Find out which message a frame was of which only the two ends are there, so that no caller waits for it in vain.

    Args:
        start: the first bytes of the frame.
        end: its last bytes.

    Returns:
        The id, None where it stands in neither end, and whether the frame was an answer rather than a request.
    """
    flat = _FLAT_START.match(start)
    members = b"" if flat is None else flat[0]
    found = _ID.search(members) or _ID_AT_THE_END.search(end)
    return (None, False) if found is None else (decode(found["id"], type=RequestId), b'"method"' not in members)


def _classify(envelope: _Envelope, frame: bytes) -> Single:
    method, id_ = envelope.method, envelope.id
    if method is not UNSET:
        if envelope.result is not UNSET or envelope.error is not UNSET:
            return _broken(INVALID_REQUEST, "a message has `method` together with `result` or `error`", frame, id_)
        if id_ is UNSET:
            return Notification(method, envelope.params)
        if id_ is None:
            return _broken(INVALID_REQUEST, "`id` of a request must be a string or an integer, not null", frame)
        return Request(id_, method, envelope.params)
    if envelope.error is not UNSET:
        return _classify_error(envelope, envelope.error, frame)
    if envelope.result is UNSET:
        return _broken(INVALID_REQUEST, "a message has none of `method`, `result`, `error`", frame, id_, answers=True)
    if id_ is UNSET or id_ is None:
        return _broken(INVALID_REQUEST, "`id` is missing from a response", frame, answers=True)
    return Response(id_, envelope.result)


def _classify_error(envelope: _Envelope, error: Raw, frame: bytes) -> Single:
    id_ = envelope.id
    if envelope.result is not UNSET:
        # Some peers write the member that does not apply as null.
        if bytes(error) == b"null" and id_ is not UNSET and id_ is not None:
            return Response(id_, envelope.result)
        if bytes(envelope.result) != b"null":
            return _broken(INVALID_REQUEST, "a response has both `result` and `error`", frame, id_, answers=True)
    try:
        return ErrorResponse(None if id_ is UNSET else id_, _error.decode(error))
    except (DecodeError, RecursionError) as problem:
        return _broken(INVALID_REQUEST, f"`error` is malformed: {problem}", frame, id_, answers=True)


def _batch_or_invalid(frame: bytes, reason: str) -> Message:
    """Read JSON that is no single message."""
    try:
        if not frame.lstrip().startswith(b"["):
            return _not_a_message(decode(frame), frame, reason)
        members = _raw_list.decode(frame)
    except (DecodeError, RecursionError) as error:
        return _unreadable(error, frame)
    if not members:
        return _broken(INVALID_REQUEST, "an empty batch", frame)
    if len(members) > MOST_IN_A_BATCH:
        return _broken(INVALID_REQUEST, f"a batch of more than {MOST_IN_A_BATCH} messages", frame)
    return Batch(tuple(_decode_member(bytes(member)) for member in members))


def _decode_member(frame: bytes) -> Single:
    # Looked at before it is decoded: every level of nesting would cost another pass over the whole frame.
    if frame.startswith(b"["):
        return _broken(INVALID_REQUEST, "a batch within a batch", frame)
    return cast("Single", decode_message(frame))


def _mend(escape: "re.Match[bytes]") -> bytes:
    """Replace half a surrogate pair, which JSON's grammar allows and Unicode does not, by the replacement character."""
    return escape[0] if escape["half"] is None else b"\\ufffd"


def _not_a_message(value: JsonValue, frame: bytes, reason: str) -> InvalidMessage:
    """Say what is wrong with JSON that is no message, with its id where it has a legal one."""
    if not isinstance(value, dict):
        return _broken(INVALID_REQUEST, reason, frame)
    id_ = value.get("id")
    legal = id_ if type(id_) is int or type(id_) is str else None
    return _broken(INVALID_REQUEST, reason, frame, legal, answers="method" not in value)


def _unreadable(error: DecodeError | RecursionError, frame: bytes) -> InvalidMessage:
    """Say what is wrong with a frame that is no JSON, and whose it was where its ends tell."""
    reason = "the message is nested too deeply" if isinstance(error, RecursionError) else str(error)
    id_, answers = identify(frame[:_SAMPLE], frame[-_SAMPLE:])
    return _broken(PARSE_ERROR, reason, frame, id_, answers=answers)


def _broken(
    number: int, reason: str, frame: bytes, id_: RequestId | None | UnsetType = None, *, answers: bool = False
) -> InvalidMessage:
    return InvalidMessage(number, reason, None if id_ is UNSET else id_, frame[:_SAMPLE], answers)
