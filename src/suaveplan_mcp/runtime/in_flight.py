"""The entries of the two in-flight tables, as the dispatcher extends them: requests of ours and calls of theirs."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeAlias, cast

from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived, OutboundRequest
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.runtime.abort import AbortController, AbortSignal
from suaveplan_mcp.runtime.handlers import Handler, count_parameters
from suaveplan_mcp.runtime.observation import Observation
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.progress import ProgressNotificationParams

OnProgress: TypeAlias = Callable[..., object]
"""Takes the progress params (`progress`, `total`, `message`), or the three values; may return an awaitable."""


class PendingRequest(OutboundRequest):
    """A request of ours, its waiter and its limits.

    `deadline` and `last_deadline` are on the dispatcher's clock; `timeout` and `total_timeout` are what was asked for.
    While it is held it has no deadline: it is then not the peer that is waited for. It is `unsent` while it waits for a
    peer that does not read, and remains so where it is given up meanwhile.
    """

    __slots__ = (
        "_held_at",
        "_held_deadline",
        "_holds",
        "deadline",
        "delivery",
        "future",
        "last_deadline",
        "progress",
        "timeout",
        "total_timeout",
        "unsent",
    )

    # Both are set as long as it is held.
    _held_at: float
    _held_deadline: float | None

    def __init__(self, method: str, future: "asyncio.Future[Any]", delivery: Delivery | None = None) -> None:
        super().__init__(method)
        self.future = future
        self.delivery = delivery
        self.timeout: float | None = None
        self.total_timeout: float | None = None
        self.deadline: float | None = None
        self.last_deadline: float | None = None
        self.progress: ProgressQueue | None = None
        self.unsent = False
        self._holds = 0

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.timeout is not None or self.total_timeout is not None

    def limit(self, now: float, timeout: float | None, total_timeout: float | None) -> None:
        """Set the limits, counted from `now`."""
        self.timeout, self.total_timeout = timeout, total_timeout
        self.last_deadline = None if total_timeout is None else now + total_timeout
        self.restart(now)

    def restart(self, now: float) -> None:
        """Count the silence from `now` on; the total goes on counting."""
        deadline = self.last_deadline
        if self.timeout is not None:
            idle = (self._held_at if self._holds else now) + self.timeout
            deadline = idle if deadline is None else min(idle, deadline)
        if self._holds:
            self._held_deadline = deadline
        else:
            self.deadline = deadline

    def hold(self, now: float) -> None:
        """Stop counting; each hold needs its own release."""
        if not self._holds:
            self._held_at = now
            self._held_deadline, self.deadline = self.deadline, None
        self._holds += 1

    def release(self, now: float) -> None:
        """Go on counting where the first hold stopped, once the last one is over."""
        self._holds -= 1
        if self._holds:
            return
        seconds = now - self._held_at
        if self._held_deadline is not None:
            self.deadline = self._held_deadline + seconds
        if self.last_deadline is not None:
            self.last_deadline += seconds

    def succeed(self, result: Payload) -> None:
        """Give the waiter its result."""
        if not self.future.done():
            self.future.set_result(result)
            self._wake()

    def fail(self, error: BaseException) -> None:
        """Give the waiter its error."""
        if not self.future.done():
            self.future.set_exception(error)
            # A waiter that is being cancelled never looks; that is no reason for a complaint at collection.
            self.future.exception()
            self._wake()

    def give_up(self, error: BaseException) -> None:
        """Give the waiter an error that is no answer; it waits for no callback either."""
        self.fail(error)
        if self.progress is not None:
            self.progress.stop()

    def _wake(self) -> None:
        if self.progress is not None:
            self.progress.wake()


class ProgressQueue:
    """Progress on its way from the pump, which may not run a caller's code, to the caller's own task."""

    __slots__ = ("_call", "_interrupted", "_items", "_stopped", "_task", "_woken")

    def __init__(self, on_progress: OnProgress) -> None:
        self._items: deque[ProgressNotificationParams] = deque()
        self._stopped = False
        # The task that awaits a callback, while one does, and whether it was interrupted for the sake of stopping.
        self._task: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._woken: asyncio.Event = asyncio.Event()
        wanted = count_parameters(on_progress)
        self._call: Callable[[ProgressNotificationParams], object] = (
            on_progress
            if wanted == 1
            else lambda params: on_progress(*(params.progress, params.total, params.message)[:wanted])
        )

    def push(self, params: ProgressNotificationParams) -> None:
        """Queue one report."""
        self._items.append(params)
        self._woken.set()

    def wake(self) -> None:
        """Let the waiter look whether its request is done."""
        self._woken.set()

    def stop(self) -> None:
        """Call back no more, and end the callback that is awaited now; one that calls this runs to its end."""
        self._stopped = True
        self._woken.set()
        if self._task is not None and not self._interrupted and self._task is not asyncio.current_task():
            self._interrupted = True
            self._task.cancel()

    async def deliver_until(self, future: "asyncio.Future[Any]") -> None:
        """Call back for every report, in order, until the request is done and no report is left, or until `stop`."""
        while not self._stopped and (self._items or not future.done()):
            if not self._items:
                self._woken.clear()
                await self._woken.wait()
                continue
            outcome = self._call(self._items.popleft())
            if isawaitable(outcome):
                await self._finish(outcome)

    async def _finish(self, outcome: Awaitable[object]) -> None:
        """Await a callback in the task of the caller, whose context it may want to change, unless it is stopped."""
        task = self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        cancellations = task.cancelling()
        try:
            await outcome
        except asyncio.CancelledError:
            # The caller may have been cancelled too, and then has to hear of it.
            if not self._interrupted or task.cancelling() > cancellations + 1:
                raise
        finally:
            self._task = None
            if self._interrupted:
                task.uncancel()


class Sent:
    """What a report gives back: awaiting it is allowed, and takes time only where the peer does not read.

    Args:
        wait: waits until the peer has read enough; None where it has.
    """

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._wait = wait

    def __await__(self) -> Generator[Any, None, None]:
        """Finish as soon as the peer has read enough."""
        if self._wait is not None:
            yield from self._wait().__await__()


SENT = Sent()

NOBODY: Final = Caller()
"""The caller of a call that crosses no wire."""


class Peer(Protocol):
    """What a handler may do with the peer that called it."""

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
    ) -> Coroutine[Any, Any, Any]:
        """Ask the peer something; await what this returns for the answer."""
        ...

    def post_notification(self, method: str, params: Payload = None, *, delivery: Delivery | None = None) -> Sent:
        """Tell the peer something."""
        ...

    def post_progress(self, call: "InboundCall", progress: float, total: float | None, message: str | None) -> Sent:
        """Report progress of a call of the peer's."""
        ...


class InboundCall(CallReceived[Caller]):
    """A call of theirs while its handler runs. A handler that takes a second argument gets it.

    Attributes:
        id: the request id, as the peer wrote it.
        method: the method.
        params: the typed params.
        caller: who the peer is and what it can do.
        peer: the connection it came on.
        delivery: headers and principal, where the transport knows them.
        once: what a handler does once for the call, by the names it gave; None before there is anything.
    """

    __slots__ = ("_controller", "delivery", "handler", "held", "observation", "once", "peer", "task")

    # Both are set as soon as the connection has admitted the call.
    peer: Peer
    handler: Handler

    def __init__(
        self,
        id_: RequestId,
        method: str,
        params: Payload,
        progress_token: RequestId | None,
        caller: Caller = NOBODY,
    ) -> None:
        super().__init__(id_, method, params, progress_token, caller)
        self._controller: AbortController | None = None
        self.delivery: Delivery | None = None
        self.observation: Observation | None = None
        self.task: asyncio.Task[None] | None = None
        # The requests of ours whose limits wait for this call.
        self.held: Sequence[PendingRequest] = ()
        self.once: dict[str, asyncio.Future[object]] | None = None

    @property
    def signal(self) -> AbortSignal:
        """Aborted when the peer gives up the call or goes away."""
        if self._controller is None:
            self._controller = AbortController()
            if not self.open:
                self._controller.abort()
        return self._controller.signal

    @property
    def reply_delivery(self) -> Delivery | None:
        """What to send along with everything that belongs to this call."""
        return None if self.delivery is None else Delivery(related_request=self.id)

    def name_target(self, target: str) -> None:
        """Say for telemetry what the call is about, once that is known to exist."""
        if self.observation is not None:
            self.observation.name_target(target)

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> Sent:
        """Report progress; does nothing where none was asked for, the call is over, or the value has not grown."""
        return self.peer.post_progress(self, progress, total, message)

    def give_up(self, reason: str | None) -> None:
        """Stop the handler: the signal first, the task second. One that ends its own connection runs to its end."""
        if self._controller is not None:
            self._controller.abort(reason)
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()
