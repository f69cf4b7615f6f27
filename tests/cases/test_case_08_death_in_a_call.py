"""Case 8: a server that dies in the middle of a call fails that call, and every other, at once and with the reason."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.respawn import Respawn
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from tests.cases.peers import DEADLINE, FIELD, READ, SERVERS, Act, facing, played_command, welcome
from tests.cases.servers.field import make_server

FOR_EVER: dict[str, Any] = {"timeout": None, "total_timeout": None}


async def fails(call: Awaitable[object], end: str) -> None:
    """Look at the failure of a call that nobody answered."""
    async with asyncio.timeout(DEADLINE):
        with pytest.raises(MCPTransportError, match=end) as raised:
            await call
    # An error that came from a peer has its number.
    assert (MCP_CODES.TRANSPORT_CLOSED, None) == (raised.value.code, raised.value.jsonrpc_code)


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("signal", "ended by signal SIGKILL; its last words: about to die"),
        ("exit", "ended with exit status 3; its last words: about to die"),
    ],
)
async def test_a_tool_that_ends_the_process_fails_every_call_with_the_reason(how: str, end: str) -> None:
    async with connect(FIELD, env=os.environ) as client:
        waiting = asyncio.create_task(client.call_tool("wait", **FOR_EVER))
        dying = asyncio.create_task(client.call_tool("die", {"how": how}, **FOR_EVER))
        await fails(dying, end)
        await fails(waiting, end)
        for later in (client.call_tool("echo", {"text": "x"}), client.ping(), client.list_tools()):
            await fails(later, end)


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
@pytest.mark.parametrize(
    ("act", "end"),
    [
        (Act("exit", "3"), "ended with exit status 3; its last words: oh no"),
        (Act("exit", "0"), "ended with exit status 0; its last words: oh no"),
        (Act("kill"), "ended by signal SIGKILL; its last words: oh no"),
        (Act("close", "1"), "has closed its input or its output, although it is still running; its last words: oh no"),
    ],
    ids=["exit 3", "exit 0", "killed", "stdout closed"],
)
async def test_a_server_of_anybody_that_ends_fails_every_call_with_the_reason(act: Act, end: str) -> None:
    async with facing("stdio", [READ, READ, Act("say", "oh no\n"), act], **FOR_EVER) as faced:
        calls = [asyncio.create_task(faced.client.call_tool("any")) for _ in range(2)]
        for call in calls:
            await fails(call, end)
        await fails(faced.client.call_tool("any"), end)


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
@pytest.mark.parametrize("tool", ["leave", "leave_from_a_thread"])
async def test_an_exit_of_a_tool_is_an_answer_and_no_end(tool: str) -> None:
    async with connect(FIELD, env=os.environ) as client:
        result = await client.call_tool(tool)

        assert result.is_error
        await client.ping()


@asynccontextmanager
async def over_http() -> AsyncGenerator[tuple[MCPClient, asyncio.subprocess.Process]]:
    command = [*FIELD[:1], "-m", "suaveplan_mcp", "run", f"{SERVERS / 'web.py'}", "--transport", "sse", "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        url = (await asyncio.wait_for(process.stderr.readline(), DEADLINE)).decode().split()[-1]
        async with connect(url) as client:
            yield client, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_web_server_that_is_killed_fails_every_call() -> None:
    async with over_http() as (client, process):
        calls = [asyncio.create_task(client.call_tool("wait", **FOR_EVER)) for _ in range(2)]
        await client.ping()
        os.kill(process.pid, signal.SIGKILL)
        for call in calls:
            await fails(call, "closed before tools/call was answered")
        await fails(client.call_tool("wait"), "closed")


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_server_in_this_process_that_stops_fails_every_call() -> None:
    server: MCPServer = make_server()
    async with connect(server) as client:
        calls = [asyncio.create_task(client.call_tool("wait", **FOR_EVER)) for _ in range(2)]
        await client.ping()
        await server.stop()
        for call in calls:
            await fails(call, "closed before tools/call was answered")
        await fails(client.call_tool("wait"), "closed")


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_server_may_be_started_again_and_later_calls_wait_for_it() -> None:
    async with connect(FIELD, env=os.environ, respawn=Respawn(delay=0.01)) as client:
        waiting = asyncio.create_task(client.call_tool("wait", **FOR_EVER))
        await client.ping()
        for how in ("signal", "exit"):
            await fails(client.call_tool("die", {"how": how}), "its last words: about to die")
            await client.ping()
        await fails(waiting, "ended by signal SIGKILL")


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_server_that_dies_again_and_again_is_given_up() -> None:
    async def ping_on(client: MCPClient) -> None:
        # It may be up for a moment, and down in the next.
        while True:
            await client.ping(timeout=None)

    with played_command([*welcome(), Act("say", "oh no\n"), Act("exit", "3")]) as command:
        async with connect(command, respawn=Respawn(limit=2, delay=0.01)) as client:
            await fails(ping_on(client), "ended with exit status 3; its last words: oh no")
