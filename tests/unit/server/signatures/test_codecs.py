"""Which source of schemas reads a type."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field

from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.signatures import codecs, pydantic_signature
from suaveplan_mcp.server.signatures.codecs import arguments_codec, value_codec
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.server.signatures.pydantic_signature import PydanticArguments, PydanticValue
from suaveplan_mcp.server.signatures.schema import StructArguments, StructValue
from suaveplan_mcp.server.signatures.signature import CallableShape, inspect_callable


class Model(BaseModel):
    number: int


class Record(Struct):
    number: int


class One(Struct):
    one: int


class Two(BaseModel):
    two: "Missing"  # pyright: ignore[reportUndefinedVariable]  # noqa: F821 - the point of it


class Context: ...


def shape_of(*annotations: Any, default: Any = None) -> CallableShape:
    def handler(a: Any, b: Any = default) -> None: ...

    handler.__annotations__ = dict(zip("ab", annotations, strict=False))
    return inspect_callable(handler, kind="tool", name=None, context_type=Context)


@pytest.mark.parametrize(
    ("annotations", "default", "kind"),
    [
        ((int, Record), None, StructArguments),
        ((int, Model), None, PydanticArguments),
        ((Annotated[int, Field(ge=1)], str), None, PydanticArguments),
        ((int, int), Field(3), PydanticArguments),
        ((int, list[int]), Field(default_factory=list), PydanticArguments),
        ((int | str | complex, int), None, PydanticArguments),
    ],
)
def test_pydantic_reads_all_arguments_where_one_involves_it(
    annotations: tuple[Any, ...], default: object, kind: type
) -> None:
    assert kind is type(arguments_codec(shape_of(*annotations, default=default)))


@pytest.mark.parametrize(
    ("annotation", "kind"), [(Record, StructValue), (Model, PydanticValue), (complex, PydanticValue)]
)
def test_pydantic_reads_a_value_that_involves_it_or_that_msgspec_does_not_know(annotation: Any, kind: type) -> None:
    assert kind is type(value_codec(shape_of(int), annotation, parameter="a"))


def test_a_type_that_neither_knows_is_refused_naming_its_parameter() -> None:
    with pytest.raises(RegistrationError, match="`handler`, parameter `b`: .*Callable.* is not supported; Cannot gen"):
        arguments_codec(shape_of(int, Callable[[], int]))
    with pytest.raises(RegistrationError, match="`handler`, parameter `return`: .*Callable"):
        value_codec(shape_of(int), Callable[[], int], parameter="return")


def test_types_that_only_fail_together_are_refused_without_a_culprit() -> None:
    with pytest.raises(RegistrationError, match="`handler`: .*Record") as caught:
        arguments_codec(shape_of(Model, Record))

    assert None is caught.value.context["parameter"]


def test_a_class_that_refers_to_nothing_is_refused() -> None:
    with pytest.raises(RegistrationError, match="parameter `a`"):
        arguments_codec(shape_of(Two))


def test_the_extra_is_named_where_pydantic_would_be_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, extra: str) -> None:
        raise MissingLibraryError(f"{name} is in {extra}")

    monkeypatch.setattr(pydantic_signature, "load", load)

    with pytest.raises(
        RegistrationError, match="parameter `a`: type .*complex.* not supported; pydantic is in pydantic"
    ):
        arguments_codec(shape_of(complex))
    assert StructArguments is type(arguments_codec(shape_of(int)))
    assert codecs.StructValue is type(value_codec(shape_of(int), int, parameter="a"))
