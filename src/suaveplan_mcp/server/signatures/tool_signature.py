"""A callable as a tool: the schemas it advertises, how its arguments are read and its result is written."""

import inspect
from collections.abc import Awaitable, Coroutine, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, Never, NoReturn, Union, cast, get_args, get_origin, is_typeddict

from msgspec import UNSET, Struct, UnsetType

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.refusals import InvalidArgumentsError, InvalidResultError, MismatchError, RegistrationError
from suaveplan_mcp.server.signatures.codecs import arguments_codec, value_codec
from suaveplan_mcp.server.signatures.json_schema_arguments import JsonSchemaArguments
from suaveplan_mcp.server.signatures.json_schema_value import JsonSchemaValue
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.server.signatures.schema import ArgumentsCodec, Json, ResultCodec, encode_value, json_of
from suaveplan_mcp.server.signatures.signature import EMPTY, CallableShape, inspect_callable, union_members
from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    UnknownContent,
)

CONTENT_TYPES: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, UnknownContent)
"""What a tool may return for `content` as it is."""

# These say nothing about a value that is not text already.
_UNSTRUCTURED: Final = frozenset({EMPTY, Any, object, None, type(None), str, bytes, bytearray, Never, NoReturn})
_SAYS_NOTHING: Final[tuple[JsonObject, ...]] = (
    {},
    {"type": "object"},
    {"type": "object", "additionalProperties": {}},
    {"type": "object", "additionalProperties": True},
    {"type": "array"},
    {"type": "array", "items": {}},
)


class ToolSignature:
    """A tool as callers see it, and the way from their JSON to the handler and back.

    Args:
        shape: the handler.
        description: what callers read.
        arguments: reads the arguments.
        returns: writes what the handler returns, None where nothing is known of it.
        declared: whether the author wrote down what `returns` has for a schema, so that it is advertised in any case.
    """

    __slots__ = ("_arguments", "_returns", "description", "input_schema", "output_schema", "shape", "structured")

    def __init__(
        self,
        shape: CallableShape,
        description: str | None,
        arguments: ArgumentsCodec,
        returns: ResultCodec | None,
        *,
        declared: bool,
    ) -> None:
        self.shape = shape
        self.description = description
        self._arguments = arguments
        self._returns = returns
        self.input_schema: JsonObject = arguments.schema
        # A bare `dict` or `list` promises nothing that a caller could check, and may hold content blocks too.
        promised = returns is not None and (declared or returns.schema not in _SAYS_NOTHING)
        self.output_schema: JsonObject | None = returns.schema if returns is not None and promised else None
        self.structured: bool = returns is not None
        """Whether the return annotation says that the value is data, even where it says no more."""

    @classmethod
    def from_callable(
        cls,
        fn: object,
        *,
        context_type: type,
        name: str | None = None,
        description: str | None = None,
        output_schema: object = None,
    ) -> "ToolSignature":
        """Make a tool of a callable whose parameters are the arguments.

        Args:
            fn: the callable.
            context_type: the class whose annotation asks for the context.
            name: the tool's name, None to take the callable's.
            description: None to take the docstring's.
            output_schema: what the tool returns, as a class or a JSON Schema; None to take the return annotation.

        Raises:
            RegistrationError: the callable cannot be a tool.
        """
        shape = inspect_callable(fn, kind="tool", name=name, context_type=context_type)
        return cls._of(shape, description, arguments_codec(shape), output_schema)

    @classmethod
    def from_schema(
        cls,
        fn: object,
        schema: object,
        *,
        context_type: type,
        name: str | None = None,
        description: str | None = None,
        output_schema: object = None,
    ) -> "ToolSignature":
        """Make a tool of a callable whose arguments are described elsewhere.

        Args:
            fn: the callable. It gets the arguments by name, or, where `schema` is a class and the callable's only
                parameter is annotated with it, the whole object.
            schema: a struct, dataclass, `TypedDict` or pydantic model whose fields are the arguments; or a JSON Schema
                as a mapping, advertised as it is, whose arguments arrive as plain JSON.
            context_type: the class whose annotation asks for the context.
            name: the tool's name, None to take the callable's.
            description: None to take the docstring's.
            output_schema: what the tool returns, as a class or a JSON Schema; None to take the return annotation.

        Raises:
            RegistrationError: the callable cannot be a tool, or the schema does not fit it.
        """
        shape = inspect_callable(fn, kind="tool", name=name, context_type=context_type, accepts_any=True)
        arguments: ArgumentsCodec
        if isinstance(schema, Mapping):
            try:
                arguments = JsonSchemaArguments(shape, cast("Mapping[str, object]", schema))
            except MissingLibraryError as error:
                raise RegistrationError(shape.name, str(error), cause=error) from error
        else:
            arguments = ClassArguments(shape, schema)
        return cls._of(shape, description, arguments, output_schema)

    @classmethod
    def _of(
        cls, shape: CallableShape, description: str | None, arguments: ArgumentsCodec, output_schema: object
    ) -> "ToolSignature":
        returns = _result_codec(shape) if output_schema is None else _declared_codec(shape, output_schema)
        return cls(shape, description or shape.description, arguments, returns, declared=output_schema is not None)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.shape.name

    def decode(self, arguments: Json | Mapping[str, object] | UnsetType | None) -> dict[str, object]:
        """Read the arguments of a call.

        Args:
            arguments: JSON, plain values, or nothing at all, which means no arguments.

        Returns:
            The arguments by the names of the parameters; mutable defaults are fresh.

        Raises:
            InvalidArgumentsError: they do not fit; the error names the field.
        """
        try:
            return self._arguments.decode(json_of(arguments))
        except MismatchError as error:
            raise InvalidArgumentsError(self.shape.label, error.path, error.reason, cause=error) from error

    def encode(self, value: object) -> bytes:
        """Write a returned value as JSON, once; it fits the output schema if there is one.

        Raises:
            InvalidResultError: it does not fit, or has no JSON form.
        """
        try:
            return encode_value(value) if self._returns is None else self._returns.encode(value)
        except MismatchError as error:
            raise InvalidResultError(self.shape.label, str(error), cause=error) from error

    def require_promised(self, structured_content: object) -> None:
        """Refuse structured content, which a handler put together itself, where an output schema promises another.

        Args:
            structured_content: a value or its JSON; `UNSET` for none.

        Raises:
            InvalidResultError: there is none, it does not fit, or it has no JSON form.
        """
        if self._returns is None or self.output_schema is None:
            return
        if structured_content is UNSET:
            raise InvalidResultError(self.shape.label, "its output schema promises structured content, and it has none")
        try:
            self._returns.decode(encode_value(structured_content))
        except MismatchError as error:
            raise InvalidResultError(self.shape.label, f"structured content: {error}", cause=error) from error


class ClassArguments:
    """Read arguments as an object of a class whose fields they are.

    Args:
        shape: the handler.
        kind: the class.

    Raises:
        RegistrationError: the class has no fields, or they do not fit the handler's parameters.
    """

    __slots__ = ("_codec", "_names", "_needed", "_whole", "schema")

    def __init__(self, shape: CallableShape, kind: Any) -> None:
        names = _field_names(kind)
        if names is None:
            problem = f"its schema must be a mapping or a class with fields, not {kind!r}"
            raise RegistrationError(shape.name, problem)
        self._codec = value_codec(shape, kind, parameter="schema")
        self.schema = self._codec.schema
        if self.schema.get("type") != "object":
            raise RegistrationError(shape.name, f"`{kind.__name__}` is no JSON object: arguments come by name")
        parameters = shape.parameters
        self._whole = parameters[0].name if len(parameters) == 1 and parameters[0].annotation is kind else None
        taken = {parameter.name for parameter in parameters}
        self._names = names if shape.accepts_any else tuple(name for name in names if name in taken)
        self._needed = tuple(parameter.name for parameter in parameters if parameter.required)
        if self._whole is None:
            for name in self._needed:
                if name not in names:
                    problem = f"`{kind.__name__}` has no field of that name, and there is no default"
                    raise RegistrationError(shape.name, problem, parameter=name)

    def decode(self, data: Json) -> dict[str, object]:
        """Return the arguments by the names of the parameters."""
        value = self._codec.decode(data)
        if self._whole is not None:
            return {self._whole: value}
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            arguments = {name: members[name] for name in self._names if name in members}
        else:
            arguments = {name: getattr(value, name) for name in self._names}
        for name in self._needed:
            if name not in arguments:
                raise MismatchError(name, "the handler needs it, though its schema does not say so")
        return arguments


def _field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a class's fields, None for anything else."""
    if not inspect.isclass(kind):
        return None
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    model: Mapping[str, object] | None = getattr(kind, "model_fields", None)
    if model is not None:
        return tuple(model)
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return tuple(kind.__annotations__) if is_typeddict(kind) else None


def _declared_codec(shape: CallableShape, output_schema: object) -> ResultCodec:
    """Choose what writes the results of a tool whose author described the output."""
    if not isinstance(output_schema, Mapping):
        return value_codec(shape, output_schema, parameter="output_schema", outgoing=True)
    try:
        return JsonSchemaValue(shape.name, cast("Mapping[str, object]", output_schema))
    except MissingLibraryError as error:
        raise RegistrationError(shape.name, str(error), cause=error) from error


def _result_codec(shape: CallableShape) -> ResultCodec | None:
    """Choose what writes the results of a tool, None where its return annotation promises no data."""
    annotation = shape.returns
    if get_origin(annotation) in (Awaitable, Coroutine):
        annotation = get_args(annotation)[-1]
    members = union_members(annotation)
    if any(_mentions_content(member) for member in members):
        return None
    data = [member for member in members if not (inspect.isclass(member) and issubclass(member, Result))]
    if all(_is_unstructured(member) for member in data):
        return None
    promised = annotation if len(data) == len(members) else Union[tuple(data)]  # noqa: UP007 - computed
    return value_codec(shape, promised, parameter="return", outgoing=True)


def _is_unstructured(member: Any) -> bool:
    return any(member is each for each in _UNSTRUCTURED)


def _mentions_content(annotation: Any) -> bool:
    if inspect.isclass(annotation) and issubclass(annotation, CONTENT_TYPES):
        return True
    return any(_mentions_content(argument) for argument in get_args(annotation))
