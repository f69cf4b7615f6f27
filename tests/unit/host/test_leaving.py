"""Which threads keep a process alive, and what leaving does."""

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from suaveplan_mcp.host import leaving
from suaveplan_mcp.host.leaving import find_stuck_threads, leave, leave_at_the_end


def test_threads_of_others_daemons_and_idle_workers_are_not_stuck() -> None:
    known = threading.enumerate()
    released = threading.Event()
    daemon = threading.Thread(target=released.wait, daemon=True)
    daemon.start()

    with ThreadPoolExecutor() as pool:
        pool.submit(int).result()
        stuck = find_stuck_threads(known)

    released.set()
    daemon.join()
    assert [] == stuck


def test_a_thread_that_works_is_stuck() -> None:
    known = threading.enumerate()
    released = threading.Event()

    with ThreadPoolExecutor(thread_name_prefix="busy") as pool:
        pool.submit(released.wait)
        stuck = find_stuck_threads(known, patience=0.03)
        released.set()

    assert ["busy_0"] == [thread.name for thread in stuck]


def test_a_thread_that_is_about_to_end_is_given_the_time() -> None:
    known = threading.enumerate()
    released = threading.Event()
    thread = threading.Thread(target=released.wait)
    thread.start()
    threading.Timer(0.02, released.set).start()

    assert [] == find_stuck_threads(known, patience=10)
    thread.join()


async def test_leaving_runs_the_exit_functions_and_names_what_it_leaves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[object] = []
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: done.append("exit functions"))
    monkeypatch.setattr(os, "_exit", done.append)
    monkeypatch.setattr("sys.stdout", None)
    task = asyncio.create_task(asyncio.sleep(0), name="a task")

    with caplog.at_level(logging.INFO):
        leave([threading.Thread(name="a thread"), task])

    assert ["exit functions", 0] == done
    assert "without waiting for a thread, a task" in caplog.text
    await task


@pytest.mark.parametrize(("failed", "status"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("kind", ["thread", "task"])
async def test_the_process_is_left_when_the_program_is_over_and_something_is_stuck_still(
    kind: str,
    failed: bool,  # noqa: FBT001
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_the_end: list[Callable[[], None]] = []
    statuses: list[int] = []
    monkeypatch.setattr(threading, "_register_atexit", at_the_end.append)
    monkeypatch.setattr(leaving, "leave", lambda stuck, status: statuses.append(status))
    if failed:
        monkeypatch.setattr("sys.last_value", ValueError("of the program"), raising=False)
    else:
        monkeypatch.delattr("sys.last_value", raising=False)
    released = threading.Event()
    thread = threading.Thread(target=released.wait)
    thread.start()
    task = asyncio.create_task(asyncio.Event().wait())
    leave_at_the_end([thread if kind == "thread" else task])

    at_the_end[0]()
    released.set()
    thread.join()
    task.cancel()
    await asyncio.wait((task,))
    at_the_end[0]()

    assert [status] == statuses
