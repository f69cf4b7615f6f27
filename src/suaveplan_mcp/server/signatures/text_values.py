"""Values that arrive as text, in prompt arguments and URIs, as the types a handler asks for."""

from collections.abc import Callable
from typing import Any, Final, cast

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.server.signatures.codecs import value_codec
from suaveplan_mcp.server.signatures.signature import EMPTY, CallableShape, Parameter, union_members

_AS_IT_IS: Final = (EMPTY, Any, object, str)


def text_reader(shape: CallableShape, parameter: Parameter) -> Callable[[str], object]:
    """Choose how the text for a parameter is read.

    Text stays text wherever the annotation allows a `str`. Containers are read as JSON, everything else as one scalar:
    `"3"` as a number, `"true"` as a boolean, `"red"` as the member of an enum.

    Args:
        shape: the handler.
        parameter: one of its parameters.

    Returns:
        What turns text into a value, raising `MismatchError` where it does not fit.

    Raises:
        RegistrationError: the annotation is of no known type.
    """
    if any(member is each for member in union_members(parameter.annotation) for each in _AS_IT_IS):
        return str
    codec = value_codec(shape, parameter.annotation, parameter=parameter.name)
    if _is_container(codec.schema, codec.schema):
        return lambda text: codec.decode(text.encode())
    return codec.parse


def _is_container(schema: JsonObject, root: JsonObject) -> bool:
    """Tell whether a schema, or an alternative of it, describes arrays or objects."""
    if schema.get("type") in ("array", "object"):
        return True
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    definitions = cast("dict[str, JsonObject]", root.get("$defs", {}))
    alternatives: list[JsonValue] = [definitions.get(reference), *cast("list[JsonValue]", schema.get("anyOf", []))]
    return any(isinstance(each, dict) and _is_container(each, root) for each in alternatives)
