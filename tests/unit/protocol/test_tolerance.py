"""One bad item or one new content type does not cost the whole answer."""

from typing import Any

import pytest
from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import Decoder, decode, encode

from suaveplan_mcp.protocol.tolerance import decode_leniently
from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.content import TextContent, UnknownContent
from suaveplan_mcp.types.prompts import GetPromptResult, ListPromptsResult
from suaveplan_mcp.types.resources import ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult
from suaveplan_mcp.types.roots import ListRootsResult
from suaveplan_mcp.types.sampling import CreateMessageResult
from suaveplan_mcp.types.tasks import CreateTaskResult
from suaveplan_mcp.types.tools import CallToolResult, ListToolsResult

HOLOGRAM = {"type": "hologram", "beam": {"x": None}}
TEXT = {"type": "text", "text": "hi"}
TOOL = {"name": "t", "inputSchema": {"type": "object"}, "x-vendor": 7}


def read(kind: type[Result], value: object) -> tuple[Any, list[str]]:
    strict: Any = Decoder(kind)
    result, deviations = decode_leniently(kind, strict, Raw(encode(value)))
    return result, list(deviations)


def raw_of(block: object) -> object:
    assert isinstance(block, UnknownContent)
    return decode(block.raw)


# Lists


def test_a_good_list_has_no_deviations_and_every_item_keeps_its_raw_form() -> None:
    result, deviations = read(ListToolsResult, {"tools": [TOOL], "nextCursor": "n", "x": 1})

    assert (["t"], "n", []) == ([tool.name for tool in result.tools], result.next_cursor, deviations)
    assert TOOL == decode(result.tools[0].raw)
    assert {"tools": [TOOL], "nextCursor": "n", "x": 1} == decode(result.raw)


def test_a_bad_item_is_left_out_and_told_and_the_others_stay() -> None:
    bad = {"name": "bad", "inputSchema": None}
    result, deviations = read(ListToolsResult, {"tools": [TOOL, bad, {**TOOL, "name": "u"}, 5]})

    assert ["t", "u"] == [tool.name for tool in result.tools]
    assert 2 == len(deviations)
    assert deviations[0].startswith("tools[1] is left out: Expected `object`, got `null`")
    assert deviations[1].startswith("tools[3] is left out: Expected `object`, got `int`")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ListResourcesResult, {"resources": [{"uri": "a:b", "name": "r"}, {"uri": 5}]}),
        (ListResourceTemplatesResult, {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "r"}, {}]}),
        (ListPromptsResult, {"prompts": [{"name": "p"}, None]}),
        (ListRootsResult, {"roots": [{"uri": "file:///x"}, "y"]}),
    ],
)
def test_every_kind_of_list_forgives_a_bad_item(kind: type[Result], value: dict[str, list[object]]) -> None:
    result, deviations = read(kind, value)
    (wire_name,) = value

    assert [f"{wire_name}[1] is left out"] == [deviation.split(":")[0] for deviation in deviations]
    assert 1 == len(getattr(result, "resource_templates" if "Templates" in wire_name else wire_name))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({}, "missing required field `tools`"),
        ({"tools": None}, r"got `null` - at `\$\.tools`"),
        ({"tools": {}}, r"got `object` - at `\$\.tools`"),
        ({"tools": [], "nextCursor": 5}, r"at `\$\.nextCursor`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_a_list_that_is_wrong_as_a_whole_is_refused(value: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        read(ListToolsResult, value)


# Content


def test_a_good_result_keeps_its_raw_form() -> None:
    result, deviations = read(CallToolResult, {"content": [TEXT], "vendor": None})

    assert (CallToolResult(content=[TextContent(text="hi")]), []) == (result, deviations)
    assert {"content": [TEXT], "vendor": None} == decode(result.raw)


def test_content_of_an_unknown_type_survives_beside_the_others() -> None:
    result, _ = read(CallToolResult, {"content": [TEXT, HOLOGRAM], "isError": True})

    assert (TextContent(text="hi"), True) == (result.content[0], result.is_error)
    assert HOLOGRAM == raw_of(result.content[1])


@pytest.mark.parametrize("value", [{}, {"content": None}, {"structuredContent": {}}])
def test_a_tool_result_without_content_is_read_as_empty_and_told(value: dict[str, object]) -> None:
    result, deviations = read(CallToolResult, value)

    assert [] == result.content
    assert ["`content` is missing or null and was read as []"] == deviations
    assert value == decode(result.raw)


def test_a_task_in_place_of_a_tool_result_is_read_as_one() -> None:
    moment = "2025-11-25T10:30:00Z"
    task = {"taskId": "t", "status": "working", "createdAt": moment, "lastUpdatedAt": moment, "ttl": None}
    result, deviations = read(CallToolResult, {"task": task})

    assert CreateTaskResult is type(result)
    assert (("t", "working"), []) == ((result.task.task_id, result.task.status), deviations)
    with pytest.raises(ValidationError, match="task"):
        read(CallToolResult, {"task": {"taskId": "t"}})


def test_structured_content_is_kept_where_content_is_missing() -> None:
    assert [0, None, {}] == [
        read(CallToolResult, {"structuredContent": value})[0].structured_content for value in (0, None, {})
    ]


def test_prompt_messages_forgive_unknown_content() -> None:
    messages = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": HOLOGRAM}]
    result, _ = read(GetPromptResult, {"description": "d", "messages": messages})

    assert ("d", TextContent(text="hi")) == (result.description, result.messages[0].content)
    assert HOLOGRAM == raw_of(result.messages[1].content)


@pytest.mark.parametrize("content", [HOLOGRAM, [HOLOGRAM]])
def test_a_sampled_message_may_hold_one_unknown_block_or_several(content: object) -> None:
    result, _ = read(CreateMessageResult, {"role": "assistant", "model": "m", "content": content})

    blocks = result.content if isinstance(result.content, list) else [result.content]
    assert [HOLOGRAM] == [raw_of(block) for block in blocks]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (CallToolResult, {"content": HOLOGRAM}),
        (CallToolResult, {"content": [{"type": "text", "text": 5}]}),
        (CallToolResult, {"content": [{"type": 5}]}),
        (CallToolResult, {"content": [{}]}),
        (CallToolResult, {"content": ["text"]}),
        (CallToolResult, {"content": [HOLOGRAM], "isError": "yes"}),
        (CallToolResult, []),
        (GetPromptResult, {"messages": [{"role": "user", "content": [HOLOGRAM]}]}),
        (GetPromptResult, {"messages": [{"role": "nobody", "content": HOLOGRAM}]}),
        (GetPromptResult, {"messages": [5]}),
        (GetPromptResult, {}),
        (CreateMessageResult, {"role": "assistant", "model": "m", "content": 5}),
        (ReadResourceResult, {"contents": 5}),
    ],
)
def test_what_is_broken_is_not_forgiven(kind: type[Result], value: object) -> None:
    with pytest.raises(DecodeError):
        read(kind, value)


def test_an_error_flag_of_null_is_read_as_false_and_told() -> None:
    result, deviations = read(CallToolResult, {"content": [TEXT], "isError": None})

    assert False is result.is_error
    assert ["`isError` is null and was read as false"] == deviations
