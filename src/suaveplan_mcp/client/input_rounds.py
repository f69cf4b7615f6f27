"""Answering a server that asks in its results, and sending the request again with the answers.

Spec: basic/patterns/mrtr
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from inspect import isawaitable
from typing import Any, Final, TypeAlias, TypeVar, cast

from msgspec import Raw
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.admission import raw_json, seal_result
from suaveplan_mcp.protocol.input_rounds import MAX_ROUNDS, lacking
from suaveplan_mcp.protocol.methods import METHODS, Method
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.input_required import InputRequest, InputRequiredResult
from suaveplan_mcp.types.input_responses import InputResponseRequestParams

T = TypeVar("T")

FIRST_PAUSE: Final = 0.1
"""Seconds before a request is sent again whose server wants no more than its state back; they double each time."""

LONGEST_PAUSE: Final = 5.0

SendLeg: TypeAlias = Callable[[Payload, float | None], Coroutine[Any, Any, Any]]
"""Sends a request with these params, which may take so many seconds in all; returns its result."""


_members: Final = Decoder(dict[str, Raw])


class InputRounds:
    """Answers what a server asks in its results.

    Args:
        dispatcher: the connection.
        callbacks: what the client answers with.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
        max_rounds: how often a server may ask for one request.
    """

    __slots__ = ("_callbacks", "_clock", "_dispatcher", "_max_rounds", "_timers")

    def __init__(
        self,
        dispatcher: JsonRpcDispatcher,
        callbacks: Callbacks,
        clock: Clock,
        timers: Timers,
        max_rounds: int = MAX_ROUNDS,
    ) -> None:
        self._dispatcher = dispatcher
        self._callbacks = callbacks
        self._clock = clock
        self._timers = timers
        self._max_rounds = max_rounds

    async def complete(
        self, method: Method, params: Payload, send: SendLeg, total_timeout: float | None, signal: AbortSignal | None
    ) -> Any:
        """Send a request, and send it again with the answers, for as long as its result asks for more.

        Args:
            method: the method.
            params: its params.
            send: sends it, each time as a request of its own.
            total_timeout: seconds that all of them may take; the answers take as long as they like.
            signal: gives it up when it is aborted, and the answers that are being made.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the connection ended meanwhile.
            MCPError: `HANDLER_FAILED`, one of the client's own providers failed; `REQUEST_CANCELLED`; or what sending
                raises.
            MCPProtocolError: `PROTOCOL_INVALID`, the server asks what the client did not declare, or too often.
        """
        left, sent, rounds, pause = total_timeout, params, 0, FIRST_PAUSE
        answers: dict[str, Raw] | None
        while True:
            begun = self._clock()
            result = await send(sent, left)
            if not isinstance(result, InputRequiredResult):
                return result
            rounds += 1
            if rounds > self._max_rounds:
                text = f"the server asks for more input after {self._max_rounds} rounds of {method.name} (max_rounds)"
                raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, context={"max_rounds": self._max_rounds})
            if left is not None:
                left = max(0.0, left - (self._clock() - begun))
            if result.input_requests:
                answers = await self._while_wanted(self._answer_all(method.name, result.input_requests), signal)
            else:
                answers = None if result.input_requests is None else {}
                await self._while_wanted(self._wait(pause), signal)
                pause = min(pause * 2, LONGEST_PAUSE)
            sent = _again(params, answers, result.request_state)

    async def _answer_all(self, method: str, requests: Mapping[str, InputRequest]) -> dict[str, Raw]:
        """Let the providers answer all questions of a round at once; where one fails, the others are stopped."""
        for request in requests.values():
            self._require_declared(method, request)
        answering = [asyncio.ensure_future(self._answer(key, request)) for key, request in requests.items()]
        try:
            answers = await asyncio.gather(*answering)
        finally:
            for each in answering:
                each.cancel()
        return dict(zip(requests, answers, strict=True))

    def _require_declared(self, method: str, request: InputRequest) -> None:
        era = self._dispatcher.era
        revision = era.caller.revision
        declared = self._callbacks.capabilities_in(str(revision))
        path = lacking(request.params or RequestParams(), declared, revision)
        if path is not None:
            text = f"the result of {method} asks for {request.method}, and this client did not declare `{path}`"
            raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, context={"method": method, "capability": path})

    async def _answer(self, key: str, request: InputRequest) -> Raw:
        method, row = request.method, METHODS[request.method]["server"]
        handler = self._callbacks.handlers.handler_of(method)
        call = InboundCall(key, method, request.params or RequestParams(), None, self._dispatcher.era.caller)
        call.peer, call.handler = self._dispatcher, handler
        try:
            result: Any = handler.function(call.params, call) if handler.takes_call else handler.function(call.params)
            result = await result if isawaitable(result) else result
            return Raw(encode(seal_result(row, result)))
        except BaseException as error:
            call.open = False
            call.give_up("the request was given up")
            ended = cast("asyncio.Task[Any]", asyncio.current_task()).cancelling()
            if ended or isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            if isinstance(error, MCPError) and error.code == MCP_CODES.HANDLER_FAILED:
                raise
            text = f"the provider for {method} failed: {error}"
            raise MCPError(MCP_CODES.HANDLER_FAILED, text, cause=error, context={"method": method}) from error

    async def _while_wanted(self, work: Coroutine[Any, Any, T], signal: AbortSignal | None) -> T:
        """Await work, and stop it when the signal is aborted or the connection ends.

        Raises:
            MCPError: `REQUEST_CANCELLED`.
            MCPTransportError: `TRANSPORT_CLOSED`.
        """
        dispatcher, loop = self._dispatcher, asyncio.get_running_loop()
        task = loop.create_task(work)

        def stop(_: object = None) -> None:
            if dispatcher.closed:
                task.cancel()

        watching = [dispatcher.events.on("connection:closed", stop)]
        if signal is not None:
            # It may be aborted in any thread.
            watching.append(signal.add_listener(lambda: loop.call_soon_threadsafe(task.cancel)))
        stop()
        try:
            return await task
        except asyncio.CancelledError:
            # Where the task that waits was cancelled too, it is to end as such.
            if not cast("asyncio.Task[Any]", asyncio.current_task()).cancelling():
                if signal is not None:
                    signal.throw_if_aborted()
                text = "the connection closed while what the server asks was being answered"
                raise MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, text) from None
            raise
        finally:
            for stop_watching in watching:
                stop_watching()

    async def _wait(self, seconds: float) -> None:
        over = asyncio.get_running_loop().create_future()
        timer = self._timers.call_later(seconds, lambda: over.done() or over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()


def _again(params: Payload, answers: dict[str, Raw] | None, state: str | None) -> Payload:
    """Return the params of a request with the answers of one round, and with nothing of earlier ones."""
    if isinstance(params, InputResponseRequestParams):
        return replace(params, input_responses=answers, request_state=state)
    # It was sent before, so it is an object.
    members = _members.decode(params if isinstance(params, Raw) else raw_json(params))
    given = {"inputResponses": answers, "requestState": state}
    for name, value in given.items():
        members.pop(name, None)
        if value is not None:
            members[name] = Raw(encode(value))
    return Raw(encode(members))
