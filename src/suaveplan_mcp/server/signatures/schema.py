"""Types as JSON Schema and as codecs, by msgspec. Other sources of schemas offer the same two protocols.

Every schema is one object: its references point into its own `$defs`, its root is no reference, and no title repeats
the name of a class or a parameter. Spec: server/tools
"""

import functools
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from types import UnionType
from typing import Annotated, Any, Final, Protocol, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from msgspec import UNSET, DecodeError, Meta, Raw, UnsetType, ValidationError, convert, defstruct, field
from msgspec.json import Decoder, Encoder, decode, schema_components
from msgspec.structs import astuple

from suaveplan_mcp.jsonrpc.codec import require_finite
from suaveplan_mcp.jsonrpc.complaints import ROOT
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.server.refusals import MismatchError, mismatch_of
from suaveplan_mcp.server.signatures.signature import EMPTY, Parameter, copier_of
from suaveplan_mcp.types.content import UnknownContent

Json: TypeAlias = bytes | Raw

_DEFINITIONS: Final = "#/$defs/"
_NULL: Final = Raw(b"null")
_ATOMS: Final = (type(None), bool, int, float, str)
_PYDANTIC: Final = frozenset({"pydantic", "pydantic_core", "annotated_types"})
_DESCRIBED: Final = ("__get_pydantic_core_schema__", "__pydantic_core_schema__")
# msgspec leaves the format of these out, because it takes more than the format allows.
_FORMATS: Final = ((datetime, "date-time"), (time, "time"))
_CONTAINERS: Final[tuple[Any, ...]] = (list, dict, tuple, set, frozenset, Sequence, Mapping)
_WITH_FIELDS: Final = ("__dataclass_fields__", "__struct_fields__", "__total__", "_fields")


class ArgumentsCodec(Protocol):
    """Read the arguments of a call."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments, an object."""
        ...

    def decode(self, data: Json) -> dict[str, object]:
        """Return the arguments by the names of the parameters.

        Raises:
            MismatchError: they do not fit.
        """
        ...


class ResultCodec(Protocol):
    """Read and write what a tool returns."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the values."""
        ...

    def decode(self, data: Json) -> object:
        """Read a value.

        Raises:
            MismatchError: it does not fit.
        """
        ...

    def encode(self, value: object) -> bytes:
        """Write a value that a handler returned, and see that it fits.

        Raises:
            MismatchError: it does not fit or has no JSON form.
        """
        ...


class ValueCodec(ResultCodec, Protocol):
    """Read and write the values of one type."""

    def parse(self, text: str) -> object:
        """Read a scalar that came as text, such as a number.

        Raises:
            MismatchError: it does not fit.
        """
        ...


def write_special(value: object) -> object:
    """Give msgspec another form of a value that it cannot write itself: a path, a model, unknown content."""
    if isinstance(value, UnknownContent):
        return value.raw
    path = getattr(value, "__fspath__", None)
    if path is not None:
        return path()
    model = getattr(value, "__pydantic_serializer__", None)
    if model is not None:
        return Raw(model.to_json(value, by_alias=True))
    raise TypeError(f"a value of type {type(value).__qualname__} has no JSON form")


_encoder: Final = Encoder(enc_hook=write_special)


def encode_value(value: object) -> bytes:
    """Write any value that has a JSON form.

    Raises:
        MismatchError: it has none; the reason names the type.
    """
    try:
        return require_finite(value, _encoder.encode(value))
    except RecursionError as error:
        raise MismatchError(ROOT, f"a value of type {type(value).__qualname__} contains itself") from error
    except (TypeError, ValueError) as error:
        raise MismatchError(ROOT, f"a value of type {type(value).__qualname__} cannot be JSON: {error}") from error


class StructArguments:
    """Read arguments with msgspec: one struct for all of them, made for one handler.

    Args:
        parameters: what the handler takes.

    Raises:
        TypeError: msgspec does not know a type.
        NameError: a type refers to another that cannot be found.
    """

    __slots__ = ("_decoder", "_names", "schema")

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        # The struct's own field names are neutral, since not every parameter's name can be one.
        fields = [_struct_field(f"p{index}", parameter) for index, parameter in enumerate(parameters)]
        wire_names = [_wire_name(parameter) for parameter in parameters]
        struct = defstruct(
            "(arguments)",
            fields,
            rename={f"p{index}": name for index, name in enumerate(wire_names)},
            forbid_unknown_fields=True,
            kw_only=True,
        )
        self._decoder: Decoder[Any] = Decoder(struct, dec_hook=_read_special)
        self._names = tuple(parameter.name for parameter in parameters)
        self.schema = schema_of(struct)
        properties = cast("dict[str, JsonObject]", self.schema["properties"])
        for name, parameter in zip(wire_names, parameters, strict=True):
            describe_property(properties[name], parameter)

    def decode(self, data: Json) -> dict[str, object]:
        """Return the arguments by the names of the parameters."""
        try:
            return dict(zip(self._names, astuple(self._decoder.decode(data)), strict=True))
        except (DecodeError, RecursionError) as error:
            raise mismatch_of(error) from error


class StructValue:
    """Read and write the values of one type with msgspec.

    Args:
        annotation: the type.

    Raises:
        TypeError: msgspec does not know the type.
        NameError: the type refers to another that cannot be found.
    """

    __slots__ = ("_annotation", "_decoder", "schema")

    def __init__(self, annotation: Any) -> None:
        self._annotation = _prepared(annotation)
        self._decoder: Decoder[Any] = Decoder(self._annotation, dec_hook=_read_special)
        self.schema = schema_of(self._annotation)

    def decode(self, data: Json) -> object:
        """Read a value."""
        try:
            return self._decoder.decode(data)
        except (DecodeError, RecursionError) as error:
            raise mismatch_of(error) from error

    def parse(self, text: str) -> object:
        """Read a scalar that came as text."""
        try:
            return convert(text, self._annotation, strict=False, dec_hook=_read_special)
        except ValidationError as error:
            raise mismatch_of(error) from error

    def encode(self, value: object) -> bytes:
        """Write a value that a handler returned. Structs check nothing when they are made, so its JSON is read back."""
        data = encode_value(value)
        self.decode(data)
        return data


def schema_of(annotation: Any) -> JsonObject:
    """Return the JSON Schema of a type that msgspec knows.

    Raises:
        TypeError: msgspec does not know it.
        NameError: it refers to a type that cannot be found.
    """
    (schema,), definitions = schema_components(
        [annotation], schema_hook=_special_schema, ref_template=_DEFINITIONS + "{name}"
    )
    for definition in definitions.values():
        definition.pop("title", None)
        if not definition.get("required", True):
            del definition["required"]
    return inline_root(schema, definitions)


def inline_root(schema: JsonObject, definitions: Mapping[str, JsonValue]) -> JsonObject:
    """Put the definition that a schema refers to in its own place, and keep those that are still referred to.

    Args:
        schema: the root, perhaps a reference.
        definitions: what `#/$defs/…` refers to.
    """
    kept = dict(definitions)
    root = dict(schema)
    name = str(root.get("$ref", "")).removeprefix(_DEFINITIONS)
    if name in kept:
        del root["$ref"]
        root = {**cast("JsonObject", kept[name]), **root}
        # Nothing but itself may refer to it any more.
        if not _refers_to([root, *kept.values()], _DEFINITIONS + name):
            del kept[name]
    return {**root, "$defs": kept} if kept else root


def _refers_to(value: JsonValue, reference: str) -> bool:
    if isinstance(value, dict):
        return value.get("$ref") == reference or any(_refers_to(member, reference) for member in value.values())
    return isinstance(value, list) and any(_refers_to(item, reference) for item in value)


def describe_property(schema: JsonObject, parameter: Parameter) -> None:
    """Add to a parameter's schema what its type does not say: the docstring's sentence, and the default."""
    if parameter.description:
        schema.setdefault("description", parameter.description)
    if parameter.required or isinstance(parameter.default, UnsetType):
        return
    try:
        schema["default"] = decode(encode_value(parameter.default))
    except MismatchError:
        # A default that only the handler understands.
        schema.pop("default", None)


def involves_pydantic(annotation: Any) -> bool:
    """Tell whether a type is pydantic's or carries pydantic's constraints, at any depth, without importing pydantic.

    Raises:
        NameError: a class in it refers to a type that cannot be found.
    """
    pending: list[Any] = [annotation]
    seen: set[int] = set()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if any(is_pydantic(part) for part in (each, *getattr(each, "__metadata__", ()))):
            return True
        pending.extend(get_args(each))
        # A `type` statement's alias, and the fields of every class that has some.
        pending.append(getattr(each, "__value__", None))
        if isinstance(each, type) and any(hasattr(each, mark) for mark in _WITH_FIELDS):
            pending.extend(get_type_hints(each, include_extras=True).values())
    return False


def is_pydantic(value: object) -> bool:
    """Tell whether a value is of a class of pydantic's, or knows how to describe itself to pydantic."""
    home = type(value).__module__.partition(".")[0]
    return home in _PYDANTIC or any(hasattr(value, mark) for mark in _DESCRIBED)


def _struct_field(name: str, parameter: Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
    annotation = Any if parameter.annotation is EMPTY else _prepared(parameter.annotation)
    default = parameter.default
    if parameter.required:
        return name, annotation
    if default is UNSET or isinstance(default, _ATOMS):
        return name, annotation, default
    # Of any other kind: msgspec would try to write it into the schema and give up where it cannot.
    return name, annotation, field(default_factory=copier_of(default) or functools.partial(_same, default))


def _same(default: object) -> object:
    return default


def _wire_name(parameter: Parameter) -> str:
    """Return what callers call a parameter: the `alias` in a `Meta(extra={"alias": …})`, else its own name."""
    metas = [meta for meta in getattr(parameter.annotation, "__metadata__", ()) if isinstance(meta, Meta)]
    aliases = [meta.extra["alias"] for meta in metas if meta.extra and "alias" in meta.extra]
    return str(aliases[-1]) if aliases else parameter.name


def _prepared(annotation: Any) -> Any:
    """Say the format of dates and times and take `object` for anything, also inside containers.

    The fields of a class speak for themselves.
    """
    if annotation is object:
        return Any
    for kind, name in _FORMATS:
        if annotation is kind:
            return Annotated[annotation, Meta(extra_json_schema={"format": name})]
    origin: Any = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return Annotated[(_prepared(arguments[0]), *annotation.__metadata__)]
    if origin in (Union, UnionType):
        return Union[tuple(_prepared(argument) for argument in arguments)]  # noqa: UP007 - the members are computed
    if origin in _CONTAINERS:
        return origin[tuple(_prepared(argument) for argument in arguments)]
    return annotation


def _special_schema(kind: Any) -> JsonObject:
    if _is_path(kind):
        return {"type": "string", "format": "path"}
    raise NotImplementedError


def _read_special(kind: Any, value: object) -> object:
    if isinstance(value, str):
        return kind(value)
    raise TypeError(f"Expected `str`, got `{type(value).__name__}`")


def _is_path(kind: Any) -> bool:
    # `pathlib` belongs to the machine; a path is known by what it can do.
    return isinstance(kind, type) and hasattr(kind, "__fspath__")


def json_of(arguments: Json | Mapping[str, object] | UnsetType | None) -> Json:
    """Return arguments as JSON, in whichever form they came; none at all are an empty object.

    Raises:
        MismatchError: a value among them has no JSON form.
    """
    if arguments is None or arguments is UNSET or arguments in (_NULL, b"null"):
        return b"{}"
    return arguments if isinstance(arguments, bytes | Raw) else encode_value(arguments)
