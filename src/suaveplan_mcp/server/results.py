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

    Structs check nothing when they are made, and in memory nobody reads them from JSON. So those that a handler made
    are written and read once; what the library made of plain values, and what came from a peer, is known to be right.

    Args:
        method: what the result answers.
        label: the handler, for the error.
        returned: what the handler returned.
        result: what was made of it.

    Raises:
        InvalidResultError: a part of it has the wrong type or no JSON form.
    """
    if result.raw is not None or not _holds_structs(returned):
        return result
    try:
        return cast("R", _read(METHODS[method]["client"], Raw(encode_value(result))))
    except (MismatchError, DecodeError) as error:
        raise InvalidResultError(label, str(error), cause=error) from error


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
