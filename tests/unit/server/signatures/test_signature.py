"""What is found out about a callable when it is registered."""

import functools
import typing
from collections.abc import Callable
from inspect import isawaitable
from typing import Annotated, Any, Optional

import pytest
from msgspec import Meta

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.signatures.signature import EMPTY, CallableShape, inspect_callable, union_members
from tests.unit.server import handlers
from tests.unit.server.handlers import Context, Multiplier


def inspect(fn: object, name: str | None = None, **options: bool) -> CallableShape:
    return inspect_callable(fn, kind="tool", name=name, context_type=Context, **options)


def names(fn: object) -> list[str]:
    return [parameter.name for parameter in inspect(fn).parameters]


def test_a_function_is_known_by_its_name_docstring_and_types() -> None:
    shape = inspect(handlers.plain)

    assert ("plain", "Do something.", False, str) == (shape.name, shape.description, shape.is_async, shape.returns)
    assert [("number", int, True), ("text", str, False)] == [
        (each.name, each.annotation, each.required) for each in shape.parameters
    ]
    assert "tool `plain`" == shape.label


def test_a_given_name_wins() -> None:
    assert "other" == inspect(handlers.plain, "other").name


@pytest.mark.parametrize(
    ("fn", "name", "is_async", "expected"),
    [
        (handlers.asynchronous, "asynchronous", True, 6),
        (functools.partial(handlers.asynchronous, factor=3), "asynchronous", True, 18),
        (functools.partial(functools.partial(handlers.plain), text="ab"), "plain", False, "abababababab"),
        (Multiplier(5), "Multiplier", True, 30),
        (functools.partial(Multiplier(5)), "Multiplier", True, 30),
        (Multiplier(5).method, "method", False, 30),
        (Multiplier.static, "static", False, 12),
        (Multiplier.__dict__["static"], "static", False, 12),
        (functools.lru_cache(Multiplier.static), "static", False, 12),
        (handlers.keeping_its_signature(handlers.asynchronous), "asynchronous", False, 6),
        (handlers.keeping_its_signature(Multiplier.static), "static", False, 12),
    ],
)
async def test_every_kind_of_callable_runs_and_is_awaited(
    fn: object, name: str, is_async: object, expected: object
) -> None:
    shape = inspect(fn)

    assert (name, is_async) == (shape.name, shape.is_async)
    assert "number" == shape.parameters[0].name
    returned: Any = shape.invoke({"number": 6}, None)
    assert expected == (await returned if isawaitable(returned) else returned)


def test_a_class_method_takes_what_follows_its_class() -> None:
    assert ["factor"] == names(Multiplier.build)


def test_what_a_partial_binds_is_hidden() -> None:
    assert ["number"] == names(functools.partial(handlers.asynchronous, factor=3))
    assert ["text"] == names(functools.partial(handlers.plain, 3))


def test_a_decorated_partial_is_read_in_the_module_of_its_function() -> None:
    shape = inspect(handlers.keeping_its_signature(functools.partial(handlers.asynchronous, 6)))

    assert [("factor", int, 1)] == [(each.name, each.annotation, each.default) for each in shape.parameters]


def test_an_object_is_described_by_its_call_or_else_by_its_class() -> None:
    assert "Multiply." == inspect(Multiplier(1)).description
    assert "Multiply by the factor." == inspect(Multiplier(1).method).description
    assert None is inspect(handlers.asynchronous).description


@pytest.mark.parametrize("fn", [handlers.with_context, handlers.with_annotated_context, handlers.with_optional_context])
def test_the_context_is_passed_and_is_no_argument(fn: Callable[..., object]) -> None:
    shape, context = inspect(fn), Context()

    assert ["number"] == [parameter.name for parameter in shape.parameters]
    assert (1, context) == shape.invoke({"number": 1}, context)


def test_the_context_is_known_by_its_name_where_only_type_checkers_import_it() -> None:
    def handler(ctx: Any) -> None: ...

    handler.__annotations__["ctx"] = "Optional[Ctx]"

    class Ctx: ...

    shape = inspect_callable(handler, kind="tool", name=None, context_type=Ctx)

    assert "ctx" == shape.context_parameter


def test_names_of_the_enclosing_function_are_seen() -> None:
    class Local: ...

    def handler(value: Any) -> bool:
        return isinstance(value, Local)

    handler.__annotations__["value"] = "list[Local]"

    assert list[Local] == inspect(handler).parameters[0].annotation


def test_a_function_may_be_inspected_before_its_own_name_is_bound() -> None:
    found: list[CallableShape] = []

    def register(fn: Callable[..., int]) -> Callable[..., int]:
        found.append(inspect(fn))
        return fn

    @register
    def countdown(number: int) -> int:
        return countdown(number - 1) if number else 0

    assert "countdown" == found[0].name
    assert 0 == countdown(1)


@pytest.mark.parametrize(
    ("fn", "parameter", "words"),
    [
        (handlers.positional, "number", "positional-only"),
        (handlers.variadic, "numbers", r"`\*numbers`"),
        (handlers.keywords, "numbers", r"`\*\*numbers`"),
        (handlers.with_secret, "hidden", "'Secret' is not defined"),
        (handlers.with_secret_result, "return", "'Secret' is not defined"),
        (handlers.with_two_contexts, "two", "`one` is the context already"),
        (handlers.generator, None, "is a generator"),
        (handlers.asynchronous_generator, None, "is a generator"),
        (lambda: None, None, "a lambda has no name"),
        (Multiplier, None, "not the class `Multiplier`"),
        (Multiplier.__dict__["build"], None, "not an object of type `classmethod`"),
        (3, None, "not an object of type `int`"),
        (dict.get, "self", "positional-only"),
        (handlers.Unreadable(), None, "cannot be inspected"),
    ],
)
def test_what_cannot_be_called_by_name_is_refused_naming_function_and_parameter(
    fn: object, parameter: str | None, words: str
) -> None:
    with pytest.raises(RegistrationError, match=words) as caught:
        inspect(fn)

    assert MCP_CODES.INVALID_PARAMS == caught.value.code
    assert parameter == caught.value.context["parameter"]
    assert f"`{caught.value.context['function']}`" in caught.value.message


def test_a_lambda_with_a_name_will_do() -> None:
    assert "answer" == inspect(lambda: 42, "answer").name


def test_annotations_that_are_evaluated_late_are_refused_as_well() -> None:
    class Lazy:
        @property
        def __signature__(self) -> object:
            raise NameError("name 'Secret' is not defined")

        def __call__(self) -> None: ...

    with pytest.raises(RegistrationError, match="'Secret' is not defined"):
        inspect(Lazy())


def test_further_keywords_are_taken_where_a_schema_names_them() -> None:
    shape = inspect(handlers.keywords, accepts_any=True)

    assert ((), True) == (shape.parameters, shape.accepts_any)
    with pytest.raises(RegistrationError, match=r"\*numbers"):
        inspect(handlers.variadic, accepts_any=True)


def test_a_parameter_without_annotation_or_default_says_so() -> None:
    def handler(self, value): ...

    assert [("self", EMPTY, EMPTY), ("value", EMPTY, EMPTY)] == [
        (each.name, each.annotation, each.default) for each in inspect(handler).parameters
    ]


def test_a_parameter_is_described_by_its_annotation_or_else_by_the_docstring() -> None:
    def handler(a: Annotated[int, Meta(description="from the type")], b: Annotated[int, "x"], c: int) -> None:
        """Do it.

        Args:
            a: from the docstring.
            b: from the docstring.
        """

    expected = ["from the type", "from the docstring.", ""]

    assert expected == [each.description for each in inspect(handler).parameters]


def test_mutable_defaults_are_fresh_in_every_call() -> None:
    def handler(values: list[int] = []) -> list[int]:  # noqa: B006 - the point of it
        values.append(1)
        return values

    shape = inspect(handler)
    calls: list[dict[str, object]] = [{}, {}, {"values": [5]}]

    assert [[1], [1], [5, 1]] == [shape.invoke(arguments, None) for arguments in calls]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, (int,)),
        (int | None, (int, type(None))),
        (Annotated[typing.Union[int, Annotated[str, 1]], 2], (int, str)),  # noqa: UP007 - the old form
        (Optional[int], (int, type(None))),  # noqa: UP045 - the old form
    ],
)
def test_a_union_is_told_by_its_members(annotation: object, expected: tuple[object, ...]) -> None:
    assert expected == union_members(annotation)
