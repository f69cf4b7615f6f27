"""Waiting for a process in a thread, where the event loop cannot watch it."""

import asyncio
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress


def wait_in_thread(process: "subprocess.Popen[bytes]", on_exit: Callable[[], object]) -> Callable[[], None]:
    """Call back once, on the running loop, when a process has ended; it has been waited for by then.

    Returns:
        A function that does nothing: the thread is a daemon, and ends with the process.
    """
    loop = asyncio.get_running_loop()

    def wait() -> None:
        process.wait()
        # The loop may have been closed meanwhile.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(on_exit)

    threading.Thread(target=wait, name="suaveplan-mcp-exit", daemon=True).start()
    return lambda: None
