"""Answering a server that asks for a model."""

from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.jsonrpc.messages import ErrorResponse
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from tests.unit.client.peers import ask, connected

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")

TEXT: Any = {"type": "text", "text": "hi"}
USE: Any = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
RESULT: Any = {"type": "tool_result", "toolUseId": "1", "content": []}


def _params(*messages: tuple[str, Any], **more: Any) -> Any:
    return {"messages": [{"role": role, "content": content} for role, content in messages], "maxTokens": 9, **more}


async def _sample(params: Any, provider: Any = lambda: "hello", *, tools: bool = False) -> Any:
    client = MCPClient(prefetch=False)
    client.set_sampling_provider(provider, tools=tools)
    async with connected(client) as (_, peer):
        return await ask(peer, "sampling/createMessage", params)


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_the_provider_gets_the_params_and_its_answer_is_sent() -> None:
    seen: list[CreateMessageRequestParams] = []

    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(text="hello"), model="m")

    answer = await _sample(_params(("user", TEXT)), sample)

    assert {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"} == answer.result
    assert (9, TextContent(text="hi")) == (seen[0].max_tokens, seen[0].messages[0].content)


@pytest.mark.parametrize(
    ("given", "model"),
    [("hello", "unknown"), ({"role": "assistant", "content": {**TEXT, "text": "hello"}, "model": "m"}, "m")],
)
async def test_a_provider_may_answer_with_text_or_a_dict(given: object, model: str) -> None:
    answer = await _sample(_params(("user", TEXT)), lambda: given)

    assert {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": model} == answer.result


@pytest.mark.parametrize("more", [{"tools": []}, {"toolChoice": {"mode": "auto"}}])
async def test_tools_that_were_not_declared_are_refused(more: dict[str, object]) -> None:
    refused = await _sample(_params(**more))
    served = await _sample(_params(**more), tools=True)

    assert isinstance(refused, ErrorResponse)
    assert -32602 == refused.error.code
    assert "hello" == served.result["content"]["text"]


@pytest.mark.parametrize(
    "messages",
    [
        [("assistant", USE), ("user", RESULT)],
        [("assistant", [USE, {**USE, "id": "2"}]), ("user", [RESULT, {**RESULT, "toolUseId": "2"}]), ("user", TEXT)],
    ],
)
async def test_uses_of_tools_that_are_followed_by_their_results_are_legal(messages: list[tuple[str, Any]]) -> None:
    answer = await _sample(_params(*messages), tools=True)

    assert "hello" == answer.result["content"]["text"]


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([("user", [TEXT, RESULT])], "messages[0].content"),
        ([("user", RESULT)], "messages[0].content"),
        ([("assistant", USE), ("user", TEXT)], "messages[1].content"),
        ([("assistant", [USE, {**USE, "id": "2"}]), ("user", RESULT)], "messages[1].content"),
        ([("assistant", USE)], "messages"),
    ],
)
async def test_results_of_tools_that_are_missing_or_mixed_are_refused(
    messages: list[tuple[str, Any]], path: str
) -> None:
    answer = await _sample(_params(*messages), tools=True)

    assert (-32602, path) == (answer.error.code, answer.error.data["path"])
