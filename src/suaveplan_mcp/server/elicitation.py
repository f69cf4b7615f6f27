"""Classes as the forms that a user fills in. Spec: client/elicitation"""

from collections.abc import Mapping
from typing import Final, cast

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.server.signatures.pydantic_signature import PydanticValue
from suaveplan_mcp.server.signatures.schema import is_pydantic, schema_of

_DEFINITIONS: Final = "#/$defs/"


def form_of(kind: type) -> JsonObject:
    """Return the schema of a form whose fields are those of a class, in the few words that forms have.

    An optional field is one that may be left out, a `Literal` or an enum of strings is a choice. What no form can hold
    stays as it is, so that the check of the form names it.

    Args:
        kind: a dataclass, a struct, a `TypedDict` or a pydantic model.

    Raises:
        TypeError: it does not become a schema.
        NameError: it refers to a type that cannot be found.
        MissingLibraryError: it needs pydantic, which is not installed.
    """
    schema = dict(PydanticValue(kind).schema if is_pydantic(kind) else schema_of(kind))
    definitions = cast("JsonObject", schema.pop("$defs", {}))
    properties = schema.get("properties")
    if isinstance(properties, dict):
        fields = cast("dict[str, JsonObject]", properties)
        schema["properties"] = {name: _field(field, definitions) for name, field in fields.items()}
    return schema


def _field(field: JsonObject, definitions: Mapping[str, JsonValue]) -> JsonObject:
    simple = _resolved(field, definitions)
    if simple.get("default", ...) is None:
        del simple["default"]
    if "const" in simple:
        simple["enum"] = [simple.pop("const")]
    choices = simple.get("enum")
    if isinstance(choices, list) and all(isinstance(choice, str) for choice in choices):
        simple["type"] = "string"
    if "items" in simple:
        simple["items"] = _field(cast("JsonObject", simple["items"]), definitions)
    return simple


def _resolved(field: JsonObject, definitions: Mapping[str, JsonValue]) -> JsonObject:
    """Return a copy of a field with what it refers to, or its only alternative to null, in its place."""
    others = {name: value for name, value in field.items() if name not in ("$ref", "anyOf")}
    alternatives = field.get("anyOf")
    if isinstance(alternatives, list):
        left = [alternative for alternative in alternatives if alternative != {"type": "null"}]
        if len(left) == 1 and isinstance(left[0], dict):
            return {**_resolved(left[0], definitions), **others}
    definition = definitions.get(str(field.get("$ref")).removeprefix(_DEFINITIONS))
    return {**definition, **others} if isinstance(definition, dict) else dict(field)
