"""Types as schemas and codecs, by pydantic."""

import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import jsonschema_rs
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, computed_field

from suaveplan_mcp.server.refusals import MismatchError
from suaveplan_mcp.server.signatures.pydantic_signature import PydanticArguments, PydanticValue
from suaveplan_mcp.server.signatures.signature import EMPTY, Parameter


class Mixed(enum.Enum):
    A = "a"
    ONE = 1


class Node(BaseModel):
    kids: list["Node"] = []


class Titled(BaseModel):
    model_config = ConfigDict(title="Chosen")

    name: str = Field(alias="theName", title="Also chosen")

    @computed_field
    @property
    def size(self) -> int:
        return len(self.name)


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


def one(annotation: Any, default: Any = EMPTY, description: str = "") -> PydanticArguments:
    return PydanticArguments([Parameter("value", annotation, default, description)])


def members_of(schema: Any) -> dict[str, Any]:
    return schema


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (EMPTY, b"[1]", [1]),
        (Node | list[Node], b'{"kids":[{}]}', Node(kids=[Node()])),
        (Node | list[Node], b"[{}]", [Node()]),
        (Mixed, b"1", Mixed.ONE),
        (Decimal, b'"1.50"', Decimal("1.50")),
        (bytes, b'"+//+Pj8="', b"\xfb\xff\xfe\x3e\x3f"),
        (str | int, b'"007"', "007"),
        (Annotated[int, AfterValidator(even)], b"4", 4),
    ],
)
def test_a_value_arrives_as_its_type(annotation: Any, sent: bytes, value: object) -> None:
    codec = one(annotation)

    assert {"value": value} == codec.decode(b'{"value":' + sent + b"}")
    assert ["value"] == codec.schema["required"]
    jsonschema_rs.validator_for(codec.schema)


@pytest.mark.parametrize(
    ("annotation", "sent", "path", "reason"),
    [
        (int, b"", "value", "Field required"),
        (int, b'"value":1,"more":1', "more", "Extra inputs are not permitted"),
        (int, b'"value":"5"', "value", "Input should be a valid integer"),
        (list[int], b'"value":"[1,2]"', "value", "Input should be a valid array"),
        (list[Node], b'"value":[{"kids":[{"kids":1}]}]', "value[0].kids[0].kids", "Input should be a valid array"),
        (Annotated[int, AfterValidator(even)], b'"value":3', "value", "Value error, must be even"),
    ],
)
def test_a_value_of_another_type_is_refused_naming_its_place(
    annotation: Any, sent: bytes, path: str, reason: str
) -> None:
    with pytest.raises(MismatchError) as caught:
        one(annotation).decode(b"{" + sent + b"}")

    assert (path, reason) == (caught.value.path, caught.value.reason)


def test_all_faults_are_told_at_once() -> None:
    codec = PydanticArguments([Parameter("a", int), Parameter("b", int)])

    with pytest.raises(MismatchError, match="^a: Field required; b: Field required$"):
        codec.decode(b"{}")
    with pytest.raises(MismatchError, match=r"^\(root\): "):
        codec.decode(b"[]")


def test_fields_describe_constrain_and_rename() -> None:
    codec = one(Annotated[int, Field(description="d", ge=1, alias="from")], 3, "unused")

    assert {"from": {"description": "d", "minimum": 1, "default": 3, "type": "integer"}} == codec.schema["properties"]
    assert {"value": 3} == codec.decode(b"{}")
    assert {"value": 2} == codec.decode(b'{"from":2}')


def test_the_docstring_describes_what_the_field_does_not() -> None:
    codec = one(Annotated[int, Field(ge=1)], description="from the docstring")

    assert {"description": "from the docstring", "minimum": 1, "type": "integer"} == (
        members_of(codec.schema["properties"])["value"]
    )


def test_defaults_are_made_for_each_call() -> None:
    codec = one(list[int], Field(default_factory=lambda: [1]))
    first = codec.decode(b"{}")["value"]

    assert isinstance(first, list)
    first.append(2)
    assert {"value": [1]} == codec.decode(b"{}")


def test_a_default_without_a_json_form_is_used_and_not_shown() -> None:
    default = object()
    codec = one(Any, default)

    assert default is codec.decode(b"{}")["value"]
    assert {"value": {}} == codec.schema["properties"]


def test_local_references_resolve_and_class_names_are_no_titles() -> None:
    node = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []}},
    }

    assert {**node, "$defs": {"Node": node}} == PydanticValue(Node).schema
    assert {"type": "integer"} == PydanticValue(int).schema
    assert {"Node": node} == one(list[Node]).schema["$defs"]


def test_titles_that_somebody_chose_are_kept() -> None:
    schema = PydanticValue(Titled).schema

    assert "Chosen" == schema["title"]
    assert {"type": "string", "title": "Also chosen"} == members_of(schema["properties"])["theName"]
    assert "Chosen" == members_of(one(list[Titled]).schema["$defs"])["Titled"]["title"]


def test_what_is_written_fits_the_schema_of_what_is_written() -> None:
    codec = PydanticValue(Titled, "serialization")
    data = codec.encode(Titled(theName="ab"))

    assert b'{"theName":"ab","size":2}' == data
    assert ["theName", "size"] == codec.schema["required"]
    assert data == codec.encode({"theName": "ab"})


def test_a_value_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(MismatchError, match=r"kids\[0\]"):
        PydanticValue(Node).encode({"kids": [3]})
    with pytest.raises(MismatchError, match="type object cannot be JSON"):
        PydanticValue(Any).encode(object())


def test_values_are_read_from_json_and_from_text() -> None:
    assert Node() == PydanticValue(Node).decode(b"{}")
    assert 3 == PydanticValue(Annotated[int, Field(ge=1)]).parse("3")
    with pytest.raises(MismatchError, match="greater than or equal to 1"):
        PydanticValue(Annotated[int, Field(ge=1)]).parse("0")


@pytest.mark.parametrize("annotation", [Callable[[int], int], type("Own", (), {})])
def test_a_type_that_pydantic_does_not_know_is_a_type_error(annotation: Any) -> None:
    with pytest.raises(TypeError, match=r"^[^\n]*$"):
        one(annotation)
    with pytest.raises(TypeError, match=r"^[^\n]*$"):
        PydanticValue(annotation)
