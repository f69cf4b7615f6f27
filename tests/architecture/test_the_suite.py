"""The suite's own machinery: a coroutine test cannot pass by accident."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import conftest
from tests.conftest import run_async
from tests.platforms import unmeasured_modules


async def test_a_coroutine_test_runs_in_a_loop(tmp_path: Path) -> None:
    assert asyncio.get_running_loop().is_running()
    assert tmp_path.is_dir()


@given(st.integers())
async def test_a_coroutine_property_runs_in_a_loop(number: int) -> None:
    await asyncio.sleep(0)
    assert isinstance(number, int)


def test_a_failed_assertion_in_a_coroutine_fails_the_test() -> None:
    async def test() -> None:
        await asyncio.sleep(0)
        raise AssertionError("seen")

    with pytest.raises(AssertionError, match="seen"):
        run_async(test)


def test_a_task_left_behind_fails_the_test() -> None:
    kept: list[asyncio.Task[bool]] = []

    async def test() -> None:
        kept.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

    with pytest.raises(pytest.fail.Exception, match="left a task behind.*forgotten"):
        run_async(test)
    assert kept[0].cancelled()


def test_a_task_that_was_told_to_stop_may_take_a_few_turns() -> None:
    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)

    kept: list[asyncio.Task[None]] = []

    async def test() -> None:
        kept.append(asyncio.create_task(end_slowly()))
        await asyncio.sleep(0)
        kept[0].cancel()

    run_async(test)
    assert kept[0].cancelled()


def test_an_exception_that_nobody_retrieves_fails_the_test() -> None:
    async def fail() -> None:
        raise ValueError("unseen")

    async def test() -> None:
        task = asyncio.create_task(fail())
        while not task.done():
            await asyncio.sleep(0)

    with pytest.raises(pytest.fail.Exception, match="never retrieved.*unseen"):
        run_async(test)


def test_a_coroutine_test_that_hangs_is_ended_by_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "ASYNC_DEADLINE", 0.01)

    async def test() -> None:
        await asyncio.Event().wait()

    with pytest.raises(pytest.fail.Exception, match="not finished"):
        run_async(test)


def test_a_timeout_of_the_test_itself_is_not_taken_for_the_deadline() -> None:
    async def test() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        run_async(test)


def test_modules_of_other_platforms_are_found_by_their_names(tmp_path: Path) -> None:
    for name in (
        "platform_posix.py",
        "platform_windows.py",
        "platform_emscripten.py",
        "platform_unheard_of.py",
        "stdio.py",
    ):
        (tmp_path / name).touch()

    unmeasured = {path.name for path in unmeasured_modules(tmp_path)}

    assert unmeasured in (
        {"platform_windows.py", "platform_emscripten.py"},
        {"platform_posix.py", "platform_emscripten.py"},
    )
