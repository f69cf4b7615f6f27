"""The requests of ours: sent, limited in time, given up, and brought their progress and their answer."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.protocol.era import Era
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import InboundCall, OnProgress, PendingRequest, ProgressQueue
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.outbox import Outbox
from suaveplan_mcp.runtime.timers import Clock, DeadlineTimer, Timers
from suaveplan_mcp.transport.base import Delivery, Paced
from suaveplan_mcp.types.progress import ProgressNotificationParams


class Requests:
    """What one connection asks its peer.

    Args:
        connection: gives the ids and knows what is in flight.
        era: its rules, which tell telemetry the revision.
        outbox: the way out.
        observer: hears of every request.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.

    Attributes:
        era: its rules.
    """

    __slots__ = (
        "_clock",
        "_connection",
        "_deadlines",
        "_delivering",
        "_loop",
        "_observed",
        "_observer",
        "_outbox",
        "_timers",
        "era",
    )

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
        self.era = era
        self._outbox = outbox
        self._observer = observer
        self._observed = observer.observes_requests
        self._clock = clock
        self._timers = timers
        # Made when first used: many connections only answer.
        self._deadlines: DeadlineTimer[PendingRequest] | None = None
        self._delivering: set[ProgressQueue] | None = None

    async def send(  # noqa: C901  a second coroutine would cost every request
        self,
        method: str,
        params: Payload,
        timeout: float | None,  # noqa: ASYNC109  silence to bear, which progress starts anew
        total_timeout: float | None,
        signal: AbortSignal | None,
        on_progress: OnProgress | None,
        delivery: Delivery | None,
        on_sent: Callable[[RequestId], object] | None,
    ) -> Any:
        """Send a request and wait for its answer; see `JsonRpcDispatcher.request`."""
        self._outbox.require_open()
        if signal is not None:
            signal.throw_if_aborted()
        entry = PendingRequest(method, self._loop.create_future(), delivery)
        if on_progress is not None:
            entry.progress = ProgressQueue(on_progress)
        id_ = observation = deadlines = ignore = error = result = None
        if self._observed:
            id_ = self._connection.next_id()
            observation, params = self._observer.request_sent(method, id_, params, self.era.revision)
        try:
            message = self._connection.open(
                entry, UNSET if params is None else params, id_=id_, progress=on_progress is not None
            )
            if on_sent is not None:
                on_sent(message.id)
            if timeout is not None or total_timeout is not None:
                entry.limit(self._clock(), timeout, total_timeout)
                deadlines = self._deadlines or self._start_timer()
                deadlines.add(entry)
            if signal is not None:
                ignore = signal.add_listener(lambda: self._abort_soon(entry, signal))
            paced = self._outbox.paced
            if paced is None or not paced.congested or await self._wait_for_room(paced, entry):
                self._outbox.post(message, delivery, lambda failure: self._fail_unsent(entry, failure))
            future, progress = entry.future, entry.progress
            result = await (future if progress is None else self._deliver(progress, future))
        except BaseException as raised:
            error = raised
            # Cancelled, or a progress callback raised: either way the caller waits no more.
            entry.future.cancel()
            self._give_up(entry, "the caller gave up")
            raise
        finally:
            if deadlines is not None:
                deadlines.discard(entry)
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
            if self._deadlines is not None and not entry.future.done():
                self._deadlines.add(entry)

    def close(self, pending: Sequence[PendingRequest]) -> None:
        """Fail what is pending, because the connection has ended."""
        if self._deadlines is not None:
            self._deadlines.close()
        for progress in self._delivering or ():
            progress.stop()
        for entry in pending:
            entry.give_up(self._outbox.closed_error(f"the connection closed before {entry.method} was answered"))

    async def _deliver(self, progress: ProgressQueue, future: "asyncio.Future[Any]") -> Any:
        """Run the callbacks of a request, then return its answer; what limits the request limits its callbacks too."""
        delivering = self._delivering = self._delivering or set()
        delivering.add(progress)
        try:
            await progress.deliver_until(future)
        finally:
            delivering.discard(progress)
        return await future

    def _start_timer(self) -> DeadlineTimer[PendingRequest]:
        self._deadlines = DeadlineTimer(self._clock, self._timers, self._expire)
        return self._deadlines

    async def _wait_for_room(self, paced: Paced, entry: PendingRequest) -> bool:
        """Wait until the peer has read enough; return whether the request is still wanted then."""
        entry.unsent = True
        while paced.congested and not entry.future.done():
            room = self._loop.create_task(paced.drained())
            try:
                await asyncio.wait((room, entry.future), return_when=asyncio.FIRST_COMPLETED)
            finally:
                room.cancel()
        if entry.future.done():
            return False
        entry.unsent = False
        return True

    def _give_up(self, entry: PendingRequest, reason: str | None) -> None:
        notice = self._connection.abandon(entry, reason)
        # The peer knows nothing of what was not sent.
        if notice is not None and not entry.unsent:
            self._observer.notification_sent(notice.method, notice.params)
            self._outbox.post(notice, entry.delivery, self._observer.unsent)

    def _fail_unsent(self, entry: PendingRequest, failure: MCPError) -> None:
        self._connection.abandon(entry)
        entry.give_up(failure)

    def _abort_soon(self, entry: PendingRequest, signal: AbortSignal) -> None:
        # A signal may be aborted in any thread.
        self._loop.call_soon_threadsafe(self._abort, entry, signal)

    def _abort(self, entry: PendingRequest, signal: AbortSignal) -> None:
        self._give_up(entry, signal.reason if isinstance(signal.reason, str) else None)
        try:
            signal.throw_if_aborted()
        except MCPError as error:
            entry.give_up(error)

    def _expire(self, entry: PendingRequest) -> None:
        self._give_up(entry, "timed out")
        last = entry.last_deadline
        limit, setting = (
            (entry.total_timeout, "total_timeout")
            if last is not None and last == entry.deadline
            else (entry.timeout, "timeout")
        )
        text = f"no answer to {entry.method} within {limit:g} s ({setting})"
        if entry.unsent:
            text += ", and no room to send it: the peer does not read"
        entry.give_up(MCPError(MCP_CODES.TIMEOUT, text, context={"method": entry.method, setting: limit}))
