"""Results that a handler built of wire structs, looked at again before they are sent."""

from collections.abc import Sequence
from typing import TypeVar, cast

from msgspec import DecodeError, Raw
from msgspec.structs import replace

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.methods import METHODS, Method
from suaveplan_mcp.server.refusals import InvalidResultError, MismatchError
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.types.base import Result, WireStruct

R = TypeVar("R", bound=Result)


def look_over(method: str, label: str, returned: object, result: R) -> R:
    """Return a result that is nothing but JSON of the right types.

    Structs check nothing when they are made, and in memory they are not read from JSON. So those that a handler made,
    or that it changed after a peer had sent them, are written and read once. What the library made of plain values, and
    what came from a peer and is as it came, is known to be right; the latter keeps its raw form.

    Args:
        method: what the result answers.
        label: the handler, for the error.
        returned: what the handler returned.
        result: what was made of it.

    Raises:
        InvalidResultError: a part of it has the wrong type or no JSON form.
    """
    row = METHODS[method]["client"]
    if not _holds_structs(returned) or _is_as_it_came(row, result):
        return result
    try:
        return cast("R", _read(row, Raw(encode_value(result))))
    except (MismatchError, DecodeError) as error:
        raise InvalidResultError(label, str(error), cause=error) from error


def _is_as_it_came(row: Method, result: Result) -> bool:
    # Structs are frozen, but the lists and dictionaries in them are not.
    return result.raw is not None and admit_result(row, result.raw)[0] == result


def _read(row: Method, raw: Raw) -> object:
    try:
        return row.result_decoder.decode(raw)
    except DecodeError as error:
        try:
            # Content of a type that only the handler knows is right too. The copy has not the raw form of what a peer
            # sent.
            return replace(cast("Result", admit_result(row, raw)[0]))
        except MCPError:
            raise error from None


def _holds_structs(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, WireStruct) for item in cast("Sequence[object]", value))
    return isinstance(value, WireStruct)
