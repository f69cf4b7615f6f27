"""Arguments that are described by a JSON Schema someone wrote, validated by jsonschema-rs.

The schema is advertised as it is. Nothing it refers to is ever fetched. Spec: server/tools, basic
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import DecodeError
from msgspec.json import Decoder

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.refusals import MismatchError, RegistrationError, format_path, mismatch_of
from suaveplan_mcp.server.signatures.optional_libraries import load
from suaveplan_mcp.server.signatures.schema import Json
from suaveplan_mcp.server.signatures.signature import CallableShape

_object = Decoder(dict[str, Any])


class JsonSchemaArguments:
    """Read arguments as plain JSON that fits a given schema.

    Properties that the handler has no parameter for are left out, unless it has a `**` parameter.

    Args:
        shape: the handler.
        schema: the JSON Schema of its arguments, an object.

    Raises:
        RegistrationError: the schema is wrong, refers to something outside itself, or does not fit the handler.
        MissingLibraryError: jsonschema-rs is not installed.
    """

    __slots__ = ("_needed", "_taken", "_validator", "schema")

    def __init__(self, shape: CallableShape, schema: Mapping[str, object]) -> None:
        self._validator = make_validator(shape.name, schema)
        if schema.get("type") != "object":
            raise RegistrationError(shape.name, 'its schema must say `"type": "object"`: arguments come by name')
        known = cast("Mapping[str, object]", schema.get("properties", {}))
        needed = [parameter.name for parameter in shape.parameters if parameter.required]
        for name in needed:
            if name not in known:
                raise RegistrationError(
                    shape.name, "its schema has no property of that name, and there is no default", parameter=name
                )
        self._needed = frozenset(needed)
        self._taken = None if shape.accepts_any else frozenset(parameter.name for parameter in shape.parameters)
        self.schema = cast("JsonObject", schema)

    def decode(self, data: Json) -> dict[str, object]:
        """Return the arguments by the names of the parameters."""
        try:
            arguments = _object.decode(data)
        except (DecodeError, RecursionError) as error:
            raise mismatch_of(error) from error
        require_valid(self._validator, arguments)
        for name in self._needed - arguments.keys():
            raise MismatchError(name, "the handler needs it, though its schema does not say so")
        if self._taken is None:
            return arguments
        return {name: value for name, value in arguments.items() if name in self._taken}


def make_validator(name: str, schema: Mapping[str, object]) -> Any:
    """Make what validates values by a JSON Schema.

    Args:
        name: what is registered, for the error.
        schema: the JSON Schema.

    Raises:
        RegistrationError: the schema is wrong or refers to something outside itself.
        MissingLibraryError: jsonschema-rs is not installed.
    """
    library = load("jsonschema_rs", "jsonschema")
    try:
        return library.validator_for(schema, retriever=_refuse)
    except (ValueError, TypeError) as error:
        problem = f"its schema is refused: {getattr(error, 'message', error)}"
        raise RegistrationError(name, problem, cause=error) from error


def require_valid(validator: Any, value: object) -> None:
    """Refuse plain JSON that does not fit a schema.

    Raises:
        MismatchError: it does not fit; the path is that of the first problem.
    """
    for problem in validator.iter_errors(value):
        # What is missing is at fault, not the object that lacks it.
        missing = [problem.kind.property] if hasattr(problem.kind, "property") else []
        raise MismatchError(format_path([*problem.instance_path, *missing]), problem.message)


def _refuse(uri: str) -> object:
    raise LookupError(f"{uri} lies outside the schema, and nothing is ever fetched")
