"""What an event loop, a process and the kernel hold at one moment, so that a test can tell what was left behind."""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.transports.plain_process import open_descriptors


class Holdings(NamedTuple):
    """Everything that opening and closing must give back."""

    tasks: int
    pending_futures: int
    threads: int
    descriptors: list[str]
    children: set[int]


def count_holdings() -> Holdings:
    """Count what is held now; in a coroutine the task that runs it is not counted."""
    gc.collect()
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    futures = [
        each
        for each in gc.get_objects()
        if isinstance(each, asyncio.Future) and not isinstance(each, asyncio.Task) and not each.done()
    ]
    return Holdings(len(tasks), len(futures), threading.active_count(), _descriptors(), _children())


def _descriptors() -> list[str]:
    """Return what each open descriptor is; the very same pipe may be another one by now."""
    return sorted(each.partition(" ")[2].partition(":[")[0] for each in open_descriptors())


def _children() -> set[int]:
    """Return the child processes, those that have ended and that nobody has waited for among them."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in _read(task / "children").split()}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        # The thread has ended meanwhile.
        return ""


@contextmanager
def only_new_objects() -> Generator[None]:
    """Let the collector pass over what is there already, which in a run of many tests is a lot."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def _settled_holdings() -> Holdings:
    """Count what is held when whatever went on before has come to rest."""
    before = count_holdings()
    while True:
        await asyncio.sleep(0.02)
        now = count_holdings()
        if now == before:
            return now
        before = now


@asynccontextmanager
async def nothing_left_behind(patience: float = 5.0) -> AsyncGenerator[None]:
    """Fail where what is inside leaves anything behind.

    Args:
        patience: seconds that work which goes on by itself after a cancellation may take to end.
    """
    with only_new_objects():
        before = await _settled_holdings()
        yield
        deadline = asyncio.get_running_loop().time() + patience
        while (after := count_holdings()) != before and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
    assert before == after, f"pid {os.getpid()} began with {before} and ended with {after}"
