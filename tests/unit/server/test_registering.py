"""The forms in which a registration may be given."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.prompts import PromptDefinition, PromptMembers
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.registering import definition_of, wire_form
from suaveplan_mcp.server.resources import ResourceDefinition, ResourceMembers
from suaveplan_mcp.server.tools import ToolDefinition, ToolMembers
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.tools import Tool, ToolAnnotations


def _handler() -> str:
    return "done"


def test_a_definition_is_taken_as_it_is() -> None:
    definition = ToolDefinition(handler=_handler)

    assert definition_of(ToolDefinition, definition, {}) is definition


def test_fields_change_a_definition_without_touching_it() -> None:
    definition = ToolDefinition(handler=_handler, title="Old", name="tool")

    changed = definition_of(ToolDefinition, definition, {"title": "New"})

    assert ("New", "tool", _handler) == (changed.title, changed.name, changed.handler)
    assert "Old" == definition.title


def test_a_mapping_may_be_written_as_the_wire_writes_it() -> None:
    given = {"handler": _handler, "inputSchema": {"type": "object"}, "_meta": {"a": 1}}

    definition = definition_of(ToolDefinition, given, {})

    assert ({"type": "object"}, {"a": 1}) == (definition.input_schema, definition.meta)


def test_anything_else_is_the_handler() -> None:
    assert _handler is definition_of(ToolDefinition, _handler, {"name": "x"}).handler


def test_a_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(RegistrationError, match="`x`: there is no field 'colour'; the fields are handler, name"):
        definition_of(ToolDefinition, _handler, {"colour": "red", "name": "x"})


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(RegistrationError, match="`mem://a`: the field 'handler' is missing") as caught:
        definition_of(ResourceDefinition, None, {"uri": "mem://a"})

    assert MCP_CODES.INVALID_PARAMS == caught.value.code


def test_without_a_name_the_error_says_what_it_should_have_been() -> None:
    with pytest.raises(RegistrationError, match="`ToolDefinition`: the field 'handler' is missing"):
        definition_of(ToolDefinition, None, {})


@pytest.mark.parametrize(
    ("definition", "members"),
    [(ToolDefinition, ToolMembers), (ResourceDefinition, ResourceMembers), (PromptDefinition, PromptMembers)],
)
def test_the_typed_fields_of_decorators_are_those_of_the_definition(definition: Any, members: Any) -> None:
    other_names = {"uri_template"}
    assert set(definition.__struct_fields__) == {*members.__required_keys__, *members.__optional_keys__} - other_names


def test_plain_json_in_a_field_is_given_its_type() -> None:
    annotations: Any = {"readOnlyHint": True}
    icons: Any = [{"src": "a.png"}]

    wire = wire_form("x", Tool(name="x", input_schema={}, annotations=annotations, icons=icons))

    assert ToolAnnotations(read_only_hint=True) == wire.annotations
    assert [Icon(src="a.png")] == wire.icons


def test_what_clients_are_told_is_a_copy() -> None:
    schema: Any = {"type": "object"}
    wire = wire_form("x", Tool(name="x", input_schema=schema))

    schema["type"] = "array"

    assert {"type": "object"} == wire.input_schema


def test_a_field_of_the_wrong_type_is_named() -> None:
    annotations: Any = {"readOnlyHint": "yes"}

    with pytest.raises(RegistrationError, match="`x`: the field `annotations.readOnlyHint`: Expected `bool"):
        wire_form("x", Tool(name="x", input_schema={}, annotations=annotations))


def test_a_value_that_is_no_json_is_refused() -> None:
    meta: Any = {"a": object()}

    with pytest.raises(RegistrationError, match="`x`: .*object"):
        wire_form("x", Tool(name="x", input_schema={}, meta=meta))
