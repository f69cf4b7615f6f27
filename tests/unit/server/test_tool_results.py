"""What a tool returned, as a result."""

import datetime
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import jsonschema_rs
import pytest
from msgspec import UNSET, Raw, Struct
from msgspec.json import decode
from pydantic import BaseModel

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.refusals import InvalidResultError
from suaveplan_mcp.server.signatures.tool_signature import ToolSignature
from suaveplan_mcp.server.tool_results import (
    error_result,
    is_wrapped,
    to_result,
    wrap_output_schema,
    wrap_structured_content,
)
from suaveplan_mcp.types.content import ImageContent, TextContent
from suaveplan_mcp.types.tools import CallToolResult
from tests.unit.server.handlers import Context

NONE = object()
IMAGE = ImageContent(data="+//+Pj8=", mime_type="image/png")


class Node(Struct):
    kids: list["Node"] = []


@dataclass
class Basket:
    items: list[int]


class Model(BaseModel):
    number: int


class Page(TypedDict):
    content: list[dict[str, str]]


def returning(annotation: Any = NONE) -> ToolSignature:
    def handler() -> Any: ...

    handler.__annotations__ = {} if annotation is NONE else {"return": annotation}
    return ToolSignature.from_callable(handler, context_type=Context)


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def structured(result: CallToolResult) -> object:
    content = cast("object", result.structured_content)
    return decode(content) if isinstance(content, Raw) else content


@pytest.mark.parametrize(
    ("value", "expected", "data"),
    [
        (None, [], UNSET),
        ("", [""], UNSET),
        ("x", ["x"], UNSET),
        (0, ["0"], UNSET),
        (False, ["false"], UNSET),
        ([], ["[]"], UNSET),
        ((), ["[]"], UNSET),
        ([[]], ["[[]]"], UNSET),
        ([None], ["[null]"], UNSET),
        (["a", "b"], ['["a","b"]'], UNSET),
        (set[int](), ["[]"], UNSET),
        (datetime.date(2020, 1, 2), ['"2020-01-02"'], UNSET),
        ({}, ["{}"], {}),
        ({"a": 1}, ['{"a":1}'], {"a": 1}),
        (Node(), ['{"kids":[]}'], {"kids": []}),
        (Basket([1]), ['{"items":[1]}'], {"items": [1]}),
        (Model(number=1), ['{"number":1}'], {"number": 1}),
    ],
)
def test_without_an_annotation_only_objects_are_structured(value: object, expected: list[str], data: object) -> None:
    result = to_result(value, returning())

    assert (expected, data) == (texts(result), structured(result))
    assert not result.is_error


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (list[int], [], "[]"),
        (list, [], "[]"),
        (tuple, (), "[]"),
        (dict[str, int], {}, "{}"),
        (dict, {}, "{}"),
        (int, 0, "0"),
        (bool, False, "false"),
        (int | None, None, "null"),
        (int | str, "", '""'),
        (list[list[int]], [[]], "[[]]"),
        (list[None], [None], "[null]"),
        (set[int], set[int](), "[]"),
        (Node, Node(), '{"kids":[]}'),
        (list[Model], [Model(number=1)], '[{"number":1}]'),
    ],
)
def test_an_annotation_that_promises_data_makes_every_value_data(annotation: Any, value: object, text: str) -> None:
    signature = returning(annotation)
    result = to_result(value, signature)

    assert [text] == texts(result)
    assert Raw(text.encode()) == result.structured_content
    if signature.output_schema is not None:
        assert jsonschema_rs.validator_for(signature.output_schema).is_valid(structured(result))


@pytest.mark.parametrize("annotation", [NONE, ImageContent, list, list[ImageContent | str]])
def test_content_stays_as_it_is_and_in_order(annotation: Any) -> None:
    signature = returning(annotation)

    assert CallToolResult(content=[IMAGE]) == to_result(IMAGE, signature)
    assert CallToolResult(
        content=[TextContent(text="x"), IMAGE, TextContent(text='{"a":1}'), TextContent(text="null")]
    ) == to_result(["x", IMAGE, {"a": 1}, None], signature)
    assert CallToolResult(content=[IMAGE]) == to_result((IMAGE,), signature)


@pytest.mark.parametrize("annotation", [NONE, int, dict[str, Any]])
def test_a_whole_result_stays_as_it_is(annotation: Any) -> None:
    result = CallToolResult(content=[], is_error=True)

    assert result is to_result(result, returning(annotation))


@pytest.mark.parametrize("annotation", [NONE, dict, dict[str, Any]])
def test_a_dictionary_of_the_shape_of_a_result_is_one(annotation: Any) -> None:
    value = {
        "content": [{"type": "text", "text": "x"}],
        "structuredContent": {"a": None},
        "isError": False,
        "_meta": {},
    }
    result = to_result(value, returning(annotation))

    assert (["x"], {"a": None}, False, {}) == (texts(result), structured(result), result.is_error, result.meta)
    assert CallToolResult(content=[]) == to_result({"content": []}, returning(annotation))


@pytest.mark.parametrize(
    "value",
    [
        {"content": [{"type": "text", "text": "x"}], "more": 1},
        {"content": "x"},
        {"content": [{"text": "x"}]},
        {"content": ["x"]},
        {"content": [{"type": 1}]},
        {1: 2},
    ],
)
def test_any_other_dictionary_is_data(value: dict[Any, Any]) -> None:
    assert {str(name): member for name, member in value.items()} == structured(to_result(value, returning()))


def test_promised_data_is_a_result_only_where_it_says_so() -> None:
    signature = returning(Page)
    page = {"content": [{"type": "text", "text": "x"}]}

    assert page == structured(to_result(page, signature))
    assert page == structured(to_result({"content": [], "structuredContent": page}, signature))
    assert (["x"], True) == (texts(failed := to_result({**page, "isError": True}, signature)), failed.is_error)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"x", "`bytes` has no kind of its own"),
        (bytearray(), "`bytearray` has"),
        ([IMAGE, b"x"], "`bytes` has"),
        ([IMAGE, object()], "type object"),
        (object(), "type object"),
        ((each for each in ()), "type generator"),
        ({"content": [{"type": "odd"}]}, "odd"),
        ({"content": [], "_meta": {"a": object()}}, "type object"),
    ],
)
def test_what_cannot_be_sent_is_refused_naming_the_tool(value: object, words: str) -> None:
    with pytest.raises(InvalidResultError, match=f"tool `handler` returned .*{words}"):
        to_result(value, returning())


def test_a_value_that_breaks_the_promise_is_refused() -> None:
    with pytest.raises(InvalidResultError, match="Expected `int`, got `str`"):
        to_result("x", returning(int))


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("no"), "Error: no"), (ValueError(), "Error: ValueError"), (KeyError("a"), "Error: 'a'")],
)
def test_an_error_is_told_by_its_message_or_else_by_its_class(error: Exception, text: str) -> None:
    assert CallToolResult(content=[TextContent(text=text)], is_error=True) == error_result(error)


@pytest.mark.parametrize(
    ("annotation", "expected"), [(int, True), (Node, False), (Node | None, True), (list[Node], True), (None, False)]
)
def test_only_what_need_not_be_an_object_is_wrapped(annotation: Any, expected: object) -> None:
    assert expected == is_wrapped(returning(annotation).output_schema)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(UNSET, False), (Raw(b' {"a":1}'), False), ({}, False), (Raw(b"[]"), True), ([], True), (None, True)],
)
def test_without_a_schema_the_content_decides(content: Any, expected: object) -> None:
    assert expected == is_wrapped(None, content)
    assert is_wrapped({"type": "integer"}, content)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 1, "x"),
        (returning(list[Node]).output_schema, [{"kids": [{}]}], [{"kids": [1]}]),
        (returning(Node | None).output_schema, None, 1),
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [1]),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/anyOf/2"}, {"const": 1}]}, 1, 2),
        (
            {"$id": "http://example.test/s", "$defs": {"a": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}},
            [1],
            ["x"],
        ),
    ],
)
def test_a_wrapped_schema_and_a_wrapped_value_agree(schema: JsonObject, good: Any, bad: object) -> None:
    before = repr(schema)
    wrapped = wrap_output_schema(schema)
    validator = jsonschema_rs.validator_for(wrapped, offline=True)

    assert "object" == wrapped["type"]
    assert validator.is_valid(decode(wrap_structured_content(good)))
    assert not validator.is_valid({"result": bad})
    assert not validator.is_valid({})
    assert before == repr(schema)


def test_json_is_wrapped_as_it_is() -> None:
    assert Raw(b'{"result":[1]}') == wrap_structured_content(Raw(b"[1]"))


class Promise(Struct):
    number: int


def _whole() -> CallToolResult | Promise:
    """Never runs."""
    return CallToolResult(content=[])


@pytest.mark.parametrize("output_schema", [None, Promise, {"type": "object", "required": ["number"]}])
@pytest.mark.parametrize(
    "value",
    [
        CallToolResult(content=[], structured_content={"other": 1}),
        CallToolResult(content=[]),
        {"content": [], "structuredContent": {"other": 1}},
        {"content": [], "structuredContent": {"other": 1}, "isError": False},
    ],
)
def test_structured_content_that_breaks_the_advertised_schema_is_never_sent(output_schema: object, value: Any) -> None:
    signature = ToolSignature.from_callable(_whole, context_type=Context, output_schema=output_schema)

    assert signature.output_schema is not None
    with pytest.raises(InvalidResultError, match="number|it has none") as caught:
        to_result(value, signature)
    assert "tool `_whole` returned a value that cannot be sent" in caught.value.message


@pytest.mark.parametrize("output_schema", [None, Promise, {"type": "object", "required": ["number"]}])
@pytest.mark.parametrize("content", [{"number": 1}, Promise(1), Raw(b'{"number":1}')])
def test_structured_content_that_keeps_the_promise_stays_as_it_is(output_schema: object, content: Any) -> None:
    signature = ToolSignature.from_callable(_whole, context_type=Context, output_schema=output_schema)
    result = CallToolResult(content=[], structured_content=content)

    assert result is to_result(result, signature)


def test_a_failure_promises_nothing() -> None:
    signature = ToolSignature.from_callable(_whole, context_type=Context)

    assert to_result({"content": [], "isError": True}, signature).is_error
    assert to_result(CallToolResult(content=[], is_error=True), signature).is_error


def test_without_an_output_schema_a_whole_result_may_hold_anything() -> None:
    def free() -> CallToolResult:
        """Never runs."""
        return CallToolResult(content=[])

    signature = ToolSignature.from_callable(free, context_type=Context)
    result = CallToolResult(content=[], structured_content={"other": 1})

    assert signature.output_schema is None
    assert result is to_result(result, signature)


def test_half_a_surrogate_pair_in_an_error_costs_only_itself() -> None:
    (block,) = error_result(OSError("no file caf\udce9")).content

    assert TextContent(text="Error: no file caf?") == block
