"""The calls of theirs: queued, run in tasks of their own, answered, and stopped when the peer gives up."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from inspect import isawaitable
from typing import Any, NamedTuple, cast

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.codec import Single, encode_message
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Batch, ErrorResponse, Response
from suaveplan_mcp.jsonrpc.records import CallCancelled
from suaveplan_mcp.protocol.admission import NOT_JSON
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.in_flight import InboundCall, PendingRequest
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.outbox import Outbox
from suaveplan_mcp.runtime.requests import Requests
from suaveplan_mcp.transport.base import Delivery


class CallLimits(NamedTuple):
    """How much a peer may ask at once.

    Args:
        concurrent: how many handlers may run; further calls wait.
        queued: how many calls may wait; further ones are refused.
    """

    concurrent: int
    queued: int


class Calls:
    """What one connection is asked by its peer.

    Handlers run in copies of the context of the connection, so nothing of a caller in the same process leaks into them.

    Args:
        connection: answers, and knows the rules.
        handlers: who answers what.
        outbox: the way out.
        observer: hears of every call.
        requests: those of ours, which may have to wait for a call.
        limits: how much is allowed at once.

    Attributes:
        running: the tasks of all calls that run.
        working: how many of them will be over by themselves.
    """

    __slots__ = (
        "_connection",
        "_context",
        "_handlers",
        "_limits",
        "_loop",
        "_observer",
        "_outbox",
        "_queued",
        "_requests",
        "running",
        "working",
    )

    def __init__(
        self,
        connection: JsonRpcConnection[PendingRequest, InboundCall],
        handlers: HandlerTable,
        outbox: Outbox,
        observer: Observer,
        requests: Requests,
        limits: CallLimits,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = outbox.context
        self._connection = connection
        self._handlers = handlers
        self._outbox = outbox
        self._observer = observer
        self._requests = requests
        self._limits = limits
        # Made when first used: few peers ask that much.
        self._queued: OrderedDict[InboundCall, None] | None = None
        self.running: set[asyncio.Task[None]] = set()
        self.working = 0

    def admit(self, call: InboundCall, delivery: Delivery | None) -> None:
        """Run a call in a task of its own, as soon as there is room for it."""
        if not call.open:
            # It came in a batch and is over before its turn: given up, or ended together with the connection.
            return
        self._accept(call, delivery)
        if self.working < self._limits.concurrent or call.handler.exempt:
            self._run(call)
        elif len(self._queued or ()) < self._limits.queued:
            if self._queued is None:
                self._queued = OrderedDict()
            self._queued[call] = None
        else:
            text = f"too busy: {self._limits.queued} calls are waiting already (max_queued)"
            busy = MCPError(MCP_CODES.INTERNAL_ERROR, text)
            self._reply(call, busy)
            self._note_end(call, busy)

    async def serve(self, call: InboundCall, delivery: Delivery | None) -> None:
        """Run a call at once, in the task and the context that are current; giving it up cancels that task."""
        self._accept(call, delivery)
        if call.observation is not None:
            call.observation.enter_here()
        call.task = cast("asyncio.Task[None]", asyncio.current_task())
        self._note_begin(call, call.task)
        await self._serve(call)

    def cancel(self, cancelled: CallCancelled[InboundCall], delivery: Delivery | None) -> None:
        """Stop a call that the peer gave up; send what is left of its batch."""
        call, params, reply = cancelled
        if call is not None:
            self._stop(call, getattr(params, "reason", None))
        if reply is not None:
            self._outbox.post(reply, delivery, self._observer.unsent)

    def close(self, calls: Iterable[InboundCall]) -> None:
        """Stop all calls, because the connection has ended."""
        for call in calls:
            self._stop(call, "the connection closed")

    def _accept(self, call: InboundCall, delivery: Delivery | None) -> None:
        call.handler = self._handlers.handler_of(call.method)
        call.delivery = delivery
        call.observation = self._observer.call_received(call.method, call.id, call.params, call.caller.revision)

    def _run(self, call: InboundCall) -> None:
        context = self._context.copy()
        if call.observation is not None:
            call.observation.enter(context)
        if call.handler.pauses_timeouts:
            call.held = self._requests.hold()
        call.task = self._loop.create_task(self._serve(call), context=context)
        self._note_begin(call, call.task)

    def _note_begin(self, call: InboundCall, task: "asyncio.Task[None]") -> None:
        self.running.add(task)
        self.working += not call.handler.endless

    async def _serve(self, call: InboundCall) -> None:
        error: BaseException | None = None
        result: Any = None
        try:
            handler = call.handler
            result = handler.function(call.params, call) if handler.takes_call else handler.function(call.params)
            if handler.is_coroutine or isawaitable(result):
                result = await result
            if not call.open:
                error = _given_up("the peer gave up")
                return
            reply = self._connection.complete(call, result)
            if reply is not None:
                try:
                    await self._outbox.send(reply, call.reply_delivery)
                except MCPError as failure:
                    error = failure
                    self._mend(call, reply, failure)
        except asyncio.CancelledError:
            # Where the call is still open only the handler itself can have cancelled it.
            error = _given_up("the handler gave up")
            self._reply(call, error)
            raise
        except KeyboardInterrupt as raised:
            error = raised
            raise
        except BaseException as raised:
            error = raised
            self._explain(call, raised)
        finally:
            self._finish(call, error, result)

    def _explain(self, call: InboundCall, error: BaseException) -> None:
        """Answer a call whose handler raised; an exception that is no answer meant for the peer is reported here."""
        if not isinstance(error, MCPError) or error.cause is not None or error.code == MCP_CODES.HANDLER_FAILED:
            self._observer.fault(f"the handler of {call.method} raised {type(error).__name__}", error)
        self._reply(call, error)

    def _reply(self, call: InboundCall, error: BaseException) -> None:
        reply = self._connection.fail(call, error)
        if reply is not None:
            self._outbox.post(reply, call.reply_delivery, self._observer.unsent)

    def _mend(self, call: InboundCall, reply: Response | Batch, failure: MCPError) -> None:
        """Send what can be said in place of an answer that could not be sent, so that the peer waits no more."""
        if not isinstance(failure, MCPProtocolError):
            self._observer.unsent(failure)
            return
        self._observer.fault(f"the answer to {call.method} cannot be written: {failure.message}", failure)
        if type(reply) is Batch:
            mended = Batch(tuple(self._writable(answer) for answer in reply.messages))
        else:
            mended = self._writable(reply)
        self._outbox.post(mended, call.reply_delivery, self._observer.unsent)

    def _writable(self, answer: Single) -> Single:
        if not isinstance(answer, Response):
            return answer
        try:
            encode_message(answer)
        except NOT_JSON as error:
            return ErrorResponse(answer.id, self._connection.rules.describe(error, None))
        return answer

    def _finish(self, call: InboundCall, error: BaseException | None, result: object = None) -> None:
        if call.task is None or call.task not in self.running:
            return
        self.running.discard(call.task)
        self.working -= not call.handler.endless
        if call.held:
            self._requests.release(call.held)
        self._note_end(call, error, result)
        while self._queued and self.working < self._limits.concurrent:
            self._run(self._queued.popitem(last=False)[0])

    def _stop(self, call: InboundCall, reason: str | None) -> None:
        error = _given_up("the peer gave up")
        if call.task is None:
            if self._queued is not None:
                self._queued.pop(call, None)
            self._note_end(call, error)
            return
        # A task that is cancelled before its first step never gets to its own clean-up.
        call.task.add_done_callback(lambda _: self._finish(call, error))
        call.give_up(reason)

    def _note_end(self, call: InboundCall, error: BaseException | None, result: object = None) -> None:
        if call.observation is not None:
            number = None if error is None else self._connection.rules.describe(error, call.method, call.caller).code
            self._observer.call_ended(call.method, call.id, call.observation, error=error, result=result, number=number)


def _given_up(text: str) -> MCPError:
    return MCPError(MCP_CODES.REQUEST_CANCELLED, text)
