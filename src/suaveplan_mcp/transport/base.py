"""What every transport promises, and the receiving half that ours share."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from msgspec import Struct

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message, RequestId

logger: Final = logging.getLogger("suaveplan_mcp.transport")

Unsubscribe: TypeAlias = Callable[[], None]
"""Takes one handler away again; calling it more than once does nothing more."""

MessageHandler: TypeAlias = Callable[..., object]
"""A plain function called as `handler(message)`, or as `handler(message, delivery)` where there is a `Delivery`."""

CloseHandler: TypeAlias = Callable[[], object]
"""A plain function called once, without arguments, when the transport has closed."""

_Handler = TypeVar("_Handler", bound=Callable[..., object])

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Delivery(Struct, frozen=True):
    """What is known about one message beside its content.

    Args:
        related_request: outgoing, the peer's request this message belongs to, so that it takes the same stream;
            incoming, our request whose stream it came on.
        headers: the HTTP headers it goes out or came in with; names of incoming ones are lower case.
        principal: who sent it, as the authorizer in front of the transport established.
    """

    related_request: RequestId | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    principal: object | None = None


class Post(Protocol):
    """Queue a message and return at once."""

    def __call__(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message`.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed.
        """
        ...


class Begin(Protocol):
    """Start to send a message, and return at once."""

    def __call__(
        self, message: Message, *, delivery: Delivery | None = None, failed: Callable[[MCPError], object]
    ) -> None:
        """Start to send `message`.

        Args:
            message: what to send.
            delivery: what is known about it beside.
            failed: called once, now or later, with what went wrong with it or with the answer it waits for; never once
                the answer has arrived.
        """
        ...


class Paced(Protocol):
    """What a transport also has that knows how much the peer has left unread.

    Attributes:
        may_pause: asked while it is congested, whether it may read no further until it is not; its user sets it. A peer
            that floods us must not fill the memory with answers, but one that owes us answers must be heard.
    """

    may_pause: Callable[[], bool]

    @property
    def congested(self) -> bool:
        """Whether so much is unwritten that what can wait should."""
        ...

    @property
    def overfull(self) -> bool:
        """Whether so much is unwritten that what can be missed should be left out."""
        ...

    async def drained(self) -> None:
        """Wait until it is not congested any more, or closed; never raises for what the transport meets."""
        ...


@runtime_checkable
class Transport(Protocol):
    """A way to one peer.

    A transport may also have a method `post` (see `Post`), or one `begin` (see `Begin`) where each message goes its own
    way and fails alone; an attribute `failure: MCPTransportError | None` that says
    why it ended when that was no orderly close, and what makes it `Paced`; its user asks with `find_post`,
    `find_begin`, `find_failure` and `find_paced`.
    """

    @property
    def closed(self) -> bool:
        """Whether it has been closed, from either side."""
        ...

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Send one message; return when it is on its way.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED` after the close; `TRANSPORT_ERROR` when the write failed.
        """
        ...

    def on_message(self, handler: MessageHandler) -> Unsubscribe:
        """Call `handler` with every message that arrives; reading starts with the first handler."""
        ...

    def on_close(self, handler: CloseHandler) -> Unsubscribe:
        """Call `handler` once when the transport has closed, from either side; soon, if it already has."""
        ...

    async def close(self) -> None:
        """Close it, from any task; a second call does nothing."""
        ...


def find_post(transport: Transport) -> Post | None:
    """Return the transport's `post`, or None where it can only `send`."""
    return cast("Post | None", getattr(transport, "post", None))


def find_begin(transport: Transport) -> Begin | None:
    """Return the transport's `begin`, or None where its messages go one after the other."""
    return cast("Begin | None", getattr(transport, "begin", None))


def is_in_process(transport: Transport) -> bool:
    """Tell whether both ends of the transport are in this process, so that what one end counts is counted."""
    return cast("bool", getattr(transport, "in_process", False))


def find_failure(transport: Transport) -> MCPTransportError | None:
    """Return why the transport ended, or None where it is open, ended in order or cannot tell."""
    return cast("MCPTransportError | None", getattr(transport, "failure", None))


def find_paced(transport: Transport) -> Paced | None:
    """Return the transport as one that knows how much is unread, or None where it cannot tell."""
    return cast("Paced", transport) if hasattr(transport, "congested") else None


class TransportBase:
    """The receiving half of a transport: handlers, the order of delivery, and the end.

    Messages are handed on one at a time, in order: one that arrives while another is being handed on waits for its
    turn, and one that arrives while there is no handler waits for a handler.
    """

    __slots__ = ("_close_handlers", "_closed", "_delivering", "_ended", "_handlers", "_inbox", "failure")

    def __init__(self) -> None:
        self._handlers: tuple[MessageHandler, ...] = ()
        self._close_handlers: tuple[CloseHandler, ...] = ()
        # A deque takes more memory than the rest of an idle transport, and most never need one.
        self._inbox: deque[tuple[Message, Delivery | None]] | tuple[()] = ()
        self._delivering = False
        self._ended = False
        self._closed = False
        self.failure: MCPTransportError | None = None

    @property
    def closed(self) -> bool:
        """Whether it has been closed, from either side."""
        return self._closed

    def on_message(self, handler: MessageHandler) -> Unsubscribe:
        """Call `handler` with every message that arrives.

        Args:
            handler: called as `handler(message)`, or `handler(message, delivery)` where there is a delivery. It must
                not block; what it raises is logged and goes no further.

        Returns:
            A function that takes the handler away. Messages wait while there is none.
        """
        self._handlers += (handler,)
        if self._inbox and not self._delivering:
            # Not at once: the subscriber may still be setting up what the handler needs.
            self._delivering = True
            asyncio.get_running_loop().call_soon(self._drain)
        self._start_reading()
        subscribed = True

        def unsubscribe() -> None:
            nonlocal subscribed
            if subscribed:
                subscribed = False
                self._handlers = _without(self._handlers, handler)

        return unsubscribe

    def on_close(self, handler: CloseHandler) -> Unsubscribe:
        """Call `handler` once, without arguments, when the transport has closed.

        Args:
            handler: called soon if the transport is closed already. What it raises is logged and goes no further.

        Returns:
            A function that takes the handler away.
        """
        if self._closed:
            return asyncio.get_running_loop().call_soon(_call, handler).cancel
        self._close_handlers += (handler,)
        subscribed = True

        def unsubscribe() -> None:
            nonlocal subscribed
            if subscribed:
                subscribed = False
                self._close_handlers = _without(self._close_handlers, handler)

        return unsubscribe

    def _start_reading(self) -> None:
        """Begin to read, where that takes anything; called with every new handler."""

    def _receive(self, message: Message, delivery: Delivery | None = None) -> None:
        """Hand a message that has arrived to the handlers, when its turn comes."""
        if self._delivering or self._inbox or not self._handlers:
            if self._closed:
                return
            self._inbox = self._inbox or deque()
            self._inbox.append((message, delivery))
            if not self._delivering:
                self._drain()
            return
        self._delivering = True
        try:
            self._hand_on(message, delivery)
        finally:
            self._delivering = False
        if self._inbox or self._ended:
            self._drain()

    def _hand_on(self, message: Message, delivery: Delivery | None) -> None:
        for handler in self._handlers:
            try:
                if delivery is None:
                    handler(message)
                else:
                    handler(message, delivery)
            except Exception as error:
                _report(error)

    def _drain(self) -> None:
        """Hand on what waits; end, if that was promised for when nothing waits any more."""
        self._delivering = True
        try:
            while self._inbox and self._handlers:
                self._hand_on(*self._inbox.popleft())
        finally:
            self._delivering = False
        if self._ended and not self._inbox:
            self._finish()

    def _end(self) -> None:
        """Take note that nothing more will arrive; close as soon as what has arrived is handed on."""
        self._ended = True
        if not self._delivering:
            self._drain()

    def _finish(self) -> None:
        """Be closed from now on, and tell so once."""
        if self._closed:
            return
        self._ended = self._closed = True
        self._inbox = ()
        self._handlers = ()
        handlers, self._close_handlers = self._close_handlers, ()
        for handler in handlers:
            _call(handler)

    def _refusal(self) -> MCPTransportError:
        """Return the error of sending after the end, which says why it ended where that was no orderly close."""
        reason = "" if self.failure is None else f": {self.failure.message}"
        return MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, f"the transport is closed{reason}", cause=self.failure)


def _without(handlers: tuple[_Handler, ...], handler: _Handler) -> tuple[_Handler, ...]:
    kept = list(handlers)
    # It is gone already where the transport has closed.
    if handler in kept:
        kept.remove(handler)
    return tuple(kept)


def _call(handler: CloseHandler) -> None:
    try:
        handler()
    except Exception as error:
        _report(error)


def _report(error: Exception) -> None:
    logger.error("a handler of the transport raised %r", error)
