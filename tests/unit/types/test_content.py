import json
from collections.abc import Sequence

import msgspec
import pytest
from msgspec import UNSET, Raw

from suaveplan_mcp import types
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    SamplingMessage,
    SamplingMessageContentBlock,
    TextContent,
    TextResourceContents,
    ToolResultContent,
    UnknownContent,
)
from tests.unit.types.samples import SAMPLES

HOLOGRAM = Raw(b'{"type":"hologram", "beam":[1.0]}')
BLOCKS = [types.TextContent, types.ImageContent, types.AudioContent, types.ResourceLink, types.EmbeddedResource]
SAMPLING_BLOCKS = [*BLOCKS[:3], types.ToolUseContent, types.ToolResultContent]


def wires(kinds: Sequence[type[types.WireStruct]]) -> str:
    return json.dumps([SAMPLES[kind].wire for kind in kinds])


def test_content_of_tools_and_prompts_is_told_apart_by_its_type() -> None:
    blocks = msgspec.json.decode(wires(BLOCKS), type=list[ContentBlock])
    assert BLOCKS == [type(block) for block in blocks]
    assert ["text", "image", "audio", "resource_link", "resource"] == [block.type for block in blocks]


def test_content_of_sampling_is_told_apart_by_its_type() -> None:
    blocks = msgspec.json.decode(wires(SAMPLING_BLOCKS), type=list[SamplingMessageContentBlock])
    assert SAMPLING_BLOCKS == [type(block) for block in blocks]
    assert ["text", "image", "audio", "tool_use", "tool_result"] == [block.type for block in blocks]


def test_content_without_a_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"missing required field `type` - at `\$\.content\[0\]`"):
        msgspec.json.decode(b'{"content":[{"text":"x"}]}', type=CallToolResult)


def test_content_of_an_unknown_type_is_refused_by_the_plain_decoder() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"'hologram' - at `\$\.content\[0\]\.type`"):
        msgspec.json.decode(b'{"content":[' + bytes(HOLOGRAM) + b"]}", type=CallToolResult)


def test_sampling_message_holds_one_block_or_several() -> None:
    one = msgspec.json.decode(b'{"role":"user","content":{"type":"text","text":"a"}}', type=SamplingMessage)
    many = msgspec.json.decode(b'{"role":"user","content":[{"type":"text","text":"a"}]}', type=SamplingMessage)
    assert TextContent(text="a") == one.content
    assert [TextContent(text="a")] == many.content


def test_type_is_written_and_is_no_argument() -> None:
    assert b'{"type":"text","text":""}' == encode(TextContent(text=""))
    with pytest.raises(TypeError):
        TextContent(text="", type="text")  # pyright: ignore[reportCallIssue]


def test_embedded_resource_may_be_empty_text() -> None:
    block = EmbeddedResource(resource=TextResourceContents(uri="file:///a", text=""))
    assert b'{"type":"resource","resource":{"uri":"file:///a","text":""}}' == encode(block)


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, [None]])
def test_structured_content_of_a_tool_result_may_be_any_json(value: JsonValue) -> None:
    block = ToolResultContent(tool_use_id="u", content=[], structured_content=value)
    assert value == msgspec.json.decode(encode(block), type=ToolResultContent).structured_content
    assert ToolResultContent(tool_use_id="u", content=[]).structured_content is UNSET


def test_unknown_content_says_what_it_is() -> None:
    assert "hologram" == UnknownContent(HOLOGRAM).type


@pytest.mark.parametrize("raw", [b"{}", b'{"type":3}', b"[]"])
def test_unknown_content_that_says_nothing_names_the_trouble(raw: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        _ = UnknownContent(Raw(raw)).type


def test_unknown_content_equals_what_carries_the_same_bytes() -> None:
    one, same, other = UnknownContent(HOLOGRAM), UnknownContent(Raw(bytes(HOLOGRAM))), UnknownContent(Raw(b"{}"))
    assert one == same
    assert {one} == {one, same}
    assert one != other
    assert one != HOLOGRAM
    assert """UnknownContent(b'{"type":"hologram", "beam":[1.0]}')""" == repr(one)


def test_unknown_content_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        UnknownContent(HOLOGRAM).raw = HOLOGRAM  # pyright: ignore[reportAttributeAccessIssue]


def test_unknown_content_is_written_as_it_came() -> None:
    result = CallToolResult(content=[TextContent(text="a"), UnknownContent(HOLOGRAM)])
    assert b'{"content":[{"type":"text","text":"a"},{"type":"hologram", "beam":[1.0]}]}' == encode(result)
