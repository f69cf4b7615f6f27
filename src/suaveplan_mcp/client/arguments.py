"""What a caller passes in: checked at once, so that a mistake is named where it was made and never reaches a wire."""

from collections.abc import Mapping
from typing import Final, TypeAlias, TypedDict

from msgspec import DecodeError, Raw, UnsetType
from msgspec.json import Decoder

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.complaints import explain
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.protocol.admission import PROGRESS_TOKEN
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import OnProgress

_NOTHING: Final = Raw(b"{}")
_object: Final = Decoder(dict[str, JsonValue])


Meta: TypeAlias = Mapping[str, JsonValue] | None
"""What a caller wants in `_meta`. Spec: basic, General fields (`_meta`)"""


class RequestOptions(TypedDict, total=False):
    """What every request can be given beside its params; what is left out is the client's own.

    Args:
        signal: gives the request up when it is aborted.
        timeout: seconds of silence to bear; None bears any, 0 none at all.
        total_timeout: seconds to bear in all.
        on_progress: called for every report of progress; asks for progress.
        headers: what goes out as HTTP headers with this one request, where the transport has any.
    """

    signal: AbortSignal | None
    timeout: float | None | UnsetType
    total_timeout: float | None | UnsetType
    on_progress: OnProgress | None
    headers: Mapping[str, str] | None


def refusal(argument: str, reason: str) -> MCPError:
    """Return the error for an argument of a call that cannot be sent."""
    context = {"argument": argument, "reason": reason}
    return MCPError(MCP_CODES.INVALID_PARAMS, f"`{argument}` is not valid: {reason}", context=context)


def require_text(argument: str, value: str) -> str:
    """Return `value`, which must be a string.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the argument.
    """
    if isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  callers need not be type-checked
        return value
    raise refusal(argument, f"expected a string, got {type(value).__qualname__}")


def encode_object(argument: str, value: object) -> Raw:
    """Return `value` as encoded JSON; None becomes the empty object.

    Args:
        argument: what the caller knows it as.
        value: a dict, or anything that msgspec writes as an object, such as a struct or a dataclass.

    Raises:
        MCPError: `INVALID_PARAMS`, it holds something that has no JSON form, or is no object.
    """
    if value is None:
        return _NOTHING
    encoded = encode_json(argument, value)
    if not encoded.startswith(b"{"):
        raise refusal(argument, f"expected an object, got {type(value).__qualname__}")
    return Raw(encoded)


def encode_json(argument: str, value: object) -> bytes:
    """Return `value` as JSON.

    Raises:
        MCPError: `INVALID_PARAMS`, it holds something that has no JSON form.
    """
    try:
        return encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise refusal(argument, f"not JSON: {error}") from error


def copy_meta(meta: Meta) -> JsonObject | None:
    """Return a copy of `_meta` that is plain JSON, so that nothing is shared with a peer in memory.

    Raises:
        MCPError: `INVALID_PARAMS`, it is no JSON object, or has a progress token, which only the client can hand out.
    """
    if meta is None:
        return None
    try:
        copy = _object.decode(encode_json("meta", meta))
    except DecodeError as error:
        raise refusal("meta", explain(error)[1]) from error
    if PROGRESS_TOKEN in copy:
        raise refusal(f"meta.{PROGRESS_TOKEN}", "the client makes the token itself; use `on_progress`")
    return copy
