"""The facade: starting, attaching, stopping, and what it says of itself."""

import asyncio
import sys
from itertools import count
from types import ModuleType
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import ConnectionClosed, RequestCompleted
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.server.peers import EVERYTHING, ask, call, code_of, join, outcome, serving, settle, text_of


async def _start(server: MCPServer) -> ScriptedPeer:
    near, far = InMemoryTransport.pair()
    await server.start(near)
    peer = ScriptedPeer(far)
    await peer.initialize()
    return peer


def _echo_server() -> MCPServer:
    server = MCPServer()

    @server.tool
    def echo(text: str) -> str:
        return text

    return server


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_starting_twice_is_refused_and_the_first_client_is_still_served() -> None:
    server = _echo_server()
    peer = await _start(server)

    with pytest.raises(MCPError, match="stop it first, or attach") as caught:
        await server.start(InMemoryTransport.pair()[0])

    assert MCP_CODES.ALREADY_CONNECTED == caught.value.code
    assert "hi" == text_of(await call(peer, "echo", text="hi"))
    await server.stop()


async def test_a_stopped_server_starts_again_threads_included() -> None:
    server = _echo_server()
    for _ in range(2):
        peer = await _start(server)
        assert "hi" == text_of(await call(peer, "echo", text="hi"))
        await server.stop()
        assert peer.transport.closed
    await server.stop()

    assert not server.get_info().running


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_the_summary_counts_what_is_registered_and_says_whether_it_runs() -> None:
    server = MCPServer("counted", "3")
    for name in "ab":
        server.register_tool(lambda: None, name=name)
    server.register_resource(lambda: "", uri="mem://a", name="a")
    server.register_resource(lambda id: id, uri="mem://{id}", name="t")
    server.register_prompt(lambda: "", name="p")
    server.register_root("file:///a")
    before = server.get_info()
    peer = await _start(server)
    during = server.get_info()
    await peer.transport.close()
    await settle()
    left = server.get_info()
    await server.stop()

    assert ("counted", "3", 2, 1, 1, 1, 1) == (
        before.name,
        before.version,
        before.tools,
        before.resources,
        before.resource_templates,
        before.prompts,
        before.roots,
    )
    assert [(False, 0), (True, 1), (True, 0), (False, 0)] == [
        (info.running, info.connections) for info in (before, during, left, server.get_info())
    ]


async def test_several_clients_are_served_at_once_and_one_leaves() -> None:
    server = _echo_server()
    first, second = await join(server), await join(server)
    assert ["a", "b"] == [
        text_of(result)
        for result in await asyncio.gather(call(first, "echo", text="a"), call(second, "echo", text="b"))
    ]

    await first.transport.close()
    await settle()

    assert 1 == server.get_info().connections
    assert "c" == text_of(await call(second, "echo", text="c"))
    await server.stop()
    assert second.transport.closed


async def test_a_transport_that_is_closed_already_is_refused() -> None:
    server = MCPServer()
    near, _ = InMemoryTransport.pair()
    await near.close()

    for serve in (server.attach, server.start):
        with pytest.raises(MCPTransportError) as caught:
            await serve(near)
        assert MCP_CODES.TRANSPORT_CLOSED == caught.value.code
    assert (False, 0) == ((info := server.get_info()).running, info.connections)


async def test_a_transport_that_is_served_already_is_refused_and_still_served() -> None:
    server = _echo_server()
    near, far = InMemoryTransport.pair()
    await server.attach(near)

    with pytest.raises(MCPError, match="serves this transport already") as caught:
        await server.attach(near)

    assert (MCP_CODES.ALREADY_CONNECTED, 1) == (caught.value.code, server.get_info().connections)
    peer = ScriptedPeer(far)
    await peer.initialize()
    assert "hi" == text_of(await call(peer, "echo", text="hi"))
    await server.stop()


class _Broken(InMemoryTransport):
    """Cannot be read from or closed."""

    __slots__ = ()

    def on_message(self, handler: object) -> Any:
        raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "cannot be read")


async def test_a_start_that_fails_leaves_the_server_to_be_started() -> None:
    server = _echo_server()
    with pytest.raises(MCPTransportError):
        await server.start(_Broken())

    assert (False, 0) == ((info := server.get_info()).running, info.connections)
    await _start(server)
    await server.stop()


class _Stubborn(InMemoryTransport):
    """Raises when it is closed."""

    __slots__ = ()

    async def close(self) -> None:
        await super().close()
        raise OSError("cannot be closed")


async def test_one_transport_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    server = MCPServer()
    await server.attach(_Stubborn())
    peer = await join(server)

    with pytest.raises(OSError, match="cannot be closed"):
        await server.stop()
    await settle()

    assert peer.transport.closed
    assert 0 == server.get_info().connections


async def test_stopping_stops_what_runs_and_says_why() -> None:
    server, over, closed = MCPServer(), list[object](), list[ConnectionClosed]()

    @server.tool
    async def wait(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            over.append(ctx.signal.aborted)

    server.events.on("connection:closed", closed.append)
    peer = await join(server)
    peer.request(1, "tools/call", {"name": "wait"})
    await settle()

    await server.stop("going home")

    assert ([True], ["going home"]) == (over, [event.reason for event in closed])
    assert 1 == len(peer.seen)


async def test_a_handler_may_stop_the_server_and_every_client_is_let_go() -> None:
    server = MCPServer()

    @server.tool
    async def shut_down() -> None:
        await server.stop()

    peers = [await join(server), await join(server)]
    peers[0].request(1, "tools/call", {"name": "shut_down"})
    for peer in peers:
        await peer.expect_close()
    await settle()

    assert (False, 0) == ((info := server.get_info()).running, info.connections)


async def test_stopping_before_the_start_does_nothing() -> None:
    server = MCPServer()
    closed: list[ConnectionClosed] = []
    server.events.on("connection:closed", closed.append)

    await server.stop()

    assert ([], False) == (closed, server.get_info().running)
    async with serving(server) as peer:
        assert {} == await ask(peer, "ping")


@pytest.mark.requirement("every-branch-is-reached", "universal-code-stays-pure")
async def test_clock_timers_and_ids_are_those_that_were_passed_in() -> None:
    clock, ids = FakeClock(100.0), count(70)
    server = MCPServer(clock=clock, timers=clock, id_generator=ids.__next__)
    completed: list[RequestCompleted] = []
    server.events.on("request:completed", completed.append)

    @server.tool
    async def work(ctx: Context) -> str:
        clock.now += 0.25
        return (await ctx.list_roots())[0].uri

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "work"})
        request = await peer.expect_request("roots/list")
        peer.respond(request.id, {"roots": [{"uri": "file:///a"}]})
        await peer.expect_response(1)

        assert 70 == request.id
        assert [("initialize", 0.0), ("tools/call", 250.0)] == [(each.method, each.duration_ms) for each in completed]


async def test_calls_over_the_limit_wait_for_their_turn() -> None:
    server, running, most, gate = MCPServer(max_concurrent=2), list[int](), list[int](), asyncio.Event()

    @server.tool
    async def work() -> None:
        running.append(1)
        most.append(len(running))
        await gate.wait()
        running.pop()

    async with serving(server) as peer:
        for number in range(5):
            peer.request(number, "tools/call", {"name": "work"})
        await settle()
        gate.set()
        assert set(range(5)) == {outcome_id(await peer.receive()) for _ in range(5)}
        assert 2 == max(most)


def outcome_id(message: Any) -> Any:
    outcome(message)
    return message.id


async def test_a_call_that_was_cancelled_is_never_answered() -> None:
    server = MCPServer()

    @server.tool
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "anyway"
        return "never"

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "stubborn"})
        await settle()
        peer.notify("notifications/cancelled", {"requestId": 1})
        await settle()

        assert {} == await ask(peer, "ping")
        assert 2 == len(peer.seen)


async def test_notifications_are_never_answered_whatever_they_say() -> None:
    async with serving(_echo_server()) as peer:
        for method in ("tools/list", "ping", "codex/event", "notifications/made/up"):
            peer.notify(method)
        await settle()

        assert {} == await ask(peer, "ping")
        assert 2 == len(peer.seen)


def test_an_option_that_cannot_be_used_is_refused_by_name() -> None:
    with pytest.raises(MCPError) as caught:
        MCPServer(page_size=0)

    assert "page_size" == caught.value.context["path"]


def test_running_is_left_to_whoever_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    room: Any = ModuleType("suaveplan_mcp.serving")
    room.run = lambda *args, **options: calls.append((args, options))
    room.sse_app = lambda *args, **options: (args, options)
    monkeypatch.setitem(sys.modules, "suaveplan_mcp.serving", room)
    clock = FakeClock()
    server = MCPServer(timers=clock)

    server.run()
    server.run(
        "sse",
        host="",
        port=8000,
        path="/sse",
        allowed_hosts=["a.example"],
        allowed_origins=["https://a"],
        max_frame_bytes=64,
    )

    names = ("host", "port", "path", "allowed_hosts", "max_frame_bytes")
    defaults = {**dict.fromkeys(names), "allowed_origins": ()}
    chosen = {
        "max_frame_bytes": 64,
        "host": "",
        "port": 8000,
        "path": "/sse",
        "allowed_hosts": ["a.example"],
        "allowed_origins": ["https://a"],
    }
    assert [((server, "stdio"), defaults), ((server, "sse"), chosen)] == calls
    assert ((server, "/sse", "/messages"), {"timers": clock, "keep_alive": 5}) == server.sse_app(keep_alive=5)


async def test_an_error_number_that_means_two_things_is_told_apart_by_the_method() -> None:
    server = MCPServer()

    @server.tool
    async def give_up() -> None:
        raise MCPError(MCP_CODES.REQUEST_CANCELLED, "enough")

    async with serving(server) as peer:
        assert (-32002, MCP_CODES.REQUEST_CANCELLED) == code_of(await call(peer, "give_up"))
        assert (-32002, MCP_CODES.NOT_FOUND) == code_of(await ask(peer, "resources/read", {"uri": "mem://x"}))


async def test_what_keeps_a_connection_alive_is_answered_however_busy_the_server_is() -> None:
    server, never = MCPServer(max_concurrent=1), asyncio.Event()

    @server.tool
    async def wait() -> None:
        await never.wait()

    server.set_authorizer(lambda _: True)
    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "wait"})
        peer.request(2, "tools/list", {})
        await settle()

        assert {} == await ask(peer, "ping")
        assert {} == await ask(peer, "logging/setLevel", {"level": "error"}, id="level")
        assert 3 == len(peer.seen)
