"""Arguments from the command line, made what a tool's input schema asks for."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from msgspec import DecodeError
from msgspec.json import decode

from suaveplan_mcp.cli.parser import UsageError

_ASSIGNMENT: Final = re.compile(r"([^=:]+)(:?=)(.*)", re.DOTALL)
_DEEPEST: Final = 20


def parse_texts(words: Iterable[str]) -> dict[str, str]:
    """Return `name=value` words as a dict of strings.

    Raises:
        UsageError: a word has another form, or a name comes twice.
    """
    return {name: value for name, _, value in _assignments(words)}


def parse_values(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `name=value` words as what a schema says they are.

    A value stays a string where the schema allows one, and is read as JSON where it does not. Where the schema does not
    tell, it is read as JSON if it is any. `name:=value` is JSON in any case.

    Args:
        words: from the command line.
        schema: a tool's input schema.

    Raises:
        UsageError: a word has another form, a name comes twice, or a value is no JSON where it must be.
    """
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    values: dict[str, Any] = {}
    for name, sign, text in _assignments(words):
        kinds = _kinds(properties.get(name, {}), schema)
        if sign == ":=" or (kinds and "string" not in kinds):
            values[name] = _decode(name, text, kinds)
        elif kinds:
            values[name] = text
        else:
            values[name] = _guess(text)
    return values


def _assignments(words: Iterable[str]) -> list[tuple[str, str, str]]:
    seen: set[str] = set()
    assignments = [_split(word) for word in words]
    for name, _, _ in assignments:
        if name in seen:
            raise UsageError(f"the argument {name} is given twice")
        seen.add(name)
    return assignments


def _split(word: str) -> tuple[str, str, str]:
    parts = _ASSIGNMENT.fullmatch(word)
    if parts is None:
        raise UsageError(f"{word!r} is no argument; write name=value, or name:=value for JSON")
    name, sign, text = parts.groups()
    return name, sign, text


def _decode(name: str, text: str, kinds: set[str]) -> Any:
    try:
        return decode(text)
    except DecodeError as error:
        wanted = f"; the tool wants {' or '.join(sorted(kinds))}" if kinds else ""
        raise UsageError(f"the value of {name} is not JSON: {text!r}{wanted}") from error


def _guess(text: str) -> Any:
    try:
        return decode(text)
    except DecodeError:
        return text


def _kinds(schema: object, root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """Return the JSON types a schema allows, as far as it says; none where it does not."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return set()
    node = cast("dict[str, Any]", schema)
    kind = node.get("type", [])
    kinds = {kind} if isinstance(kind, str) else set[str](kind)
    if any(isinstance(value, str) for value in (*node.get("enum", ()), node.get("const"))):
        kinds.add("string")
    for inner in (*node.get("anyOf", ()), *node.get("oneOf", ()), *_referenced(node.get("$ref"), root)):
        kinds |= _kinds(inner, root, depth + 1)
    return kinds


def _referenced(reference: object, root: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the schema that a reference within the same schema names; nothing where there is none."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return ()
    node: Any = root
    for part in reference[2:].split("/"):
        node = cast("dict[str, Any]", node).get(part) if isinstance(node, dict) else None
    return (node,)
