"""What a caller passes in."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import Raw

from suaveplan_mcp.client.arguments import copy_meta, encode_object, require_text
from suaveplan_mcp.errors import MCP_CODES, MCPError


@dataclass
class Point:
    x: int


def test_text_passes_and_anything_else_is_refused_by_name() -> None:
    assert "echo" == require_text("name", "echo")

    wrong: Any = 42
    with pytest.raises(MCPError, match="`name` is not valid: expected a string, got int") as raised:
        require_text("name", wrong)

    assert MCP_CODES.INVALID_PARAMS == raised.value.code
    assert "name" == raised.value.context["argument"]


@pytest.mark.parametrize(
    ("value", "expected"), [(None, b"{}"), ({}, b"{}"), ({"a": [1, None]}, b'{"a":[1,null]}'), (Point(3), b'{"x":3}')]
)
def test_an_object_is_encoded(value: object, expected: bytes) -> None:
    assert Raw(expected) == encode_object("arguments", value)


def test_what_has_no_json_form_is_refused_by_its_type() -> None:
    with pytest.raises(MCPError, match="`arguments` is not valid: not JSON: .*of type object") as raised:
        encode_object("arguments", {"a": object()})

    assert MCP_CODES.INVALID_PARAMS == raised.value.code


def test_what_is_no_object_is_refused_by_its_type() -> None:
    with pytest.raises(MCPError, match="expected an object, got list"):
        encode_object("arguments", [1])


def test_meta_is_copied_so_that_nothing_is_shared() -> None:
    given: dict[str, Any] = {"com.example/a": {"deep": [1, None]}}

    copied = copy_meta(given)

    assert given == copied
    given["com.example/a"]["deep"].append(2)
    assert {"com.example/a": {"deep": [1, None]}} == copied


def test_no_meta_stays_no_meta() -> None:
    assert None is copy_meta(None)


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("token", [0, "mine", None])
def test_progress_token_of_the_callers_own_is_refused(token: object) -> None:
    meta: Any = {"progressToken": token}

    with pytest.raises(MCPError, match="on_progress") as caught:
        copy_meta(meta)

    assert (MCP_CODES.INVALID_PARAMS, "meta.progressToken") == (caught.value.code, caught.value.context["argument"])


@pytest.mark.parametrize("meta", [{"a": object()}, [1]])
def test_meta_that_is_no_json_object_is_refused_by_name(meta: Any) -> None:
    with pytest.raises(MCPError, match="`meta` is not valid"):
        copy_meta(meta)
