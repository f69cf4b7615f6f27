"""A transport that keeps a copy of everything that passes through it."""

from collections.abc import Callable
from functools import partial

from msgspec import UNSET
from msgspec.json import decode
from msgspec.structs import replace

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Payload,
    Request,
    Response,
)
from suaveplan_mcp.transport.base import (
    Begin,
    Delivery,
    Post,
    Transport,
    TransportBase,
    find_begin,
    find_failure,
    find_post,
    is_in_process,
)
from suaveplan_mcp.transport.frames import to_message

_Single = Request | Notification | Response | ErrorResponse | InvalidMessage


class RecordingTransport(TransportBase):
    """Wrap any transport and note what crosses it, without changing it.

    Use it to assert on the wire itself: `recording.sent[0].params["name"]`. Deliveries, failures and the end of the
    stream pass through. Where the wrapped transport has no `post`, `post` is None here, and likewise `begin`.

    Args:
        inner: the transport to wrap; nothing else should listen to it.

    Attributes:
        sent: the messages given to `inner`, oldest first, with params, results and error data as plain JSON values. One
            that `inner` refused is not in it.
        received: the messages `inner` delivered, in the same form.
    """

    def __init__(self, inner: Transport) -> None:
        super().__init__()
        self.inner = inner
        self.in_process = is_in_process(inner)
        self.sent: list[Message] = []
        self.received: list[Message] = []
        inner_post = find_post(inner)
        self.post: Post | None = None if inner_post is None else partial(self._post, inner_post)
        inner_begin = find_begin(inner)
        self.begin: Begin | None = None if inner_begin is None else partial(self._begin, inner_begin)
        self._reading = False
        inner.on_close(self._inner_closed)

    @property
    def closed(self) -> bool:
        """Whether the wrapped transport is closed."""
        return self.inner.closed

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Note `message` and send it.

        Raises:
            MCPTransportError: as the wrapped transport raises it.
            MCPProtocolError: `PROTOCOL_INVALID`, it is no message, nor a dict with the members of one.
        """
        message = to_message(message)
        record = self._record_sent(message)
        try:
            await self.inner.send(message, delivery=delivery)
        except BaseException:
            self._forget_sent(record)
            raise

    async def close(self) -> None:
        """Close the wrapped transport."""
        await self.inner.close()
        self._finish()

    def _post(self, inner_post: Post, message: Message, *, delivery: Delivery | None = None) -> None:
        message = to_message(message)
        record = self._record_sent(message)
        try:
            inner_post(message, delivery=delivery)
        except BaseException:
            self._forget_sent(record)
            raise

    def _begin(
        self,
        inner_begin: Begin,
        message: Message,
        *,
        delivery: Delivery | None = None,
        failed: Callable[[MCPError], object],
    ) -> None:
        try:
            message = to_message(message)
        except MCPError as error:
            failed(error)
            return
        record = self._record_sent(message)
        refused = True

        def fail(error: MCPError) -> None:
            # What fails later was on its way.
            if refused:
                self._forget_sent(record)
            failed(error)

        inner_begin(message, delivery=delivery, failed=fail)
        refused = False

    def _record_sent(self, message: Message) -> Message:
        # Before it is sent: in memory the answer is here before `post` returns.
        record = copy_message(message)
        self.sent.append(record)
        return record

    def _forget_sent(self, record: Message) -> None:
        self.sent[:] = [message for message in self.sent if message is not record]

    def _start_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self.inner.on_message(self._inner_delivered)

    def _inner_delivered(self, message: Message, delivery: Delivery | None = None) -> None:
        self.received.append(copy_message(message))
        self._receive(message, delivery)

    def _inner_closed(self) -> None:
        self.failure = find_failure(self.inner)
        self._end()


def copy_message(message: Message) -> Message:
    """Return a copy of `message` with params, result or error data as the plain JSON values a peer would decode."""
    if isinstance(message, Batch):
        return Batch(tuple(_copy_single(member) for member in message.messages))
    return _copy_single(message)


def _copy_single(message: _Single) -> _Single:
    match message:
        case Request() | Notification():
            return replace(message, params=_plain(message.params))
        case Response():
            return replace(message, result=_plain(message.result))
        case ErrorResponse():
            return replace(message, error=replace(message.error, data=_plain(message.error.data)))
        case _:
            return message


def _plain(value: Payload) -> Payload:
    if value is UNSET:
        return UNSET
    try:
        return decode(encode(value))
    except TypeError:
        # In memory it passes as the object it is; what becomes of it is for the receiver to say.
        return value
