"""Arguments from the command line."""

from collections.abc import Callable
from typing import Any

import pytest

from suaveplan_mcp.cli.parser import UsageError
from suaveplan_mcp.cli.values import parse_texts, parse_values

SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "number": {"type": "number"},
        "several": {"type": ["integer", "null"]},
        "flag": {"oneOf": [{"type": "boolean"}]},
        "items": {"type": "array"},
        "choice": {"enum": ["1", "2"]},
        "fixed": {"const": "1"},
        "referenced": {"$ref": "#/$defs/Point"},
        "nowhere": {"$ref": "#/$defs/Point/type/none"},
        "outside": {"$ref": "https://example.org/schema"},
        "endless": {"$ref": "#/properties/endless"},
        "anything": True,
    },
    "$defs": {"Point": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=7", "7"),
        ("text=a=b:=c", "a=b:=c"),
        ("text=", ""),
        ("maybe=null", "null"),
        ("number=7.5", 7.5),
        ("several=null", None),
        ("flag=true", True),
        ('items=["a", 1]', ["a", 1]),
        ("choice=1", "1"),
        ("fixed=1", "1"),
        ('referenced={"x": 1}', {"x": 1}),
        ("nowhere=1", 1),
        ("outside=1", 1),
        ("endless=x", "x"),
        ("anything=[1]", [1]),
        ("anything=[1", "[1"),
        ("unheard_of=1", 1),
        ("text:=7", 7),
        ("text=two\nlines", "two\nlines"),
    ],
)
def test_a_value_is_what_the_schema_says_it_is(word: str, value: object) -> None:
    name = word.partition("=")[0].removesuffix(":")

    assert {name: value} == parse_values([word], SCHEMA)


def test_a_schema_without_properties_leaves_values_to_be_guessed() -> None:
    assert {"a": 1, "b": "x"} == parse_values(["a=1", "b=x"], {})


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("number=many", "the value of number is not JSON: 'many'; the tool wants number"),
        ("several=x", "the tool wants integer or null"),
        ("unheard_of:=x", "the value of unheard_of is not JSON: 'x'$"),
        ("no assignment", "'no assignment' is no argument; write name=value"),
        ("=x", "'=x' is no argument"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_clear_error(word: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_values([word], SCHEMA)


def test_the_arguments_of_a_prompt_are_strings() -> None:
    assert {"a": "1", "b": "[2]"} == parse_texts(["a=1", "b=[2]"])


@pytest.mark.parametrize("parse", [parse_texts, lambda words: parse_values(words, SCHEMA)])
def test_an_argument_that_is_given_twice_is_misuse(parse: Callable[[list[str]], object]) -> None:
    with pytest.raises(UsageError, match="the argument text is given twice"):
        parse(["text=a", "flag=true", "text=b"])
