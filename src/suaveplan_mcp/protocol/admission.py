"""From a payload to a typed struct and back: where params and results are checked, once on the way in and once out.

A payload is raw JSON from a wire, a typed struct handed over in memory, or plain JSON. A struct of the right type
passes as it is; everything else goes through the method's own decoder, so nothing that is no JSON can pass and nothing
mutable is shared between the two sides of an in-memory pair.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, DecodeError, Raw, Struct
from msgspec.json import decode
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.complaints import ROOT, explain
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Payload, RequestId
from suaveplan_mcp.protocol.methods import Method
from suaveplan_mcp.protocol.tolerance import decode_leniently
from suaveplan_mcp.types.base import RequestParams, Result, WireStruct

INVALID_PARAMS_MESSAGE: Final = "Invalid request parameters"
PROGRESS_TOKEN: Final = "progressToken"

NOT_JSON: Final = (TypeError, ValueError, OverflowError, RecursionError)
"""What the encoder raises for a value that has no JSON form."""

_EMPTY: Final = Raw(b"{}")
_NULL: Final = Raw(b"null")
_META: Final = "_meta"


class SealedResult(Struct, frozen=True):
    """A result that its maker has written as JSON once and for all, and that lacks nothing."""

    json: Raw


def invalid_params(path: str, reason: str) -> MCPError:
    """Return the error for params that do not fit their method. Spec: basic, Error Codes"""
    data = {"code": MCP_CODES.INVALID_PARAMS, "path": path, "reason": reason}
    return MCPError(
        MCP_CODES.INVALID_PARAMS, INVALID_PARAMS_MESSAGE, data=data, context={"path": path, "reason": reason}
    )


def raw_json(value: Payload) -> Raw:
    """Write plain JSON as raw JSON.

    Raises:
        MCPError: `INVALID_PARAMS`, a value inside it has no JSON form.
    """
    try:
        return Raw(encode(value))
    except NOT_JSON as error:
        raise invalid_params(ROOT, f"not JSON: {error}") from error


def admit_params(method: Method, params: Payload) -> WireStruct:
    """Return the typed params of a message that came.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the path and the reason.
    """
    if type(params) is method.params:
        return params  # pyright: ignore[reportReturnType]  it has the very type that is asked for
    raw = _EMPTY if params is UNSET else params if type(params) is Raw else raw_json(params)
    try:
        return method.params_decoder.decode(raw)
    except (DecodeError, RecursionError) as error:
        if raw == _NULL:
            return admit_params(method, UNSET)
        path, reason = explain(error)
        raise invalid_params(path, reason) from error


def meta_of(params: Payload) -> JsonObject | None:
    """Return the `_meta` of params, None where they have none. Spec: basic, General fields (`_meta`)"""
    meta: JsonValue = params.get(_META) if isinstance(params, dict) else getattr(params, "meta", None)
    return meta if isinstance(meta, dict) else None


def progress_token(meta: JsonObject | None) -> RequestId | None:
    """Return the progress token of a request, None where it asks for no progress. Spec: basic/utilities/progress

    Raises:
        MCPError: `INVALID_PARAMS`, the token is neither a string nor an integer.
    """
    token = meta.get(PROGRESS_TOKEN) if meta else None
    if token is None or type(token) is int or type(token) is str:
        return token
    raise invalid_params(f"{_META}.{PROGRESS_TOKEN}", f"Expected `int | str`, got `{type(token).__name__}`")


def with_progress_token(params: Payload, token: RequestId) -> Payload:
    """Return params with the token in `_meta`; what cannot carry one is returned as it is.

    Raises:
        MCPError: `INVALID_PARAMS`, they are no JSON.
    """
    if isinstance(params, RequestParams):
        return replace(params, meta={**(params.meta or {}), PROGRESS_TOKEN: token})
    try:
        plain: JsonValue = {} if params is UNSET or params is None else decode(raw_json(params))
    except (DecodeError, RecursionError) as error:
        raise invalid_params(ROOT, f"not JSON: {error}") from error
    if not isinstance(plain, dict):
        return params
    meta = plain.get(_META) or {}
    return {**plain, _META: {**meta, PROGRESS_TOKEN: token}} if isinstance(meta, dict) else params


def seal_params(method: Method, params: Payload, token: RequestId | None) -> Payload:
    """Return params fit to be sent, with the progress token in `_meta`.

    Raises:
        MCPError: `INVALID_PARAMS`, they do not fit the method.
    """
    if token is not None:
        params = with_progress_token(params, token)
    if type(params) is method.params:
        return params
    sealed = UNSET if params is UNSET or params is None else raw_json(params)
    admit_params(method, sealed)
    return sealed


def admit_result(method: Method, result: Payload) -> tuple[Payload, Sequence[str]]:
    """Return the typed result of an answer that came, and what was forgiven in it.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, it is no such result; the message names the method and the path.
    """
    kind = method.result
    if type(result) is kind:
        return result, ()
    try:
        raw = result if type(result) is Raw else Raw(encode(result))
        # Only requests are answered, and every request has a result.
        return decode_leniently(kind, method.result_decoder, raw)  # pyright: ignore[reportArgumentType]
    except (DecodeError, *NOT_JSON) as error:
        path, reason = explain(error)
        text = f"the result of {method.name} is malformed at {path}: {reason}"
        context = {"method": method.name, "path": path, "reason": reason}
        raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, cause=error, context=context) from error


def seal_result(method: Method, result: Payload) -> Payload:
    """Return a handler's result fit to be sent. Plain JSON is checked and then sent with all that is in it.

    A struct that came from a peer goes on in its raw form, so that what this side does not know is not lost.

    Raises:
        MCPError: `HANDLER_FAILED`, the handler returned something else than its method asks for.
    """
    if type(result) is SealedResult:
        return result.json
    if isinstance(result, Result) and result.raw is not None:
        return result.raw
    if type(result) is method.result or isinstance(result, Raw):
        return result
    try:
        raw = Raw(encode({} if result is None else result))
        method.result_decoder.decode(raw)
    except (DecodeError, *NOT_JSON) as error:
        path, reason = explain(error)
        text = f"the handler of {method.name} returned a wrong result at {path}: {reason}"
        raise MCPError(MCP_CODES.HANDLER_FAILED, text, cause=error, context={"method": method.name}) from error
    return raw
