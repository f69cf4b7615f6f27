"""What JSON a field can hold, said alike for our annotations and for the official schemas.

A kind is the name of a JSON type; `array/string` stands for an array of strings and `object/string` for an object
whose members are strings, as deep as it goes. `any` is everything, and every number may be whole. `encoded` is JSON
that stays encoded until it is known what it is; it fits wherever something is.
"""

from typing import Any

from msgspec import inspect

from tests.unit.types.official import Node, Schema

PLAIN: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.BoolType: "boolean",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.AnyType: "any",
    inspect.RawType: "encoded",
    inspect.StructType: "object/any",
}
OF_PYTHON: dict[type, str] = {str: "string", bool: "boolean", int: "integer"}


def _within(container: str, kinds: set[str]) -> set[str]:
    return {f"{container}/{kind}" for kind in kinds}


def kinds_of_annotation(info: inspect.Type) -> set[str]:
    """Return what an annotation can hold, without `null`."""
    match info:
        case inspect.UnionType(types=members):
            return {kind for member in members for kind in kinds_of_annotation(member)}
        case inspect.ListType(item_type=item):
            return _within("array", kinds_of_annotation(item))
        case inspect.DictType(value_type=value):
            return _within("object", kinds_of_annotation(value))
        case inspect.LiteralType(values=values):
            return {OF_PYTHON[type(value)] for value in values}
        case inspect.NoneType():
            return set()
        case _:
            return {PLAIN[type(info)]}


def kinds_of_schema(schema: Schema, node: Node) -> set[str]:
    """Return what a schema allows, without `null`."""
    node = schema.resolve(node)
    if node == schema.definitions.get("JSONValue"):
        return {"any"}
    for union in ("anyOf", "allOf"):
        if union in node:
            return {kind for branch in node[union] for kind in kinds_of_schema(schema, branch)}
    if "const" in node:
        return {OF_PYTHON[type(node["const"])]}
    if "type" not in node:
        return {"any"}
    names: Any = node["type"]
    kinds: set[str] = set()
    for name in names if isinstance(names, list) else [names]:
        if name == "array":
            kinds |= _within("array", kinds_of_schema(schema, node["items"]))
        elif name == "object":
            values: Any = None if node.get("properties") else node.get("additionalProperties")
            described = isinstance(values, dict) and values
            kinds |= _within("object", kinds_of_schema(schema, values) if described else {"any"})
        elif name != "null":
            kinds.add(name)
    return kinds


def fits(kind: str, allowed: set[str]) -> bool:
    """Tell whether a kind is among those allowed, or is a special case of one."""
    if kind == "encoded" or kind in allowed or allowed & {"any", "encoded"}:
        return True
    if kind.endswith("integer") and kind.removesuffix("integer") + "number" in allowed:
        return True
    container, slash, inner = kind.partition("/")
    rest = {other.partition("/")[2] for other in allowed if other.startswith(container + "/")}
    return bool(slash and rest) and fits(inner, rest)


def values_of_annotation(info: inspect.Type) -> set[object]:
    """Return the constants an annotation lists, at any depth."""
    match info:
        case inspect.UnionType(types=members):
            return {value for member in members for value in values_of_annotation(member)}
        case inspect.ListType(item_type=item):
            return values_of_annotation(item)
        case inspect.LiteralType(values=values):
            return set(values)
        case _:
            return set()


def values_of_schema(schema: Schema, node: Node) -> set[object]:
    """Return the constants a schema lists, at any depth that is not an object."""
    node = schema.resolve(node)
    values = {value for branch in node.get("anyOf", ()) for value in values_of_schema(schema, branch)}
    values |= set(node.get("enum", ())) | ({node["const"]} if "const" in node else set())
    return values | (values_of_schema(schema, node["items"]) if node.get("type") == "array" else set())
