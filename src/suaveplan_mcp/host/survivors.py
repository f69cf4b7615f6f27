"""The child processes that are still running, and their end when the interpreter's comes first."""

import atexit
import os
import subprocess
import time
from typing import Final

from suaveplan_mcp.host.platform import Process, ProcessGroup

_GRACE: Final = 1.0


class Survivors:
    """Ends what has not been closed by the time the interpreter exits."""

    __slots__ = ("_groups", "_registered")

    def __init__(self) -> None:
        # A fork inherits the table, but the processes in it are not its children: each is kept with its parent.
        self._groups: dict[Process, tuple[int, ProcessGroup]] = {}
        self._registered = False

    def add(self, process: Process, group: ProcessGroup) -> None:
        """Keep an eye on a process."""
        if not self._registered:
            self._registered = True
            atexit.register(self.end_all)
        self._groups[process] = (os.getpid(), group)

    def discard(self, process: Process) -> None:
        """Forget a process that has ended."""
        self._groups.pop(process, None)

    def end_all(self) -> None:
        """Terminate every group, and kill what is left of it after a second."""
        own = {process: group for process, (parent, group) in self._groups.items() if parent == os.getpid()}
        for group in own.values():
            group.terminate()
        deadline = time.monotonic() + _GRACE
        for process, group in own.items():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                group.kill()
                process.wait()


SURVIVORS: Final = Survivors()
"""Those of this interpreter."""
