"""Values that arrive as text."""

import datetime
import enum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field

from suaveplan_mcp.server.refusals import MismatchError, RegistrationError
from suaveplan_mcp.server.signatures.signature import EMPTY, Parameter, inspect_callable
from suaveplan_mcp.server.signatures.text_values import text_reader
from tests.unit.server.handlers import Context, plain

SHAPE = inspect_callable(plain, kind="prompt", name=None, context_type=Context)


class Colour(enum.Enum):
    RED = "red"


class Node(Struct):
    kids: list["Node"] = []


class Model(BaseModel):
    number: int


def read(annotation: Any, text: str) -> object:
    return text_reader(SHAPE, Parameter("value", annotation))(text)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (EMPTY, "3", "3"),
        (Any, "3", "3"),
        (object, "3", "3"),
        (str, "null", "null"),
        (str | None, "null", "null"),
        (Annotated[str | int, "x"], "007", "007"),
        (int, "3", 3),
        (float, "3", 3.0),
        (bool, "true", True),
        (int | None, "null", None),
        (Colour, "red", Colour.RED),
        (Literal[1, 2], "2", 2),
        (datetime.date, "2020-01-02", datetime.date(2020, 1, 2)),
        (list[int], "[1,2]", [1, 2]),
        (dict[str, int], '{"a":1}', {"a": 1}),
        (Node, '{"kids":[{}]}', Node([Node()])),
        (Node | None, "{}", Node()),
        (Model, '{"number":1}', Model(number=1)),
        (Annotated[int, Field(ge=1)], "1", 1),
    ],
)
def test_text_is_read_as_the_annotated_type(annotation: Any, text: str, value: object) -> None:
    assert value == read(annotation, text)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [(int, "x"), (list[int], "1,2"), (Node, '{"kids":1}'), (Model, "{}"), (Annotated[int, Field(ge=1)], "0")],
)
def test_text_that_does_not_fit_is_refused(annotation: Any, text: str) -> None:
    with pytest.raises(MismatchError):
        read(annotation, text)


def test_an_unknown_type_is_refused_when_it_is_registered() -> None:
    with pytest.raises(RegistrationError, match="parameter `value`"):
        text_reader(SHAPE, Parameter("value", type("Own", (), {})))
