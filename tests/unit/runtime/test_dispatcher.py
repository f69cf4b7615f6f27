"""The dispatcher as a whole: the promises of its requirement, notifications, batches, and the end."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from msgspec import UNSET, Struct

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import ConnectionClosed, ConnectionOpened, EventBus, RequestCompleted, RequestReceived
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    JsonValue,
    Notification,
    Request,
    Response,
)
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.base import CloseHandler, Delivery, Unsubscribe
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.progress import ProgressNotificationParams
from tests.unit.runtime.pairs import Crowded, SendOnly, connected, facing_a_script, never, texts, turns

secret: ContextVar[str] = ContextVar("secret", default="none")


def echo(params: JsonValue) -> JsonValue:
    return params


# What the requirement promises


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_a_request_gets_a_fresh_id_and_the_answer_of_that_id() -> None:
    async with facing_a_script() as alone:
        first = asyncio.create_task(alone.dispatcher.request("ping"))
        second = asyncio.create_task(alone.dispatcher.request("ping"))
        requests = [await alone.peer.expect_request("ping"), await alone.peer.expect_request("ping")]

        alone.peer.respond(requests[1].id, "two")
        alone.peer.respond(requests[0].id, "one")

        assert [0, 1] == [request.id for request in requests]
        assert ["one", "two"] == [await first, await second]


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_an_aborted_request_sends_the_notice_and_raises() -> None:
    async with facing_a_script() as alone:
        controller = AbortController()
        asking = asyncio.create_task(alone.dispatcher.request("slow", signal=controller.signal))
        await alone.peer.expect_request("slow")

        controller.abort("changed my mind")
        with pytest.raises(MCPError) as caught:
            await asking

        assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
        notice = await alone.peer.expect_notification("notifications/cancelled")
        assert {"requestId": 0, "reason": "changed my mind"} == notice.params


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_an_incoming_cancellation_aborts_the_handler() -> None:
    aborted: list[object] = []

    async def slow(params: JsonValue, call: InboundCall) -> None:
        call.signal.add_listener(lambda: aborted.append(call.signal.reason))
        await never()

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("slow", slow)
        alone.peer.request(1, "slow")
        await turns()

        alone.peer.notify("notifications/cancelled", {"requestId": 1, "reason": "user"})
        await turns()

        assert ["user"] == aborted
        assert [] == alone.peer.seen


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_a_request_that_is_not_answered_in_time_raises_timeout() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("slow", timeout=0.001))
        await alone.peer.expect_request("slow")

        await alone.clock.advance_async(0.001)
        with pytest.raises(MCPError) as caught:
            await asking

        assert (MCP_CODES.TIMEOUT, {"method": "slow", "timeout": 0.001}) == (caught.value.code, caught.value.context)
        assert "no answer to slow within 0.001 s (timeout)" == caught.value.message
        notice = await alone.peer.expect_notification("notifications/cancelled")
        assert {"requestId": 0, "reason": "timed out"} == notice.params


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_every_pending_request_fails_when_the_transport_closes() -> None:
    async with facing_a_script() as alone:
        asking = [asyncio.create_task(alone.dispatcher.request("slow")) for _ in range(3)]
        await turns()

        await alone.peer.transport.close()
        errors = await asyncio.gather(*asking, return_exceptions=True)

        assert [MCP_CODES.TRANSPORT_CLOSED] * 3 == [
            error.code for error in errors if isinstance(error, MCPTransportError)
        ]


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_an_unknown_method_is_answered_with_its_number_and_code() -> None:
    async with facing_a_script("server") as alone:
        alone.peer.request(1, "invalid/method")

        answer = await alone.peer.expect_response(1)

        assert isinstance(answer, ErrorResponse)
        assert (-32601, "Method not found: invalid/method") == (answer.error.code, answer.error.message)
        assert {"code": "MCP.METHOD_NOT_FOUND", "method": "invalid/method"} == answer.error.data


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_an_unknown_method_raises_for_whoever_asked() -> None:
    async with connected() as pair:
        with pytest.raises(MCPError) as caught:
            await pair.client.request("nope")

    assert (MCP_CODES.METHOD_NOT_FOUND, -32601) == (caught.value.code, caught.value.jsonrpc_code)


class Point(Struct):
    x: int
    y: int = 0


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_params_that_do_not_fit_are_answered_with_the_path() -> None:
    async with connected() as pair:
        pair.server.register_handler("move", echo, params_type=Point)

        with pytest.raises(MCPError) as caught:
            await pair.client.request("move", {"x": "far"})

    error = caught.value
    assert (MCP_CODES.INVALID_PARAMS, -32602, "Invalid request parameters") == (
        error.code,
        error.jsonrpc_code,
        error.message,
    )
    assert {"code": "MCP.INVALID_PARAMS", "path": "x", "reason": "Expected `int`, got `str`"} == error.data


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_ids_come_from_the_generator_that_is_given() -> None:
    ids = iter(["a", "b"])
    async with facing_a_script(id_generator=ids.__next__) as alone:
        asking = asyncio.create_task(alone.dispatcher.request("ping"))

        assert "a" == (await alone.peer.expect_request("ping")).id
        alone.peer.respond("a", {})
        assert {} == await asking


@pytest.mark.requirement("the-dispatcher-matches-requests-and-responses")
async def test_a_notification_has_no_id_and_reaches_the_listeners() -> None:
    heard: list[JsonValue] = []
    async with connected() as pair:
        pair.server.register_notification_listener("news", heard.append)

        await pair.client.notify("news", {"x": 1})

        assert ([Notification("news", {"x": 1})], [{"x": 1}]) == (pair.sent, heard)


# Edge cases of the seed


@pytest.mark.requirement("every-branch-is-reached")
async def test_params_that_are_not_sent_are_checked_as_empty_ones() -> None:
    class AllOptional(Struct):
        x: int = 5

    async with connected() as pair:
        pair.server.register_handler("move", lambda params: params.x, params_type=AllOptional)

        assert 5 == await pair.client.request("move")
        assert Request(0, "move", UNSET) == pair.sent[0]


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_handler_that_is_taken_away_is_not_found_and_may_come_back() -> None:
    async with connected() as pair:
        pair.server.register_handler("move", echo, params_type=Point)
        pair.server.unregister_handler("move")
        with pytest.raises(MCPError, match="Method not found: move"):
            await pair.client.request("move", {"x": 1})

        pair.server.register_handler("move", echo)
        assert {"x": "anything"} == await pair.client.request("move", {"x": "anything"})


@pytest.mark.requirement("every-branch-is-reached")
async def test_several_listeners_hear_the_same_notification() -> None:
    heard: list[str] = []
    async with connected() as pair:
        stop = pair.server.register_notification_listener("news", lambda _: heard.append("first"))
        pair.server.register_notification_listener("news", lambda _: heard.append("second"))
        await pair.client.notify("news")
        stop()
        await pair.client.notify("news")

    assert ["first", "second", "second"] == heard


@pytest.mark.requirement("every-branch-is-reached")
async def test_numbers_and_strings_are_different_ids() -> None:
    ids = iter([1, "1"])
    async with facing_a_script(id_generator=ids.__next__) as alone:
        number = asyncio.create_task(alone.dispatcher.request("ask"))
        string = asyncio.create_task(alone.dispatcher.request("ask"))
        await turns()

        alone.peer.respond("1", "for the string")
        alone.peer.respond(1, "for the number")

        assert ["for the number", "for the string"] == [await number, await string]


@pytest.mark.requirement("every-branch-is-reached")
async def test_closing_twice_changes_nothing() -> None:
    closed: list[ConnectionClosed] = []
    async with facing_a_script() as alone:
        alone.dispatcher.events.on("connection:closed", closed.append)
        await alone.dispatcher.close("first")
        await alone.dispatcher.close("second")

    assert ["first"] == [event.reason for event in closed]
    assert alone.dispatcher.closed


@pytest.mark.requirement("every-branch-is-reached")
async def test_progress_under_a_bare_token_leaves_out_what_is_not_given() -> None:
    async with facing_a_script("server") as alone:
        await alone.dispatcher.send_progress("t", 1)
        alone.dispatcher.send_progress(0, 50, 100, "half")

        assert [
            {"progressToken": "t", "progress": 1},
            {"progressToken": 0, "progress": 50, "total": 100, "message": "half"},
        ] == [(await alone.peer.expect_notification("notifications/progress")).params for _ in range(2)]


@pytest.mark.requirement("every-branch-is-reached")
async def test_what_cannot_be_parsed_is_dropped_by_a_client_and_reported_once() -> None:
    async with facing_a_script() as alone:
        asking = asyncio.create_task(alone.dispatcher.request("ping"))
        await alone.peer.expect_request("ping")

        alone.peer.send_raw(InvalidMessage(-32700, "not JSON", sample=b"Server started on stdio"))
        alone.peer.respond(0, "fine")

        assert "fine" == await asking
        assert ["not JSON: b'Server started on stdio'"] == texts(alone.faults)
        assert 1 == len(alone.peer.seen)


@pytest.mark.requirement("every-branch-is-reached")
async def test_what_cannot_be_parsed_is_answered_by_a_server_which_goes_on() -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", echo)

        alone.peer.send_raw(InvalidMessage(-32700, "not JSON", sample=b"\xff\xfe"))
        alone.peer.request(1, "echo", "fine")

        answer = await alone.peer.receive()
        assert ErrorResponse(None, ErrorObject(-32700, "not JSON", {"code": "MCP.PROTOCOL_INVALID"})) == answer
        assert Response(1, "fine") == await alone.peer.receive()
        assert ["not JSON: b'\\xff\\xfe'"] == texts(alone.faults)


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("params", [{"requestId": [1]}, {"requestId": 1.5}, {}, UNSET, {"requestId": 999}])
async def test_a_malformed_or_unknown_cancellation_is_ignored(params: Any) -> None:
    async with facing_a_script("server") as alone:
        release = asyncio.Event()

        async def slow(_: JsonValue) -> str:
            await release.wait()
            return "done"

        alone.dispatcher.register_handler("slow", slow)
        alone.peer.request(1, "slow")
        alone.peer.notify("notifications/cancelled", params)
        await turns()
        release.set()

        assert Response(1, "done") == await alone.peer.receive()


# Notifications


async def test_cancel_and_progress_are_heard_by_listeners_too() -> None:
    heard: list[object] = []
    async with facing_a_script("server") as alone:
        for method in ("notifications/cancelled", "notifications/progress"):
            alone.dispatcher.register_notification_listener(method, heard.append)

        alone.peer.notify("notifications/cancelled", {"requestId": 9})
        alone.peer.notify("notifications/progress", {"progressToken": "nobody's", "progress": 1})

    assert [
        CancelledNotificationParams(request_id=9),
        ProgressNotificationParams(progress_token="nobody's", progress=1),
    ] == heard


@pytest.mark.parametrize("raised", [ValueError("bad"), SystemExit(3), BaseExceptionGroup("both", [SystemExit()])])
@pytest.mark.parametrize("kind", ["plain", "coroutine"])
async def test_a_listener_that_raises_is_reported_and_disturbs_nobody(raised: BaseException, kind: str) -> None:
    heard: list[JsonValue] = []

    def fail(_: JsonValue) -> None:
        raise raised

    async def fail_later(_: JsonValue) -> None:
        await turns(1)
        raise raised

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_notification_listener("news", fail if kind == "plain" else fail_later)
        alone.dispatcher.register_notification_listener("news", heard.append)

        alone.peer.notify("news", 1)
        await turns()

        assert [1] == heard
        assert [f"a listener of news raised {type(raised).__name__}"] == texts(alone.faults)
        assert raised is alone.faults[0].error


async def test_an_interrupt_passes_through_a_listener() -> None:
    def interrupt(_: JsonValue) -> None:
        raise KeyboardInterrupt

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_notification_listener("news", interrupt)
        with pytest.raises(KeyboardInterrupt):
            alone.peer.notify("news", 1)


async def test_a_coroutine_listener_runs_in_a_task_that_ends_with_the_connection() -> None:
    ended: list[str] = []

    async def listen(_: JsonValue) -> None:
        try:
            await never()
        finally:
            ended.append("cleaned up")

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_notification_listener("news", listen)
        alone.peer.notify("news", 1)
        await turns()
        await alone.dispatcher.close()

        assert ["cleaned up"] == ended


async def test_a_listener_may_close_the_connection_and_still_finish() -> None:
    finished: list[str] = []

    async with facing_a_script("server") as alone:

        async def shut_down(_: JsonValue) -> None:
            await alone.dispatcher.close("asked to")
            await turns(1)
            finished.append("yes")

        alone.dispatcher.register_notification_listener("bye", shut_down)
        alone.peer.notify("bye")
        await alone.peer.expect_close()
        await turns()

    assert ["yes"] == finished


async def test_an_unknown_notification_is_nobodys_and_a_request_method_without_an_id_is_never_answered() -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("ping", echo)
        for _ in range(1000):
            alone.peer.notify("codex/event", {"msg": {"x": 1}})
        alone.peer.notify("ping")
        await turns()

        assert [] == alone.peer.seen


async def test_a_listener_does_not_see_the_context_of_the_peer_in_the_same_process() -> None:
    seen: list[str] = []

    async def look_later(_: JsonValue) -> None:
        seen.append(secret.get())

    async with connected() as pair:
        pair.server.register_notification_listener("news", lambda _: seen.append(secret.get()))
        pair.server.register_notification_listener("news", look_later)
        secret.set("of the client")

        await pair.client.notify("news")
        await turns()

    assert ["none", "none"] == seen


async def test_a_posted_notification_that_cannot_be_sent_is_only_reported() -> None:
    async with facing_a_script() as alone:
        transport: Any = alone.peer.transport
        alone.dispatcher.post_notification("news", {"x": 1})
        with pytest.raises(MCPError, match="Invalid request parameters"):
            alone.dispatcher.post_notification("news", object())  # pyright: ignore[reportArgumentType]
        await transport.close()

        alone.dispatcher.post_notification("news", {"x": 2})

        assert [Notification("news", {"x": 1})] == alone.peer.seen
        assert [] == alone.faults


async def test_nothing_is_sent_after_the_end() -> None:
    async with facing_a_script() as alone:
        await alone.dispatcher.close()

        with pytest.raises(MCPTransportError) as asked:
            await alone.dispatcher.request("ping")
        with pytest.raises(MCPTransportError) as told:
            await alone.dispatcher.notify("news")

    assert [MCP_CODES.TRANSPORT_CLOSED] * 2 == [asked.value.code, told.value.code]


# Batches


async def test_a_batch_is_answered_in_one_piece() -> None:
    heard: list[JsonValue] = []
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", echo)
        alone.dispatcher.register_notification_listener("news", heard.append)

        alone.peer.send_raw(
            Batch((Request(1, "echo", "a"), Notification("news", 1), Request(2, "nope"), Request(3, "echo", "b")))
        )
        answer = await alone.peer.receive()

        assert isinstance(answer, Batch)
        assert [2, 1, 3] == [member.id for member in answer.messages if isinstance(member, Response | ErrorResponse)]
        assert ([1], ["nope: Method not found: nope"]) == (heard, texts(alone.faults))


async def test_a_batch_of_refusals_is_answered_at_once() -> None:
    async with facing_a_script("server") as alone:
        alone.peer.send_raw(Batch((Request(1, "nope"), Request(2, "nope"))))

        answer = alone.peer.seen[0]
        assert isinstance(answer, Batch)
        assert 2 == len(answer.messages)


async def test_a_call_that_is_cancelled_in_its_own_batch_never_runs() -> None:
    ran: list[JsonValue] = []
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", ran.append)

        alone.peer.send_raw(
            Batch(
                (
                    Request(1, "echo", 1),
                    Request(2, "echo", 2),
                    Notification("notifications/cancelled", {"requestId": 1}),
                )
            )
        )

        assert Batch((Response(2, None),)) == await alone.peer.receive()
        assert [2] == ran


async def test_cancelling_the_last_call_of_a_batch_sends_the_other_answers() -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", echo)
        alone.dispatcher.register_handler("slow", lambda _: never())
        alone.peer.send_raw(Batch((Request(1, "echo", "a"), Request(2, "slow"))))
        await turns()

        alone.peer.notify("notifications/cancelled", {"requestId": 2})

        assert [Batch((Response(1, "a"),))] == alone.peer.seen


async def test_a_call_behind_a_notification_that_ends_the_connection_never_runs() -> None:
    ran: list[JsonValue] = []
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", ran.append)
        transport: Any = alone.dispatcher._transport
        alone.dispatcher.register_notification_listener("bye", lambda _: transport._finish())

        alone.peer.send_raw(Batch((Notification("bye"), Request(1, "echo", 1))))
        await turns()

    assert [] == ran


# Where an answer belongs


async def test_refusals_and_answers_tell_the_transport_which_request_they_belong_to() -> None:
    deliveries: list[Delivery | None] = []

    class Listening(InMemoryTransport):
        def post(self, message: Any, *, delivery: Delivery | None = None) -> None:
            deliveries.append(delivery)

    transport = Listening()
    dispatcher = JsonRpcDispatcher(transport, side="server")
    dispatcher.register_handler("echo", echo)

    transport._receive(Request(1, "echo", 1), Delivery(principal="me"))
    transport._receive(Request(2, "nope"), Delivery(principal="me"))
    transport._receive(Request(3, "nope"))
    await turns()
    await dispatcher.close()

    assert [Delivery(related_request=2), None, Delivery(related_request=1)] == deliveries


# Registration


async def test_a_method_has_one_handler() -> None:
    async with connected() as pair:
        pair.server.register_handler("echo", echo)

        with pytest.raises(MCPError) as twice:
            pair.server.register_handler("echo", echo)
        with pytest.raises(MCPError) as missing:
            pair.server.unregister_handler("nope")

    assert [MCP_CODES.DUPLICATE_REGISTRATION, MCP_CODES.NOT_FOUND] == [twice.value.code, missing.value.code]


async def test_a_type_that_cannot_be_checked_leaves_nothing_registered() -> None:
    ambiguous: Any = list[int] | set[int]
    async with connected() as pair:
        with pytest.raises(TypeError):
            pair.server.register_handler("echo", echo, params_type=ambiguous)

        assert "echo" not in pair.server.handlers


async def test_connections_may_share_their_handlers_and_their_events() -> None:
    handlers, events, opened = HandlerTable(), EventBus("server"), list[ConnectionOpened]()
    events.on("connection:opened", opened.append)
    handlers.register("echo", echo)
    async with connected(handlers=handlers, events=events) as one, connected(handlers=handlers, events=events) as two:
        assert ["a", "b"] == [await one.client.request("echo", "a"), await two.client.request("echo", "b")]

    assert 2 == len({event.dispatcher_id for event in opened})


async def test_an_era_knows_its_methods_itself() -> None:
    near, far = InMemoryTransport.pair()
    handlers = HandlerTable()
    dispatcher = JsonRpcDispatcher(near, era=HandshakeEra("server", handlers), side="server", handlers=handlers)
    dispatcher.register_handler("ping", lambda _: None, params_type=Point)
    peer = ScriptedPeer(far)

    peer.request(1, "ping")
    assert Response(1, {}) == await peer.receive()
    dispatcher.unregister_handler("ping")
    peer.request(2, "ping")
    answer = await peer.receive()
    await dispatcher.close()

    assert isinstance(answer, ErrorResponse)
    assert -32601 == answer.error.code


async def test_what_was_forgiven_in_a_result_is_reported() -> None:
    async with facing_a_script(era=HandshakeEra("client", ())) as alone:
        opening = asyncio.create_task(
            alone.dispatcher.request(
                "initialize",
                {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
            )
        )
        request = await alone.peer.expect_request("initialize")
        alone.peer.respond(
            request.id,
            {"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
        )
        await opening
        listing = asyncio.create_task(alone.dispatcher.request("tools/list"))
        request = await alone.peer.expect_request("tools/list")
        alone.peer.respond(request.id, {"tools": [5]})

        assert [] == (await listing).tools
        assert ["tools/list: tools[0] is left out: Expected `object`, got `int`"] == texts(alone.faults)


# The end


async def test_the_end_says_why_the_transport_failed() -> None:
    closed: list[ConnectionClosed] = []
    async with facing_a_script() as alone:
        alone.dispatcher.events.on("connection:closed", closed.append)
        transport: Any = alone.dispatcher._transport
        asking = asyncio.create_task(alone.dispatcher.request("slow"))
        await turns()

        transport.failure = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "the server exited with status 3")
        transport._finish()
        with pytest.raises(MCPTransportError) as pending:
            await asking
        with pytest.raises(MCPTransportError) as later:
            await alone.dispatcher.request("slow")

    assert [
        "the connection closed before slow was answered: the server exited with status 3",
        "the connection is closed: the server exited with status 3",
    ] == [pending.value.message, later.value.message]
    assert pending.value.cause is transport.failure
    assert "the server exited with status 3" == closed[0].reason


async def test_a_transport_that_tells_its_end_twice_ends_the_connection_once() -> None:
    class Insistent(InMemoryTransport):
        def on_close(self, handler: CloseHandler) -> Unsubscribe:
            handlers.append(handler)
            return lambda: None

    handlers: list[CloseHandler] = []
    closed: list[ConnectionClosed] = []
    dispatcher = JsonRpcDispatcher(Insistent())
    dispatcher.events.on("connection:closed", closed.append)
    for _ in range(2):
        handlers[0]()

    assert (1, True) == (len(closed), dispatcher.closed)


async def test_handlers_are_stopped_and_awaited_when_the_connection_is_closed() -> None:
    ended: list[str] = []

    async def slow(_: JsonValue) -> None:
        try:
            await never()
        finally:
            await turns()
            ended.append("cleaned up")

    async with connected() as pair:
        pair.server.register_handler("slow", slow)
        asking = asyncio.create_task(pair.client.request("slow"))
        await turns()
        await pair.server.close()

        assert ["cleaned up"] == ended
        with pytest.raises(MCPTransportError):
            await asking


async def test_a_handler_that_ignores_its_cancellation_is_not_awaited_for_long_and_reported() -> None:
    release = asyncio.Event()

    async def stubborn(_: JsonValue) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with connected() as pair:
        pair.server.register_handler("stubborn", stubborn)
        asking = asyncio.create_task(pair.client.request("stubborn"))
        await turns()
        closing = asyncio.create_task(pair.server.close())
        await pair.clock.advance_async(1.9)
        assert not closing.done()

        await pair.clock.advance_async(0.1)
        await closing

        assert ["1 tasks of the connection have not ended within 2 s"] == texts(pair.faults)
        with pytest.raises(MCPTransportError):
            await asking
        release.set()
        await turns()


async def test_giving_up_a_close_leaves_no_timer_behind() -> None:
    release = asyncio.Event()

    async def stubborn(_: JsonValue) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("stubborn", stubborn)
        alone.peer.request(1, "stubborn")
        await turns()
        closing = asyncio.create_task(alone.dispatcher.close())
        await turns()
        closing.cancel()
        await turns()
        pending = alone.clock.pending
        release.set()
        await turns()

        assert (True, []) == (closing.cancelled(), pending)


async def test_a_handler_may_close_its_own_connection() -> None:
    finished: list[str] = []
    async with facing_a_script("server") as alone:

        async def shut_down(_: JsonValue) -> None:
            await alone.dispatcher.close("asked to")
            await turns(1)
            finished.append("yes")

        alone.dispatcher.register_handler("shut_down", shut_down)
        alone.peer.request(1, "shut_down")
        await alone.peer.expect_close()
        await turns()

        assert (["yes"], []) == (finished, alone.peer.seen)


async def test_what_was_posted_before_the_close_is_still_sent() -> None:
    near, far = InMemoryTransport.pair()
    peer, dispatcher = ScriptedPeer(far), JsonRpcDispatcher(SendOnly(near))

    for number in range(3):
        dispatcher.post_notification("news", number)
    await dispatcher.close()

    assert [Notification("news", number) for number in range(3)] == peer.seen


async def test_a_transport_that_stands_still_does_not_keep_the_close_waiting_for_ever() -> None:
    async with facing_a_script() as alone:
        near, _ = InMemoryTransport.pair()
        transport = SendOnly(near)
        transport.gate.clear()
        dispatcher = JsonRpcDispatcher(transport, clock=alone.clock, timers=alone.clock)
        dispatcher.post_notification("news")

        closing = asyncio.create_task(dispatcher.close())
        await alone.clock.advance_async(2)
        await closing

        assert dispatcher._outbox.sender is None


# What is told to those who look


@pytest.mark.requirement("lifecycle-events-go-over-one-bus")
async def test_a_call_is_reported_when_it_comes_and_when_it_ends() -> None:
    events: list[object] = []
    async with connected() as pair:
        pair.server.events.on("request:received", events.append)
        pair.server.events.on("request:completed", events.append)

        async def slow(_: JsonValue) -> None:
            await pair.clock.advance_async(0.25)

        pair.server.register_handler("slow", slow)
        await pair.client.request("slow")

    assert [
        RequestReceived("server", "slow", 0),
        RequestCompleted("server", "slow", 0, 250.0, "success"),
    ] == events


# A peer that does not read


async def test_a_report_may_be_awaited_until_the_peer_has_read() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script("server", ends=(near, far)) as alone:
        await alone.dispatcher.post_notification("news", 1)
        near.fill()

        async def tell() -> None:
            await alone.dispatcher.post_notification("news", 2)

        telling = asyncio.create_task(tell())
        await turns()
        assert not telling.done()
        near.make_room()
        await telling

        assert [Notification("news", 1), Notification("news", 2)] == alone.peer.seen


async def test_progress_and_logs_are_left_out_for_a_peer_that_has_far_too_much_to_read() -> None:
    near, far = Crowded.pair()
    assert isinstance(near, Crowded)
    async with facing_a_script("server", ends=(near, far)) as alone:
        near.overfull = True
        for number in range(3):
            alone.dispatcher.send_progress("token", number)
            alone.dispatcher.post_notification("notifications/message", number)
            alone.dispatcher.post_notification("news", number)
        near.make_room()
        alone.dispatcher.post_notification("notifications/message", 3)

        assert [*(Notification("news", number) for number in range(3)), Notification("notifications/message", 3)] == (
            alone.peer.seen
        )
        assert ["the peer does not read: progress and log messages are left out"] == texts(alone.faults)


# A connection that lives for one message


async def test_a_message_can_be_served_in_the_task_and_the_context_of_whoever_brings_it() -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("whisper", lambda _: secret.get())
        secret.set("of the caller")

        await alone.dispatcher.serve(Request(1, "whisper"))

        assert [Response(1, "of the caller")] == alone.peer.seen


async def test_what_asks_for_no_call_is_handled_all_the_same() -> None:
    async with facing_a_script("server") as alone:
        await alone.dispatcher.serve(Request(1, "unknown"))
        await alone.dispatcher.serve(Notification("news"))

        (refusal,) = alone.peer.seen
        assert isinstance(refusal, ErrorResponse)
        assert (1, -32601) == (refusal.id, refusal.error.code)


async def test_the_end_of_the_transport_gives_up_what_is_served() -> None:
    near, far = InMemoryTransport.pair()
    async with facing_a_script("server", ends=(near, far)) as alone:
        alone.dispatcher.register_handler("wait", lambda _: never())
        serving = asyncio.create_task(alone.dispatcher.serve(Request(1, "wait")))
        await turns()
        await far.close()

        with pytest.raises(asyncio.CancelledError):
            await serving


async def test_a_transport_that_is_let_go_of_is_listened_to_no_more() -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("echo", echo)
        alone.dispatcher.release()

        alone.peer.request(1, "echo", {})
        await turns()

        assert ([], False) == (alone.peer.seen, alone.dispatcher.closed)


async def test_a_connection_can_go_on_under_other_rules() -> None:
    async with facing_a_script() as alone:
        alone.dispatcher.adopt(HandshakeEra("client", alone.dispatcher.handlers))

        with pytest.raises(MCPError) as refused:
            await alone.dispatcher.request("no/such/method")

        assert (MCP_CODES.METHOD_NOT_FOUND, False) == (refused.value.code, alone.dispatcher.has_ways)


async def test_the_id_of_a_request_is_told_before_it_goes_out() -> None:
    async with facing_a_script() as alone:
        told: list[tuple[object, int]] = []
        asking = asyncio.create_task(
            alone.dispatcher.request("ping", on_sent=lambda id_: told.append((id_, len(alone.peer.seen))))
        )
        alone.peer.respond((await alone.peer.expect_request("ping")).id, {})
        await asking

        assert [(0, 0)] == told


async def test_calls_without_an_end_take_nobodys_room_and_keep_nothing_busy() -> None:
    table = HandlerTable()
    table.register("listen", lambda _: never(), endless=True)
    table.register("echo", echo)
    async with facing_a_script("server", handlers=table, max_concurrent=1) as alone:
        for id_ in range(3):
            alone.peer.request(id_, "listen", {})
        await turns()
        assert not alone.dispatcher.busy

        alone.peer.request("last", "echo", {})
        assert isinstance(await alone.peer.expect_response("last"), Response)
