"""How handlers are run, and what of their exceptions is meant for the caller."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Response
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.asking import AskError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.logging import LogError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import InvalidArgumentsError, RegistrationError
from suaveplan_mcp.server.running import is_answer
from tests.unit.server.peers import ask, call, serving, text_of

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
async def test_a_plain_handler_runs_in_a_thread_with_the_context_of_its_caller() -> None:
    server = MCPServer()

    @server.tool
    def look() -> list[Any]:
        return [WHO.get(), threading.current_thread() is threading.main_thread()]

    WHO.set("ada")
    result: Any = await server.invoke_tool("look")

    assert ["ada", False] == result.structured_content
    await server.stop()


async def test_an_inline_handler_and_a_coroutine_run_on_the_loop() -> None:
    server, threads = MCPServer(), list[threading.Thread]()

    @server.tool(inline=True)
    def inline() -> None:
        threads.append(threading.current_thread())

    @server.tool
    async def coroutine() -> None:
        threads.append(threading.current_thread())

    await server.invoke_tool("inline")
    await server.invoke_tool("coroutine")

    assert [threading.current_thread()] * 2 == threads


@pytest.mark.parametrize("inline", [True, False])
async def test_a_plain_function_may_hand_on_a_coroutine(inline: bool) -> None:  # noqa: FBT001
    server = MCPServer()

    async def work() -> str:
        return "done"

    @server.tool(inline=inline)
    def hand_on() -> Any:
        return work()

    result: Any = await server.invoke_tool("hand_on")

    assert "done" == result.content[0].text
    await server.stop()


async def test_blocked_threads_do_not_hold_up_other_requests() -> None:
    server, release, started = MCPServer(), threading.Event(), threading.Semaphore(0)

    @server.tool
    def block() -> str:
        started.release()
        return "released" if release.wait(10) else "late"

    async with serving(server) as peer:
        for number in range(3):
            peer.request(number, "tools/call", {"name": "block"})
        for _ in range(3):
            await asyncio.to_thread(started.acquire)

        assert "tools" in await ask(peer, "tools/list", id=9)

        release.set()
        answers = [await peer.receive() for _ in range(3)]
        assert {"released"} == {text_of(answer.result) for answer in answers if isinstance(answer, Response)}


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
async def test_sixty_blocking_tools_that_call_another_server_all_finish() -> None:
    outer, inner = MCPServer("outer"), MCPServer("inner")
    everyone = threading.Barrier(60)

    @inner.tool
    def double(number: int) -> int:
        return 2 * number

    @outer.tool
    def relay(number: int) -> int:
        everyone.wait(15)
        result: Any = asyncio.run(_stop_after(inner, number))
        return result.structured_content

    results: list[Any] = await asyncio.gather(*(outer.invoke_tool("relay", {"number": n}) for n in range(60)))

    assert [2 * n for n in range(60)] == [result.structured_content for result in results]
    await outer.stop()
    await inner.stop()


async def _stop_after(server: MCPServer, number: int) -> Any:
    return await server.invoke_tool("double", {"number": number})


async def test_sixty_blocking_tools_that_call_back_into_the_loop_all_finish() -> None:
    outer, inner, loop = MCPServer("outer"), MCPServer("inner"), asyncio.get_running_loop()

    @inner.tool
    def double(number: int) -> int:
        return 2 * number

    @outer.tool
    def relay(number: int) -> int:
        asked = asyncio.run_coroutine_threadsafe(inner.invoke_tool("double", {"number": number}), loop)
        result: Any = asked.result(15)
        return result.structured_content

    results: list[Any] = await asyncio.gather(*(outer.invoke_tool("relay", {"number": n}) for n in range(60)))

    assert [2 * n for n in range(60)] == [result.structured_content for result in results]
    await outer.stop()
    await inner.stop()


async def test_the_limit_of_threads_holds() -> None:
    server, running, most = MCPServer(max_threads=2), list[int](), list[int]()
    gate = threading.Semaphore(0)

    @server.tool
    def work() -> None:
        running.append(1)
        most.append(len(running))
        gate.acquire(timeout=10)
        running.pop()

    calls = [asyncio.create_task(server.invoke_tool("work")) for _ in range(5)]
    for _ in calls:
        gate.release()
    await asyncio.gather(*calls)

    assert max(most) <= 2
    await server.stop()


def _received() -> MCPError:
    error = MCPError(MCP_CODES.NOT_FOUND, "x", jsonrpc_code=-32002)
    error.received = True
    return error


@pytest.mark.parametrize(
    "error",
    [
        MCPError(MCP_CODES.INVALID_PARAMS, "x"),
        MCPError(MCP_CODES.NOT_FOUND, "x"),
        MCPError(MCP_CODES.UNAUTHORIZED, "x"),
        MCPError("APP.CODE", "x"),
        MCPError(MCP_CODES.METHOD_NOT_FOUND, "x", jsonrpc_code=-32601),
        MCPTransportError(MCP_CODES.TIMEOUT, "x", jsonrpc_code=7),
    ],
)
def test_an_error_raised_as_the_answer_is_one(error: MCPError) -> None:
    assert is_answer(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        MCPError(MCP_CODES.TIMEOUT, "x"),
        MCPError(MCP_CODES.METHOD_NOT_FOUND, "x"),
        MCPError(MCP_CODES.HANDLER_FAILED, "x"),
        MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "x"),
        AskError(MCP_CODES.INVALID_PARAMS, "x"),
        LogError("level", "x"),
        InvalidArgumentsError("tool `other`", "a", "x"),
        RegistrationError("f", "x"),
        _received(),
    ],
)
def test_an_error_that_only_the_handler_can_help_is_no_answer(error: Exception) -> None:
    assert not is_answer(error)


async def test_a_handler_without_a_context_never_sees_one() -> None:
    server, seen = MCPServer(), list[type]()

    @server.tool
    async def with_context(ctx: Context) -> None:
        seen.append(type(ctx))

    await server.invoke_tool("with_context")

    assert [Context] == seen
    async with serving(server) as peer:
        assert "isError" in await call(peer, "with_context", ctx=1)


async def test_a_handler_that_would_end_the_process_has_failed() -> None:
    server = MCPServer()

    @server.resource("mem://exit")
    async def leave() -> str:
        raise SystemExit(3)

    with pytest.raises(MCPError) as caught:
        await server.read_resource("mem://exit", signal=AbortController().signal)

    assert (MCP_CODES.HANDLER_FAILED, SystemExit) == (caught.value.code, type(caught.value.cause))


async def test_what_ends_more_than_a_handler_passes_through_it() -> None:
    server = MCPServer()

    @server.resource("mem://stop")
    async def stop() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await server.read_resource("mem://stop")
