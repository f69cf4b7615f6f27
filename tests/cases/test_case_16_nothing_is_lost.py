"""Case 16: members that nobody knows, `null` and `0` come through as they were sent."""

import ast
import json
from typing import Any

import pytest

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.prompts import GetPromptResult
from suaveplan_mcp.types.resources import ReadResourceResult
from suaveplan_mcp.types.tools import CallToolResult
from tests.cases.peers import READ, SHOW, TRANSPORTS, Faced, answer, call, facing, frame, raw_client, write

transports = pytest.mark.parametrize("transport", TRANSPORTS)

RESULT = {
    "resultType": "complete",
    "content": [
        {
            "type": "text",
            "text": "x",
            "_meta": {"com.example/a": 1},
            "annotations": {"priority": 0, "x-future": True},
        },
        {"type": "smell", "of": ["rain", None]},
    ],
    "structuredContent": {"n": None, "zero": 0, "empty": {}, "none": [], "big": 12345678901234567890, "e": 1e-7},
    "_meta": {"com.example/k": {"deep": [1, None]}, "": 0},
    "x-vendor": 7,
    "isError": False,
}
TOOL = {
    "name": "t",
    "inputSchema": {"type": "object", "x-unknown-keyword": [1, None], "properties": {"a": {"default": None}}},
    "execution": {},
    "x-vendor": {"deep": None},
    "_meta": {"com.example/t": None},
    "annotations": {"x-hint": 0},
}
LIST = {"tools": [TOOL], "_meta": {"": None}, "x-list": []}
RESOURCE = {
    "contents": [{"uri": "a://b", "text": "", "x-vendor": 0, "_meta": {"k": None}}],
    "_meta": {"k": 0},
    "x-vendor": None,
}
PROMPT = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "", "x": 0}, "x-vendor": None}],
    "x-vendor": False,
}


def plain(value: Any) -> Any:
    """Return what a client can pass on of what it got."""
    return json.loads(bytes(value.raw))


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@transports
async def test_a_client_keeps_the_whole_result_of_a_tool(transport: str) -> None:
    async with facing(transport, [READ, write(answer(1, RESULT))]) as faced:
        result = await faced.client.call_tool("t")

    text: Any = result.content[0]
    assert RESULT == plain(result)
    assert ({"com.example/a": 1}, 0) == (text.meta, text.annotations.priority)
    assert RESULT["structuredContent"] == result.structured_content
    assert RESULT["_meta"] == result.meta


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@transports
async def test_a_client_keeps_whole_lists_and_each_item_of_them(transport: str) -> None:
    async with facing(transport, [READ, write(answer(1, LIST))]) as faced:
        listed = await faced.client.list_tools()

    assert LIST == plain(listed)
    assert TOOL == plain(listed.tools[0])
    assert TOOL["_meta"] == listed.tools[0].meta
    assert TOOL["inputSchema"] == listed.tools[0].input_schema


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@transports
async def test_a_client_keeps_whole_resources_and_prompts(transport: str) -> None:
    acts = [READ, write(answer(1, RESOURCE)), READ, write(answer(2, PROMPT))]
    async with facing(transport, acts) as faced:
        read = await faced.client.read_resource("a://b")
        got = await faced.client.get_prompt("p")

    assert (RESOURCE, PROMPT) == (plain(read), plain(got))


def between(faced: Faced) -> MCPServer:
    """Return a server whose handlers give back what a client of theirs got from somewhere else."""
    server = MCPServer("between")

    @server.tool
    async def pass_on() -> CallToolResult:
        return await faced.client.call_tool("t")

    @server.tool
    async def add_to() -> CallToolResult:
        result = await faced.client.call_tool("t")
        result.content.append(TextContent(text="added"))
        return result

    @server.resource("a://b")
    async def resource() -> ReadResourceResult:
        return await faced.client.read_resource("a://b")

    @server.prompt
    async def prompt() -> GetPromptResult:
        return await faced.client.get_prompt("p")

    return server


between_transports = pytest.mark.parametrize("transport", ["in memory", "http+sse"])


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@between_transports
async def test_a_server_between_passes_whole_results_on(transport: str) -> None:
    acts = [READ, write(answer(1, RESULT)), READ, write(answer(2, RESOURCE)), READ, write(answer(3, PROMPT))]
    async with facing("in memory", acts) as faced, raw_client(transport, between(faced)) as client:
        assert RESULT == (await client.call("pass_on"))["result"]
        assert RESOURCE == (await client.ask(frame("resources/read", {"uri": "a://b"}, id=1)))["result"]
        assert PROMPT == (await client.ask(frame("prompts/get", {"name": "prompt"}, id=1)))["result"]


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
async def test_a_client_of_ours_gets_the_whole_result_through_a_server_between() -> None:
    async with (
        facing("in memory", [READ, write(answer(1, RESULT))]) as faced,
        connect(between(faced), protocol="handshake") as client,
    ):
        result = await client.call_tool("pass_on")

        assert RESULT == plain(result)
        assert RESULT["structuredContent"] == result.structured_content


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@pytest.mark.parametrize("value", [[1, None], 0, False, None, "text"])
async def test_data_that_is_no_object_is_wrapped_and_nothing_else_is_changed(value: Any) -> None:
    whole = RESULT | {"structuredContent": value}
    acts = [READ, write(answer(1, whole))]
    async with facing("in memory", acts) as faced, raw_client("in memory", between(faced)) as client:
        assert whole | {"structuredContent": {"result": value}} == (await client.call("pass_on"))["result"]


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
async def test_what_a_server_between_adds_is_sent() -> None:
    acts = [READ, write(answer(1, RESULT))]
    async with facing("in memory", acts) as faced, raw_client("in memory", between(faced)) as client:
        content = (await client.call("add_to"))["result"]["content"]

    assert ["text", "smell", "text"] == [block["type"] for block in content]
    assert "added" == content[-1]["text"]


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@transports
async def test_what_a_client_sends_along_reaches_the_server_whole(transport: str) -> None:
    meta: JsonObject = {"com.example/k": {"deep": [1, None]}, "": 0}
    async with facing(transport, [READ, SHOW, write(answer(1, {"content": []}))]) as faced:
        await faced.client.call_tool("t", {"n": None, "zero": 0, "": []}, meta=meta)

    sent = json.loads(ast.literal_eval(faced.shown[0]))
    assert {"name": "t", "arguments": {"n": None, "zero": 0, "": []}, "_meta": meta} == sent["params"]


@pytest.mark.requirement("case-16-nothing-is-lost-on-the-way-through")
@transports
async def test_a_handler_sees_all_of_the_meta_and_arguments_it_was_sent(transport: str) -> None:
    meta = {"com.example/k": {"deep": [1, None]}, "": 0, "progressToken": 0}
    async with raw_client(transport) as client:
        answered = await client.ask(call(1, "mirror", {"value": {"n": None, "zero": 0, "": []}}, meta=meta))

    seen = answered["result"]["structuredContent"]
    assert {"value": {"n": None, "zero": 0, "": []}, "meta": meta} == seen
