"""A callable as a prompt."""

from typing import Annotated, Any

import pytest
from msgspec import Meta
from pydantic import Field

from suaveplan_mcp.server.refusals import InvalidArgumentsError
from suaveplan_mcp.server.signatures.prompt_signature import PromptSignature
from suaveplan_mcp.types.prompts import PromptArgument
from tests.unit.server.handlers import Context


def review(
    code: str,
    ctx: Context,
    lines: Annotated[int, Meta(description="how many")] = 3,
    tags: list[str] = ["a"],  # noqa: B006
) -> Any:
    """Review code.

    Args:
        code: what to review.
    """
    tags.append("used")
    return code, lines, tags


SIGNATURE = PromptSignature.from_callable(review, context_type=Context)


def test_the_arguments_are_listed_without_the_context() -> None:
    assert [
        PromptArgument(name="code", description="what to review.", required=True),
        PromptArgument(name="lines", description="how many", required=False),
        PromptArgument(name="tags", required=False),
    ] == SIGNATURE.arguments
    assert ("review", "Review code.") == (SIGNATURE.name, SIGNATURE.description)


def test_a_given_name_and_description_win() -> None:
    signature = PromptSignature.from_callable(review, context_type=Context, name="n", description="d")

    assert ("n", "d") == (signature.name, signature.description)


def test_text_arrives_as_the_annotated_types() -> None:
    assert {"code": "x", "lines": 5} == SIGNATURE.decode({"code": "x", "lines": "5"})


def test_mutable_defaults_are_not_shared() -> None:
    for _ in range(2):
        assert ("x", 3, ["a", "used"]) == SIGNATURE.shape.invoke(SIGNATURE.decode({"code": "x"}), Context())


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        (None, "code", "required"),
        ({}, "code", "required"),
        ({"code": "x", "lines": "many"}, "lines", "Expected `int`"),
        ({"code": "x", "tags": "a,b"}, "tags", "JSON"),
        ({"code": "x", "more": "y"}, "more", "no argument of that name"),
    ],
)
def test_a_bad_argument_is_named(arguments: dict[str, str] | None, path: str, words: str) -> None:
    with pytest.raises(InvalidArgumentsError, match=f"prompt `review`: {path}: .*{words}") as caught:
        SIGNATURE.decode(arguments)

    assert path == caught.value.path


def test_fields_of_pydantic_may_be_defaults() -> None:
    def handler(
        a: int = Field(description="A", ge=1),
        b: int = Field(2),
        c: Any = Field(default_factory=list),  # noqa: B008 - as people write it
        d=Field(4),  # noqa: B008 - as people write it
    ):
        return a, b, c, d

    signature = PromptSignature.from_callable(handler, context_type=Context)

    assert [("a", "A", True), ("b", None, False), ("c", None, False), ("d", None, False)] == [
        (each.name, each.description, each.required) for each in signature.arguments
    ]
    assert (1, 2, [], 4) == signature.shape.invoke(signature.decode({"a": "1"}), None)
