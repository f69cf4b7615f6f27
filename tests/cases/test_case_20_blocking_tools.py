"""Case 20: a tool that blocks holds up nobody but its caller."""

import threading

import pytest

from suaveplan_mcp.server.mcp_server import MCPServer
from tests.cases.peers import DEADLINE, TRANSPORTS, answer_to, call, frame, list_tools, raw_client, text_of
from tests.cases.servers.field import WHO, make_server

transports = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
@transports
async def test_a_list_is_answered_while_tools_block(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(*(call(id, "block") for id in (1, 2, 3)), list_tools(9), frame("ping", id=10))
        assert {9, 10} == {(await client.receive())["id"] for _ in range(2)}
        assert [] == await client.rest()

        await client.send(call(4, "unblock"))
        assert {1, 2, 3, 4} == {(await client.receive())["id"] for _ in range(4)}


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
@transports
async def test_tools_that_block_do_so_at_once(transport: str) -> None:
    # It is one release that lets all of them go, so they have waited together.
    async with raw_client(transport) as client:
        await client.send(*(call(id, "block") for id in range(60)), call("free", "unblock"))
        answers = [await client.receive() for _ in range(61)]

    assert {"unblocked"} == {text_of(answer_to(answers, id)) for id in range(60)}


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
@pytest.mark.parametrize("at_once", [3, 60])
async def test_none_of_them_returns_before_all_of_them_run(at_once: int) -> None:
    server, together = MCPServer(), threading.Barrier(at_once, timeout=DEADLINE)

    @server.tool
    def meet() -> int:
        return together.wait()

    async with raw_client("in memory", server) as client:
        await client.send(*(call(id, "meet") for id in range(at_once)))
        answers = [await client.receive() for _ in range(at_once)]

    assert list(range(at_once)) == sorted(int(text_of(each)) for each in answers)


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
async def test_the_context_of_a_caller_is_seen_in_a_thread_and_that_of_a_peer_is_not() -> None:
    WHO.set("whoever started the server")
    async with raw_client("in memory") as client:
        WHO.set("whoever calls")
        answered = await client.call("look_around", {"name": "x"})

    who, in_main_thread = answered["result"]["structuredContent"]["result"]
    assert ("whoever started the server", False) == (who, in_main_thread)


@pytest.mark.requirement("case-20-a-tool-that-blocks-holds-up-nobody-else")
async def test_a_tool_that_is_a_coroutine_stays_on_the_loop() -> None:
    server, threads = make_server(), list[threading.Thread]()

    @server.tool
    async def where() -> None:
        threads.append(threading.current_thread())

    async with raw_client("in memory", server) as client:
        await client.call("where")

    assert [threading.current_thread()] == threads
