"""Arguments of tools that travel as HTTP headers too: which ones, what they say, and whether they agree.

Spec: basic/transports/streamable-http, Custom Headers from Tool Parameters
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from msgspec import UNSET, DecodeError, Raw, UnsetType
from msgspec.json import Decoder

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.protocol.header_values import (
    HeaderValueError,
    decode_header_value,
    encode_header_value,
    header_mismatch,
    show,
)

ANNOTATION: Final = "x-mcp-header"
"""The member of a parameter's schema that names its header."""

PREFIX: Final = "Mcp-Param-"
"""What the name of every such header begins with."""

SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that every peer can read; its negative is the smallest."""

MAX_DEPTH: Final = 256
"""How many schemas may stand inside one another. None that a person wrote comes near."""

Kind: TypeAlias = Literal["string", "integer", "boolean"]
"""What type a parameter may have that travels as a header."""

_KINDS: Final[Mapping[JsonValue, Kind]] = {"string": "string", "integer": "integer", "boolean": "boolean"}
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# A header may write an integer with zeros around it, but no exponent; so many digits are always enough.
_INTEGER: Final = re.compile(r"(-?)0*([0-9]{1,16})(?:\.0{0,16})?")

_PROPERTIES: Final = "properties"
_MAPS: Final = frozenset({_PROPERTIES, "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"})
_SCHEMAS: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "oneOf",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_object: Final = Decoder(dict[str, JsonValue])


class ParamHeaderError(ValueError):
    """A tool's schema puts a parameter into a header where or how it may not; the text says where and why."""


class ParamHeader(NamedTuple):
    """A parameter that travels as a header.

    Args:
        header: the header's name, such as `Mcp-Param-Region`.
        path: where in the arguments its value is, from the outside in.
        kind: the type its schema gives it.
    """

    header: str
    path: tuple[str, ...]
    kind: Kind


class _Place(NamedTuple):
    """A schema and how it is reached: paths are written out only where they are needed, so that depth costs nothing."""

    schema: JsonObject
    keyword: str
    name: str | None
    outer: "_Place | None"
    depth: int
    reachable: bool


def find_param_headers(input_schema: JsonObject) -> tuple[ParamHeader, ...]:
    """Return the parameters of a tool that travel as headers, in the order of the schema.

    The whole schema is looked through, since an annotation in a place where none may be makes the tool illegal. What
    is no schema, such as a default or an example, is not; and no reference is followed.

    Args:
        input_schema: the tool's, plain JSON.

    Raises:
        ParamHeaderError: an annotation is illegal, or the schema is too deep to tell.

    Spec: basic/transports/streamable-http, Schema Extension
    """
    found: dict[str, ParamHeader] = {}
    # A list and no recursion: whoever wrote the schema decides how deep it is.
    waiting = [_Place(input_schema, "inputSchema", None, None, 0, reachable=True)]
    while waiting:
        place = waiting.pop()
        if place.depth > MAX_DEPTH:
            raise ParamHeaderError(f"more than {MAX_DEPTH} schemas stand inside one another, and any may name a header")
        if ANNOTATION in place.schema:
            parameter = _read_annotation(place)
            other = found.setdefault(parameter.header.lower(), parameter)
            if other is not parameter:
                raise _illegal(place, f"{parameter.header} is the header of {show('.'.join(other.path))} already")
        waiting.extend(reversed(list(_places_in(place))))
    return tuple(found.values())


def headers_of(found: Sequence[ParamHeader], arguments: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the headers that a call with these arguments has to carry.

    An argument that no header can carry has none: one of another type than the schema says is for the server to refuse.

    Args:
        found: what `find_param_headers` gave for the tool.
        arguments: those of the call.

    Spec: basic/transports/streamable-http, Client Behavior
    """
    headers: dict[str, str] = {}
    for parameter in found:
        text = _text_of(_value_at(arguments, parameter.path))
        if text is not None:
            try:
                headers[parameter.header] = encode_header_value(text)
            except HeaderValueError:
                continue
    return headers


def check_param_headers(
    found: Sequence[ParamHeader], headers: Mapping[str, str], arguments: Mapping[str, JsonValue]
) -> None:
    """Make sure that the headers of a call say the same as its arguments.

    Args:
        found: what `find_param_headers` gave for the tool.
        headers: those of the HTTP request, names in lower case; one that belongs to no parameter says nothing.
        arguments: those of the call.

    Raises:
        MCPError: -32020, naming the header that is missing, malformed, unexpected or wrong.

    Spec: basic/transports/streamable-http, Server Behavior for Custom Headers
    """
    for parameter in found:
        _check(parameter, headers.get(parameter.header.lower()), _value_at(arguments, parameter.path))


def read_arguments(arguments: Raw | UnsetType) -> JsonObject:
    """Return the arguments of a call as plain JSON; what is no object has none that could travel as headers."""
    if arguments is UNSET:
        return {}
    try:
        return _object.decode(arguments)
    except (DecodeError, RecursionError):
        return {}


# Schemas


def _places_in(outer: _Place) -> Iterator[_Place]:
    """Iterate over the schemas directly inside a schema."""
    for keyword, name, schema in _schemas_in(outer.schema):
        reachable = outer.reachable and keyword == _PROPERTIES
        yield _Place(schema, keyword, name, outer, outer.depth + 1, reachable)


def _schemas_in(schema: JsonObject) -> Iterator[tuple[str, str | None, JsonObject]]:
    for keyword, value in schema.items():
        named: Iterable[tuple[str | None, JsonValue]] = ()
        if keyword in _MAPS and isinstance(value, dict):
            named = value.items()
        elif keyword in _SCHEMAS:
            named = ((None, inner) for inner in (value if isinstance(value, list) else (value,)))
        for name, inner in named:
            if isinstance(inner, dict):
                yield keyword, name, inner


def _read_annotation(place: _Place) -> ParamHeader:
    """Return what the annotation of a schema says."""
    if not place.reachable or place.outer is None:
        raise _illegal(place, "only a property that is reached through `properties` alone may have a header")
    name = place.schema[ANNOTATION]
    if not isinstance(name, str):
        raise _illegal(place, "the name of a header is a string")
    if _TOKEN.fullmatch(name) is None:
        raise _illegal(place, f"{show(name)} cannot be a part of the name of a header")
    kind = place.schema.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise _illegal(place, "only a parameter whose type is string, integer or boolean may have a header")
    return ParamHeader(PREFIX + name, _path_of(place), _KINDS[kind])


def _path_of(place: _Place) -> tuple[str, ...]:
    """Return the names of the properties on the way to a place."""
    return tuple(step.name for step in _way_to(place) if step.name is not None)


def _way_to(place: _Place) -> list[_Place]:
    way: list[_Place] = []
    step: _Place | None = place
    while step is not None:
        way.append(step)
        step = step.outer
    return way[::-1]


def _illegal(place: _Place, reason: str) -> ParamHeaderError:
    where = ".".join(part for step in _way_to(place) for part in (step.keyword, step.name) if part is not None)
    return ParamHeaderError(f"{ANNOTATION} at {show(where)}: {reason}")


# Values


def _value_at(arguments: Mapping[str, JsonValue], path: Sequence[str]) -> JsonValue:
    """Return the value at a path; None where there is none, which is what `null` means too."""
    value = cast("JsonValue", arguments)
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _text_of(value: JsonValue) -> str | None:
    """Return a value as a header has it before it is encoded; None where no header can carry it.

    JSON has one type of numbers, so 42.0 is an integer.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and -SAFE_INTEGER <= value <= SAFE_INTEGER and value == int(value):
        return str(int(value))
    return None


def _check(parameter: ParamHeader, header: str | None, value: JsonValue) -> None:
    """Make sure that one header says the same as one argument."""
    name, argument = parameter.header, ".".join(parameter.path)
    text = _text_of(value)
    if text is None:
        if header is not None:
            raise header_mismatch(f"{name} is there, but the argument {argument} has no value that a header can carry")
        if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            # The one kind that the tool itself might take, though nobody on the way has seen it.
            raise header_mismatch(f"{name} is missing: the argument {argument} is beyond ±{SAFE_INTEGER}")
        return
    if header is None:
        raise header_mismatch(f"{name} is missing, but the argument {argument} is there")
    try:
        carried = decode_header_value(header)
    except HeaderValueError as error:
        raise header_mismatch(f"{name} is malformed: {error}") from error
    if carried != text and (isinstance(value, bool | str) or _as_integer(carried) != int(text)):
        raise header_mismatch(f"{name} is {show(carried)}, but the argument {argument} is {show(text)}")


def _as_integer(text: str) -> int | None:
    """Return the integer that a header says, however many zeros it has; None where it says none."""
    match = _INTEGER.fullmatch(text)
    return None if match is None else int(match[1] + match[2])
