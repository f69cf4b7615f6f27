"""How the suite runs: coroutine tests natively, the specification's files as a fixture, an honest summary."""

import asyncio
import functools
import gc
import inspect
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.platforms import HOST, unmeasured_modules

# The gate must give the same answer twice, on a slow machine too; `--hypothesis-profile=explore` looks further.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("gate")

ASYNC_DEADLINE = 20.0
_TURNS_TO_END = 10

AsyncTest = Callable[..., Awaitable[None]]


async def _supervise(test: Awaitable[None], problems: list[str]) -> None:
    """Await a test under the deadline, then look for what it left behind.

    Tasks that were told to stop get a few turns of the loop to do so; a task that is still there waits for something
    that nobody will do.
    """

    def record(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problems.append(f"{context['message']}: {context.get('exception')!r}")

    asyncio.get_running_loop().set_exception_handler(record)
    deadline = asyncio.timeout(ASYNC_DEADLINE)
    try:
        async with deadline:
            await test
    except TimeoutError:
        if not deadline.expired():
            raise
        problems.append(f"not finished after {ASYNC_DEADLINE:.0f} s")
    own = asyncio.current_task()
    for _ in range(_TURNS_TO_END):
        if asyncio.all_tasks() == {own}:
            break
        await asyncio.sleep(0)
    problems.extend(f"left a task behind: {task!r}" for task in asyncio.all_tasks() if task is not own)


def run_async(test: AsyncTest, **arguments: object) -> None:
    """Run a coroutine test in an event loop of its own and fail it for tasks or exceptions that nobody looked after."""
    problems: list[str] = []
    try:
        with asyncio.Runner(debug=False) as runner:
            runner.run(_supervise(test(**arguments), problems))
    finally:
        # A failed task complains when it is collected, and its traceback often holds it in a ring.
        gc.collect(1)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _as_sync(test: AsyncTest) -> Callable[..., None]:
    @functools.wraps(test)
    def call(**arguments: object) -> None:
        run_async(test, **arguments)

    # Only the metadata is wanted: `wraps` also leaves a way back to the coroutine function.
    del call.__wrapped__
    return call


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def test_…`, property tests included: each of their examples gets a fresh loop."""
    test = pyfuncitem.obj
    handle = getattr(test, "hypothesis", None)
    if handle is not None:
        if inspect.iscoroutinefunction(handle.inner_test):
            handle.inner_test = _as_sync(handle.inner_test)
        return None
    if not inspect.iscoroutinefunction(test):
        return None
    names = inspect.signature(test).parameters
    run_async(test, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture(scope="session")
def spec_dir() -> Path:
    """Return the folder with one sub-folder of official files (`schema.json`, examples) for each revision."""
    folder = os.environ.get("MCP_SPEC_DIR")
    if not folder:
        pytest.skip("MCP_SPEC_DIR is not set: it names the folder with the official schema.json of every revision")
    return Path(folder).resolve(strict=True)


def _skipped_for_want_of_the_specification(reporter: pytest.TerminalReporter) -> list[str]:
    skipped: list[pytest.TestReport] = reporter.stats.get("skipped", [])
    return sorted({report.nodeid.split("[")[0] for report in skipped if "MCP_SPEC_DIR" in str(report.longrepr)})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what this run did not look at."""
    if unmeasured := unmeasured_modules():
        terminalreporter.section("not measured")
        for path in unmeasured:
            terminalreporter.line(f"{path.relative_to(HOST.parent)} belongs to another platform")
    if not os.environ.get("MCP_SPEC_DIR"):
        terminalreporter.section("not checked")
        terminalreporter.line(
            "MCP_SPEC_DIR is not set, so nothing was compared with the official schemas and examples."
        )
        for name in _skipped_for_want_of_the_specification(terminalreporter):
            terminalreporter.line(f"did not run: {name}")
