import msgspec
from msgspec import inspect

from suaveplan_mcp import types
from suaveplan_mcp.types import Received
from suaveplan_mcp.types.shapes import CONTENT_FIELDS, LIST_ITEMS, MESSAGE_LISTS
from tests.unit.types.samples import SAMPLES


def holds(info: inspect.Type, tags: set[str]) -> bool:
    """Tell whether an annotation holds structs with one of the tags, alone or in a list."""
    match info:
        case inspect.UnionType(types=members):
            return any(holds(member, tags) for member in members)
        case inspect.ListType(item_type=item):
            return holds(item, tags)
        case inspect.StructType(tag=tag):
            return tag in tags
        case _:
            return False


def test_lists_are_those_whose_items_keep_their_raw_form() -> None:
    found = {
        struct: (field.name, info.item_type.cls)
        for struct in SAMPLES
        if issubclass(struct, types.Result)
        for field, info in zip(msgspec.structs.fields(struct), _types(struct), strict=True)
        if isinstance(info, inspect.ListType)
        and isinstance(info.item_type, inspect.StructType)
        and issubclass(info.item_type.cls, Received)
    }
    assert found == LIST_ITEMS


def test_content_fields_are_all_fields_that_hold_text_content() -> None:
    found = {
        (struct, field.name)
        for struct in SAMPLES
        for field, info in zip(msgspec.structs.fields(struct), _types(struct), strict=True)
        if holds(info, {"text"})
    }
    assert found == {(struct, field.name) for struct, field in CONTENT_FIELDS.items()}


def test_arity_and_blocks_are_those_of_the_annotation() -> None:
    for struct, field in CONTENT_FIELDS.items():
        (annotation,) = [other.type for other in msgspec.structs.fields(struct) if other.name == field.name]
        expected = {
            "one": field.blocks,
            "many": list[field.blocks],
            "either": field.blocks | list[field.blocks],
        }[field.arity]
        assert expected == annotation


def test_message_lists_are_the_lists_of_what_holds_content() -> None:
    found = {
        struct: (field.name, info.item_type.cls)
        for struct in SAMPLES
        for field, info in zip(msgspec.structs.fields(struct), _types(struct), strict=True)
        if isinstance(info, inspect.ListType)
        and isinstance(info.item_type, inspect.StructType)
        and info.item_type.cls in CONTENT_FIELDS
    }
    assert found == MESSAGE_LISTS


def _types(struct: type[types.WireStruct]) -> list[inspect.Type]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return [field.type for field in info.fields]
