"""Results that a handler built of structs."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import InvalidResultError
from suaveplan_mcp.server.results import look_over
from suaveplan_mcp.types.base import keep_raw
from suaveplan_mcp.types.completion import Completion
from suaveplan_mcp.types.content import TextContent, UnknownContent
from suaveplan_mcp.types.prompts import PromptMessage
from suaveplan_mcp.types.resources import TextResourceContents
from suaveplan_mcp.types.tools import CallToolResult
from tests.unit.server.peers import ask, code_of, record_faults, serving

ANY: Any = object()
FIVE: Any = 5


async def test_plain_json_inside_a_struct_is_given_its_type() -> None:
    blocks: Any = [{"type": "text", "text": "x"}]
    server = MCPServer()
    server.register_tool(lambda: CallToolResult(content=blocks), name="t")

    result = await server.invoke_tool("t")

    assert [TextContent(text="x")] == result.content
    await server.stop()


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (CallToolResult(content=[TextContent(text=FIVE)]), "content[0].text"),
        (CallToolResult(content=[], meta={"a": ANY}), "object"),
        (TextContent(text=FIVE), "content[0].text"),
        (["a", TextContent(text=FIVE)], "content[1].text"),
        ((TextContent(text=FIVE),), "content[0].text"),
    ],
)
async def test_a_struct_of_a_tool_that_is_wrong_inside_is_not_sent(value: object, place: str) -> None:
    server = MCPServer()
    server.register_tool(lambda: value, name="t")
    faults = record_faults(server)
    async with serving(server) as peer:
        error = await ask(peer, "tools/call", {"name": "t"})

        assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
        assert place in str(faults[0].error)


async def test_structs_of_the_other_features_are_looked_at_as_well() -> None:
    server = MCPServer()
    server.register_resource(lambda: TextResourceContents(uri="mem://x", text=FIVE), uri="mem://x", name="x")
    server.register_prompt(lambda: PromptMessage(role="user", content=TextContent(text=FIVE)), name="p")
    server.set_completion_provider(lambda _: Completion(values=[FIVE]))

    with pytest.raises(MCPError, match=r"resource `x` returned .*contents\[0\]\.text") as read:
        await server.read_resource("mem://x")
    with pytest.raises(MCPError, match=r"prompt `p` returned .*messages\[0\]\.content\.text") as got:
        await server.get_prompt_messages("p")
    assert MCP_CODES.HANDLER_FAILED == read.value.code == got.value.code
    async with serving(server) as peer:
        params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
        assert (-32603, MCP_CODES.INTERNAL_ERROR) == code_of(await ask(peer, "completion/complete", params))


def test_content_of_a_type_that_nobody_knows_passes() -> None:
    unknown = UnknownContent(Raw(b'{"type":"smell","of":"rain"}'))
    result = CallToolResult(content=[unknown])

    looked = look_over("tools/call", "tool `t`", result, result)

    (block,) = looked.content
    assert isinstance(block, UnknownContent)
    assert {"type": "smell", "of": "rain"} == decode(block.raw)
    assert looked.raw is None


def test_what_came_from_a_peer_passes_with_its_raw_form() -> None:
    result = CallToolResult(content=[])
    keep_raw(result, Raw(b'{"content":[],"x-vendor":7}'))

    assert result is look_over("tools/call", "tool `t`", result, result)


@pytest.mark.parametrize("value", ["text", 5, [1, "a"], {"a": 1}, None])
def test_what_was_made_of_plain_values_is_not_looked_at(value: object) -> None:
    result = CallToolResult(content=[TextContent(text=FIVE)])

    assert result is look_over("tools/call", "tool `t`", value, result)


def test_the_error_names_the_handler() -> None:
    result = CallToolResult(content=[TextContent(text=FIVE)])

    with pytest.raises(InvalidResultError, match="tool `t` returned a value that cannot be sent"):
        look_over("tools/call", "tool `t`", result, result)
