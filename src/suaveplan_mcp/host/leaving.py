"""The end of a process that threads would keep alive although its work is done."""

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from types import FrameType
from typing import Final, NoReturn

_logger: Final = logging.getLogger("suaveplan_mcp.host")

_PATIENCE: Final = 0.2
_INTERVAL: Final = 0.01


def find_stuck_threads(known: Collection[threading.Thread] = (), patience: float = _PATIENCE) -> list[threading.Thread]:
    """Return the threads that the interpreter would wait for, perhaps for ever.

    Daemon threads and idle workers of a pool are none: they end with the interpreter.

    Args:
        known: threads that are somebody else's business.
        patience: seconds that a thread which is about to end may take.
    """
    deadline = time.monotonic() + patience
    while (busy := _busy_threads(known)) and time.monotonic() < deadline:
        time.sleep(_INTERVAL)
    return busy


def leave(stuck: Collection[str], status: int = 0) -> NoReturn:
    """End the process; exit functions run and what was printed is written first.

    Args:
        stuck: the names of the threads and tasks that are not waited for.
        status: the exit status.
    """
    _logger.info("the process ends without waiting for %s", ", ".join(stuck))
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  what the interpreter itself would call
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


def _busy_threads(known: Collection[threading.Thread]) -> list[threading.Thread]:
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  documented, for uses like this one
    return [
        thread
        for thread in threading.enumerate()
        if not thread.daemon
        and thread not in known
        and thread is not threading.main_thread()
        and not _is_idle_worker(frames.get(thread.ident or 0))
    ]


def _is_idle_worker(frame: FrameType | None) -> bool:
    # While a pool's thread waits for work, no Python function runs in it but the pool's own.
    return (
        frame is not None
        and frame.f_code.co_name == "_worker"
        and frame.f_globals.get("__name__") == "concurrent.futures.thread"
    )
