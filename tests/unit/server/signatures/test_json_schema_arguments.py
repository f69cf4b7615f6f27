"""Arguments that are described by a JSON Schema someone wrote."""

from typing import Any

import pytest

from suaveplan_mcp.server.refusals import MismatchError, RegistrationError
from suaveplan_mcp.server.signatures.json_schema_arguments import JsonSchemaArguments
from suaveplan_mcp.server.signatures.signature import inspect_callable
from tests.unit.server.handlers import Context

SCHEMA = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/list"}, "b": {"type": "string"}},
    "$defs": {
        "list": {
            "type": "array",
            "items": {"type": "object", "required": ["q"], "properties": {"q": {"type": "integer"}}},
        }
    },
}


def make(fn: object, schema: dict[str, Any]) -> JsonSchemaArguments:
    return JsonSchemaArguments(
        inspect_callable(fn, kind="tool", name=None, context_type=Context, accepts_any=True), schema
    )


def handler(a: Any, b: str = "x") -> None: ...


def keywords(**arguments: Any) -> None: ...


def test_the_schema_is_advertised_as_it_is() -> None:
    assert SCHEMA is make(handler, SCHEMA).schema


def test_valid_arguments_arrive_as_plain_json() -> None:
    assert {"a": [{"q": 1}]} == make(handler, SCHEMA).decode(b'{"a":[{"q":1}]}')


def test_what_the_handler_has_no_parameter_for_is_left_out_unless_it_takes_anything() -> None:
    assert {"a": []} == make(handler, SCHEMA).decode(b'{"a":[],"c":1}')
    assert {"a": [], "c": 1} == make(keywords, SCHEMA).decode(b'{"a":[],"c":1}')


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        (b'{"a":[{"q":"s"}]}', "a[0].q", '"s" is not of type "integer"'),
        (b'{"a":[{}]}', "a[0].q", '"q" is a required property'),
        (b'{"a":[],"b":1}', "b", '1 is not of type "string"'),
        (b"{}", "a", "the handler needs it, though its schema does not say so"),
        (b"[]", "(root)", "Expected `object`, got `array`"),
        (b'{"a":' + b"[" * 100_000, "(root)", "it is nested too deeply"),
    ],
)
def test_invalid_arguments_are_refused_naming_their_place(data: bytes, path: str, reason: str) -> None:
    with pytest.raises(MismatchError) as caught:
        make(handler, SCHEMA).decode(data)

    assert (path, reason) == (caught.value.path, caught.value.reason)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, '"type": "object"'),
        ({"properties": {"a": {}}}, '"type": "object"'),
        ({"type": "object"}, "parameter `a`: its schema has no property of that name"),
        ({"type": "object", "properties": {"a": {"type": "strnig"}}}, "strnig"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "regex"),
        ({"type": "object", "properties": {"a": {"const": object()}}}, "object"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "/\\$defs/none"),
        ({"type": "object", "properties": {"a": {"$ref": "other.json"}}}, "other.json"),
        ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "file:///etc/passwd"),
        (
            {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
            "http://127.0.0.1:9/x.*nothing is ever fetched",
        ),
    ],
)
def test_a_schema_that_is_wrong_or_reaches_outside_is_refused_when_it_is_registered(
    schema: dict[str, Any], words: str
) -> None:
    with pytest.raises(RegistrationError, match=words):
        make(handler, schema)
