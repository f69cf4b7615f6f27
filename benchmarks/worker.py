"""One contestant in a process of its own: reads how many calls to make, answers how long they took."""

import asyncio
import gc
import sys
import time
from importlib import import_module
from typing import cast

from benchmarks.contract import Call, Contestant


async def _sequential(call: Call, calls: int) -> None:
    for number in range(calls):
        if await call(number, 1) != number + 1:
            raise AssertionError("a wrong sum came back")


async def _concurrent(call: Call, calls: int) -> None:
    for _ in range(calls // 100):
        sums = await asyncio.gather(*(call(number, 1) for number in range(100)))
        if sums != list(range(1, 101)):
            raise AssertionError("wrong sums came back")


async def _crowded(call: Call, calls: int) -> None:
    async def one_after_the_other(first: int) -> None:
        for number in range(first, calls, 32):
            if await call(number, 1) != number + 1:
                raise AssertionError("a wrong sum came back")

    await asyncio.gather(*(one_after_the_other(first) for first in range(32)))


WAYS = {"crowded": _crowded, "sequential": _sequential, "concurrent": _concurrent}


async def main(contestant: str, place: str, way: str) -> None:
    """Serve the orchestrator until it closes our input."""
    module = cast("Contestant", import_module(f"benchmarks.contestants.{contestant}"))
    run = WAYS[way]
    async with getattr(module, place)() as call:
        await run(call, 200)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            calls = int(line)
            gc.collect()
            started = time.perf_counter()
            await run(call, calls)
            sys.stdout.write(f"{time.perf_counter() - started}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
