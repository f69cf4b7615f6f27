"""Types as JSON Schema and as codecs, by pydantic, for annotations that involve it or that msgspec does not know.

pydantic is loaded when the first such handler is registered. JSON is read strictly, as by msgspec: `"5"` is no number.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, cast

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.refusals import ROOT, MismatchError, format_path
from suaveplan_mcp.server.signatures.optional_libraries import load
from suaveplan_mcp.server.signatures.schema import Json, inline_root
from suaveplan_mcp.server.signatures.signature import EMPTY, Parameter


class PydanticArguments:
    """Read arguments with pydantic: one model for all of them, made for one handler.

    Args:
        parameters: what the handler takes; a `Field` in an annotation or as a default counts.

    Raises:
        MissingLibraryError: pydantic is not installed.
        TypeError: pydantic does not know a type.
    """

    __slots__ = ("_names", "_validator", "schema")

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        pydantic = load("pydantic", "pydantic")
        fields = {f"p{index}": _field(pydantic, parameter) for index, parameter in enumerate(parameters)}
        # Callers send bytes in base64, as everywhere in MCP.
        config = pydantic.ConfigDict(extra="forbid", val_json_bytes="base64", ser_json_bytes="base64")
        model = _known(lambda: pydantic.create_model("Arguments", __config__=config, **fields))
        self._validator: Any = model.__pydantic_validator__
        self._names = tuple(parameter.name for parameter in parameters)
        self.schema = _schema(pydantic.TypeAdapter(model), "validation")

    def decode(self, data: Json) -> dict[str, object]:
        """Return the arguments by the names of the parameters."""
        values = _validated(lambda: self._validator.validate_json(bytes(data), strict=True)).__dict__
        return {name: values[f"p{index}"] for index, name in enumerate(self._names)}


class PydanticValue:
    """Read and write the values of one type with pydantic.

    Args:
        annotation: the type.
        mode: `"validation"` for values that come from a caller, `"serialization"` for those that go to one.

    Raises:
        MissingLibraryError: pydantic is not installed.
        TypeError: pydantic does not know the type.
    """

    __slots__ = ("_adapter", "schema")

    def __init__(self, annotation: Any, mode: str = "validation") -> None:
        pydantic = load("pydantic", "pydantic")
        self._adapter: Any = _known(lambda: pydantic.TypeAdapter(annotation))
        self.schema = _schema(self._adapter, mode)

    def decode(self, data: Json) -> object:
        """Read a value."""
        return _validated(lambda: self._adapter.validate_json(bytes(data), strict=True))

    def parse(self, text: str) -> object:
        """Read a scalar that came as text."""
        return _validated(lambda: self._adapter.validate_strings(text))

    def encode(self, value: object) -> bytes:
        """Write a value that a handler returned; a plain dictionary will do for a model."""
        try:
            fitting = _validated(lambda: self._adapter.validate_python(value))
            return self._adapter.dump_json(fitting, by_alias=True, warnings="error")
        except MismatchError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"a value of type {type(value).__qualname__} cannot be JSON: {error}"
            raise MismatchError(ROOT, problem) from error


def _field(pydantic: Any, parameter: Parameter) -> Any:
    annotation = Any if parameter.annotation is EMPTY else parameter.annotation
    metadata = [*getattr(annotation, "__metadata__", ()), parameter.default]
    given = [each for each in metadata if isinstance(each, pydantic.fields.FieldInfo)]
    names = [name for each in given for name in (each.validation_alias, each.alias) if isinstance(name, str)]
    described = any(each.description for each in given)
    settings: dict[str, Any] = {"alias": names[-1] if names else parameter.name}
    if parameter.description and not described:
        settings["description"] = parameter.description
    # Later settings add to earlier ones, so the caller's own `Field` keeps its constraints.
    field_type = Annotated[annotation, pydantic.Field(**settings)]
    return field_type if parameter.required else (field_type, parameter.default)


@cache
def _generator() -> type:
    """Return pydantic's schema generator, told not to turn every field's name into a title."""
    base: Any = load("pydantic.json_schema", "pydantic").GenerateJsonSchema

    class UntitledJsonSchema(base):
        # A default that only the handler understands is no mistake.
        ignored_warning_kinds = frozenset({*base.ignored_warning_kinds, "non-serializable-default"})

        def field_title_should_be_set(self, schema: object) -> bool:
            return False

    return UntitledJsonSchema


def _schema(adapter: Any, mode: str) -> JsonObject:
    schema = cast("JsonObject", _known(lambda: adapter.json_schema(schema_generator=_generator(), mode=mode)))
    definitions = cast("dict[str, JsonObject]", schema.pop("$defs", {}))
    for name, definition in definitions.items():
        # A title that the author chose is kept; the class's own name is none.
        if definition.get("title") == name.rpartition("__")[2]:
            del definition["title"]
    own_name = getattr(adapter._type, "__name__", None)
    if own_name is not None and schema.get("title") == own_name:
        del schema["title"]
    return inline_root(schema, definitions)


def _known(make: Any) -> Any:
    """Call what makes something of a type, and say in one line if pydantic does not know the type."""
    errors: Any = load("pydantic.errors", "pydantic")
    try:
        return make()
    except errors.PydanticUserError as error:
        raise TypeError(str(error).partition("\n")[0].partition(". ")[0]) from error


@cache
def _validation_error() -> type[Exception]:
    return load("pydantic_core", "pydantic").ValidationError


def _validated(validate: Any) -> Any:
    """Call what validates, and turn pydantic's errors into ours: the first one's path, the reasons of all."""
    try:
        return validate()
    except _validation_error() as error:
        problems = cast("Any", error).errors(include_url=False, include_context=False, include_input=False)
        path, reason = _problem(problems[0])
        rest = [f"{place}: {what}" for place, what in map(_problem, problems[1:])]
        raise MismatchError(path, "; ".join([reason, *rest])) from error


def _problem(problem: Any) -> tuple[str, str]:
    return format_path(list(problem["loc"])), str(problem["msg"])
