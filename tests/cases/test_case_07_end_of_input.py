"""Case 7: a server ends with its input, whatever its tools are doing."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from tests.cases.peers import DEADLINE, FIELD, RawProcess, call, initialize, list_tools

TOLERANCE = 5.0
"""Seconds within which a process must be gone, on a machine that is busy with other tests; it takes one."""


async def busy(server: RawProcess, *tools: str) -> None:
    """Start tools that never end, and return when they run."""
    await server.client.ask(initialize())
    await server.client.send(*(call(tool, tool) for tool in tools))
    # Requests are taken in order, so these have begun.
    assert 1 == (await server.client.ask(list_tools(1)))["id"]


@pytest.mark.requirement("case-7-a-server-ends-with-its-input")
def test_no_input_at_all_is_the_end() -> None:
    done = subprocess.run(FIELD, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, check=False)

    assert (0, b"", b"the server has stopped\n") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.requirement("case-7-a-server-ends-with-its-input")
@pytest.mark.parametrize(
    "tools", [[], ["wait"], ["sleep"], ["wait", "sleep"], ["stubborn"]], ids=lambda tools: "+".join(tools) or "idle"
)
async def test_the_end_of_input_is_the_end_of_the_process(tools: list[str]) -> None:
    async with RawProcess.running(FIELD) as server:
        await busy(server, *tools)
        await server.client.call("background")
        async with asyncio.timeout(TOLERANCE):
            assert 0 == await server.end()

    assert b"Traceback" not in server.errors
    assert server.errors.endswith(b"the server has stopped\n")
    assert (b"cleaned up" in server.errors) == ("wait" in tools)


@pytest.mark.requirement("case-7-a-server-ends-with-its-input")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_is_the_end_as_well(number: signal.Signals) -> None:
    async with RawProcess.running(FIELD) as server:
        await busy(server, "wait", "sleep")
        server.process.send_signal(number)
        async with asyncio.timeout(TOLERANCE):
            assert 0 == await server.process.wait()
        await server.end()

    assert [b"cleaned up", b"the server has stopped"] == server.errors.splitlines()


@pytest.mark.requirement("case-7-a-server-ends-with-its-input")
async def test_a_server_does_not_outlive_a_parent_that_is_killed() -> None:
    parent = (
        "import subprocess, sys, time\n"
        f"server = subprocess.Popen({FIELD!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"server.stdin.write({initialize() + bytes([10]) + call(1, 'sleep') + bytes([10])!r}); server.stdin.flush()\n"
        "server.stdout.readline()\n"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    pipe = asyncio.subprocess.PIPE
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=pipe, stderr=pipe)
    assert started.stdout is not None
    ended = asyncio.Event()
    watch = os.pidfd_open(int(await started.stdout.readline()))
    asyncio.get_running_loop().add_reader(watch, ended.set)
    started.kill()
    try:
        async with asyncio.timeout(TOLERANCE):
            await ended.wait()
        _, errors = await started.communicate()
    finally:
        asyncio.get_running_loop().remove_reader(watch)
        os.close(watch)

    assert b"the server has stopped\n" == errors
