"""One POST and what is said in return: plain JSON, or an event stream from the first message that is no answer.

Spec: basic/transports/streamable-http, Receiving Messages
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias, cast

from msgspec import UNSET, Struct

from suaveplan_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST
from suaveplan_mcp.framing.sse import encode_event
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, InvalidMessage, Message, Notification, Request, Response
from suaveplan_mcp.protocol.http_binding import status_of
from suaveplan_mcp.transport.asgi import Receive, Send, read_body
from suaveplan_mcp.transport.base import Delivery, Transport, TransportBase, logger
from suaveplan_mcp.transport.event_stream import (
    HIGH_WATER,
    KEEP_ALIVE,
    CallLater,
    EventStream,
    call_later,
    wait_for_disconnect,
)
from suaveplan_mcp.transport.frames import encode_frame
from suaveplan_mcp.transport.media_types import EVENT_STREAM
from suaveplan_mcp.transport.streamable_http.refusals import error_frame, respond_empty, respond_json

Answer: TypeAlias = Callable[[Transport, Message, Delivery], Awaitable[None]]
"""Serves one message in the task that calls it: `MCPServer.answer`."""

_OVERFULL: Final = 4 * HIGH_WATER

# A client that takes no event stream can do without these.
_MISSABLE: Final = frozenset({"notifications/progress", "notifications/message"})

_STOPPED: Final = "the server has given the request up: it is shutting down"
_UNANSWERED: Final = "the request could not be answered"
_NO_STREAM: Final = f"this request is answered with an event stream, but `Accept` rules out {EVENT_STREAM}"


class BodyTooSlowError(Exception):
    """The body of a request did not come in time."""


class ExchangeRules(Struct, frozen=True):
    """What is the same for all exchanges of an application.

    Args:
        keep_alive: seconds of silence after which a stream gets a comment; None sends none.
        call_later: sets timers.
        patience: how often an exchange is looked at before its body, where it is not complete, is too slow.
    """

    keep_alive: float | None = KEEP_ALIVE
    call_later: CallLater = call_later
    patience: int = 600


class HttpExchange(TransportBase):
    """The way back to the sender of one POST. Make it in the task that answers the request.

    Closing it gives the request up; so does its client by going away, and then nothing more is sent.

    Args:
        receive: the application's.
        send: the application's.
        rules: what is the same for all.

    Attributes:
        may_pause: not asked, since nothing is read here.
    """

    __slots__ = (
        "_age",
        "_answered",
        "_cancels",
        "_from_client",
        "_gone",
        "_in_place",
        "_reading",
        "_reply",
        "_rules",
        "_served",
        "_serving",
        "_status",
        "_stream",
        "_takes_stream",
        "_task",
        "_to_client",
        "_watching",
        "_writing",
        "may_pause",
    )

    _task: "asyncio.Task[object]"
    # There is one where there is a stream.
    _writing: "asyncio.Task[None]"

    def __init__(self, receive: Receive, send: Send, rules: ExchangeRules) -> None:
        super().__init__()
        self._from_client = receive
        self._to_client = send
        self._rules = rules
        self._task = cast("asyncio.Task[object]", asyncio.current_task())
        self._age = self._cancels = 0
        self._serving = self._served = self._answered = self._gone = self._takes_stream = self._reading = False
        # Status, error number and text of what is said where there is no answer.
        self._in_place: tuple[int, int, str] | None = None
        self._reply = b""
        self._status = 200
        self._stream: EventStream | None = None
        self._watching: asyncio.Task[None] | None = None
        self.may_pause: Callable[[], bool] = bool

    # What the server says

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message`; what comes after the answer, or after the end, is dropped.

        Args:
            message: what to send.
            delivery: says nothing here, since all belongs to the one request.

        Raises:
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        if self._closed or self._answered:
            return
        if isinstance(message, Response | ErrorResponse):
            frame = encode_frame(message)
            self._answered = True
            if self._stream is not None:
                self._stream.write(encode_event(frame, event="message"))
                return
            self._reply = frame
            if type(message) is ErrorResponse:
                self._status = status_of(message.error.code)
        elif self._takes_stream:
            event = encode_event(encode_frame(message), event="message")
            (self._stream or self._begin_stream()).write(event)
        elif type(message) is not Notification or message.method not in _MISSABLE:
            self._in_place = (406, INVALID_REQUEST, _NO_STREAM)
            # Not at once: it is the server that is speaking now.
            self._task.get_loop().call_soon(self._give_up)

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message`, and wait while the client leaves too much unread.

        Args:
            message: what to send.
            delivery: as for `post`.

        Raises:
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        self.post(message)
        await self.drained()

    @property
    def congested(self) -> bool:
        """Whether the client leaves so much unread that what can wait should."""
        return self._stream is not None and self._stream.unsent > HIGH_WATER

    @property
    def overfull(self) -> bool:
        """Whether it leaves so much unread that what can be missed should be left out."""
        return self._stream is not None and self._stream.unsent > _OVERFULL

    async def drained(self) -> None:
        """Wait until it is not congested any more, or closed."""
        if self._stream is not None:
            await self._stream.drain()

    async def close(self) -> None:
        """Give the request up; its client is told where it still can be."""
        self._in_place = (503, INTERNAL_ERROR, _STOPPED)
        self._give_up()

    # What the application does with it, in its task

    async def read_body(self, headers: Mapping[str, str], limit: int) -> bytes:
        """Return the body.

        Args:
            headers: the request's.
            limit: the most bytes that are kept.

        Raises:
            BodyTooLargeError: it is longer than that.
            BodyCutOffError: the client went away.
            BodyTooSlowError: it did not come in time.
        """
        self._age, self._reading = 0, True
        try:
            return await read_body(self._from_client, headers, limit)
        except asyncio.CancelledError:
            if self._take_back():
                raise
            raise BodyTooSlowError from None
        finally:
            self._reading = False

    async def serve(self, answer: Answer, message: Message, delivery: Delivery, *, takes_stream: bool) -> None:
        """Let a message be answered, and send the answer.

        Args:
            answer: serves the message.
            message: what came.
            delivery: its headers, and who sent it.
            takes_stream: whether the client takes an event stream in place of an answer in JSON.

        Raises:
            CancelledError: the task was cancelled by somebody else than this exchange.
        """
        self._takes_stream = takes_stream and type(message) is Request
        self._serving = True
        try:
            try:
                await answer(self, message, delivery)
            except asyncio.CancelledError:
                if self._take_back():
                    raise
            except Exception as error:
                logger.error("a request could not be served: %r", error)
            self._served = True
            self._take_back()
            if not self._gone:
                await self._conclude(message)
        finally:
            self._served = True
            await self._let_go()

    # What happens meanwhile

    def look_after(self) -> bool:
        """Do what a request needs that takes long: called now and then until it returns True.

        Until then it costs neither a timer nor a task of its own, and most requests are over long before.
        """
        self._age += 1
        if self._age == 1:
            return False
        if self._serving:
            self._watch()
            return True
        if not self._reading or self._age <= self._rules.patience:
            return False
        self._cancel()
        return True

    def abort(self) -> None:
        """Send nothing more."""
        self._gone = True
        if self._stream is not None:
            self._writing.cancel()
        self._give_up()

    def _begin_stream(self) -> EventStream:
        rules = self._rules
        stream = self._stream = EventStream(keep_alive=rules.keep_alive, call_later=rules.call_later)
        self._writing = stream.begin(self._to_client)
        self._writing.add_done_callback(self._note_break)
        self._watch()
        return stream

    def _watch(self) -> None:
        """Notice from now on when the client goes away."""
        if self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(wait_for_disconnect(self._from_client))
            self._watching.add_done_callback(self._note_departure)

    def _note_departure(self, watching: "asyncio.Task[None]") -> None:
        error = None if watching.cancelled() else watching.exception()
        # A web server says this as well when it has sent the whole response.
        over = self._served if self._stream is None else self._writing.done()
        if not over and not watching.cancelled():
            logger.debug("a client went away before its request was answered: %r", error)
            self.abort()

    def _note_break(self, writing: "asyncio.Task[None]") -> None:
        if not writing.cancelled() and (error := writing.exception()) is not None:
            logger.debug("an event stream broke off: %r", error)
            self.abort()

    def _give_up(self) -> None:
        """Stop what serves the request."""
        if self._closed or self._served:
            return
        before = self._task.cancelling()
        heard = bool(self._close_handlers)
        self._finish()
        # Whoever serves it has heard of the end, and cancels the task where that is due.
        self._cancels += self._task.cancelling() - before
        if not heard:
            self._cancel()

    def _cancel(self) -> None:
        self._cancels += 1
        self._task.cancel()

    def _take_back(self) -> bool:
        """Take back the cancellations that this exchange caused; return whether somebody else cancelled the task."""
        for _ in range(self._cancels):
            self._task.uncancel()
        self._cancels = 0
        return self._task.cancelling() > 0

    async def _conclude(self, message: Message) -> None:
        """Send the answer, or what there is to say in its place."""
        stream = self._stream
        if stream is not None:
            if not self._answered:
                stream.write(encode_event(self._missing_answer(message), event="message"))
            stream.end()
            await asyncio.wait((self._writing,))
        elif not self._answered and type(message) is Notification and self._in_place is None:
            await respond_empty(self._to_client, 202)
        else:
            reply = self._reply if self._answered else self._missing_answer(message)
            await respond_json(self._to_client, self._status, reply)

    def _missing_answer(self, message: Message) -> bytes:
        """Return what is said where the server gave no answer, and note its status."""
        if type(message) is InvalidMessage:
            self._status = 400
            return error_frame(message.number, message.reason, UNSET if message.id is None else message.id)
        self._status, number, text = self._in_place or (500, INTERNAL_ERROR, _UNANSWERED)
        return error_frame(number, text, message.id if type(message) is Request else UNSET)

    async def _let_go(self) -> None:
        """Leave nothing behind that goes on."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
        if self._stream is not None:
            await self._stream.finish(self._writing)
