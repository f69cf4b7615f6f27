"""Classes as forms."""

import enum
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from suaveplan_mcp.server.elicitation import form_of


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Order:
    name: str
    day: date
    size: Size
    colours: list[Literal["red", "blue"]]
    kind: Literal["gift"] = "gift"
    mail: str | None = None
    count: int = 1
    extras: list[Size] = field(default_factory=list[Size])


class OrderModel(pydantic.BaseModel):
    name: str
    day: date
    size: Size
    colours: list[Literal["red", "blue"]]
    kind: Literal["gift"] = "gift"
    mail: str | None = None
    count: int = 1
    extras: list[Size] = []


@pytest.mark.parametrize("kind", [Order, OrderModel])
def test_every_kind_of_field_finds_its_words(kind: type) -> None:
    form: Any = form_of(kind)
    fields = {
        name: {key: value for key, value in each.items() if key not in ("title", "default")}
        for name, each in form["properties"].items()
    }

    assert "$defs" not in form
    assert ["name", "day", "size", "colours"] == form["required"]
    assert {"type": "string"} == fields["name"] == fields["mail"]
    assert {"type": "string", "format": "date"} == fields["day"]
    assert ("string", ["l", "s"]) == (fields["size"]["type"], sorted(fields["size"]["enum"]))
    assert ("string", ["blue", "red"]) == (
        fields["colours"]["items"]["type"],
        sorted(fields["colours"]["items"]["enum"]),
    )
    assert {"type": "string", "enum": ["gift"]} == fields["kind"]
    assert ("string", ["l", "s"]) == (
        fields["extras"]["items"]["type"],
        sorted(fields["extras"]["items"]["enum"]),
    )
    assert 1 == form["properties"]["count"]["default"]
    assert "default" not in form["properties"]["mail"]


class Loose(TypedDict):
    number: Literal[1, 2]
    either: int | str | None
    anything: Any


def test_what_no_form_can_hold_stays_as_it_is() -> None:
    fields: Any = form_of(Loose)["properties"]

    assert [1, 2] == sorted(fields["number"]["enum"])
    assert "type" not in fields["number"]
    assert {"integer", "string", "null"} == {alternative["type"] for alternative in fields["either"]["anyOf"]}
    assert {} == fields["anything"]


def test_a_class_without_fields_gives_whatever_it_is() -> None:
    assert {"type": "integer"} == form_of(int)


class Misspelt(msgspec.Struct):
    """Refers to a type that does not exist."""

    other: "Nowhere"  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


def test_a_class_that_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(NameError, match="Nowhere"):
        form_of(Misspelt)
