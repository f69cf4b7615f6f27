"""A callable as a tool."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Never, NotRequired, TypedDict

import pytest
from msgspec import UNSET, Raw, Struct
from pydantic import BaseModel, Field, RootModel

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.refusals import InvalidArgumentsError, InvalidResultError, RegistrationError
from suaveplan_mcp.server.signatures import json_schema_arguments
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.server.signatures.tool_signature import ToolSignature
from suaveplan_mcp.types.content import ImageContent, TextContent
from suaveplan_mcp.types.tools import CallToolResult
from tests.unit.server.handlers import Context, plain, with_context


class Node(Struct):
    kids: list["Node"] = []


class Query(Struct):
    text: str
    limit: int = 5


@dataclass
class Basket:
    text: str
    limit: int = 5


class Options(TypedDict):
    text: str
    limit: NotRequired[int]


class Model(BaseModel):
    text: str
    limit: int = Field(5, alias="max")


class Row(NamedTuple):
    text: str


class Listed(Struct, array_like=True):
    text: str


def tool(fn: object, **options: Any) -> ToolSignature:
    return ToolSignature.from_callable(fn, context_type=Context, **options)


def tool_with(fn: object, schema: object) -> ToolSignature:
    return ToolSignature.from_schema(fn, schema, context_type=Context)


def returning(annotation: Any) -> ToolSignature:
    def handler() -> Any: ...

    handler.__annotations__["return"] = annotation
    return tool(handler)


def search(text: str, limit: int = 9) -> Any:
    """Search."""
    return text, limit


def test_a_tool_shows_name_description_and_schema_without_the_context() -> None:
    signature = tool(with_context)

    assert ("with_context", None) == (signature.name, signature.description)
    assert {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
        "additionalProperties": False,
    } == signature.input_schema


def test_a_given_name_and_description_win() -> None:
    signature = tool(search, name="n", description="d")

    assert ("n", "d") == (signature.name, signature.description)
    assert "Search." == tool(search).description


@pytest.mark.parametrize("nothing", [None, UNSET, Raw(b"null"), b"{}", {}])
def test_a_tool_without_arguments_takes_none_in_every_form(nothing: Any) -> None:
    signature = returning(None)

    assert {"type": "object", "properties": {}, "additionalProperties": False} == signature.input_schema
    assert {} == signature.decode(nothing)
    with pytest.raises(InvalidArgumentsError, match="tool `handler`: extra: "):
        signature.decode({"extra": 1})


def test_bad_arguments_are_the_callers_fault_and_name_the_field() -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        tool(search).decode({"text": 1})

    assert (MCP_CODES.INVALID_PARAMS, "text") == (caught.value.code, caught.value.path)
    assert "Expected `str`, got `int`" == caught.value.reason
    with pytest.raises(InvalidArgumentsError, match="no JSON form"):
        tool(search).decode({"text": object()})


@pytest.mark.parametrize(
    ("annotation", "schema", "structured"),
    [
        (Any, None, False),
        (None, None, False),
        (str, None, False),
        (str | None, None, False),
        (Annotated[bytes, "x"], None, False),
        (Never, None, False),
        (TextContent, None, False),
        (list[TextContent | ImageContent], None, False),
        (dict[str, TextContent] | int, None, False),
        (CallToolResult, None, False),
        (dict, None, True),
        (dict[str, object], None, True),
        (list[Any], None, True),
        (int, {"type": "integer"}, True),
        (int | CallToolResult, {"type": "integer"}, True),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        (Awaitable[int], {"type": "integer"}, True),
        (Node, {"type": "object"}, True),
        (Model, {"type": "object"}, True),
    ],
)
def test_the_output_schema_comes_from_the_return_annotation_if_it_promises_data(
    annotation: Any, schema: dict[str, object] | None, structured: object
) -> None:
    signature = returning(annotation)

    assert structured == signature.structured
    shown = signature.output_schema
    assert schema == (shown if schema is None or shown is None else {name: shown[name] for name in schema})


def test_without_a_return_annotation_there_is_no_output_schema() -> None:
    def handler(): ...

    assert (None, False) == ((signature := tool(handler)).output_schema, signature.structured)


def test_a_return_type_without_a_json_form_is_refused() -> None:
    with pytest.raises(RegistrationError, match="parameter `return`"):
        returning(type("Own", (), {}))


def test_a_returned_value_is_written_as_its_schema_says() -> None:
    assert b'{"kids":[{"kids":[]}]}' == returning(Node).encode({"kids": [Node()]})
    assert b'{"text":"x","max":5}' == returning(Model).encode(Model(text="x", max=5))
    assert b"[1]" == returning(Any).encode([1])
    with pytest.raises(InvalidResultError, match="tool `handler` returned .* Expected `int`, got `str`"):
        returning(int).encode("x")
    with pytest.raises(InvalidResultError, match="type object"):
        returning(Any).encode(object())


@pytest.mark.parametrize("schema", [Query, Basket, Model, Options])
def test_the_fields_of_a_class_arrive_by_name(schema: Any) -> None:
    signature = tool_with(search, schema)
    limit = "max" if schema is Model else "limit"

    assert {"text": "x", "limit": 2} == signature.decode({"text": "x", limit: 2})
    assert "object" == signature.input_schema["type"]
    assert ["text"] == signature.input_schema["required"]
    with pytest.raises(InvalidArgumentsError):
        signature.decode({})


def test_a_field_that_was_left_out_has_its_own_default_or_the_handlers() -> None:
    assert {"text": "x", "limit": 5} == tool_with(search, Query).decode({"text": "x"})
    assert {"text": "x"} == tool_with(search, Options).decode({"text": "x"})


def test_a_field_that_may_be_left_out_and_has_no_default_is_missed() -> None:
    def handler(text: str, limit: int) -> None: ...

    with pytest.raises(InvalidArgumentsError, match="limit: the handler needs it"):
        tool_with(handler, Options).decode({"text": "x"})


@pytest.mark.parametrize("schema", [Query, Basket, Model])
def test_a_handler_may_take_the_whole_object(schema: Any) -> None:
    def handler(ctx: Context, query: Any) -> None: ...

    handler.__annotations__["query"] = schema

    assert {"query": schema(text="x")} == tool_with(handler, schema).decode({"text": "x"})


def test_a_handler_may_take_some_fields_or_any() -> None:
    def some(text: str) -> None: ...
    def everything(**fields: Any) -> None: ...

    assert {"text": "x"} == tool_with(some, Query).decode({"text": "x", "limit": 1})
    assert {"text": "x", "limit": 1} == tool_with(everything, Query).decode({"text": "x", "limit": 1})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (3, "must be a mapping or a class with fields, not 3"),
        (Row, "class with fields"),
        (Listed, "`Listed` is no JSON object"),
        (RootModel[list[int]], "is no JSON object"),
        (Node, "parameter `text`: `Node` has no field of that name"),
    ],
)
def test_a_class_that_does_not_fit_the_handler_is_refused(schema: object, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        tool_with(search, schema)


def test_a_json_schema_is_advertised_as_it_is_and_checked() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}}
    signature = tool_with(search, schema)

    assert schema == signature.input_schema
    assert {"text": "x"} == signature.decode({"text": "x"})
    with pytest.raises(InvalidArgumentsError, match="tool `search`: text: .*shorter than 1"):
        signature.decode({"text": ""})


def test_the_extra_is_named_where_a_json_schema_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, extra: str) -> None:
        raise MissingLibraryError(f"{name} is in {extra}")

    monkeypatch.setattr(json_schema_arguments, "load", load)

    with pytest.raises(RegistrationError, match="jsonschema_rs is in jsonschema"):
        tool_with(search, {"type": "object"})


def test_the_extra_is_named_where_an_output_schema_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, extra: str) -> None:
        raise MissingLibraryError(f"{name} is in {extra}")

    monkeypatch.setattr(json_schema_arguments, "load", load)

    with pytest.raises(RegistrationError, match="jsonschema_rs is in jsonschema"):
        ToolSignature.from_callable(plain, context_type=Context, output_schema={"type": "object"})


@pytest.mark.parametrize("schema", [5, "text", {"type": "nonsense"}, {"$ref": "https://elsewhere.example/schema"}])
def test_an_output_schema_that_is_none_is_refused(schema: object) -> None:
    with pytest.raises(RegistrationError, match="Cannot register `plain`"):
        ToolSignature.from_callable(plain, context_type=Context, output_schema=schema)


def test_a_declared_output_schema_is_advertised_as_it_is_and_kept() -> None:
    schema = {"type": "object"}
    signature = ToolSignature.from_callable(plain, context_type=Context, output_schema=schema)

    assert schema == signature.output_schema
    assert b'{"a":1}' == signature.encode({"a": 1})
    with pytest.raises(InvalidResultError, match='"text" is not of type "object"'):
        signature.encode("text")


def test_a_class_may_be_the_output_schema_of_a_tool_whose_arguments_are_described_too() -> None:
    signature = ToolSignature.from_schema(
        plain, {"type": "object", "properties": {"number": {}}}, context_type=Context, output_schema=list[int]
    )

    assert {"type": "array", "items": {"type": "integer"}} == signature.output_schema
