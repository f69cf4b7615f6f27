"""Worker threads for plain functions, so that they do not hold up the event loop."""

import asyncio
import concurrent.futures
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

T = TypeVar("T")


class _Call(Generic[T]):
    """One function on its way through a thread."""

    __slots__ = ("_context", "_done", "_function", "_loop", "error", "value")

    value: T

    def __init__(self, function: Callable[[], T]) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._context = copy_context()
        # The thread that pops the function runs it: `pop` is atomic, so it runs once at most.
        self._function = [function]
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the function unless another thread has taken it, and keep what came of it."""
        try:
            function = self._function.pop()
        except IndexError:
            return
        try:
            self.value = self._context.run(function)
        except BaseException as error:
            self.error = error
        # On a loop that was closed meanwhile this raises, into the pool's own future, which is not read.
        self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    async def outcome(self) -> T:
        """Wait for the thread, then return or raise what the function did."""
        try:
            await self._done
        finally:
            # A call that was given up before a thread came round to it is not worth starting.
            self._function.clear()
        error, self.error = self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            # The traceback holds this frame; the frame must not hold the error in turn.
            del error


class WorkerThreads:
    """Run plain functions in threads of their own pool, so that one server's work cannot starve another's.

    Where threads cannot be started, as in a browser, a function runs at once in the event loop's thread.

    Args:
        limit: how many threads there may be; further calls wait for one to come free.
    """

    __slots__ = ("_executor", "_limit")

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None

    async def run(self, function: Callable[[], T]) -> T:
        """Call `function` in a thread, in a copy of the current context.

        Cancelling the await does not stop a thread that has begun: it keeps its place until the function returns, and
        what the function then returns or raises is dropped.

        Raises:
            BaseException: what the function raises.
        """
        call = _Call(function)
        if self._executor is None:
            # The standard library loads its thread pool at the first look at this attribute, which saves 0.5 ms
            # wherever every handler is a coroutine.
            self._executor = concurrent.futures.ThreadPoolExecutor(self._limit, "suaveplan-mcp")
        try:
            self._executor.submit(call.run)
        except RuntimeError:
            # No thread can be started now. The pool has kept the call all the same, so the pool goes: one that has
            # threads left works off what is queued, and the next call tries anew.
            self.close()
            call.run()
        return await call.outcome()

    def close(self) -> None:
        """Let go of the threads without waiting for them; a later `run` starts new ones."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)
