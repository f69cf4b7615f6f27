"""What a request for the client's model must be like."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.protocol.revisions import V2025_06_18, V2025_11_25
from suaveplan_mcp.protocol.sampling import lacking_for_sampling, require_balance
from suaveplan_mcp.types.capabilities import ClientCapabilities, SamplingCapability
from suaveplan_mcp.types.content import TextContent, ToolResultContent, ToolUseContent
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, SamplingMessage, ToolChoice

TEXT = TextContent(text="hi")
USE = ToolUseContent(id="1", name="t", input={})
RESULT = ToolResultContent(tool_use_id="1", content=[])


def says(role: Any, content: Any) -> SamplingMessage:
    return SamplingMessage(role=role, content=content)


def test_use_of_a_tool_with_its_result_is_balanced() -> None:
    assert require_balance([says("user", TEXT), says("assistant", USE), says("user", [RESULT])]) is None


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([says("user", [TEXT, RESULT])], "messages[0].content"),
        ([says("assistant", USE), says("user", TEXT)], "messages[1].content"),
        ([says("assistant", USE)], "messages"),
    ],
)
def test_use_of_a_tool_without_its_result_is_named(messages: list[SamplingMessage], path: str) -> None:
    with pytest.raises(MCPError) as caught:
        require_balance(messages)

    assert path == caught.value.context["path"]


PLAIN = ClientCapabilities(sampling=SamplingCapability())
TOOLS = ClientCapabilities(sampling=SamplingCapability(tools={}))
CONTEXT = ClientCapabilities(sampling=SamplingCapability(context={}))


@pytest.mark.parametrize(
    ("more", "declared", "revision", "lacking"),
    [
        ({}, ClientCapabilities(), V2025_11_25, "sampling"),
        ({}, PLAIN, V2025_11_25, None),
        ({"tools": []}, PLAIN, V2025_11_25, "sampling.tools"),
        ({"tool_choice": ToolChoice()}, PLAIN, V2025_11_25, "sampling.tools"),
        ({"tools": []}, TOOLS, V2025_11_25, None),
        ({"include_context": "none"}, PLAIN, V2025_11_25, None),
        ({"include_context": "thisServer"}, PLAIN, V2025_11_25, "sampling.context"),
        ({"include_context": "allServers"}, TOOLS, V2025_11_25, "sampling.context"),
        ({"include_context": "thisServer"}, CONTEXT, V2025_11_25, None),
        ({"include_context": "thisServer"}, PLAIN, V2025_06_18, None),
        ({"include_context": "thisServer"}, PLAIN, None, None),
    ],
)
def test_capability_that_a_request_needs_and_a_client_has_not_is_named(
    more: dict[str, Any], declared: ClientCapabilities, revision: str | None, lacking: str | None
) -> None:
    params = CreateMessageRequestParams(messages=[], max_tokens=1, **more)

    assert lacking == lacking_for_sampling(params, declared, revision)
