"""What is offered, by name and in order."""

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.registry import Registry


def _registry(changes: list[int] | None = None, key: str | None = None) -> Registry[str]:
    return Registry("thing", (lambda: changes.append(1)) if changes is not None else lambda: None, key)


def test_items_come_back_in_the_order_they_were_added() -> None:
    registry = _registry()
    for name in "bca":
        registry.add(name, name.upper())

    assert ["B", "C", "A"] == list(registry)
    assert 3 == len(registry)


def test_a_taken_key_is_refused_and_the_first_item_stays() -> None:
    registry = _registry()
    registry.add("a", "first")

    with pytest.raises(MCPError, match="a thing 'a' is registered already") as caught:
        registry.add("a", "second")

    assert (MCP_CODES.DUPLICATE_REGISTRATION, {"thing": "a"}) == (caught.value.code, caught.value.context)
    assert "first" == registry.find("a")


def test_a_missing_key_is_named_in_the_error_and_its_data() -> None:
    with pytest.raises(MCPError, match="there is no thing 'a'") as caught:
        _registry(key="uri").find("a")

    assert {"code": MCP_CODES.NOT_FOUND, "uri": "a"} == caught.value.data
    assert MCP_CODES.NOT_FOUND == caught.value.code


def test_every_change_is_told_and_a_refused_one_is_not() -> None:
    changes: list[int] = []
    registry = _registry(changes)
    registry.add("a", "A")
    registry.remove("a")

    with pytest.raises(MCPError):
        registry.remove("a")

    assert [1, 1] == changes


def test_an_item_may_be_looked_for() -> None:
    registry = _registry()
    registry.add("a", "A")

    assert ("A", None) == (registry.get("a"), registry.get("b"))


def test_a_falsy_item_can_be_removed() -> None:
    registry = _registry()
    registry.add("a", "")

    registry.remove("a")

    assert [] == list(registry)


def test_a_walk_is_not_disturbed_by_changes() -> None:
    registry = _registry()
    registry.add("a", "A")
    registry.add("b", "B")

    for item in registry:
        registry.remove(item.lower())

    assert 0 == len(registry)
