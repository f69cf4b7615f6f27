"""The requests of ours: sent, limited in time, given up, and brought their progress and their answer."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.era import Era
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import InboundCall, OnProgress, PendingRequest, ProgressQueue
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.outbox import Outbox
from suaveplan_mcp.runtime.timers import Clock, DeadlineTimer, Timers
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.progress import ProgressNotificationParams


class Requests:
    """What one connection asks its peer.

    Args:
        connection: gives the ids and knows what is in flight.
        era: tells the revision, for telemetry.
        outbox: the way out.
        observer: hears of every request.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
    """

    __slots__ = ("_clock", "_connection", "_deadlines", "_era", "_loop", "_observed", "_observer", "_outbox")

    def __init__(
        self,
        connection: JsonRpcConnection[PendingRequest, InboundCall],
        era: Era,
        outbox: Outbox,
        observer: Observer,
        clock: Clock,
        timers: Timers,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._era = era
        self._outbox = outbox
        self._observer = observer
        self._observed = observer.observes_requests
        self._clock = clock
        self._deadlines: DeadlineTimer[PendingRequest] = DeadlineTimer(clock, timers, self._expire)

    async def send(
        self,
        method: str,
        params: Payload,
        timeout: float | None,  # noqa: ASYNC109  silence to bear, which progress starts anew
        total_timeout: float | None,
        signal: AbortSignal | None,
        on_progress: OnProgress | None,
        delivery: Delivery | None,
    ) -> Any:
        """Send a request and wait for its answer; see `JsonRpcDispatcher.request`."""
        self._outbox.require_open()
        if signal is not None:
            signal.throw_if_aborted()
        entry = PendingRequest(method, self._loop.create_future(), delivery)
        if on_progress is not None:
            entry.progress = ProgressQueue(on_progress)
        id_ = observation = ignore = error = result = None
        if self._observed:
            id_ = self._connection.next_id()
            observation, params = self._observer.request_sent(method, id_, params, self._era.revision)
        try:
            message = self._connection.open(
                entry, UNSET if params is None else params, id_=id_, progress=on_progress is not None
            )
            if timeout is not None or total_timeout is not None:
                entry.limit(self._clock(), timeout, total_timeout)
                self._deadlines.add(entry)
            if signal is not None:
                ignore = signal.add_listener(lambda: self._abort_soon(entry, signal))
            self._outbox.post(message, delivery, lambda failure: self._fail_unsent(entry, failure))
            if entry.progress is not None:
                await entry.progress.deliver_until(entry.future)
            result = await entry.future
        except BaseException as raised:
            error = raised
            # Cancelled, or a progress callback raised: either way nobody waits any more.
            entry.future.cancel()
            self._give_up(entry, "the caller gave up")
            raise
        finally:
            self._deadlines.discard(entry)
            if ignore is not None:
                ignore()
            if observation is not None:
                self._observer.request_answered(observation, error, result)
        return result

    def take_progress(self, entry: PendingRequest | None, params: Payload) -> None:
        """Take progress, where it belongs to a request that is in flight and asked for it."""
        if entry is None or entry.progress is None or not isinstance(params, ProgressNotificationParams):
            return
        entry.restart(self._clock())
        entry.progress.push(params)

    def hold(self) -> Sequence[PendingRequest]:
        """Let the requests now in flight grow no older.

        Returns:
            What `release` wants back.
        """
        now = self._clock()
        held = tuple(entry for entry in self._connection.pending if entry.limited)
        for entry in held:
            entry.hold(now)
        return held

    def release(self, held: Sequence[PendingRequest]) -> None:
        """Let requests grow older again."""
        now = self._clock()
        for entry in held:
            entry.release(now)
            if not entry.future.done():
                self._deadlines.add(entry)

    def close(self, pending: Sequence[PendingRequest]) -> None:
        """Fail what is pending, because the connection has ended."""
        self._deadlines.close()
        for entry in pending:
            entry.fail(self._outbox.closed_error(f"the connection closed before {entry.method} was answered"))

    def _give_up(self, entry: PendingRequest, reason: str | None) -> None:
        notice = self._connection.abandon(entry, reason)
        if notice is not None:
            self._observer.notification_sent(notice.method, notice.params)
            self._outbox.post(notice, entry.delivery, self._observer.unsent)

    def _fail_unsent(self, entry: PendingRequest, failure: MCPError) -> None:
        self._connection.abandon(entry)
        entry.fail(failure)

    def _abort_soon(self, entry: PendingRequest, signal: AbortSignal) -> None:
        # A signal may be aborted in any thread.
        self._loop.call_soon_threadsafe(self._abort, entry, signal)

    def _abort(self, entry: PendingRequest, signal: AbortSignal) -> None:
        self._give_up(entry, signal.reason if isinstance(signal.reason, str) else None)
        try:
            signal.throw_if_aborted()
        except MCPError as error:
            entry.fail(error)

    def _expire(self, entry: PendingRequest) -> None:
        self._give_up(entry, "timed out")
        last = entry.last_deadline
        limit, setting = (
            (entry.total_timeout, "total_timeout")
            if last is not None and last == entry.deadline
            else (entry.timeout, "timeout")
        )
        text = f"no answer to {entry.method} within {limit:g} s ({setting})"
        entry.fail(MCPError(MCP_CODES.TIMEOUT, text, context={"method": entry.method, setting: limit}))
