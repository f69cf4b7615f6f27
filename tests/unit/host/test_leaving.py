"""Which threads keep a process alive, and what leaving does."""

import atexit
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from suaveplan_mcp.host.leaving import find_stuck_threads, leave


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


def test_leaving_runs_the_exit_functions_and_names_what_it_leaves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[object] = []
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: done.append("exit functions"))
    monkeypatch.setattr(os, "_exit", done.append)
    monkeypatch.setattr("sys.stdout", None)

    with caplog.at_level(logging.INFO):
        leave(["a thread", "a task"])

    assert ["exit functions", 0] == done
    assert "without waiting for a thread, a task" in caplog.text
