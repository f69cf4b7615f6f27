"""Case 17: the number, message and data of an error reach the caller as they were raised."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from msgspec import UNSET

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from tests.cases.peers import READ, TRANSPORTS, answer, call, error, facing, frame, raw_client, text_of, write
from tests.cases.servers.field import make_server

transports = pytest.mark.parametrize("transport", TRANSPORTS)

WHY = {"field": "id", "why": [1, {"a": None}]}
RAISED: dict[str, dict[str, Any]] = {
    "invalid": {"code": -32602, "message": "bad id", "data": WHY},
    "zero": {"code": 4001, "message": "custom", "data": 0},
    "null": {"code": 4001, "message": "custom", "data": None},
    "false": {"code": 4001, "message": "custom", "data": False},
    "text": {"code": 4001, "message": "custom", "data": ""},
    "list": {"code": 4001, "message": "custom", "data": []},
    "object": {"code": 4001, "message": "custom", "data": {}},
    "absent": {"code": 4001, "message": "custom"},
}
FEATURES: dict[str, Callable[[str], bytes]] = {
    "tool": lambda kind: call(1, "fails", {"kind": kind}),
    "tool in a thread": lambda kind: call(1, "fails_in_a_thread", {"kind": kind}),
    "resource": lambda kind: frame("resources/read", {"uri": f"field://{kind}"}, id=1),
    "prompt": lambda kind: frame("prompts/get", {"name": "prompt", "arguments": {"kind": kind}}, id=1),
}
CALLS: dict[str, Callable[[MCPClient, str], Coroutine[Any, Any, Any]]] = {
    "tool": lambda client, kind: client.call_tool("fails", {"kind": kind}),
    "tool in a thread": lambda client, kind: client.call_tool("fails_in_a_thread", {"kind": kind}),
    "resource": lambda client, kind: client.read_resource(f"field://{kind}"),
    "prompt": lambda client, kind: client.get_prompt("prompt", {"kind": kind}),
}
features = pytest.mark.parametrize("feature", FEATURES)


def as_raised(caught: MCPError) -> dict[str, Any]:
    """Return what a caller can know of an error."""
    known: dict[str, Any] = {"code": caught.jsonrpc_code, "message": caught.message}
    return known if caught.data is UNSET else known | {"data": caught.data}


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@transports
async def test_an_error_of_a_handler_is_on_the_wire_as_it_was_raised(transport: str) -> None:
    async with raw_client(transport) as client:
        for feature, request in FEATURES.items():
            for kind, raised in RAISED.items():
                assert raised == (await client.ask(request(kind)))["error"], (feature, kind)


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@features
async def test_an_error_of_a_handler_reaches_the_caller_as_it_was_raised(feature: str) -> None:
    async with connect(make_server()) as client:
        for kind, raised in RAISED.items():
            with pytest.raises(MCPError) as caught:
                await CALLS[feature](client, kind)

            assert raised == as_raised(caught.value)


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@transports
async def test_a_client_tells_an_error_without_data_from_one_with_null(transport: str) -> None:
    errors = [error(1, 4001, "m"), error(2, 4001, "m", data=None), error(3, -1, "", data=0), error(4, 2**40, "≤")]
    acts = [part for each in errors for part in (READ, write(each))]
    async with facing(transport, acts) as faced:
        caught: list[dict[str, Any]] = []
        for _ in errors:
            with pytest.raises(MCPError) as raised:
                await faced.client.call_tool("any")
            caught.append(as_raised(raised.value))

    assert [
        {"code": 4001, "message": "m"},
        {"code": 4001, "message": "m", "data": None},
        {"code": -1, "message": "", "data": 0},
        {"code": 2**40, "message": "≤"},
    ] == caught


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@transports
async def test_an_ordinary_exception_is_a_result_of_a_tool_and_an_internal_error_elsewhere(transport: str) -> None:
    async with raw_client(transport) as client:
        failed = await client.call("raises")
        assert failed["result"]["isError"]
        for request in (FEATURES["resource"]("raises"), FEATURES["prompt"]("raises")):
            refused = (await client.ask(request))["error"]

            assert -32603 == refused["code"]
            assert "secret" not in str(refused)


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
async def test_a_server_may_keep_the_text_of_its_tools_exceptions_to_itself() -> None:
    server = MCPServer(reveal_tool_errors=False)

    @server.tool
    async def raises() -> None:
        raise ValueError("secret path /etc/x")

    async with raw_client("in memory", server) as client:
        failed = await client.call("raises")

    assert failed["result"]["isError"]
    assert "secret" not in text_of(failed)


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@transports
async def test_an_unknown_tool_is_a_protocol_error(transport: str) -> None:
    async with raw_client(transport) as client:
        assert -32602 == (await client.call("no such tool"))["error"]["code"]


async def as_its_own(asking: Awaitable[Any]) -> Any:
    """Ask a server behind, and raise what it answers as one's own answer."""
    try:
        return await asking
    except MCPError as error:
        raise MCPError(error.code, error.message, jsonrpc_code=error.jsonrpc_code, data=error.data) from None


def between(behind: MCPClient) -> MCPServer:
    server = MCPServer("between")

    @server.tool
    async def fails(kind: str) -> Any:
        return await as_its_own(behind.call_tool("fails", {"kind": kind}))

    @server.tool
    async def lets_through(kind: str) -> Any:
        return await behind.call_tool("fails", {"kind": kind})

    @server.resource("field://{kind}")
    async def resource(kind: str) -> Any:
        return await as_its_own(behind.read_resource(f"field://{kind}"))

    @server.resource("through://{kind}")
    async def resource_lets_through(kind: str) -> Any:
        return await behind.read_resource(f"field://{kind}")

    @server.prompt
    async def prompt(kind: str) -> Any:
        return await as_its_own(behind.get_prompt("prompt", {"kind": kind}))

    return server


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
async def test_an_error_that_is_raised_on_passes_through_a_server_between_unchanged() -> None:
    async with connect(make_server()) as behind, raw_client("in memory", between(behind)) as client:
        for feature in ("tool", "resource", "prompt"):
            for kind, raised in RAISED.items():
                assert raised == (await client.ask(FEATURES[feature](kind)))["error"], (feature, kind)


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
@pytest.mark.parametrize("number", [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, 1, -31002])
async def test_every_number_passes_through_a_server_between(number: int) -> None:
    acts = [READ, write(error(1, number, "from afar", data={"a": 0}))]
    async with facing("in memory", acts) as faced, raw_client("in memory", between(faced.client)) as client:
        refused = (await client.call("fails", {"kind": "any"}))["error"]

    assert {"code": number, "message": "from afar", "data": {"a": 0}} == refused


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
async def test_an_error_that_a_handler_merely_lets_through_is_its_own_failure() -> None:
    # It was said to the server between, and may be about something that its caller must not know.
    async with connect(make_server()) as behind, raw_client("in memory", between(behind)) as client:
        failed = await client.call("lets_through", {"kind": "invalid"})
        refused = await client.ask(frame("resources/read", {"uri": "through://invalid"}, id=1))

    assert failed["result"]["isError"]
    assert (-32603, False) == (refused["error"]["code"], "bad id" in str(refused))


@pytest.mark.requirement("case-17-errors-arrive-as-they-were-raised")
async def test_error_content_that_is_no_text_is_a_result_like_any_other() -> None:
    picture = {"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "isError": True}
    server = MCPServer("between")
    async with facing("in memory", [READ, write(answer(1, picture))]) as faced:

        @server.tool
        async def fails() -> Any:
            return await faced.client.call_tool("any")

        async with raw_client("in memory", server) as client:
            assert picture == (await client.call("fails"))["result"]
