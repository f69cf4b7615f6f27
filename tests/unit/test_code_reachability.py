"""Every code is thrown by a real call site: one small test for each, and a check that none is left out."""

import ast
import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.base import TransportBase
from suaveplan_mcp.transport.in_memory import InMemoryTransport


@contextmanager
def _raises(code: str) -> Generator[None]:
    with pytest.raises(MCPError) as caught:
        yield
    assert code == caught.value.code


@asynccontextmanager
async def _connected(server: MCPServer | None = None) -> AsyncGenerator[MCPClient]:
    near, far = InMemoryTransport.pair()
    server = server or MCPServer()
    await server.start(far)
    client = MCPClient(prefetch=False)
    await client.connect(near)
    try:
        yield client
    finally:
        await client.disconnect()
        await server.stop()


def _dispatcher(clock: FakeClock | None = None) -> tuple[JsonRpcDispatcher, ScriptedPeer]:
    near, far = InMemoryTransport.pair()
    return JsonRpcDispatcher(near, clock=clock, timers=clock), ScriptedPeer(far)


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_protocol_invalid() -> None:
    near, far = InMemoryTransport.pair()
    peer, client = ScriptedPeer(far), MCPClient()
    connecting = asyncio.create_task(client.connect(near))
    request = await peer.expect_request("initialize")
    peer.respond(request.id, {"protocolVersion": 5})
    with _raises(MCP_CODES.PROTOCOL_INVALID):
        await connecting


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_method_not_found() -> None:
    async with _connected() as client:
        with _raises(MCP_CODES.METHOD_NOT_FOUND):
            await client.request("no/such/method")


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_invalid_params() -> None:
    server = MCPServer()
    server.register_tool(lambda number: number, name="t", input_schema=None)
    with _raises(MCP_CODES.INVALID_PARAMS):
        await server.invoke_tool("t", {"other": 1})


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_internal_error() -> None:
    async def fail() -> None:
        raise ValueError("kept here")

    server = MCPServer()
    server.register_prompt(fail)
    async with _connected(server) as client:
        with _raises(MCP_CODES.INTERNAL_ERROR):
            await client.get_prompt("fail")


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_unauthorized() -> None:
    server = MCPServer()
    server.set_authorizer(lambda _: False)
    async with _connected(server) as client:
        with _raises(MCP_CODES.UNAUTHORIZED):
            await client.call_tool("t")


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_request_cancelled() -> None:
    controller = AbortController()
    controller.abort()
    async with _connected() as client:
        with _raises(MCP_CODES.REQUEST_CANCELLED):
            await client.read_resource("mem://x", signal=controller.signal)


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_timeout() -> None:
    clock = FakeClock()
    dispatcher, _ = _dispatcher(clock)
    asking = asyncio.create_task(dispatcher.request("silence", timeout=1))
    await clock.advance_async(2)
    with _raises(MCP_CODES.TIMEOUT):
        await asking
    await dispatcher.close()


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_transport_closed() -> None:
    dispatcher, _ = _dispatcher()
    await dispatcher.close()
    with _raises(MCP_CODES.TRANSPORT_CLOSED):
        await dispatcher.request("late")


class _BrokenTransport(TransportBase):
    """Takes nothing."""

    async def send(self, message: object, *, delivery: object = None) -> None:
        raise OSError("the cable is cut")

    async def close(self) -> None:
        self._finish()


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_transport_error() -> None:
    dispatcher = JsonRpcDispatcher(_BrokenTransport())
    with _raises(MCP_CODES.TRANSPORT_ERROR):
        await dispatcher.notify("hello")
    await dispatcher.close()


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_not_initialized() -> None:
    with _raises(MCP_CODES.NOT_INITIALIZED):
        await MCPClient().call_tool("early")


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_already_connected() -> None:
    async with _connected() as client:
        with _raises(MCP_CODES.ALREADY_CONNECTED):
            await client.connect(InMemoryTransport.pair()[0])


@pytest.mark.requirement("error-codes-have-one-registry")
def test_duplicate_registration() -> None:
    server = MCPServer()
    server.register_root("file:///a")
    with _raises(MCP_CODES.DUPLICATE_REGISTRATION):
        server.register_root("file:///a")


@pytest.mark.requirement("error-codes-have-one-registry")
def test_not_found() -> None:
    with _raises(MCP_CODES.NOT_FOUND):
        MCPServer().unregister_tool("never")


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_protocol_version_mismatch() -> None:
    near, far = InMemoryTransport.pair()
    peer, client = ScriptedPeer(far), MCPClient()
    connecting = asyncio.create_task(client.connect(near))
    request = await peer.expect_request("initialize")
    result: Any = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    peer.respond(request.id, result)
    with _raises(MCP_CODES.PROTOCOL_VERSION_MISMATCH):
        await connecting


@pytest.mark.requirement("error-codes-have-one-registry")
async def test_handler_failed() -> None:
    async def fail() -> None:
        raise ValueError("told here")

    server = MCPServer()
    server.register_resource(fail, uri="mem://x")
    with _raises(MCP_CODES.HANDLER_FAILED):
        await server.read_resource("mem://x")


@pytest.mark.requirement("error-codes-have-one-registry")
def test_every_registered_code_is_reached_by_a_test_of_its_own() -> None:
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    reached = {
        function.name.removeprefix("test_").upper(): ast.unparse(function)
        for function in tree.body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert [] == [leaf for leaf in MCP_CODES.leaves if f"_raises(MCP_CODES.{leaf})" not in reached.get(leaf, "")]
