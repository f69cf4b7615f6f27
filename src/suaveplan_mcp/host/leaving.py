"""The end of a process that threads would keep alive although its work is done."""

import asyncio
import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from types import FrameType
from typing import Any, Final, NoReturn, TypeAlias

_logger: Final = logging.getLogger("suaveplan_mcp.host")

Stuck: TypeAlias = "threading.Thread | asyncio.Task[Any]"
"""What goes on although its work is over."""

_PATIENCE: Final = 0.2
_INTERVAL: Final = 0.01


def find_stuck_threads(known: Collection[threading.Thread] = (), patience: float = _PATIENCE) -> list[threading.Thread]:
    """Return the threads that the interpreter would wait for, perhaps for ever.

    Daemon threads and idle workers of a pool are none: they end with the interpreter.

    Args:
        known: threads that may go on.
        patience: seconds that a thread which is about to end may take.
    """
    deadline = time.monotonic() + patience
    while (busy := _busy_threads(known)) and time.monotonic() < deadline:
        time.sleep(_INTERVAL)
    return busy


def leave_at_the_end(stuck: Collection[Stuck]) -> None:
    """Let the process end when the program is over, without waiting for what is stuck.

    The rest of the program still runs: what stands behind `run`, perhaps in a `finally`, is clean-up as well.

    Args:
        stuck: what is not waited for. A task is kept until then, since it would complain when it is collected.
    """

    def leave_stuck() -> None:
        if any(map(_goes_on, stuck)):
            # Of a program that failed the interpreter keeps the exception. What `sys.exit` was given it does not tell.
            leave(stuck, status=0 if getattr(sys, "last_value", None) is None else 1)

    # The interpreter waits for threads first and calls exit functions then, so those would come too late.
    threading._register_atexit(leave_stuck)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def leave(stuck: Collection[Stuck], status: int = 0) -> NoReturn:
    """End the process; exit functions run and what was printed is written first.

    Args:
        stuck: the threads and tasks that are not waited for.
        status: the exit status.
    """
    _logger.info("the process ends without waiting for %s", ", ".join(map(_name_of, stuck)))
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  what the interpreter itself would call
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


def _goes_on(stuck: Stuck) -> bool:
    return stuck.is_alive() if isinstance(stuck, threading.Thread) else not stuck.done()


def _name_of(stuck: Stuck) -> str:
    return stuck.name if isinstance(stuck, threading.Thread) else stuck.get_name()


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
