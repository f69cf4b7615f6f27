"""What is done once for a call, in whichever thread and however often it is asked for."""

import asyncio
from datetime import date
from enum import IntEnum
from typing import Any

import pytest
from msgspec import Struct

from suaveplan_mcp.server.asking import AskError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.once import Once
from tests.unit.server.peers import a_call


class Point(Struct):
    x: int


class Level(IntEnum):
    HIGH = 3


async def run(handler: Any) -> Any:
    server = MCPServer()
    server.register_tool(handler, name="t")
    result: Any = await server.invoke_tool("t")
    await server.stop()
    assert not result.is_error, result
    return result.content[0].text


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "text", [], [1, [2]], {"a": {"b": None}}, Level.HIGH, 2**70])
async def test_plain_json_is_kept(value: Any) -> None:
    call = a_call()
    loop = asyncio.get_running_loop()

    assert value == await Once(call, None, "k", lambda: value, loop)
    assert value == await Once(call, None, "k", lambda: "other", loop)


@pytest.mark.requirement("something-is-done-once-in-all-rounds")
@pytest.mark.parametrize(
    "value", [(1, 2), {1: "a"}, {"a": (1,)}, Point(1), date(2020, 1, 1), b"x", float("nan"), object(), {"a"}]
)
async def test_what_would_not_come_back_as_it_was_is_refused(value: Any) -> None:
    call = a_call()
    with pytest.raises(AskError, match=r"once\('k'\): its value is not plain JSON"):
        await Once(call, None, "k", lambda: value, asyncio.get_running_loop())

    assert "again" == await Once(call, None, "k", lambda: "again", asyncio.get_running_loop())


async def test_a_thread_does_it_itself() -> None:
    def tool(ctx: Context) -> str:
        names: list[str] = []

        def work() -> int:
            # There is no loop in a thread.
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                names.append("thread")
            return 1

        async def slow_work() -> int:
            await asyncio.sleep(0)
            asyncio.get_running_loop()
            names.append("loop")
            return 2

        values = [ctx.once("a", work).wait(), ctx.once("a", work).wait(), ctx.once("b", slow_work).wait()]
        return f"{values} {names}"

    assert "[1, 1, 2] ['thread', 'loop']" == await run(tool)


async def test_a_thread_with_a_loop_of_its_own_may_await() -> None:
    def tool(ctx: Context) -> str:
        async def main() -> int:
            return await ctx.once("a", lambda: 1)

        return f"{asyncio.run(main())} {ctx.once('a', lambda: 2).wait()}"

    assert "1 1" == await run(tool)


async def test_what_failed_in_a_thread_may_be_tried_again() -> None:
    def tool(ctx: Context) -> str:
        def fail() -> int:
            raise ValueError("not yet")

        with pytest.raises(ValueError, match="not yet"):
            ctx.once("a", fail).wait()
        with pytest.raises(AskError, match="plain JSON"):
            ctx.once("a", lambda: (1,)).wait()
        return str(ctx.once("a", lambda: 3).wait())

    assert "3" == await run(tool)


async def test_waiting_on_the_loop_is_refused() -> None:
    async def tool(ctx: Context) -> str:
        with pytest.raises(RuntimeError, match="await what is done once instead"):
            ctx.once("a", lambda: 1).wait()
        return "refused"

    assert "refused" == await run(tool)
