"""What lives as long as the server runs: opened before the first client is served, closed after the last."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

MakeLifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]
"""Makes the context manager whose value handlers find as `ctx.lifespan`."""


class Lifespan:
    """Keeps one context manager open while the server runs, once however many clients there are.

    A task of its own enters and leaves it, so that it may hold what is tied to one task, and the server may be started
    in one task and stopped in another.

    Args:
        make: makes the context manager for one run of the server; None where there is nothing to keep.
    """

    __slots__ = ("_keeper", "_make", "_over", "_ready", "value")

    def __init__(self, make: MakeLifespan | None) -> None:
        self._make = make
        self._keeper: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._over: asyncio.Event | None = None
        self.value: Any = None

    async def enter(self) -> None:
        """Open it, unless it is open; return when it is.

        Raises:
            BaseException: what opening it raised; the next `enter` tries again.
        """
        if self._make is None:
            return
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._keeper = asyncio.create_task(self._keep(self._make, self._ready, self._over))
        await asyncio.shield(self._ready)

    async def leave(self) -> None:
        """Close it, if it is open, and return when that is done.

        Raises:
            BaseException: what closing it raised.
        """
        keeper, over, self._keeper, self._ready = self._keeper, self._over, None, None
        if keeper is not None and over is not None:
            over.set()
            await asyncio.shield(keeper)

    async def _keep(self, make: MakeLifespan, ready: "asyncio.Future[None]", over: asyncio.Event) -> None:
        try:
            async with make() as self.value:
                ready.set_result(None)
                await over.wait()
        except BaseException as error:
            if ready.done():
                raise
            self._keeper = self._ready = None
            ready.set_exception(error)
        finally:
            self.value = None
