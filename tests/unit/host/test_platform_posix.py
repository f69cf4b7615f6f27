"""What Linux, macOS and their relatives do in their own way; both platforms' modules have the same shape."""

import ast
import asyncio
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from suaveplan_mcp.host import platform_posix
from suaveplan_mcp.host.platform import PLATFORM, Platform
from suaveplan_mcp.host.polled_streams import PolledReader, PolledWriter
from suaveplan_mcp.host.threaded_streams import ThreadedReader, ThreadedWriter
from tests.platforms import HOST

pytestmark = pytest.mark.skipif(os.name != "posix", reason="belongs to another platform")

# A checker sees here whether the module has what it needs.
POSIX: Platform = platform_posix


def signatures(path: Path) -> dict[str, str]:
    """Return the public functions and constants of a module, each with its parameters."""
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = f"{ast.unparse(node.args)} -> {ast.unparse(node.returns) if node.returns else ''}"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.isupper():
            found[node.target.id] = "constant"
    return {name: shape for name, shape in found.items() if not name.startswith("_") and name != "hold_group"}


def start(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def test_all_platforms_offer_the_same() -> None:
    posix, windows = (signatures(HOST / f"platform_{name}.py") for name in ("posix", "windows"))

    assert posix == windows


def test_the_running_platform_is_picked() -> None:
    assert platform_posix is PLATFORM


def test_a_command_line_is_cut_as_a_shell_cuts_it() -> None:
    assert ["python", "a b.py", "--x=1"] == PLATFORM.split_command("python 'a b.py' --x=1")


@pytest.mark.parametrize(
    ("status", "text"),
    [(0, "with exit status 0"), (3, "with exit status 3"), (-9, "by signal SIGKILL"), (-250, "by signal 250")],
)
def test_an_exit_status_is_named(status: int, text: str) -> None:
    assert text == PLATFORM.describe_exit(status)


async def test_a_pipe_is_polled_and_a_file_has_a_thread(tmp_path: Path) -> None:
    source, sink = os.pipe()
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)

    readers = [PLATFORM.open_reader(source), PLATFORM.open_reader(os.dup(file))]
    writers = [PLATFORM.open_writer(sink), PLATFORM.open_writer(file)]

    assert [PolledReader, ThreadedReader] == [type(stream) for stream in readers]
    assert [PolledWriter, ThreadedWriter] == [type(stream) for stream in writers]
    for reader in readers:
        reader.close()
    for writer in writers:
        await writer.close()


async def test_a_signal_calls_back_until_that_is_ended() -> None:
    received = asyncio.Event()
    before = signal.getsignal(signal.SIGTERM)
    stop = PLATFORM.watch_signals(asyncio.get_running_loop(), PLATFORM.STOP_SIGNALS, received.set)

    os.kill(os.getpid(), signal.SIGTERM)
    await received.wait()
    stop()

    assert before is signal.getsignal(signal.SIGTERM)


async def test_the_exit_of_a_process_calls_back_once_it_was_waited_for() -> None:
    process = start(["true"])
    statuses: asyncio.Queue[int | None] = asyncio.Queue()

    PLATFORM.watch_exit(process, lambda: statuses.put_nowait(process.returncode))

    assert 0 == await statuses.get()
    process.communicate()


def test_the_thread_that_waits_for_an_exit_bears_that_the_loop_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    process = start(["cat"])

    async def watch() -> None:
        PLATFORM.watch_exit(process, process.poll)

    asyncio.run(watch())
    process.communicate()
    for thread in threading.enumerate():
        if thread.name == "suaveplan-mcp-exit":
            thread.join()
    assert 0 == process.returncode
