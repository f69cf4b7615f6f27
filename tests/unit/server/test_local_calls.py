"""Calls in the server's own process."""

import asyncio
import threading
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController, AbortSignal
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.local_calls import LocalCall
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.progress import ProgressNotificationParams
from tests.unit.server.peers import settle


async def _answer(value: Any = "done") -> Any:
    return value


@pytest.mark.requirement("a-server-registers-and-serves-features", "every-branch-is-reached")
async def test_an_aborted_signal_reaches_the_handler_and_rejects_the_call() -> None:
    server, controller, seen = MCPServer(), AbortController(), list[object]()

    @server.tool
    async def slow(ctx: Context) -> None:
        ctx.signal.add_listener(lambda: seen.append(ctx.signal.reason))
        controller.abort("enough")
        await asyncio.Event().wait()

    with pytest.raises(MCPError, match="the request was cancelled: enough") as caught:
        await server.invoke_tool("slow", signal=controller.signal)

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
    assert ["enough"] == seen


async def test_a_signal_that_is_aborted_already_keeps_the_handler_from_running() -> None:
    server, controller, ran = MCPServer(), AbortController(), list[int]()
    server.register_tool(lambda: ran.append(1), name="t")
    controller.abort()

    with pytest.raises(MCPError) as caught:
        await server.invoke_tool("t", signal=controller.signal)

    assert (MCP_CODES.REQUEST_CANCELLED, []) == (caught.value.code, ran)


async def test_a_handler_that_does_not_heed_the_signal_is_left_behind() -> None:
    controller, over = AbortController(), asyncio.Event()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            over.set()
            raise ValueError("nobody hears this") from None
        return "never"

    waiting = asyncio.create_task(LocalCall("tools/call").run(stubborn(), controller.signal))
    await settle()
    controller.abort(ValueError("the reason"))

    with pytest.raises(MCPError) as caught:
        await waiting
    await over.wait()

    assert isinstance(caught.value.cause, ValueError)


async def test_a_signal_may_be_aborted_in_any_thread() -> None:
    server, controller = MCPServer(), AbortController()

    @server.tool
    def slow(ctx: Context) -> bool:
        controller.abort("from a thread")
        heeded = threading.Event()
        ctx.signal.add_listener(heeded.set)
        return heeded.wait(5)

    with pytest.raises(MCPError, match="from a thread"):
        await server.invoke_tool("slow", signal=controller.signal)
    await server.stop()


async def test_a_thread_that_looks_at_the_signal_late_finds_it_aborted() -> None:
    call, controller = LocalCall("tools/call"), AbortController()
    waiting = asyncio.create_task(call.run(asyncio.sleep(3600), controller.signal))
    await settle()
    controller.abort()
    with pytest.raises(MCPError):
        await waiting

    assert call.signal.aborted


async def test_an_abort_after_the_result_changes_nothing() -> None:
    controller = AbortController()

    async def answer() -> str:
        controller.abort()
        return "done"

    # The abort is looked at in the next turn of the loop, and by then the result is there.
    assert "done" == await LocalCall("tools/call").run(answer(), controller.signal)


async def test_a_signal_nobody_aborts_leaves_no_listener() -> None:
    controller = AbortController()

    assert "done" == await LocalCall("tools/call").run(_answer(), controller.signal)
    assert {} == controller.signal._listeners


@pytest.mark.requirement("a-server-registers-and-serves-features", "every-branch-is-reached")
async def test_reports_of_progress_are_handed_on_in_order_before_the_result() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def work(ctx: Context) -> str:
        ctx.progress(50, 100)
        await ctx.progress(75, 100, "nearly")
        return "done"

    def note(report: ProgressNotificationParams) -> None:
        seen.append((report.progress, report.total, report.message))

    result = await server.invoke_tool("work", on_progress=note)

    assert [(50, 100, None), (75, 100, "nearly")] == seen
    assert not result.is_error


async def test_progress_that_does_not_grow_or_is_no_number_is_left_out() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.tool
    async def work(ctx: Context) -> None:
        for value in (1, 1, 0.5, float("nan"), float("inf"), 2):
            ctx.progress(value)

    await server.invoke_tool("work", on_progress=lambda value, total: seen.append((value, total)))

    assert [(1, None), (2, None)] == seen


async def test_progress_from_a_thread_arrives_before_the_result() -> None:
    server, seen = MCPServer(), list[float]()

    @server.tool
    def work(ctx: Context) -> None:
        for value in range(5):
            ctx.progress(value)

    async def note(report: ProgressNotificationParams) -> None:
        await asyncio.sleep(0)
        seen.append(report.progress)

    await server.invoke_tool("work", on_progress=note)

    assert [0, 1, 2, 3, 4] == seen
    await server.stop()


async def test_progress_after_the_end_and_without_a_listener_goes_nowhere() -> None:
    seen: list[Any] = []
    heard, unheard = LocalCall("tools/call", on_progress=seen.append), LocalCall("x")
    await heard.run(_answer(), None)
    heard.progress(1)
    unheard.progress(1)

    assert [] == seen


async def test_a_progress_callback_that_raises_stops_the_handler() -> None:
    server, stopped = MCPServer(), list[bool]()

    @server.tool
    async def work(ctx: Context) -> None:
        ctx.progress(1)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(ctx.signal.aborted)

    def broken(_: object) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await server.invoke_tool("work", on_progress=broken)
    await settle()

    assert [True] == stopped


async def test_cancelling_the_caller_stops_the_handler_and_stays_a_cancellation() -> None:
    stopped: list[int] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(1)

    calling = asyncio.create_task(LocalCall("tools/call").run(work(), AbortSignal()))
    await settle()
    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling
    await settle()
    assert [1] == stopped


async def test_a_handler_that_cancels_itself_has_given_up() -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(MCPError, match="the handler gave up") as caught:
        await LocalCall("tools/call").run(give_up(), AbortSignal())

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code


async def test_what_the_work_raises_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await LocalCall("tools/call").run(fail(), AbortSignal())
    with pytest.raises(ValueError, match="its own"):
        await LocalCall("tools/call").run(fail(), None)


async def test_there_is_no_client_to_ask_or_tell() -> None:
    call = LocalCall("tools/call", meta={"a": 1})
    call.peer.post_notification("notifications/message")

    with pytest.raises(MCPError, match="has no client behind it") as caught:
        await call.peer.request("roots/list")

    assert MCP_CODES.NOT_INITIALIZED == caught.value.code


async def test_a_progress_callback_that_never_ends_does_not_keep_an_aborted_call() -> None:
    server, controller, ended = MCPServer(), AbortController(), list[str]()

    @server.tool
    async def work(ctx: Context) -> None:
        ctx.progress(1)
        await asyncio.Event().wait()

    async def stuck(_: object) -> None:
        controller.abort("enough")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("callback")

    with pytest.raises(MCPError, match="enough") as caught:
        await server.invoke_tool("work", on_progress=stuck, signal=controller.signal)

    assert (MCP_CODES.REQUEST_CANCELLED, ["callback"]) == (caught.value.code, ended)


async def test_a_result_that_is_there_is_given_where_only_a_callback_is_aborted() -> None:
    server, controller = MCPServer(), AbortController()

    @server.tool
    async def work(ctx: Context) -> str:
        ctx.progress(1)
        return "done"

    async def stuck(_: object) -> None:
        await settle()
        controller.abort("enough")
        await asyncio.Event().wait()

    result: Any = await server.invoke_tool("work", on_progress=stuck, signal=controller.signal)

    assert "done" == result.content[0].text
