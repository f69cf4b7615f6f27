"""Linux, macOS and their relatives."""

import asyncio
import os
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

from suaveplan_mcp.host.polled_streams import PolledReader, PolledWriter
from suaveplan_mcp.host.process_exit import wait_in_thread
from suaveplan_mcp.host.streams import ByteReader, ByteWriter, OnBroken
from suaveplan_mcp.host.threaded_streams import ThreadedReader, ThreadedWriter

Process: TypeAlias = "subprocess.Popen[bytes]"

INHERITED_ENVIRONMENT: Final = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"),
)

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def split_command(command: str) -> list[str]:
    """Cut a command line into words, as a shell does."""
    return shlex.split(command)


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    cwd: str | os.PathLike[str] | None,
) -> Process:
    """Start a program in a session of its own, so that Ctrl-C in the terminal is ours alone."""
    stdin, stdout, stderr = streams
    # No code of ours runs between fork and exec, which would be unsafe beside other threads.
    return subprocess.Popen(  # noqa: S603  to start what it is told is its job
        command, env=environment, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, start_new_session=True
    )


class PosixGroup:
    """A process group; its number is that of the process at its head."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def terminate(self) -> bool:
        """Send SIGTERM to all of them; return False where no process is left."""
        return self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to all of them."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> bool:
        try:
            os.killpg(self._number, number)
        except (ProcessLookupError, PermissionError):
            # macOS answers with the second one where only the dead are left.
            return False
        return True


def hold_group(process: Process) -> PosixGroup:
    """Return the group of a process that `spawn` started."""
    return PosixGroup(process.pid)


def watch_exit(process: Process, on_exit: Callable[[], object]) -> Callable[[], None]:
    """Call back when a process has ended: through the loop where the kernel can, else through a thread."""
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return wait_in_thread(process, on_exit)

    def stop() -> None:
        loop.remove_reader(handle)
        os.close(handle)

    def take_exit() -> None:
        stop()
        process.wait()
        on_exit()

    loop.add_reader(handle, take_exit)
    return stop


def describe_exit(status: int) -> str:
    """Say what an exit status means; `subprocess` gives a signal as its negative number."""
    if status >= 0:
        return f"with exit status {status}"
    try:
        return f"by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def open_reader(fd: int) -> ByteReader:
    """Return a reader for a file descriptor: polled where the loop can watch it."""
    # macOS cannot watch every terminal.
    pollable = _is_pipe_or_socket(fd) or (os.isatty(fd) and sys.platform == "linux")
    return PolledReader(fd) if pollable else ThreadedReader(fd)


def open_writer(fd: int, on_broken: OnBroken | None = None) -> ByteWriter:
    """Return a writer for a file descriptor: polled where that takes no mode which others would notice."""
    return PolledWriter(fd, on_broken) if _is_pipe_or_socket(fd) else ThreadedWriter(fd, on_broken)


def _is_pipe_or_socket(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def watch_signals(
    loop: asyncio.AbstractEventLoop, signals: Collection[signal.Signals], on_signal: Callable[[], object]
) -> Callable[[], None]:
    """Call back on the loop when a signal comes; what handled it before does so again afterwards."""
    previous = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        loop.add_signal_handler(number, on_signal)

    def stop() -> None:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            # One that was not set from Python cannot be set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    return stop
