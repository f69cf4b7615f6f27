"""What is forgiven in a peer's result, so that one bad item or one new content type does not cost the whole answer.

The strict decoder runs first and nearly always suffices; only what it refuses is taken apart. Every deviation that had
to be forgiven is returned as a sentence, for the caller to report. Spec: server/tools, server/resources, server/prompts
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar

from msgspec import DecodeError, Raw, ValidationError, convert
from msgspec.json import Decoder, decode
from msgspec.structs import fields, replace

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.types.base import Received, Result, WireStruct, keep_raw
from suaveplan_mcp.types.content import UnknownContent
from suaveplan_mcp.types.shapes import CONTENT_FIELDS, LIST_ITEMS, MESSAGE_LISTS, ContentField
from suaveplan_mcp.types.tasks import CreateTaskResult
from suaveplan_mcp.types.tools import CallToolResult

_members: Final = Decoder(dict[str, Raw])
_raw_items: Final = Decoder(list[Raw])

_NO_ITEMS: Final = Raw(b"[]")
_A_BLOCK: Final[JsonValue] = {"type": "text", "text": ""}
_Part = TypeVar("_Part", bound=WireStruct)


class _ListShape(NamedTuple):
    attribute: str
    wire_name: str
    decoder: Decoder[Received]


@cache
def _list_shape(kind: type[Result]) -> _ListShape | None:
    """Return how the items of a list result are found, None for a result that is no list."""
    if kind not in LIST_ITEMS:
        return None
    attribute, item_type = LIST_ITEMS[kind]
    (wire_name,) = (field.encode_name for field in fields(kind) if field.name == attribute)
    return _ListShape(attribute, wire_name, Decoder(item_type))


def decode_leniently(kind: type[Result], strict: Decoder[Result], raw: Raw) -> tuple[Result, Sequence[str]]:
    """Decode a result, forgiving what can be forgiven.

    Args:
        kind: the struct to decode into.
        strict: its decoder.
        raw: the result as it came; the struct remembers it.

    Returns:
        The result, and what was forgiven.

    Raises:
        msgspec.DecodeError: what is wrong cannot be forgiven.
        RecursionError: it is nested too deeply.
    """
    deviations: Sequence[str] = ()
    shape = _list_shape(kind)
    if shape is not None:
        result, deviations = _decode_list(shape, strict, raw)
    else:
        try:
            result = strict.decode(raw)
        except ValidationError:
            if kind not in CONTENT_FIELDS and kind not in MESSAGE_LISTS:
                raise
            result, deviations = _decode_content(kind, decode(raw, type=dict[str, JsonValue]))
    keep_raw(result, raw)
    return result, deviations


def _decode_list(shape: _ListShape, strict: Decoder[Result], raw: Raw) -> tuple[Result, Sequence[str]]:
    """Decode a list item by item: each remembers its raw form, and a bad one costs only itself."""
    members = _members.decode(raw)
    try:
        raw_items = _raw_items.decode(members[shape.wire_name])
    except (KeyError, ValidationError):
        # There is no list, and the strict decoder knows best how to say so.
        return strict.decode(raw), ()
    items: list[Received] = []
    deviations: list[str] = []
    for position, raw_item in enumerate(raw_items):
        try:
            item = shape.decoder.decode(raw_item)
        except DecodeError as error:
            deviations.append(f"{shape.wire_name}[{position}] is left out: {error}")
        else:
            keep_raw(item, raw_item)
            items.append(item)
    members[shape.wire_name] = _NO_ITEMS
    return replace(strict.decode(encode(members)), **{shape.attribute: items}), deviations


def _decode_content(kind: type[Result], value: JsonObject) -> tuple[Result, Sequence[str]]:
    """Decode a result whose content has a type of its own, or which has none at all."""
    if kind in MESSAGE_LISTS:
        attribute, message_type = MESSAGE_LISTS[kind]
        messages = convert(value.get(attribute), list[dict[str, JsonValue]])
        parts = [_build(message_type, CONTENT_FIELDS[message_type], message) for message in messages]
        return replace(convert({**value, attribute: []}, kind), **{attribute: parts}), ()
    deviations: list[str] = []
    if kind is CallToolResult and value.get("content") is None:
        if "task" in value:
            # A call that was asked for as a task is answered with the task. Spec: basic/utilities/tasks
            return convert(value, CreateTaskResult), ()
        value["content"] = []
        deviations.append("`content` is missing or null and was read as []")
    if kind is CallToolResult and value.get("isError", False) is None:
        del value["isError"]
        deviations.append("`isError` is null and was read as false")
    return _build(kind, CONTENT_FIELDS[kind], value), deviations


def _build(kind: type[_Part], content: ContentField, value: JsonObject) -> _Part:
    """Build a struct whose content may have types that msgspec does not know."""
    given = value.get(content.name)
    if isinstance(given, list) and content.arity != "one":
        blocks: object = [_block(content, item) for item in given]
        return replace(convert({**value, content.name: []}, kind), **{content.name: blocks})
    if isinstance(given, dict) and content.arity != "many":
        return replace(convert({**value, content.name: _A_BLOCK}, kind), **{content.name: _block(content, given)})
    return convert(value, kind)


def _block(content: ContentField, value: JsonValue) -> object:
    """Return one content block; a type that no revision knows survives as it is."""
    try:
        return convert(value, content.blocks)
    except ValidationError as error:
        # msgspec says this of a tag that is a string but none of the union's.
        if str(error).startswith("Invalid value") and str(error).endswith("at `$.type`"):
            return UnknownContent(Raw(encode(value)))
        raise
