"""A callable as a resource or a resource template."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.refusals import InvalidArgumentsError, RegistrationError
from suaveplan_mcp.server.signatures.template_signature import TemplateSignature
from tests.unit.server.handlers import Context


def find(number: int, ctx: Context, limit: int = 10, sort: str = "up") -> Any:
    """Find it."""


def show(path: str) -> str:
    return path


def fixed() -> str:
    return "x"


def make(fn: object, template: str, **options: Any) -> TemplateSignature:
    return TemplateSignature.from_callable(fn, template, context_type=Context, **options)


def test_values_arrive_as_the_annotated_types() -> None:
    signature = make(find, "res://{number}{?limit,sort}")
    values = signature.match("res://7?limit=3")

    assert {"number": "7", "limit": "3"} == values
    assert values is not None
    assert {"number": 7, "limit": 3} == signature.decode(values, "res://7?limit=3")
    assert signature.is_template


def test_a_uri_of_another_shape_does_not_match() -> None:
    assert None is make(show, "res://{path}").match("other://x")


def test_a_plain_uri_is_a_resource_without_arguments() -> None:
    signature = make(fixed, "res://fixed")

    assert ({}, False) == (signature.match("res://fixed"), signature.is_template)
    assert {} == signature.decode({}, "res://fixed")


def test_name_and_description_are_given_or_the_callables_own() -> None:
    assert ("find", "Find it.") == (
        (own := make(find, "res://{number}{?limit,sort}")).name,
        own.description,
    )
    given = make(show, "res://{path}", name="n", description="d")
    assert ("n", "d") == (given.name, given.description)


def test_values_are_written_into_a_uri() -> None:
    assert "res://a%2Fb" == make(show, "res://{path}").expand(path="a/b")


@pytest.mark.parametrize(
    ("fn", "template", "words"),
    [
        (show, "res://x", "parameter `path`: the template 'res://x' has no variable of that name"),
        (show, "res://{path}/{id}", "parameter `id`: the template .* has a variable that the handler lacks"),
        (find, "res://{number}{?limit}", "parameter `sort`"),
        (show, "res://{path", "brace"),
    ],
)
def test_a_handler_that_does_not_fit_its_template_is_refused(fn: object, template: str, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        make(fn, template)


@pytest.mark.parametrize("uri", ["file:///%ZZ", "file:///../etc/passwd"])
def test_a_bad_uri_is_the_callers_fault(uri: str) -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        make(show, "file:///{path*}").match(uri)

    assert (MCP_CODES.INVALID_PARAMS, "uri") == (caught.value.code, caught.value.path)


def test_the_guard_can_be_switched_off() -> None:
    assert {"path": "../x"} == make(show, "file:///{path*}", guard=False).match("file:///../x")


def test_a_value_of_another_type_or_a_missing_one_is_named() -> None:
    def search(q: str, n: int = 1) -> None: ...

    signature = make(search, "res://s{?q,n}")

    with pytest.raises(InvalidArgumentsError, match="uri: `n`: Expected `int`"):
        signature.decode({"q": "x", "n": "y"}, "res://")
    with pytest.raises(InvalidArgumentsError, match="uri: `q` is missing from the query"):
        signature.decode({}, "res://")


def with_uri(uri: str, id: int = 0) -> Any:
    """Take the whole URI beside a variable."""


def only_uri(uri: str) -> Any:
    """Take the whole URI."""


@pytest.mark.parametrize(
    ("fn", "template", "uri", "arguments"),
    [
        (only_uri, "res://x", "res://x", {"uri": "res://x"}),
        (with_uri, "res://{id}", "res://7", {"id": 7, "uri": "res://7"}),
        (only_uri, "res://{uri}", "res://a%20b", {"uri": "a b"}),
    ],
)
def test_a_parameter_uri_gets_the_whole_uri_where_no_variable_has_its_name(
    fn: object, template: str, uri: str, arguments: dict[str, object]
) -> None:
    signature = make(fn, template)
    values = signature.match(uri)

    assert values is not None
    assert arguments == signature.decode(values, uri)
