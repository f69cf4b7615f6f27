"""The way out: messages to the transport, in order, whether or not it can take one without waiting."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.transport.base import Delivery, Paced, Transport, find_begin, find_failure, find_paced, find_post

Failed = Callable[[MCPError], object]
"""Takes the error that kept a message from going out; it is `MCPProtocolError` where the message is no JSON."""


class Outbox:
    """Sends messages over one transport, in the order they were given.

    A transport with `post` takes them at once, and one with `begin` lets each go its own way. For one that can only
    `send`, a single task sends them one by one, and lives only while there is something to send.

    Args:
        transport: the way to the peer.
        context: of the connection; what works for it runs in copies of this.

    Attributes:
        open: whether the connection is; its owner says when it is over.
        paced: the transport, where it knows how much the peer has left unread.
        sender: the task that sends, while there is one.
    """

    __slots__ = ("_begin", "_post", "_queue", "_transport", "context", "open", "paced", "sender")

    # Made for each task that sends: most transports can post, and need none.
    _queue: "deque[tuple[Message, Delivery | None, asyncio.Future[None]]]"

    def __init__(self, transport: Transport, context: Context) -> None:
        self._transport = transport
        self._post = find_post(transport)
        self._begin = None if self._post is not None else find_begin(transport)
        self.paced = find_paced(transport)
        # The first sender must not lend its context to everything that is sent later.
        self.context = context
        self.open = True
        self.sender: asyncio.Task[None] | None = None

    @property
    def has_ways(self) -> bool:
        """Whether the transport lets each message go its own way."""
        return self._begin is not None

    def require_open(self) -> None:
        """Make sure that the connection is open.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`.
        """
        if not self.open:
            raise self.closed_error("the connection is closed")

    def closed_error(self, text: str) -> MCPTransportError:
        """Return the error for what can go no further; why the transport ended, where it knows, is its cause."""
        failure = find_failure(self._transport)
        if failure is not None:
            text = f"{text}: {failure.message}"
        return MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, text, cause=failure)

    def post(self, message: Message, delivery: Delivery | None, failed: Failed) -> None:
        """Queue a message and return.

        Args:
            message: what to send.
            delivery: what the transport shall know about it.
            failed: called, now or later, with the error that kept it from going out.
        """
        if self._post is not None:
            try:
                self._post(message, delivery=delivery)
            except Exception as error:
                failed(as_sending_error(error))
            return
        if self._begin is not None:
            self._begin(message, delivery=delivery, failed=lambda error: failed(as_sending_error(error)))
            return
        self._enqueue(message, delivery).add_done_callback(lambda sent: _tell(sent, failed))

    async def send(self, message: Message, delivery: Delivery | None) -> None:
        """Send a message and wait until the transport has taken it, which may take as long as the peer does.

        Raises:
            MCPTransportError: it could not be sent.
            MCPProtocolError: it holds what is no JSON.
        """
        if self._post is None and self._begin is None:
            await self._enqueue(message, delivery)
            return
        try:
            await self._transport.send(message, delivery=delivery)
        except Exception as error:
            raise as_sending_error(error) from error

    def _enqueue(self, message: Message, delivery: Delivery | None) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        sent = loop.create_future()
        if self.sender is None:
            self._queue = deque()
            self.sender = loop.create_task(self._send_queued(), context=self.context.copy())
        self._queue.append((message, delivery, sent))
        return sent

    async def _send_queued(self) -> None:
        try:
            while self._queue:
                message, delivery, sent = self._queue.popleft()
                try:
                    await self._transport.send(message, delivery=delivery)
                except Exception as error:
                    _settle(sent, as_sending_error(error))
                except BaseException as error:
                    self._drop(sent, as_sending_error(error))
                    raise
                else:
                    _settle(sent, None)
        finally:
            self.sender = None

    def _drop(self, sent: "asyncio.Future[None]", error: MCPError) -> None:
        """Wake those who wait for what will not be sent any more."""
        unsent = [sent, *(waiting for _, _, waiting in self._queue)]
        self._queue.clear()
        for waiting in unsent:
            _settle(waiting, error)


async def wait_for_room(paced: Paced) -> None:
    """Wait until the peer has read enough of what was sent, or the transport is closed."""
    while paced.congested:
        await paced.drained()


def as_sending_error(error: BaseException) -> MCPError:
    """Return what a transport raised as the error callers expect."""
    if isinstance(error, MCPTransportError | MCPProtocolError):
        return error
    return MCPTransportError(MCP_CODES.TRANSPORT_ERROR, f"the transport could not send: {error!r}", cause=error)


def _settle(sent: "asyncio.Future[None]", error: MCPError | None) -> None:
    # The task that waited may have been cancelled meanwhile.
    if sent.done():
        return
    if error is None:
        sent.set_result(None)
    else:
        sent.set_exception(error)


def _tell(sent: "asyncio.Future[None]", failed: Failed) -> None:
    error = sent.exception()
    if isinstance(error, MCPError):
        failed(error)
