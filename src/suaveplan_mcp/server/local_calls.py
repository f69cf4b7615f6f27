"""Calls made in the server's own process, without a client: the same handlers, the same checks, no wire."""

import asyncio
from collections.abc import Coroutine
from math import inf
from typing import Any, NoReturn, TypeVar, cast

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import SENT, InboundCall, OnProgress, Peer, ProgressQueue, Sent
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.progress import ProgressNotificationParams

T = TypeVar("T")


class LocalPeer(Peer):
    """Stands where the client would be.

    Args:
        reports: where progress goes; None where the caller did not ask for it.
    """

    def __init__(self, reports: ProgressQueue | None) -> None:
        self._reports = reports

    async def request(self, method: str, params: Payload = None, **options: object) -> NoReturn:
        """Refuse: there is no client to ask."""
        raise MCPError(MCP_CODES.NOT_INITIALIZED, f"{method} cannot be asked: the call has no client behind it")

    def post_notification(self, method: str, params: Payload = None, *, delivery: Delivery | None = None) -> Sent:
        """Drop it: no client listens."""
        return SENT

    def post_progress(self, call: InboundCall, progress: float, total: float | None, message: str | None) -> Sent:
        """Hand progress to the caller, by the rules a client could count on."""
        last = -inf if call.last_progress is None else call.last_progress
        if self._reports is not None and call.open and last < progress < inf:
            call.last_progress = progress
            self._reports.push(
                ProgressNotificationParams(progress_token=call.id, progress=progress, total=total, message=message)
            )
        return SENT


class LocalCall(InboundCall):
    """A call as a client would make it.

    Args:
        method: the method.
        on_progress: called with every report of progress, in order and before the result is there.
        meta: `_meta` of the params.
    """

    __slots__ = ("_reports",)

    def __init__(self, method: str, *, on_progress: OnProgress | None = None, meta: JsonObject | None = None) -> None:
        super().__init__(0, method, RequestParams(meta=meta), None if on_progress is None else 0)
        self._reports = None if on_progress is None else ProgressQueue(on_progress)
        self.peer = LocalPeer(self._reports)

    async def run(self, work: Coroutine[Any, Any, T], signal: AbortSignal | None) -> T:
        """Run a handler.

        Args:
            work: the handler's work on this call.
            signal: stops it when it is aborted, whether or not it heeds that.

        Raises:
            MCPError: `REQUEST_CANCELLED`, the signal was aborted.
            BaseException: what the work raises.
        """
        if signal is None and self._reports is None:
            try:
                return await work
            finally:
                self.open = False
        if signal is not None and signal.aborted:
            work.close()
            signal.throw_if_aborted()
        return await self._run_apart(work, signal or AbortSignal())

    async def _run_apart(self, work: Coroutine[Any, Any, T], signal: AbortSignal) -> T:
        """Run the work in a task of its own, so that the caller can leave it behind."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        self.task = cast("asyncio.Task[None]", task)
        over = loop.create_future()

        reports = self._reports

        def end(_: object) -> None:
            if not over.done():
                over.set_result(None)
            if reports is not None:
                reports.wake()

        def abort() -> None:
            if self.open and not task.done():
                self._leave(task, signal.reason if isinstance(signal.reason, str) else None)
                end(None)
            if reports is not None:
                # A callback that does not come to an end must not hold the caller.
                reports.stop()

        task.add_done_callback(end)
        # The signal may be aborted in any thread.
        ignore = signal.add_listener(lambda: loop.call_soon_threadsafe(abort))
        try:
            await self._wait(over)
            if not self.open:
                signal.throw_if_aborted()
        finally:
            ignore()
            if self.open and not task.done():
                # Cancelled, or a progress callback raised.
                self._leave(task, "the caller gave up")
            self.open = False
        if task.cancelled():
            raise MCPError(MCP_CODES.REQUEST_CANCELLED, "the handler gave up")
        return task.result()

    async def _wait(self, over: "asyncio.Future[None]") -> None:
        if self._reports is not None:
            await self._reports.deliver_until(over)
        await over

    def _leave(self, task: "asyncio.Task[Any]", reason: str | None) -> None:
        self.open = False
        self.give_up(reason)
        # What it may still raise is of no use to anyone.
        task.add_done_callback(lambda left: left.cancelled() or left.exception())
