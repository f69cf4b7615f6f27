"""A connection that is opened anew when the server has ended by itself."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.runtime.timers import Timers
from suaveplan_mcp.transport.base import Transport

Reopen: TypeAlias = Callable[[], Awaitable[Transport]]
"""Give a new way to the server, as late as suits it; raise an `MCPError` to give up."""

Open: TypeAlias = Callable[[Transport], Awaitable[ServerConnection]]
"""Open a connection over a transport."""

Restore: TypeAlias = Callable[[ServerConnection], Awaitable[None]]
"""Bring back what a server that was started again does not know of."""


class ReopeningConnection(ServerConnection):
    """A connection that outlives its server.

    When the server ends, what is in flight fails, and the connection is opened again over a transport that `reopen`
    gives. Requests that are made meanwhile wait for that, no longer than their timeout. Where `reopen` gives up, the
    connection stays closed.

    Args:
        opened: the first connection.
        transport: what it goes over.
        reopen: gives the transports of the others.
        open_: opens them.
        restore: awaited after each of them was opened.
        timers: what sets timers.
    """

    __slots__ = ("_back", "_ignore_end", "_open", "_reopen", "_restore", "_timers", "_work")

    def __init__(
        self,
        opened: ServerConnection,
        transport: Transport,
        reopen: Reopen,
        open_: Open,
        restore: Restore,
        timers: Timers,
    ) -> None:
        self._reopen = reopen
        self._open = open_
        self._restore = restore
        self._timers = timers
        self._back: asyncio.Future[None] | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._ignore_end: Callable[[], None]
        self._follow(opened, transport)

    def request(  # noqa: PLR0913  every option stands for itself
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None | UnsetType = UNSET,
        total_timeout: float | None | UnsetType = UNSET,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        on_sent: Callable[[RequestId], object] | None = None,
        fresh: bool = False,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request, once the server is back; see `ServerConnection.request`.

        Raises:
            MCPError: `TIMEOUT`, the server is not back in time.
        """
        send = partial(
            super().request,
            method,
            params,
            timeout=timeout,
            total_timeout=total_timeout,
            signal=signal,
            on_progress=on_progress,
            headers=headers,
            on_sent=on_sent,
            fresh=fresh,
        )
        if self._back is None:
            return send()
        return self._send_later(self._back, send, self._limits.timeout if timeout is UNSET else timeout, signal)

    async def close(self, reason: str | None) -> None:
        """End the connection for good."""
        self._ignore_end()
        work = tuple(self._work)
        for task in work:
            task.cancel()
        self._be_back()
        await super().close(reason)
        await asyncio.gather(*work, return_exceptions=True)

    def _follow(self, opened: ServerConnection, transport: Transport) -> None:
        """Be the connection that was opened, as if this had been made for it."""
        super().__init__(opened._dispatcher, opened.greeting, opened._limits, opened._clock, opened._requests)
        self._ignore_end = transport.on_close(self._note_end)

    def _note_end(self) -> None:
        loop = asyncio.get_running_loop()
        self._back = loop.create_future()
        task = loop.create_task(self._bring_back())
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _be_back(self) -> None:
        """Let those go on who wait, whether the server is back or never will be."""
        back, self._back = self._back, None
        if back is not None:
            back.set_result(None)

    async def _bring_back(self) -> None:
        try:
            await self._open_again()
        except MCPError as error:
            self.report(f"the connection is not opened again: {error.message}", error)
            return
        finally:
            self._be_back()
        await self._restore(self)

    async def _open_again(self) -> None:
        while True:
            transport = await self._reopen()
            try:
                self._follow(await self._open(transport), transport)
            except MCPError as error:
                self.report(f"the connection could not be opened again: {error.message}", error)
            else:
                return

    async def _send_later(
        self,
        back: "asyncio.Future[None]",
        send: Callable[[], Coroutine[Any, Any, Any]],
        patience: float | None,
        signal: AbortSignal | None,
    ) -> Any:
        loop = asyncio.get_running_loop()
        enough: asyncio.Future[None] = loop.create_future()

        def give_up() -> None:
            if not enough.done():
                enough.set_result(None)

        timer = None if patience is None else self._timers.call_later(patience, give_up)
        # A signal may be aborted in any thread.
        ignore = None if signal is None else signal.add_listener(lambda: loop.call_soon_threadsafe(give_up))
        try:
            await asyncio.wait((back, enough), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer is not None:
                timer.cancel()
            if ignore is not None:
                ignore()
        if signal is not None:
            signal.throw_if_aborted()
        if not back.done():
            text = f"the server, which has ended, is not back within {patience:g} s (timeout)"
            raise MCPError(MCP_CODES.TIMEOUT, text, context={"timeout": patience})
        return await send()
