"""The kinds of results of the stateless era, and what each kind carries. Spec: basic, Result Responses

A complete result says that it is one, who made it and, where its method is cacheable, how long it stays fresh; one that
asks for input says what it asks for, and is never fresh.
"""

from math import inf
from typing import Final

from msgspec import DecodeError, Raw
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.complaints import ROOT, explain
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Payload
from suaveplan_mcp.protocol.admission import NOT_JSON, raw_json
from suaveplan_mcp.protocol.methods import Method
from suaveplan_mcp.types.base import Result, WireStruct, keep_raw
from suaveplan_mcp.types.caching import CacheableResult
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.input_responses import InputResponseRequestParams
from suaveplan_mcp.types.meta import SERVER_INFO_KEY

COMPLETE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"

_META: Final = "_meta"
_RESULT_TYPE: Final = "resultType"
_TTL: Final = "ttlMs"
_SCOPE: Final = "cacheScope"


class _Said(WireStruct, frozen=True, kw_only=True):
    """What is read of a result whatever its method is."""

    result_type: JsonValue = None
    ttl_ms: JsonValue = None
    cache_scope: JsonValue = None


_members: Final = Decoder(dict[str, Raw])
_meta_members: Final = Decoder(dict[str, Raw] | None)
_said: Final = Decoder(_Said)
_input_required: Final = Decoder(InputRequiredResult)


def kind_of(result: Payload) -> JsonValue:
    """Return what a result says of its kind; None where it says nothing, or cannot be read."""
    try:
        return _said.decode(result if isinstance(result, Raw) else raw_json(result)).result_type
    except (DecodeError, RecursionError, MCPError):
        return None


def may_ask(method: Method) -> bool:
    """Tell whether an answer to a method may ask for input. Spec: basic/patterns/mrtr, Supported Requests"""
    return issubclass(method.params, InputResponseRequestParams)


def admit_input_required(method: Method, result: Payload) -> InputRequiredResult:
    """Return the typed form of a result that asks for input.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, it is malformed, or no answer to the method.
    """
    if not may_ask(method):
        raise _malformed(method, _RESULT_TYPE, "no answer to this method may ask for input")
    if type(result) is InputRequiredResult:
        required = result
    else:
        try:
            raw = result if isinstance(result, Raw) else Raw(encode(result))
            required = _input_required.decode(raw)
        except (DecodeError, *NOT_JSON) as error:
            raise _malformed(method, *explain(error), error) from error
        keep_raw(required, raw)
    if required.input_requests is None and required.request_state is None:
        raise _malformed(method, ROOT, "it asks for input, but has neither `inputRequests` nor `requestState`")
    return required


def seal_input_required(method: Method, result: InputRequiredResult, info: JsonObject | None) -> Payload:
    """Return a result that asks for input, fit to be sent.

    Args:
        method: what is answered.
        result: what its handler returned.
        info: what this server calls itself; None to keep it to itself.

    Raises:
        MCPError: `HANDLER_FAILED`, it is no answer to the method, or asks for nothing.
    """
    if not may_ask(method):
        raise _wrong(method, _RESULT_TYPE, "it asks for input, which no answer to that method may")
    if result.input_requests is None and result.request_state is None:
        raise _wrong(method, ROOT, "it asks for input, but has neither `inputRequests` nor `requestState`")
    if result.raw is None:
        return replace(result, result_type=INPUT_REQUIRED, meta=identify(result.meta, info))
    members = _members.decode(result.raw)
    members[_RESULT_TYPE] = Raw(encode(INPUT_REQUIRED))
    for hint in (_TTL, _SCOPE):
        # It may have come with them from elsewhere, but is never fresh.
        members.pop(hint, None)
    return _written(members, info)


def require_complete(method: Method, result: Result) -> Result:
    """Return a typed result that does not say that it asks for input, which it cannot.

    Raises:
        MCPError: `HANDLER_FAILED`, it says so.
    """
    if result.result_type == INPUT_REQUIRED:
        raise _wrong(method, _RESULT_TYPE, "only an `InputRequiredResult` can ask for input")
    return result


def complete(result: Result, info: JsonObject | None) -> Result:
    """Return a result with all that every complete one carries. Spec: basic; server/utilities/caching"""
    kind = result.result_type or COMPLETE
    meta = identify(result.meta, info)
    if isinstance(result, CacheableResult):
        ttl, scope = _fresh(result.ttl_ms), result.cache_scope or "private"
        return replace(result, result_type=kind, meta=meta, ttl_ms=ttl, cache_scope=scope)
    return replace(result, result_type=kind, meta=meta)


def complete_json(method: Method, result: Raw, info: JsonObject | None) -> Payload:
    """Return what `complete` does of a result that is JSON already; whatever else is in it stays.

    One that asks for input is sealed as such.

    Raises:
        MCPError: `HANDLER_FAILED`, it is no JSON object, its `_meta` is none, or it asks for input in a wrong way.
    """
    try:
        members, said = _members.decode(result), _said.decode(result)
        if said.result_type == INPUT_REQUIRED:
            required = _input_required.decode(result)
            keep_raw(required, result)
            return seal_input_required(method, required, info)
        if not isinstance(said.result_type, str) or not said.result_type:
            members[_RESULT_TYPE] = Raw(encode(COMPLETE))
        if method.cacheable:
            ttl = _fresh(said.ttl_ms)
            if type(said.ttl_ms) is not int or ttl != said.ttl_ms:
                members[_TTL] = Raw(encode(ttl))
            if said.cache_scope not in ("private", "public"):
                members[_SCOPE] = Raw(encode("private"))
        return _written(members, info)
    except (DecodeError, RecursionError) as error:
        raise _wrong(method, *explain(error), error) from error


def identify(meta: JsonObject | None, info: JsonObject | None) -> JsonObject | None:
    """Return the `_meta` of a result with who made it, whatever it says: what came from elsewhere is ours to answer."""
    return meta if info is None else {**(meta or {}), SERVER_INFO_KEY: info}


def _written(members: dict[str, Raw], info: JsonObject | None) -> Raw:
    if info is not None:
        meta = (_meta_members.decode(members[_META]) if _META in members else None) or {}
        meta[SERVER_INFO_KEY] = Raw(encode(info))
        members[_META] = Raw(encode(meta))
    return Raw(encode(members))


def _fresh(ttl_ms: JsonValue) -> int:
    """Return whole milliseconds from 0 on, 0 for all that is no such number: a freshness must be written as one."""
    if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool) and 0 <= ttl_ms < inf:
        return int(ttl_ms)
    return 0


def _malformed(method: Method, path: str, reason: str, cause: Exception | None = None) -> MCPProtocolError:
    text = f"the result of {method.name} is malformed at {path}: {reason}"
    context = {"method": method.name, "path": path, "reason": reason}
    return MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, cause=cause, context=context)


def _wrong(method: Method, path: str, reason: str, cause: Exception | None = None) -> MCPError:
    text = f"the handler of {method.name} returned a wrong result at {path}: {reason}"
    return MCPError(MCP_CODES.HANDLER_FAILED, text, cause=cause, context={"method": method.name})
