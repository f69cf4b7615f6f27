"""One function says who may call what."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import Request
from suaveplan_mcp.server.authorization import AuthorizationRequest, GuardedHandlers
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.tools import CallToolRequestParams
from tests.unit.server.peers import ask, call, code_of, join, record_faults, serving, settle


def _server() -> MCPServer:
    server = MCPServer()

    @server.tool
    async def echo(text: str = "hi") -> str:
        return text

    return server


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_the_authorizer_gates_calls_by_their_method() -> None:
    server = _server()
    server.set_authorizer(lambda request: request.method != "tools/call")
    async with serving(server) as peer:
        error = await call(peer, "echo")

        assert ((-32001, MCP_CODES.UNAUTHORIZED), "tools/call is not allowed") == (code_of(error), error.message)
        assert "tools" in await ask(peer, "tools/list")


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_call_that_the_authorizer_accepts_goes_through() -> None:
    server = _server()
    server.set_authorizer(lambda _: True)
    async with serving(server) as peer:
        assert "isError" not in await call(peer, "echo")


async def test_the_handshake_and_ping_are_nobodys_to_forbid() -> None:
    server = _server()
    server.set_authorizer(lambda _: False)
    async with serving(server) as peer:
        assert {} == await ask(peer, "ping")
        assert (-32001, MCP_CODES.UNAUTHORIZED) == code_of(await ask(peer, "resources/list"))


async def test_the_authorizer_may_be_a_coroutine_function() -> None:
    server = _server()

    async def only_lists(request: AuthorizationRequest) -> bool:
        return request.method.endswith("/list")

    server.set_authorizer(only_lists)
    async with serving(server) as peer:
        assert (-32001, MCP_CODES.UNAUTHORIZED) == code_of(await call(peer, "echo"))
        assert "prompts" in await ask(peer, "prompts/list")


async def test_the_authorizer_sees_the_call_with_its_typed_params() -> None:
    server, seen = _server(), list[AuthorizationRequest]()
    server.set_authorizer(lambda request: bool(seen.append(request)) or True)
    async with serving(server) as peer:
        await call(peer, "echo", text="x")

    (request,) = seen
    assert ("tools/call", "asked", {}, None) == (request.method, request.id, dict(request.headers), request.principal)
    assert isinstance(request.params, CallToolRequestParams)


async def test_the_authorizer_sees_headers_and_principal() -> None:
    server, seen = _server(), list[AuthorizationRequest]()
    server.set_authorizer(lambda request: bool(seen.append(request)) or True)
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    who = Delivery(headers={"x-team": "red"}, principal="ada")
    far.on_message(lambda *_: None)
    params: Any = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    far.post(Request(0, "initialize", params))
    await settle()
    far.post(Request(1, "tools/list"), delivery=who)
    await settle()

    (request,) = seen
    assert ({"x-team": "red"}, "ada") == (request.headers, request.principal)
    await server.stop()


async def test_an_authorizer_that_raises_lets_nobody_in_and_tells_nothing() -> None:
    server = _server()

    def broken(_: AuthorizationRequest) -> bool:
        raise ValueError("the password file is at /etc/x")

    server.set_authorizer(broken)
    faults = record_faults(server)
    async with serving(server) as peer:
        error = await call(peer, "echo")

        assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
        assert ["ValueError"] == [type(fault.error).__name__ for fault in faults]


async def test_an_authorizer_may_say_why() -> None:
    server = _server()

    def explain(_: AuthorizationRequest) -> bool:
        raise MCPError(MCP_CODES.UNAUTHORIZED, "not before noon")

    server.set_authorizer(explain)
    async with serving(server) as peer:
        error = await call(peer, "echo")

        assert ((-32001, MCP_CODES.UNAUTHORIZED), "not before noon") == (code_of(error), error.message)


async def test_the_authorizer_can_be_set_and_taken_away_while_clients_are_connected() -> None:
    server = _server()
    peer, other = await join(server), await join(server)
    server.set_authorizer(lambda _: False)
    assert (-32001, MCP_CODES.UNAUTHORIZED) == code_of(await call(peer, "echo"))
    assert (-32001, MCP_CODES.UNAUTHORIZED) == code_of(await call(other, "echo"))

    server.set_authorizer(None)

    assert "content" in await call(peer, "echo")
    await server.stop()


async def test_calls_in_this_process_are_not_gated() -> None:
    server = _server()
    server.set_authorizer(lambda _: False)

    assert not (await server.invoke_tool("echo")).is_error


async def test_lists_are_private_while_there_is_an_authorizer() -> None:
    server = _server()
    async with serving(server) as peer:
        assert "public" == (await ask(peer, "tools/list"))["cacheScope"]
        server.set_authorizer(lambda _: True)
        assert "private" == (await ask(peer, "tools/list"))["cacheScope"]


def test_without_an_authorizer_the_handlers_stand_in_the_table_themselves() -> None:
    guarded = GuardedHandlers(frozenset({"ping"}))

    async def handler(params: object, call: object) -> None:
        """Never runs."""

    guarded.register("tools/list", handler)
    guarded.register("ping", handler)
    assert guarded.authorizer is None
    assert handler is guarded.table.handler_of("tools/list").function

    guarded.guard(lambda _: True)
    assert handler is not guarded.table.handler_of("tools/list").function
    assert handler is guarded.table.handler_of("ping").function

    guarded.register("prompts/list", handler)
    assert handler is not guarded.table.handler_of("prompts/list").function
