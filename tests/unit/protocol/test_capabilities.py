"""Whether a peer declared what a method needs."""

import pytest
from msgspec import convert

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.protocol.capabilities import declares, undeclared
from suaveplan_mcp.types.capabilities import ServerCapabilities


@pytest.mark.parametrize(
    ("declared", "path", "expected"),
    [
        ({"tools": {}}, "tools", True),
        ({}, "tools", False),
        ({"resources": {"subscribe": True}}, "resources.subscribe", True),
        ({"resources": {"subscribe": False}}, "resources.subscribe", False),
        ({"resources": {}}, "resources.subscribe", False),
        ({}, "resources.subscribe", False),
        ({"experimental": {"a/b": {}}}, "experimental.a/b", True),
        ({"experimental": {}}, "experimental.a/b", False),
    ],
)
def test_a_capability_is_there_when_its_object_is_there_or_true(
    declared: dict[str, object], path: str, *, expected: bool
) -> None:
    assert expected == declares(convert(declared, ServerCapabilities), path)


def test_the_error_names_method_and_capability() -> None:
    error = undeclared("tools/list", "tools")

    assert MCP_CODES.METHOD_NOT_FOUND == error.code
    assert "Method not found: tools/list (the peer did not declare the capability tools)" == error.message
