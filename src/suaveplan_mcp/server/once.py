"""What a handler does once for a call, though it may be run several times for it.

Spec: basic/patterns/mrtr

A call that asks its client by input-required results is run anew for every round. What was done once is then not done
again: its value has travelled with the state of the call.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from inspect import isawaitable
from typing import Any, Generic, TypeVar, cast

from msgspec import Raw
from msgspec.json import decode

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.protocol.admission import NOT_JSON
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.asking import malformed
from suaveplan_mcp.server.connections import is_running
from suaveplan_mcp.server.input_rounds import InputNeededError, Run

T = TypeVar("T")
V = TypeVar("V")


class Once(Generic[T]):
    """Something to be done once. A coroutine awaits it; a plain handler, which runs in a thread, calls `wait()`.

    Args:
        call: the call for which it is done.
        run: the run of the handler, where it may be one of several.
        key: names it among what is done for the call.
        function: does it; plain or a coroutine function.
        loop: the server's.
    """

    __slots__ = ("_call", "_function", "_key", "_loop", "_run")

    def __init__(
        self,
        call: InboundCall,
        run: Run | None,
        key: str,
        function: Callable[[], T | Awaitable[T]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._call = call
        self._run = run
        self._key = key
        self._function = function
        self._loop = loop

    def __await__(self) -> Generator[Any, None, T]:
        """Do it, or wait until it is done; in a thread's own loop as well."""
        if is_running(self._loop):
            return self._do().__await__()
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._do(), self._loop)).__await__()

    def wait(self) -> T:
        """Do it in this thread, or block it until it is done.

        Raises:
            RuntimeError: this is the server's own event loop, which would wait for itself; `await` instead.
        """
        if is_running(self._loop):
            raise RuntimeError("wait() would block the event loop; await what is done once instead")
        done, mine = self._on_loop(_soon(self._begin))
        if not mine:
            return self._on_loop(_finished(done))
        try:
            value = self._function()
            result = self._on_loop(_awaited(cast("Awaitable[T]", value))) if isawaitable(value) else cast("T", value)
            return self._on_loop(_soon(lambda: self._keep(done, result)))
        except BaseException as error:
            self._loop.call_soon_threadsafe(self._give_up, done, error)
            raise

    async def _do(self) -> T:
        done, mine = self._begin()
        if not mine:
            return await _finished(done)
        try:
            value = self._function()
            return self._keep(done, cast("T", await value if isawaitable(value) else value))
        except BaseException as error:
            self._give_up(done, error)
            raise

    def _begin(self) -> "tuple[asyncio.Future[T], bool]":
        """Return what tells when it is done, and whether it is to be done now."""
        memory = self._call.once
        if memory is None:
            memory = self._call.once = {}
        begun = memory.get(self._key)
        if begun is not None:
            return cast("asyncio.Future[T]", begun), False
        kept = None if self._run is None else self._run.recall(self._key)
        done: asyncio.Future[Any] = self._loop.create_future()
        memory[self._key] = done
        if kept is not None:
            done.set_result(decode(kept))
        return done, kept is None

    def _keep(self, done: "asyncio.Future[T]", value: T) -> T:
        written = _plain_json(self._key, value)
        if self._run is not None:
            self._run.remember(self._key, written)
        done.set_result(value)
        return value

    def _give_up(self, done: "asyncio.Future[T]", error: BaseException) -> None:
        """Let those who wait know that it failed; whoever asks for it later tries again."""
        cast("dict[str, asyncio.Future[object]]", self._call.once).pop(self._key)
        passed_on = isinstance(error, Exception | InputNeededError)
        done.set_exception(error if passed_on else RuntimeError(f"{self._key!r} was given up"))
        # It is possible that no handler waited for it.
        done.exception()

    def _on_loop(self, work: Coroutine[Any, Any, V]) -> V:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _soon(function: Callable[[], V]) -> V:
    return function()


async def _awaited(value: Awaitable[V]) -> V:
    return await value


async def _finished(done: "asyncio.Future[V]") -> V:
    # The handler that waits may be cancelled; what is being done goes on for the others.
    return await asyncio.shield(done)


def _plain_json(key: str, value: object) -> Raw:
    """Return the JSON of a value that reads back as it is.

    Raises:
        AskError: `INVALID_PARAMS`, it does not.
    """
    try:
        written = Raw(encode(value))
    except NOT_JSON as error:
        raise malformed(f"once({key!r})", f"its value is not plain JSON: {error}", error) from error
    if decode(written) != value:
        kind = type(value).__name__
        raise malformed(f"once({key!r})", f"its value is not plain JSON: a {kind} that would not come back as it is")
    return written
