"""The one pump: it feeds the connection what the transport brings, and runs what the connection says.

The pump itself never awaits and never runs a caller's coroutine. Handlers run in tasks of their own, in a copy of the
context that was current when the dispatcher was made, so nothing of a caller leaks into them; progress callbacks run in
the task that made the request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from functools import partial
from inspect import isawaitable
from itertools import count
from typing import Any, Final

from msgspec import UNSET, UnsetType

from suaveplan_mcp.events import EventBus, Side
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Message, Notification, Payload, RequestId
from suaveplan_mcp.jsonrpc.records import (
    BatchReceived,
    CallCancelled,
    MessageDropped,
    MessageRefused,
    NotificationReceived,
    ProgressReceived,
    Record,
    RequestFailed,
    RequestSucceeded,
)
from suaveplan_mcp.protocol.era import CANCELLED, PROGRESS, Era, OpenEra
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.calls import CallLimits, Calls
from suaveplan_mcp.runtime.handlers import HandlerFunction, HandlerTable, Listener
from suaveplan_mcp.runtime.in_flight import SENT, InboundCall, OnProgress, PendingRequest, Sent
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.outbox import Outbox, wait_for_room
from suaveplan_mcp.runtime.requests import Requests
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Clock, Timers, loop_clock
from suaveplan_mcp.transport.base import Delivery, Transport, find_failure, is_in_process
from suaveplan_mcp.types.progress import ProgressNotificationParams

_numbers: Final = count(1)

_MISSABLE: Final = frozenset({PROGRESS, "notifications/message"})
"""What may be left out for a peer that does not read: nothing it does depends on them."""

CLOSE_GRACE: Final = 2.0
"""Seconds that `close` waits for handlers that do not heed their cancellation."""


class JsonRpcDispatcher:
    """Runs one connection over one transport: requests out, handlers in.

    Args:
        transport: the way to the peer; reading starts at once.
        era: the rules of the connection. Without one it is plain JSON-RPC 2.0 and takes any method.
        id_generator: gives the ids of our requests; integers from 0 by default.
        clock: seconds on a scale that never goes back; the loop's by default.
        timers: what sets timers; the loop by default.
        side: which side this is, for events and telemetry.
        handlers: a table of handlers, where several connections share one.
        events: the bus to report on.
        max_concurrent: how many handlers may run at once; further calls wait.
        max_queued: how many calls may wait; further ones are refused.
        observer: hears of all that happens, where several connections share one; it is not told of the beginning and
            the end of this one.
    """

    def __init__(  # noqa: PLR0913  each has a default that suits nearly everybody
        self,
        transport: Transport,
        *,
        era: Era | None = None,
        id_generator: Callable[[], RequestId] | None = None,
        clock: Clock | None = None,
        timers: Timers | None = None,
        side: Side = "client",
        handlers: HandlerTable | None = None,
        events: EventBus | None = None,
        max_concurrent: int = 1000,
        max_queued: int = 10_000,
        observer: Observer | None = None,
    ) -> None:
        clock, timers = clock or loop_clock, timers or LOOP_TIMERS
        self.handlers = handlers if handlers is not None else HandlerTable()
        self.events = events if events is not None else EventBus(side)
        self.era: Era = era if era is not None else OpenEra(side, self.handlers)
        self.dispatcher_id = f"{side}-{next(_numbers)}"
        self._loop = asyncio.get_running_loop()
        self._timers = timers
        self._context = copy_context()
        self._transport = transport
        self._reason: str | None = None
        self._leaving_out = False
        self._listening: set[asyncio.Task[None]] = set()
        self._connection: JsonRpcConnection[PendingRequest, InboundCall] = JsonRpcConnection(
            self.era, InboundCall, id_generator
        )
        self._outbox = Outbox(transport, self._context)
        if self._outbox.paced is not None:
            self._outbox.paced.may_pause = self._may_pause
        self._announced = observer is None
        self._observer = observer or Observer(
            side, self.dispatcher_id, self.events, clock, peer_counts=is_in_process(transport)
        )
        self._requests = Requests(self._connection, self.era, self._outbox, self._observer, clock, timers)
        self._calls = Calls(
            self._connection,
            self.handlers,
            self._outbox,
            self._observer,
            self._requests,
            CallLimits(max_concurrent, max_queued),
        )
        if self._announced:
            self._observer.opened()
        self._stop_reading = transport.on_message(self._take)
        self._stop_watching = transport.on_close(self._end)

    @property
    def closed(self) -> bool:
        """Whether the connection has ended, from either side."""
        return not self._outbox.open

    @property
    def has_ways(self) -> bool:
        """Whether each message goes its own way, so that it may carry headers and fails alone."""
        return self._outbox.has_ways

    @property
    def busy(self) -> bool:
        """Whether a handler is running that will be over by itself."""
        return self._calls.working > 0

    def request(
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        delivery: Delivery | None = None,
        on_sent: Callable[[RequestId], object] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request; await what this returns for the answer.

        Args:
            method: the method.
            params: a struct of the method's type, or plain JSON.
            timeout: seconds of silence to bear; progress starts them anew. None bears any.
            total_timeout: seconds to bear in all.
            signal: gives the request up when it is aborted.
            on_progress: called for every report of progress, before the result is returned; asks for progress.
            delivery: what the transport shall know about the request.
            on_sent: called with the id of the request, before it goes out.

        Returns:
            The result, typed by the era; plain JSON without one.

        Raises:
            MCPError: `TIMEOUT`, `REQUEST_CANCELLED`, `INVALID_PARAMS`, or the error that the peer answered.
            MCPTransportError: `TRANSPORT_CLOSED` or `TRANSPORT_ERROR`.
        """
        # Not a coroutine itself: one coroutine less to step through for every request.
        return self._requests.send(method, params, timeout, total_timeout, signal, on_progress, delivery, on_sent)

    async def serve(self, message: Message, delivery: Delivery | None = None) -> None:
        """Take one message as if the transport had brought it; return when the call it may ask for is over.

        The handler runs in the task and the context of the caller: where a connection lives for one request, a task of
        its own would cost more than it is worth.

        Args:
            message: what came.
            delivery: what is known about it beside.

        Raises:
            CancelledError: the transport has closed meanwhile, or the handler gave up.
        """
        record = self._connection.receive(message)
        if isinstance(record, InboundCall):
            record.peer = self
            await self._calls.serve(record, delivery)
        else:
            self._handle(record, delivery)

    def adopt(self, era: Era) -> None:
        """Go on under other rules. Nothing may be in flight that was sent or admitted under the present ones."""
        self.era = self._connection.rules = self._requests.era = era

    def release(self) -> None:
        """Let go of the transport, which stays open: nothing more is expected of it."""
        self._stop_reading()
        self._stop_watching()

    async def notify(self, method: str, params: Payload = None, *, delivery: Delivery | None = None) -> None:
        """Send a notification and wait until the transport has taken it.

        Raises:
            MCPError: it is not legal to send.
            MCPTransportError: `TRANSPORT_CLOSED` or `TRANSPORT_ERROR`.
        """
        self._outbox.require_open()
        message = self._connection.notify(method, UNSET if params is None else params)
        self._observer.notification_sent(method, message.params)
        await self._outbox.send(message, delivery)

    def post_notification(self, method: str, params: Payload = None, *, delivery: Delivery | None = None) -> Sent:
        """Queue a notification and return; what becomes of it is only reported.

        Returns:
            What may be awaited, by those who send much, until the peer has read enough.

        Raises:
            MCPError: it is not legal to send.
        """
        if self.closed:
            return SENT
        return self._post(self._connection.notify(method, UNSET if params is None else params), delivery)

    def register_handler(
        self,
        method: str,
        function: HandlerFunction,
        *,
        params_type: type[object] | None = None,
        pauses_timeouts: bool = False,
    ) -> None:
        """Let `function` answer a method.

        Args:
            method: the method.
            function: takes the params, or the params and the `InboundCall`; returns the result or an awaitable of it.
            params_type: what the params must be, on a dispatcher without an era; an era knows its methods itself.
            pauses_timeouts: whether our own requests stop ageing while it runs.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`.
        """
        if params_type is not None and isinstance(self.era, OpenEra):
            self.era.expect(method, params_type)
        self.handlers.register(method, function, pauses_timeouts=pauses_timeouts)

    def unregister_handler(self, method: str) -> None:
        """Take the handler of a method away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        self.handlers.unregister(method)
        if isinstance(self.era, OpenEra):
            self.era.accept_anything(method)

    def register_notification_listener(self, method: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the params of every such notification; returns a function that ends it."""
        return self.handlers.listen(method, listener)

    def send_progress(
        self, token: RequestId, progress: float, total: float | None = None, message: str | None = None
    ) -> Sent:
        """Report progress under a token of the peer's. A handler's own call has `progress`, which keeps the rules."""
        params = ProgressNotificationParams(progress_token=token, progress=progress, total=total, message=message)
        return self.post_notification(PROGRESS, params)

    def post_progress(self, call: InboundCall, progress: float, total: float | None, message: str | None) -> Sent:
        """Report progress of a call of the peer's, where the rules allow it."""
        notice = self._connection.report_progress(call, progress, total, message)
        return SENT if notice is None else self._post(notice, call.reply_delivery)

    async def close(self, reason: str | None = None) -> None:
        """End the connection: fail what waits, stop what runs, close the transport. A second call does nothing more.

        Messages that were posted before are still sent, and handlers may finish their clean-up, for as long as
        `CLOSE_GRACE` each.

        Args:
            reason: for `connection:closed`.
        """
        if not self.closed:
            self._reason = reason
            self._end()
        sender = self._outbox.sender
        try:
            await self._wait_for(sender)
        finally:
            # The task that waits may be cancelled, and the transport must not stay open for that.
            await self._transport.close()
        if sender is not None:
            sender.cancel()
        await self._wait_for(sender, *self._calls.running, *self._listening)

    def _may_pause(self) -> bool:
        """Whether the peer owes us no answer, so that it need not be listened to."""
        return not self._connection.pending

    def _post(self, notice: Notification, delivery: Delivery | None) -> Sent:
        paced = self._outbox.paced
        if paced is not None and paced.overfull and notice.method in _MISSABLE:
            if not self._leaving_out:
                self._leaving_out = True
                self._observer.fault("the peer does not read: progress and log messages are left out")
        else:
            self._observer.notification_sent(notice.method, notice.params)
            self._outbox.post(notice, delivery, self._observer.unsent)
        return SENT if paced is None or not paced.congested else Sent(partial(wait_for_room, paced))

    def _take(self, message: Message, delivery: Delivery | None = None) -> None:
        self._handle(self._connection.receive(message), delivery)

    def _handle(self, record: Record[PendingRequest, InboundCall], delivery: Delivery | None) -> None:
        if type(record) is RequestSucceeded:
            for deviation in record.deviations:
                self._observer.fault(f"{record.entry.method}: {deviation}")
            record.entry.succeed(record.result)
        elif isinstance(record, InboundCall):
            record.peer = self
            self._calls.admit(record, delivery)
        elif type(record) is NotificationReceived:
            self._notify_listeners(record.method, record.params)
        elif type(record) is ProgressReceived:
            self._requests.take_progress(record.entry, record.params)
            self._notify_listeners(PROGRESS, record.params)
        elif type(record) is RequestFailed:
            record.entry.fail(record.error)
        elif type(record) is CallCancelled:
            self._calls.cancel(record, delivery)
            self._notify_listeners(CANCELLED, record.params)
        elif type(record) is MessageRefused:
            self._note_refusal(record)
            self._outbox.post(record.reply, _related(record.reply.id, delivery), self._observer.unsent)
        elif type(record) is MessageDropped:
            self._note_drop(record)
        else:
            self._handle_batch(record, delivery)

    def _handle_batch(self, batch: BatchReceived[PendingRequest, InboundCall], delivery: Delivery | None) -> None:
        for record in batch.records:
            if type(record) is MessageRefused:
                self._note_refusal(record)
            else:
                self._handle(record, delivery)
        if batch.reply is not None:
            self._outbox.post(batch.reply, delivery, self._observer.unsent)

    def _note_refusal(self, refused: MessageRefused) -> None:
        self._observer.fault(refused.reason)
        self._observer.call_refused(refused.method)

    def _note_drop(self, dropped: MessageDropped) -> None:
        self._observer.fault(dropped.reason)
        if dropped.method is not None:
            self._observer.notification_received(dropped.method)

    def _notify_listeners(self, method: str, params: Payload) -> None:
        self._observer.notification_received(method)
        for listener in self.handlers.listeners_of(method):
            try:
                # In memory it is the peer's own context that is current here.
                outcome: Any = self._context.copy().run(listener, params)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._report_listener(method, error)
            else:
                if isawaitable(outcome):
                    self._start(self._finish_listener(method, outcome))

    async def _finish_listener(self, method: str, outcome: Awaitable[object]) -> None:
        try:
            await outcome
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            self._report_listener(method, error)

    def _report_listener(self, method: str, error: BaseException) -> None:
        self._observer.fault(f"a listener of {method} raised {type(error).__name__}", error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work, context=self._context.copy())
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)

    def _end(self) -> None:
        """Note that the connection is over, from whichever side."""
        if self.closed:
            return
        self._outbox.open = False
        self._stop_reading()
        self._stop_watching()
        ours, theirs = self._connection.close()
        self._requests.close(ours)
        self._calls.close(theirs)
        current = asyncio.current_task()
        for task in self._listening:
            # One that ends its own connection runs to its end.
            if task is not current:
                task.cancel()
        failure = find_failure(self._transport)
        if self._announced:
            self._observer.closed(self._reason if failure is None else failure.message)

    async def _wait_for(self, *tasks: asyncio.Task[None] | None) -> None:
        """Wait until tasks that were told to stop have stopped, but no longer than `CLOSE_GRACE`."""
        current = asyncio.current_task()
        waiting = {task for task in tasks if task is not None and task is not current and not task.done()}
        if not waiting:
            return
        over: asyncio.Future[None] = self._loop.create_future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        def leave(task: asyncio.Task[None]) -> None:
            waiting.discard(task)
            if not waiting:
                end()

        for task in tuple(waiting):
            task.add_done_callback(leave)
        timer = self._timers.call_later(CLOSE_GRACE, end)
        try:
            await over
        finally:
            timer.cancel()
        if waiting:
            self._observer.fault(f"{len(waiting)} tasks of the connection have not ended within {CLOSE_GRACE:g} s")


def _related(id_: RequestId | None | UnsetType, delivery: Delivery | None) -> Delivery | None:
    """Return where the answer to a refused request belongs, where the transport has more than one place."""
    return None if delivery is None else Delivery(related_request=None if id_ is UNSET else id_)
