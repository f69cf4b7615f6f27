"""Types as schemas and codecs, by msgspec."""

import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict, cast

import jsonschema_rs
import pytest
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.json import decode, encode
from pydantic import BaseModel, Field, dataclasses

from suaveplan_mcp.server.refusals import MismatchError
from suaveplan_mcp.server.signatures.schema import (
    StructArguments,
    StructValue,
    encode_value,
    inline_root,
    involves_pydantic,
    json_of,
    schema_of,
)
from suaveplan_mcp.server.signatures.signature import EMPTY, Parameter
from suaveplan_mcp.types.content import UnknownContent


class Colour(enum.Enum):
    RED = "red"


class Node(Struct):
    kids: list["Node"] = []


class Pair(TypedDict):
    a: int
    b: NotRequired[str]


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Basket:
    items: list[int] = field(default_factory=list)


class Model(BaseModel):
    name: str = Field(alias="theName")


class Holder(TypedDict):
    model: Model


@dataclasses.dataclass
class Modelled:
    name: str


def arguments(annotation: Any, default: Any = EMPTY) -> StructArguments:
    return StructArguments([Parameter("value", annotation, default)])


def properties_of(codec: StructArguments) -> Any:
    return codec.schema["properties"]


def property_of(codec: StructArguments) -> Any:
    return properties_of(codec)["value"]


def test_no_parameters_are_an_object_without_properties() -> None:
    codec = StructArguments([])

    assert {"type": "object", "properties": {}, "additionalProperties": False} == codec.schema
    assert {} == codec.decode(b"{}")


@pytest.mark.parametrize(
    ("annotation", "sent", "value", "shown"),
    [
        (EMPTY, [1, None], [1, None], {}),
        (Any, {"a": 1}, {"a": 1}, {}),
        (object, 1, 1, {}),
        (dict[str, object], {"a": 1}, {"a": 1}, {"type": "object"}),
        (str, "123", "123", {"type": "string"}),
        (str, '{"a":1}', '{"a":1}', {"type": "string"}),
        (str, "null", "null", {"type": "string"}),
        (str | int, "007", "007", {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (int, 10**30, 10**30, {"type": "integer"}),
        (Literal["a"] | None, None, None, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        (Colour, "red", Colour.RED, {"$ref": "#/$defs/Colour"}),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50"), {"type": "string", "format": "decimal"}),
        (
            datetime.datetime,
            "2020-01-02T03:04:05Z",
            datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
            {"type": "string", "format": "date-time"},
        ),
        (
            Annotated[datetime.datetime | None, Meta(description="d")],
            None,
            None,
            {"description": "d", "anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        ),
        (
            list[datetime.time],
            ["03:04:05"],
            [datetime.time(3, 4, 5)],
            {"type": "array", "items": {"type": "string", "format": "time"}},
        ),
        (datetime.date, "2020-01-02", datetime.date(2020, 1, 2), {"type": "string", "format": "date"}),
        (datetime.timedelta, "PT1M", datetime.timedelta(minutes=1), {"type": "string", "format": "duration"}),
        (uuid.UUID, str(uuid.UUID(int=1)), uuid.UUID(int=1), {"type": "string", "format": "uuid"}),
        (PurePosixPath, "/a", PurePosixPath("/a"), {"type": "string", "format": "path"}),
        (bytes, "+//+Pj8=", b"\xfb\xff\xfe\x3e\x3f", {"type": "string", "contentEncoding": "base64"}),
        (Annotated[int, Meta(ge=1, title="Chosen")], 1, 1, {"type": "integer", "minimum": 1, "title": "Chosen"}),
        (Pair, {"a": 1}, {"a": 1}, {"$ref": "#/$defs/Pair"}),
        (Basket, {"items": [1]}, Basket([1]), {"$ref": "#/$defs/Basket"}),
        (Sequence[Node], [{}], [Node()], {"type": "array", "items": {"$ref": "#/$defs/Node"}}),
        (
            dict[str, Node],
            {"a": {}},
            {"a": Node()},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Node"}},
        ),
        (
            Node | list[Node],
            {"kids": [{}]},
            Node([Node()]),
            {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Node"}}, {"$ref": "#/$defs/Node"}]},
        ),
    ],
)
def test_a_value_arrives_as_its_type_and_the_schema_tells_it(
    annotation: Any, sent: object, value: object, shown: dict[str, object]
) -> None:
    codec = arguments(annotation)

    assert {"value": value} == codec.decode(encode({"value": sent}))
    assert shown == property_of(codec)
    assert ["value"] == codec.schema["required"]
    assert jsonschema_rs.validator_for(codec.schema).is_valid({"value": sent})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the `type` statement came with 3.12")
def test_an_alias_of_a_type_statement_is_what_it_stands_for() -> None:
    names: dict[str, Any] = {}
    exec("type Alias = str | int", names)

    assert {"value": "007"} == arguments(names["Alias"]).decode(b'{"value":"007"}')
    assert not involves_pydantic(names["Alias"])


@pytest.mark.parametrize(
    ("annotation", "sent", "path", "reason"),
    [
        (list[int], "[1,2]", "value", "Expected `array`, got `str`"),
        (list[int], "not json", "value", "Expected `array`, got `str`"),
        (dict[str, int], '{"k":[1]}', "value", "Expected `object`, got `str`"),
        (int, "1", "value", "Expected `int`, got `str`"),
        (int, True, "value", "Expected `int`, got `bool`"),
        (Node, {"kids": [{"kids": 1}]}, "value.kids[0].kids", "Expected `array`, got `int`"),
        (list[Pair], [{}], "value[0].a", "Object missing required field `a`"),
        (PurePosixPath, 1, "value", "Expected `str`, got `int`"),
        (Annotated[int, Meta(ge=1)], 0, "value", "Expected `int` >= 1"),
    ],
)
def test_a_value_of_another_type_is_refused_naming_its_place(
    annotation: Any, sent: object, path: str, reason: str
) -> None:
    with pytest.raises(MismatchError) as caught:
        arguments(annotation).decode(encode({"value": sent}))

    assert (path, reason) == (caught.value.path, caught.value.reason)


@pytest.mark.parametrize(
    ("data", "path"),
    [(b"{}", "value"), (b'{"value":1,"extra":1}', "extra"), (b"[]", "(root)"), (b"3", "(root)"), (b"{", "(root)")],
)
def test_arguments_of_another_shape_are_refused(data: bytes, path: str) -> None:
    with pytest.raises(MismatchError) as caught:
        arguments(int).decode(data)

    assert path == caught.value.path


def test_arguments_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(MismatchError, match="too deeply"):
        arguments(Any).decode(b'{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, 3),
        (int | None, None, None),
        (list[int], [1], [1]),
        (Colour, Colour.RED, "red"),
        (bytes, b"x", "eA=="),
        (PurePosixPath, PurePosixPath("/x"), "/x"),
        (Basket, Basket([1]), {"items": [1]}),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (Model, Model(theName="x"), {"theName": "x"}),
    ],
)
def test_a_default_is_used_and_shown(annotation: Any, default: object, shown: object) -> None:
    codec = arguments(Any if annotation is Model else annotation, default)

    assert {"value": default} == codec.decode(b"{}")
    assert shown == property_of(codec)["default"]
    assert "required" not in codec.schema


@pytest.mark.parametrize(("annotation", "default"), [(Any, object()), (int | UnsetType, UNSET)])
def test_a_default_without_a_json_form_is_used_and_not_shown(annotation: Any, default: object) -> None:
    codec = arguments(annotation, default)

    assert default is codec.decode(b"{}")["value"]
    assert "default" not in property_of(codec)


def test_mutable_defaults_are_not_shared() -> None:
    codec = arguments(list[list[int]], [[1]])
    first = codec.decode(b"{}")["value"]

    assert isinstance(first, list)
    first[0].append(2)
    assert {"value": [[1]]} == codec.decode(b"{}")


def test_a_parameter_may_have_another_name_on_the_wire() -> None:
    codec = arguments(Annotated[int, "x", Meta(ge=1), Meta(extra={"alias": "from"})])

    assert {"value": 1} == codec.decode(b'{"from":1}')
    assert ["from"] == codec.schema["required"]


@pytest.mark.parametrize("name", ["__hidden", "_private", "self", "type", "__init__", "é"])
def test_a_parameter_may_be_named_like_anything(name: str) -> None:
    codec = StructArguments([Parameter(name, int)])

    assert {name: 1} == codec.decode(encode({name: 1}))


def test_the_docstring_describes_what_the_type_does_not() -> None:
    codec = StructArguments(
        [Parameter("a", Annotated[int, Meta(description="t")], EMPTY, "d"), Parameter("b", Node, EMPTY, "d")]
    )

    assert {"description": "t", "type": "integer"} == properties_of(codec)["a"]
    assert {"description": "d", "$ref": "#/$defs/Node"} == properties_of(codec)["b"]


def test_the_root_of_a_schema_is_no_reference_and_local_references_resolve() -> None:
    node = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []}},
    }

    assert {**node, "$defs": {"Node": node}} == schema_of(Node)
    assert {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]} == (
        schema_of(Pair)
    )
    assert {"type": "integer"} == inline_root({"type": "integer"}, {})


def test_classes_of_one_name_are_kept_apart() -> None:
    one = type("Node", (Struct,), {"__annotations__": {"a": int}, "__module__": "one"})
    two = type("Node", (Struct,), {"__annotations__": {"b": int}, "__module__": "two"})
    codec = StructArguments([Parameter("x", one), Parameter("y", two)])

    assert {"one.Node", "two.Node"} == set(cast("dict[str, object]", codec.schema["$defs"]))
    validator = jsonschema_rs.validator_for(codec.schema)
    assert validator.is_valid({"x": {"a": 1}, "y": {"b": 1}})
    assert not validator.is_valid({"x": {"b": 1}, "y": {"a": 1}})


@pytest.mark.parametrize("annotation", [complex, list[complex], Pair | Basket, Literal])
def test_a_type_that_msgspec_does_not_know_is_a_type_error(annotation: Any) -> None:
    with pytest.raises(TypeError):
        arguments(annotation)


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [("3", int, 3), ("true", bool, True), ("red", Colour, Colour.RED), ("/a", PurePosixPath, PurePosixPath("/a"))],
)
def test_a_scalar_is_read_from_text(text: str, annotation: Any, value: object) -> None:
    assert value == StructValue(annotation).parse(text)


def test_text_that_is_no_such_scalar_is_refused() -> None:
    with pytest.raises(MismatchError, match="Expected `int`"):
        StructValue(int).parse("three")


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"a": PurePosixPath("/x")}, b'{"a":"/x"}'),
        ([Model(theName="x")], b'[{"theName":"x"}]'),
        (Raw(b"[1]"), b"[1]"),
        (UnknownContent(Raw(b'{"type":"odd"}')), b'{"type":"odd"}'),
        (Point(1, 2), b"[1,2]"),
        (set[int](), b"[]"),
        (2**70, b"1180591620717411303424"),
    ],
)
def test_a_value_with_a_json_form_is_written(value: object, data: bytes) -> None:
    assert data == encode_value(value)


def test_a_value_without_a_json_form_is_refused_naming_its_type() -> None:
    ring: list[object] = []
    ring.append(ring)

    with pytest.raises(MismatchError, match="type object"):
        encode_value(object())
    with pytest.raises(MismatchError, match="type dict cannot be JSON: a value of type generator"):
        encode_value({"a": (each for each in ())})
    with pytest.raises(MismatchError, match="type list contains itself"):
        encode_value(ring)
    with pytest.raises(MismatchError, match="surrogates"):
        encode_value("\ud800")


def test_a_written_value_fits_its_type() -> None:
    codec = StructValue(Basket)

    assert b'{"items":[1]}' == codec.encode({"items": [1]})
    with pytest.raises(MismatchError, match=r"items\[0\]: Expected `int`, got `str`"):
        codec.encode(Basket(["x"]))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("nothing", [None, UNSET, Raw(b"null"), b"null", {}, b"{}", Raw(b"{}")])
def test_no_arguments_are_an_empty_object(nothing: Any) -> None:
    assert b"{}" == bytes(json_of(nothing))


def test_arguments_are_taken_as_json_or_plain_values() -> None:
    assert b'{"a":1}' == json_of(b'{"a":1}')
    assert Raw(b'{"a":1}') == json_of(Raw(b'{"a":1}'))
    assert {"a": "/x"} == decode(json_of({"a": PurePosixPath("/x")}))


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, False),
        (list[dict[str, Node | None]], False),
        (Literal["a"], False),
        (Annotated[int, Meta(ge=1)], False),
        (Pair, False),
        (Model, True),
        (list[Model | None], True),
        (Annotated[int, Field(ge=1)], True),
        (dict[str, Annotated[int, Field(ge=1)]], True),
        (Holder, True),
        (Modelled, True),
    ],
)
def test_pydantic_is_noticed_at_any_depth(annotation: Any, expected: object) -> None:
    assert expected == involves_pydantic(annotation)
