import copy
import json
import pickle

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.types import EmptyResult, Received, Root, Tool, keep_raw

WIRE = Raw(b'{"_meta":{"a":1},"x-vendor":7}')


def received() -> EmptyResult:
    value = msgspec.json.decode(WIRE, type=EmptyResult)
    keep_raw(value, WIRE)
    return value


def test_result_gives_the_json_it_was_received_as() -> None:
    assert WIRE == received().raw


def test_result_made_here_has_no_raw_form() -> None:
    assert EmptyResult().raw is None


@pytest.mark.parametrize(
    "kind", [Tool, types.Resource, types.ResourceTemplate, types.Prompt, Root, types.Task, types.ResourceLink]
)
def test_items_of_lists_keep_their_raw_form(kind: type[Received]) -> None:
    assert issubclass(kind, Received)


def test_raw_form_takes_no_part_in_equality_repr_or_encoding() -> None:
    made = EmptyResult(meta={"a": 1})
    assert made == received()
    assert repr(made) == repr(received())
    assert encode(made) == encode(received()) == b'{"_meta":{"a":1}}'
    assert made.__struct_fields__ == ("meta", "result_type")


def test_raw_form_ends_where_a_value_is_changed_or_travels() -> None:
    value = received()
    assert replace(value, result_type="complete").raw is None
    assert copy.copy(value).raw is None
    assert pickle.loads(pickle.dumps(value)).raw is None


def test_raw_form_hashes_like_any_other_value() -> None:
    root = Root(uri="file:///a")
    same = Root(uri="file:///a")
    keep_raw(same, Raw(b'{"uri":"file:///a"}'))
    assert {root} == {root, same}


@pytest.mark.requirement("wire-types-have-one-source")
def test_fields_are_snake_case_here_and_camel_case_on_the_wire() -> None:
    tool = Tool(name="wave", input_schema={}, meta={"_kept_as_it_is": 1})
    assert {"name": "wave", "inputSchema": {}, "_meta": {"_kept_as_it_is": 1}} == json.loads(encode(tool))


def test_values_are_made_by_keyword_only() -> None:
    with pytest.raises(TypeError):
        Root("file:///a")  # pyright: ignore[reportCallIssue]


def test_export_list_is_everything_public_in_the_room() -> None:
    modules = {value for value in vars(types).values() if isinstance(value, type(types))}
    public = {
        name
        for module in modules
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    }
    assert set() == public - set(types.__all__)
    assert set() == {name for name in types.__all__ if not hasattr(types, name)}
    assert len(modules) > 20
