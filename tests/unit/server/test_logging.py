"""Log messages at the level each client wants."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.revisions import LATEST
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.logging import Logs
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY
from tests.unit.server.peers import ask, call, code_of, join, serving, settle, text_of


def _messages(peer: Any) -> list[Any]:
    return [message.params for message in peer.seen if getattr(message, "method", "") == "notifications/message"]


async def test_messages_below_the_level_a_client_wants_are_not_sent() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        assert {} == await ask(peer, "logging/setLevel", {"level": "warning"})
        for level in ("debug", "notice", "warning", "emergency"):
            server.emit_log(level, level, "part")
        await settle()

        assert [
            {"level": "warning", "data": "warning", "logger": "part"},
            {"level": "emergency", "data": "emergency", "logger": "part"},
        ] == _messages(peer)


async def test_each_client_has_a_level_of_its_own() -> None:
    server = MCPServer()
    quiet, loud = await join(server), await join(server)
    await ask(quiet, "logging/setLevel", {"level": "error"})
    await ask(loud, "logging/setLevel", {"level": "debug"})

    server.emit_log("info", "hello")
    await settle()

    assert ([], 1) == (_messages(quiet), len(_messages(loud)))
    await server.stop()


async def test_a_client_that_has_not_asked_gets_the_level_of_the_server() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        server.emit_log("debug", 1)
        server.emit_log("info", 2)
        server.set_log_level("error")
        server.emit_log("warning", 3)
        server.emit_log("error", 4)
        await settle()

        assert [2, 4] == [message["data"] for message in _messages(peer)]


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_message_without_a_logger_has_no_such_member() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        server.emit_log("error", None)
        await settle()

        assert [{"level": "error", "data": None}] == _messages(peer)


async def test_what_is_logged_before_a_client_is_there_is_not_sent_later() -> None:
    server = MCPServer()
    server.emit_log("emergency", "alone")
    async with serving(server) as peer:
        server.emit_log("emergency", "together")
        await settle()

        assert ["together"] == [message["data"] for message in _messages(peer)]


@pytest.mark.parametrize("say", ["set", "emit"])
def test_a_level_that_does_not_exist_is_refused_by_name(say: str) -> None:
    server, level = MCPServer(), "loud"

    with pytest.raises(MCPError, match="cannot be logged: level: 'loud'") as caught:
        server.set_log_level(level) if say == "set" else server.emit_log(level, 1)  # pyright: ignore[reportArgumentType]

    assert "'loud' is none of debug, info" in str(caught.value.context["reason"])


async def test_a_level_that_does_not_exist_is_refused_on_the_wire() -> None:
    async with serving(MCPServer()) as peer:
        error = await ask(peer, "logging/setLevel", {"level": "loud"})

        assert ((-32602, MCP_CODES.INVALID_PARAMS), "Invalid request parameters") == (code_of(error), error.message)
        assert "level" == error.data["path"]


async def test_data_that_is_no_json_is_refused_where_it_is_wanted() -> None:
    server, data = MCPServer(), object()
    async with serving(server) as peer:
        server.emit_log("debug", data)  # pyright: ignore[reportArgumentType]
        with pytest.raises(MCPError) as caught:
            server.emit_log("error", data)  # pyright: ignore[reportArgumentType]
        await settle()

        assert "data" == caught.value.context["path"]
        assert [] == _messages(peer)


async def test_what_is_sent_is_what_the_data_was_then() -> None:
    server, seen = MCPServer(), list[Any]()
    data: dict[str, Any] = {"n": 1}
    async with serving(server):
        server.events.on("notification:emitted", lambda event: seen.append(event.params))
        server.emit_log("error", data)
        data["n"] = 2

        assert [{"n": 1}] == [params.data for params in seen]


async def test_a_handler_logs_to_its_own_client_at_the_level_that_one_wants() -> None:
    server = MCPServer()

    @server.tool
    async def speak(ctx: Context) -> None:
        await ctx.log("debug", "unheard")
        ctx.log("warning", {"a": 1}, "speaker")

    peer, other = await join(server), await join(server)
    await ask(peer, "logging/setLevel", {"level": "info"}, id=1)
    peer.request(2, "tools/call", {"name": "speak"})
    await peer.expect_notification("notifications/message")
    await peer.expect_response(2)

    assert [{"level": "warning", "data": {"a": 1}, "logger": "speaker"}] == _messages(peer)
    assert [] == _messages(other)
    await server.stop()


async def test_a_handler_in_a_thread_logs_in_order_and_before_its_result() -> None:
    server = MCPServer()

    @server.tool
    def speak(ctx: Context) -> str:
        for number in range(3):
            ctx.log("error", number)
        return "done"

    async with serving(server) as peer:
        peer.request(1, "tools/call", {"name": "speak"})
        for number in range(3):
            assert {"level": "error", "data": number} == (
                await peer.expect_notification("notifications/message")
            ).params
        await peer.expect_response(1)


async def test_a_mistake_in_a_log_call_is_raised_in_the_handler() -> None:
    server = MCPServer()

    @server.tool
    def speak(ctx: Context) -> None:
        ctx.log("loud", 1)  # pyright: ignore[reportArgumentType]

    async with serving(server) as peer:
        result = await call(peer, "speak")

        assert result["isError"]
        assert text_of(result).startswith("Error: this cannot be logged: level: 'loud' is none of")


async def test_a_call_in_this_process_has_nobody_to_log_to() -> None:
    server = MCPServer()

    @server.tool
    async def speak(ctx: Context) -> str:
        ctx.log("emergency", "unheard")
        return "done"

    result = await server.invoke_tool("speak")

    assert not result.is_error


@pytest.mark.parametrize(
    ("wanted", "levels"),
    [(None, []), ("warning", ["warning", "emergency"]), ("debug", ["debug", "info", "warning", "emergency"])],
)
def test_where_every_request_stands_for_itself_it_gets_only_the_messages_it_asks_for(
    wanted: LoggingLevel | None, levels: list[LoggingLevel]
) -> None:
    logs, caller = Logs(Connections()), Caller(LATEST, log_level=wanted)
    logs.set_level("debug")
    every: tuple[LoggingLevel, ...] = ("debug", "info", "warning", "emergency")

    assert levels == [level for level in every if logs.message_for(caller, level, "said", None) is not None]


async def test_a_client_that_never_shook_hands_hears_no_message_that_belongs_to_no_request() -> None:
    server, (near, far) = MCPServer(), InMemoryTransport.pair()
    await server.attach(near)
    peer = ScriptedPeer(far)
    meta = {PROTOCOL_VERSION_KEY: LATEST, CLIENT_CAPABILITIES_KEY: {}, LOG_LEVEL_KEY: "debug"}
    assert "complete" == (await ask(peer, "tools/list", {"_meta": meta}))["resultType"]

    server.emit_log("emergency", "unheard")
    await settle()

    assert [] == _messages(peer)
    await server.stop()
