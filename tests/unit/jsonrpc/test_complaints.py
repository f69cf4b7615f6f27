"""Where and what a decoder complains of."""

import pytest

from suaveplan_mcp.jsonrpc.complaints import explain


@pytest.mark.parametrize(
    ("complaint", "expected"),
    [
        ("Expected `str`, got `int` - at `$.a.b[0].c`", ("a.b[0].c", "Expected `str`, got `int`")),
        ("Expected `array`, got `int` - at `$[3]`", ("[3]", "Expected `array`, got `int`")),
        ("Expected `object`, got `int` - at `$`", ("(root)", "Expected `object`, got `int`")),
        ("Expected `int`, got `str` - at `key` in `$.a`", ("a", "Expected `int`, got `str`")),
        ("something\nelse", ("(root)", "something\nelse")),
        ("", ("(root)", "")),
    ],
)
def test_a_complaint_is_split_into_where_and_what(complaint: str, expected: tuple[str, str]) -> None:
    assert expected == explain(ValueError(complaint))


@pytest.mark.parametrize(
    ("complaint", "path"),
    [
        ("Object missing required field `name`", "name"),
        ("Object missing required field `b` - at `$.a[0]`", "a[0].b"),
        ("Object contains unknown field `b` - at `$.a`", "a.b"),
    ],
)
def test_a_member_that_is_missing_or_unknown_is_the_place_of_its_own_fault(complaint: str, path: str) -> None:
    assert (path, complaint.partition(" - at")[0]) == explain(ValueError(complaint))


def test_nesting_that_is_too_deep_is_nobodys_member() -> None:
    assert ("(root)", "it is nested too deeply") == explain(RecursionError("maximum recursion depth exceeded"))
