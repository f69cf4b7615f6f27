"""A server as a child process: its errors, its death and its end."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.jsonrpc.messages import Notification
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.testing import FakeClock
from tests.transports.plain_process import (
    DEADLINE,
    PLAIN,
    is_running,
    open_descriptors,
    running,
    script,
    spawn,
    until_gone,
)

# Answers every request with what is in `result`.
ANSWER = "import json, sys\nfor line in sys.stdin: print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], "
SLEEP = "import sys, time; sys.stderr.write('asleep\\n'); sys.stderr.flush(); time.sleep(60)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


class Heard:
    """The lines a server wrote to its standard error, and a way to wait for the first."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.something = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self.something.set()


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
@pytest.mark.parametrize(("how", "end"), [("signal", "by signal SIGKILL"), ("exit", "with exit status 3")])
async def test_every_call_names_how_the_server_died_and_its_last_words(how: str, end: str) -> None:
    server, dispatcher = await spawn(PLAIN)
    waiting = asyncio.create_task(dispatcher.request("sleep"))
    await dispatcher.request("echo")

    with pytest.raises(MCPTransportError, match=f"ended {end}; its last words: about to die") as raised:
        await dispatcher.request("die", how)
    with pytest.raises(MCPTransportError, match=f"ended {end}; its last words: about to die"):
        await waiting
    with pytest.raises(MCPTransportError, match=f"ended {end}; its last words: about to die"):
        await dispatcher.request("echo")
    await dispatcher.close()
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code
    assert {"pid": server.pid, "exit_status": server.exit_status, "stderr": "about to die"} == getattr(
        raised.value.cause, "context", None
    )


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
@pytest.mark.parametrize("fd", [0, 1])
async def test_a_server_that_closes_a_stream_but_lives_on_fails_its_calls(fd: int) -> None:
    _, dispatcher = await spawn(script(f"import os, time; os.close({fd}); time.sleep(60)"), grace=0.1)

    with pytest.raises(MCPTransportError, match="has closed its input or its output, although it is still running"):
        await dispatcher.request("echo")
    await dispatcher.close()


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_server_that_ends_while_its_child_holds_its_streams_fails_its_calls() -> None:
    heard = Heard()
    command = ["sh", "-c", "sleep 60 & echo $! >&2; exit 4"]
    _, dispatcher = await spawn(command, on_stderr=heard)

    with pytest.raises(MCPTransportError, match="ended with exit status 4"):
        await dispatcher.request("echo")
    await dispatcher.close()
    await until_gone(int(heard.lines[0]))


async def test_what_a_server_starts_ends_with_it() -> None:
    heard = Heard()
    async with running(["sh", "-c", "sleep 60 & echo $! >&2; exec cat >&2"], on_stderr=heard):
        await heard.something.wait()
        assert is_running(int(heard.lines[0]))

    await until_gone(int(heard.lines[0]))


async def test_what_a_server_starts_is_killed_where_it_does_not_heed_being_terminated() -> None:
    heard = Heard()
    left_behind = script("import os; name = f'{os.getpid()}\\n'; " + DEAF.replace("'asleep\\n'", "name"))
    code = f"import subprocess, sys; subprocess.Popen({left_behind!r}); sys.stdin.read()"
    async with running(script(code), on_stderr=heard, grace=0.1):
        await heard.something.wait()

    await until_gone(int(heard.lines[0]))


@pytest.mark.parametrize(("code", "status"), [(SLEEP, -signal.SIGTERM), (DEAF, -signal.SIGKILL)])
async def test_a_server_that_does_not_end_by_itself_is_terminated_then_killed(code: str, status: int) -> None:
    heard = Heard()
    server, dispatcher = await spawn(script(code), on_stderr=heard, grace=0.1)
    await heard.something.wait()

    await dispatcher.close()

    assert status == server.exit_status


async def test_each_step_of_closing_waits_by_the_timers_that_were_passed_in() -> None:
    clock, heard = FakeClock(), Heard()
    server = await ServerProcess.spawn(script(DEAF), timers=clock, on_stderr=heard)
    await heard.something.wait()
    closing = asyncio.create_task(server.close())
    while not clock.pending:
        await asyncio.sleep(0)

    await clock.advance_async(1.9)
    assert not closing.done()
    await clock.advance_async(2.1)
    await closing
    assert -signal.SIGKILL == server.exit_status


async def test_a_server_that_never_reads_can_be_closed() -> None:
    server, dispatcher = await spawn(script(SLEEP), grace=0.1)
    await server.transport.send(Notification("flood", "x" * 900_000))

    await dispatcher.close()

    assert -signal.SIGTERM == server.exit_status


async def test_a_server_that_is_held_up_by_what_nobody_reads_can_be_closed() -> None:
    received = asyncio.Event()
    server = await ServerProcess.spawn(script("import sys; sys.stdout.write('{}\\n' * 2_000_000); sys.stdin.read()"))
    server.transport.on_message(lambda message: received.set())
    await received.wait()

    await server.close()

    assert 0 == server.exit_status


async def test_a_flood_on_stderr_holds_nothing_up() -> None:
    heard = Heard()
    flood = "import sys\nfor _ in range(50_000): sys.stderr.write('noise ' * 20 + '\\n')\n"
    code = f"{flood}{ANSWER}'result': 'quiet'}}), flush=True)"
    async with running(script(code), on_stderr=heard) as dispatcher:
        assert "quiet" == await dispatcher.request("echo")

    assert 50_000 == len(heard.lines)


async def test_only_harmless_variables_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADE_UP_SECRET", "x")
    code = f"import os\n{ANSWER}'result': dict(os.environ)}}), flush=True)"
    server = await ServerProcess.spawn(script(code), env={"GIVEN": "ä"})
    environment = await _ask(server)

    assert ("ä", os.environ["PATH"]) == (environment["GIVEN"], environment["PATH"])
    assert "MADE_UP_SECRET" not in environment


async def test_every_variable_is_inherited_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MADE_UP_SECRET", "x")
    code = f"import os\n{ANSWER}'result': dict(os.environ)}}), flush=True)"

    environment = await _ask(await ServerProcess.spawn(script(code), inherit_env=os.environ))

    assert "x" == environment["MADE_UP_SECRET"]


async def test_a_server_runs_in_the_folder_it_is_given_and_a_command_may_be_one_string(tmp_path: Path) -> None:
    (tmp_path / "a server.py").write_text(f"import os\n{ANSWER}'result': {{'cwd': os.getcwd()}}}}), flush=True)")

    answer = await _ask(await ServerProcess.spawn(f"'{sys.executable}' 'a server.py'", cwd=tmp_path))

    assert {"cwd": str(tmp_path)} == answer


async def _ask(server: ServerProcess) -> dict[str, str]:
    dispatcher = JsonRpcDispatcher(server.transport)
    try:
        return await dispatcher.request("ask")
    finally:
        await dispatcher.close()


@pytest.mark.parametrize(
    ("command", "cwd", "reason"),
    [
        (["no-such-command-anywhere"], None, "'no-such-command-anywhere': there is no such command; PATH is '/"),
        ([str(Path(__file__))], None, "Permission denied"),
        ([sys.executable], "/no/such/folder", "its working folder '/no/such/folder' cannot be entered: No such file"),
    ],
)
async def test_a_server_that_cannot_be_started_is_a_clear_error_and_leaves_nothing(
    command: list[str], cwd: str | None, reason: str
) -> None:
    before = open_descriptors()

    with pytest.raises(MCPTransportError, match=reason) as raised:
        await ServerProcess.spawn(command, cwd=cwd)

    assert MCP_CODES.TRANSPORT_ERROR == raised.value.code
    assert before == open_descriptors()


@pytest.mark.parametrize(("command", "reason"), [("", "empty"), ([], "empty"), ("a 'b", "quotation")])
async def test_a_command_that_is_none_is_a_clear_error(command: str | list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        await ServerProcess.spawn(command)


async def test_lines_on_stderr_go_to_a_logger_where_nobody_takes_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "suaveplan_mcp.server_process")

    async with running(PLAIN):
        pass

    assert ["cleaned up"] == [record.message for record in caplog.records if "server_process" in record.name]


async def test_closing_may_be_done_twice_at_once_from_other_tasks_and_be_cancelled() -> None:
    server, dispatcher = await spawn(PLAIN)
    await dispatcher.request("echo")
    closings = [asyncio.create_task(server.close()) for _ in range(3)]
    await asyncio.sleep(0)
    closings[0].cancel()

    outcomes = await asyncio.gather(*closings, return_exceptions=True)

    assert [asyncio.CancelledError, type(None), type(None)] == [type(outcome) for outcome in outcomes]
    assert 0 == server.exit_status
    await server.close()
    assert not is_running(server.pid)


async def test_a_server_that_was_closed_in_order_is_no_failure() -> None:
    server, dispatcher = await spawn(PLAIN)

    await dispatcher.close()

    assert server.transport.closed
    # Its output may end while it is being closed.
    server.transport._finish()
    assert None is server.transport.failure


async def test_nothing_is_left_of_a_server_that_was_closed() -> None:
    before = open_descriptors()
    for code in ("import time; time.sleep(60)", "raise SystemExit(3)"):
        server, dispatcher = await spawn(script(code), grace=0.05)
        await dispatcher.close()
        assert not is_running(server.pid)

    assert before == open_descriptors()


def test_a_loop_that_ends_before_the_server_takes_it_along() -> None:
    before = open_descriptors()

    async def leave_closing() -> int:
        heard = Heard()
        server = await ServerProcess.spawn(script(DEAF), on_stderr=heard, grace=60)
        await heard.something.wait()
        closing.append(asyncio.create_task(server.close()))
        while not server._stdin._closed:
            await asyncio.sleep(0)
        return server.pid

    closing: list[asyncio.Task[None]] = []
    pid = asyncio.run(leave_closing())

    assert not is_running(pid)
    assert before == open_descriptors()


async def test_the_end_of_a_server_is_noticed_where_the_kernel_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    server, dispatcher = await spawn(script("raise SystemExit(3)"))

    with pytest.raises(MCPTransportError, match="ended with exit status 3"):
        await dispatcher.request("echo")
    await dispatcher.close()
    assert 3 == server.exit_status


def test_a_server_that_nobody_closed_ends_with_the_interpreter() -> None:
    code = f"""
import asyncio, os, sys
from suaveplan_mcp.host.process import ServerProcess
async def main():
    heard = asyncio.Event()
    server = await ServerProcess.spawn([sys.executable, '-c', {DEAF!r}], on_stderr=lambda _: heard.set())
    await heard.wait()
    print(server.pid, flush=True)
    # The child of a fork runs the same exit functions.
    if os.fork():
        os.wait()
        print(server.exit_status is None and os.path.exists(f'/proc/{{server.pid}}'), flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
    done = subprocess.run(script(code), capture_output=True, text=True, timeout=DEADLINE, check=True)

    pid, alive_after_the_fork = done.stdout.split()
    assert ("True", False) == (alive_after_the_fork, is_running(int(pid)))
