"""The application runs under another web server than ours: granian."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientConnectionError, ClientSession

from suaveplan_mcp.host.http_server import listen, port_of
from tests.transports.plain_process import DEADLINE
from tests.transports.stateless_requests import call_of, headers_of

ROOT = Path(__file__).parents[2]
APPLICATION = "tests.transports.servers.asgi:app"


@asynccontextmanager
async def granian() -> AsyncGenerator[tuple[str, asyncio.StreamReader]]:
    """Run the application; give its URL and what it says."""
    (listener,) = listen("127.0.0.1", 0)
    with listener:
        port = port_of([listener])
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(port), "--no-log", APPLICATION]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        await until_it_listens(url)
        yield url, process.stderr
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), DEADLINE)


async def until_it_listens(url: str) -> None:
    async with asyncio.timeout(DEADLINE), ClientSession() as session:
        while True:
            try:
                async with session.get(url):
                    return
            except ClientConnectionError:
                await asyncio.sleep(0.05)


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_calls_are_answered_under_granian_and_clients_that_leave_are_noticed() -> None:
    async with granian() as (url, said), ClientSession() as session:
        body = call_of("echo", {"text": "a≤"})
        async with session.post(url, data=body, headers=headers_of("tools/call", "echo")) as one:
            assert (200, "application/json") == (one.status, one.headers["content-type"])
            assert "a≤" == (await one.json())["result"]["content"][0]["text"]
        body = call_of("count", {"to": 3}, progressToken=1)
        async with session.post(url, data=body, headers=headers_of("tools/call", "count")) as stream:
            assert "text/event-stream" == stream.headers["content-type"]
            lines = [line[6:] for line in (await stream.read()).splitlines() if line.startswith(b"data: ")]
        assert [1, 2, 3] == [json.loads(line)["params"]["progress"] for line in lines[:-1]]
        assert 1 == json.loads(lines[-1])["id"]
        # One that leaves before its answer, and one in the middle of a stream.
        calling = asyncio.create_task(session.post(url, data=call_of("wait"), headers=headers_of("tools/call", "wait")))
        await until_said(said, b"waiting\n")
        calling.cancel()
        await until_said(said, b"cleaned up\n")
        async with session.post(
            url, data=call_of("watch", progressToken=1), headers=headers_of("tools/call", "watch")
        ) as stream:
            await stream.content.readuntil(b"progress")
        await until_said(said, b"cleaned up\n")


async def until_said(said: asyncio.StreamReader, line: bytes) -> None:
    async with asyncio.timeout(DEADLINE):
        while (await said.readline()) != line:
            assert not said.at_eof(), "the server has ended"
