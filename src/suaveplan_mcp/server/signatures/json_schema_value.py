"""Results that are described by a JSON Schema someone wrote, validated by jsonschema-rs. Spec: server/tools"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.json import Decoder

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.signatures.json_schema_arguments import make_validator, require_valid
from suaveplan_mcp.server.signatures.schema import Json, encode_value

_json = Decoder[Any]()


class JsonSchemaValue:
    """Read and write values as plain JSON that fits a given schema.

    Args:
        name: the tool, for errors.
        schema: the JSON Schema, advertised as it is.

    Raises:
        RegistrationError: the schema is wrong or refers to something outside itself.
        MissingLibraryError: jsonschema-rs is not installed.
    """

    __slots__ = ("_validator", "schema")

    def __init__(self, name: str, schema: Mapping[str, object]) -> None:
        self._validator: Any = make_validator(name, schema)
        self.schema = cast("JsonObject", schema)

    def decode(self, data: Json) -> object:
        """Read a value."""
        value = _json.decode(data)
        require_valid(self._validator, value)
        return value

    def encode(self, value: object) -> bytes:
        """Write a value that a handler returned, and see that it fits."""
        data = encode_value(value)
        self.decode(data)
        return data
