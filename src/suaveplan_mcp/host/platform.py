"""What differs between platforms, and the one place that picks the running one."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Final, Protocol, TypeAlias, cast

from suaveplan_mcp.host.streams import ByteReader, ByteWriter, OnBroken

Process: TypeAlias = "subprocess.Popen[bytes]"


class ProcessGroup(Protocol):
    """A process with everything that it starts, as far as the platform can hold that together."""

    def terminate(self) -> bool:
        """Ask them all to end; return False where no process is left."""
        ...

    def kill(self) -> None:
        """End them all."""
        ...


class Platform(Protocol):
    """What each `platform_*.py` has at its top level."""

    @property
    def INHERITED_ENVIRONMENT(self) -> tuple[str, ...]:  # noqa: N802  a constant of the module
        """The variables a server gets by default: what programs need to run, and no secrets."""
        ...

    @property
    def STOP_SIGNALS(self) -> tuple[signal.Signals, ...]:  # noqa: N802  a constant of the module
        """The signals that ask a server to end."""
        ...

    def split_command(self, command: str) -> list[str]:
        """Cut a command line into words, as the platform's shell does."""
        ...

    def spawn(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        cwd: str | os.PathLike[str] | None,
    ) -> Process:
        """Start a program at the head of a group of its own.

        Args:
            command: the program and its arguments.
            environment: all of it.
            streams: the file descriptors that are its standard input, output and error.
            cwd: its working folder, ours by default.

        Raises:
            OSError: it cannot be started.
        """
        ...

    def hold_group(self, process: Process) -> ProcessGroup:
        """Return the group of a process that `spawn` has just started."""
        ...

    def watch_exit(self, process: Process, on_exit: Callable[[], object]) -> Callable[[], None]:
        """Call back once, on the running loop, when a process has ended; it has been waited for by then.

        Returns:
            A function that gives up what watching takes, for when the loop ends first.
        """
        ...

    def describe_exit(self, status: int) -> str:
        """Say what an exit status means, to follow "ended"."""
        ...

    def open_reader(self, fd: int) -> ByteReader:
        """Return a reader that owns a file descriptor."""
        ...

    def open_writer(self, fd: int, on_broken: OnBroken | None = None) -> ByteWriter:
        """Return a writer that owns a file descriptor."""
        ...

    def watch_signals(
        self, loop: asyncio.AbstractEventLoop, signals: Collection[signal.Signals], on_signal: Callable[[], object]
    ) -> Callable[[], None]:
        """Call back on the loop when a signal comes; the main thread only. Returns a function that ends it."""
        ...


_NAMES: Final = {"nt": "windows"}

PLATFORM: Final = cast("Platform", import_module(f"suaveplan_mcp.host.platform_{_NAMES.get(os.name, 'posix')}"))
"""The running platform."""
