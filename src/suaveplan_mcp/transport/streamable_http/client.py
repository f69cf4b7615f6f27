"""The client's side of Streamable HTTP: every message is a POST, and its answer comes back on it.

Spec: basic/transports/streamable-http
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from msgspec import DecodeError, Struct, ValidationError, field
from msgspec.json import decode

from suaveplan_mcp.errors import INVALID_REQUEST, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import (
    InvalidMessage,
    Message,
    Notification,
    Payload,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.protocol.era import CANCELLED
from suaveplan_mcp.protocol.handshake import INITIALIZE
from suaveplan_mcp.protocol.http_binding import (
    METHOD,
    NAME,
    PROTOCOL_VERSION,
    SESSION_ID,
    request_headers,
    revision_of,
)
from suaveplan_mcp.transport.base import Delivery, logger
from suaveplan_mcp.transport.closing import ClosingTransport, transport_error
from suaveplan_mcp.transport.frames import check_limit, encode_frame
from suaveplan_mcp.transport.http_sse import address_of, settled
from suaveplan_mcp.transport.media_types import EVENT_STREAM, JSON
from suaveplan_mcp.transport.stdio import CLOSE_TIMEOUT, MAX_FRAME_BYTES
from suaveplan_mcp.transport.streamable_http.reply import AnswerReader, Reply, StreamedResponse, describe
from suaveplan_mcp.types.cancellation import CancelledNotificationParams

_FIXED: Final[Mapping[str, str]] = {"content-type": JSON, "accept": f"{JSON}, {EVENT_STREAM}"}
_BINDING: Final = frozenset({PROTOCOL_VERSION, METHOD, NAME, SESSION_ID})
"""The headers that say what the body says, so that nobody else may set them."""

_OK: Final = 200
_TAKEN: Final = range(200, 300)

Failed = Callable[[MCPError], object]


class StreamingFetch(Protocol):
    """Make one HTTP request."""

    def __call__(
        self, url: str, *, method: str, headers: Mapping[str, str], body: bytes
    ) -> StreamedResponse | Awaitable[StreamedResponse]:
        """Return the response, of any status, as soon as its headers are there; raise when there is none.

        What it returns is awaited where it can be. When that is cancelled, the connection is to be closed.
        """
        ...


class _Initialized(Struct):
    """What is read of the result of `initialize`."""

    revision: str = field(name="protocolVersion")


class _Session:
    """What every message of the handshake era carries once a server has said so.

    Attributes:
        headers: what goes out; nothing before the handshake.
    """

    __slots__ = ("headers",)

    def __init__(self) -> None:
        self.headers: Mapping[str, str] = {}

    def forget(self) -> None:
        """Forget it all, because a handshake begins."""
        self.headers = {}

    def begin(self, result: Payload, session_id: str) -> None:
        """Take note of what came of a handshake."""
        try:
            revision = decode(encode(result), type=_Initialized).revision
        except (DecodeError, TypeError):
            # Whoever asked will say what is wrong with it.
            return
        self.headers = {PROTOCOL_VERSION: revision} | ({SESSION_ID: session_id} if session_id else {})


class _Post:
    """One message on its way, and what comes back for it.

    Args:
        message: the message.
        stateless: whether it is of the era in which it stands for itself.
        failed: takes what went wrong with it.
        taken: done when the server has taken it, where somebody waits for that.

    Attributes:
        task: what carries it.
        over: whether nothing more is expected: it was answered, has failed or was given up.
    """

    __slots__ = ("failed", "message", "over", "stateless", "taken", "task")

    task: "asyncio.Task[None]"

    def __init__(
        self, message: Message, *, stateless: bool, failed: Failed, taken: "asyncio.Future[None] | None"
    ) -> None:
        self.message = message
        self.stateless = stateless
        self.failed = failed
        self.taken = taken
        self.over = False

    def settle(self, error: MCPError | None = None) -> None:
        """Wake whoever waits for the message to be taken; only the first time counts."""
        if self.taken is None or self.taken.done():
            return
        if error is None:
            self.taken.set_result(None)
        else:
            self.taken.set_exception(error)


class StreamableHttpTransport(ClosingTransport):
    """Messages as POSTs, each with an answer of its own; make it with `create_streamable_http_transport`."""

    __slots__ = ("_address", "_endpoint", "_fetch", "_in_flight", "_max_frame_bytes", "_posts", "_session")

    def __init__(
        self, endpoint: str, fetch_impl: StreamingFetch, *, max_frame_bytes: int, close_timeout: float
    ) -> None:
        """Make the transport; use `create_streamable_http_transport`."""
        super().__init__(close_timeout)
        self._endpoint = endpoint
        self._address = address_of(endpoint)
        self._fetch = fetch_impl
        self._max_frame_bytes = check_limit(max_frame_bytes)
        self._session = _Session()
        self._posts: set[_Post] = set()
        # The requests whose answer has not come.
        self._in_flight: dict[RequestId, _Post] = {}

    def begin(self, message: Message, *, delivery: Delivery | None = None, failed: Failed) -> None:
        """Start to POST `message` and return; its answer is handed on when it comes.

        A `notifications/cancelled` that names a request of the stateless era closes that one's answer instead.

        Args:
            message: what to send.
            delivery: its headers go out with the POST.
            failed: called once, now or later, with what went wrong with it, or with the answer it waits for: a
                `TRANSPORT_ERROR` has the `status`, where there was one, in its `context`.
        """
        if self._closed:
            failed(self._refusal())
            return
        try:
            self._start(message, delivery, failed, None)
        except MCPError as error:
            failed(error)

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """POST `message` and wait until the server has taken it; see `begin`.

        What goes wrong with the answer to a request after that is handed on as an `InvalidMessage` with its id.

        Args:
            message: what to send.
            delivery: its headers go out with the POST.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed; `TRANSPORT_ERROR`, there was no answer, or
                one that refuses the message or cannot be used: `context` has its `status`.
            MCPProtocolError: the message has no JSON form; nothing was sent.
            MCPError: `INVALID_PARAMS`, what it is about cannot be written into a header; nothing was sent.
        """
        if self._closed:
            raise self._refusal()
        taken = asyncio.get_running_loop().create_future()

        def fail(error: MCPError) -> None:
            if isinstance(message, Request):
                self._receive(InvalidMessage(INVALID_REQUEST, error.message, message.id, answers=True))

        self._start(message, delivery, fail, taken)
        await taken

    def _start(
        self, message: Message, delivery: Delivery | None, failed: Failed, taken: "asyncio.Future[None] | None"
    ) -> None:
        revision = revision_of(message)
        post = _Post(message, stateless=revision is not None, failed=failed, taken=taken)
        if isinstance(message, Notification) and message.method == CANCELLED and self._give_up(message):
            post.settle()
            return
        headers = self._headers_of(message, revision, delivery)
        frame = encode_frame(message)
        self._posts.add(post)
        if isinstance(message, Request):
            self._in_flight[message.id] = post
        post.task = asyncio.get_running_loop().create_task(self._carry(post, frame, headers))
        # Not the task's own business: one that is cancelled before it starts never runs.
        post.task.add_done_callback(lambda _: self._let_go(post))

    def _headers_of(self, message: Message, revision: str | None, delivery: Delivery | None) -> dict[str, str]:
        """Return what goes out with a message; the caller's own headers may not contradict the body."""
        own = {} if delivery is None else {name.lower(): value for name, value in delivery.headers.items()}
        if revision is not None and isinstance(message, Request | Notification):
            binding: Mapping[str, str] = request_headers(message, revision)
        else:
            if isinstance(message, Request) and message.method == INITIALIZE:
                self._session.forget()
            binding = self._session.headers
        return {name: value for name, value in own.items() if name not in _BINDING} | {**binding, **_FIXED}

    def _give_up(self, notice: Notification) -> bool:
        """Close the answer to the request that is no longer wanted, and tell whether that is all there is to do.

        Spec: basic/patterns/cancellation, Transport-Specific Cancellation
        """
        try:
            id_ = decode(encode(notice.params), type=CancelledNotificationParams).request_id
        except (ValidationError, TypeError):
            return False
        post = None if id_ is None else self._in_flight.get(id_)
        if post is None:
            # Where there has been no handshake, servers are told in no other way.
            return not self._session.headers
        self._end_post(post)
        post.task.cancel()
        return post.stateless

    async def _carry(self, post: _Post, frame: bytes, headers: Mapping[str, str]) -> None:
        """POST a message and read what comes back."""
        name = _name(post.message)
        try:
            response = await settled(self._fetch(self._endpoint, method="POST", headers=headers, body=frame))
            reply = Reply(response, f"the answer of {self._address} to {name}")
        except Exception as error:
            self._fail_post(post, self._unanswered(name, error))
            return
        try:
            await self._read(post, reply)
        except MCPTransportError as error:
            self._fail_post(post, error)
        else:
            await self._read_on(post, reply)
        finally:
            await reply.close()

    async def _read(self, post: _Post, reply: Reply) -> None:
        """Read what comes back for a message, until nothing more is expected."""
        if isinstance(post.message, Request):
            await self._read_answer(post, post.message, reply)
        elif reply.status not in _TAKEN:
            raise reply.refused(await reply.read(self._max_frame_bytes))
        self._end_post(post)
        post.settle()

    async def _read_answer(self, post: _Post, request: Request, reply: Reply) -> None:
        if reply.status == _OK:
            post.settle()
        delivery = Delivery(related_request=request.id)
        reader = AnswerReader(
            request,
            self._max_frame_bytes,
            lambda message: self._receive(message, delivery),
            stateless=post.stateless,
        )
        answer = await reader.read(reply)
        # Before it is handed on: who hears of it may well give up what is in flight, or use the id again.
        self._end_post(post)
        if request.method == INITIALIZE and isinstance(answer, Response):
            self._session.begin(answer.result, reply.header(SESSION_ID))
        self._receive(answer, delivery)

    async def _read_on(self, post: _Post, reply: Reply) -> None:
        """Read on to the end, for a while: a connection is only used again once it has no more to say."""
        timer = asyncio.get_running_loop().call_later(self._close_timeout, post.task.cancel)
        try:
            await reply.drain()
        except MCPTransportError as error:
            logger.debug("after the answer: %s", error)
        finally:
            timer.cancel()

    def _end_post(self, post: _Post) -> None:
        """Take note that nothing more is expected for a message."""
        post.over = True
        message = post.message
        if isinstance(message, Request) and self._in_flight.get(message.id) is post:
            del self._in_flight[message.id]

    def _fail_post(self, post: _Post, error: MCPError) -> None:
        self._end_post(post)
        if post.taken is None or post.taken.done():
            post.failed(error)
        else:
            post.settle(error)

    def _let_go(self, post: _Post) -> None:
        self._posts.discard(post)
        if post.over:
            post.settle()
        elif self._closed:
            self._end_post(post)
            post.settle(self._refusal())
        else:
            # By whoever makes the requests, since it was not done here.
            self._fail_post(post, self._unanswered(_name(post.message), asyncio.CancelledError()))

    def _unanswered(self, name: str, error: BaseException) -> MCPTransportError:
        """Return the error for a message to which nothing came back at all."""
        text = f"the POST of {name} to {self._address} failed: {describe(error)}".replace(self._endpoint, self._address)
        failure = transport_error(text, error)
        if isinstance(error, MCPError):
            failure.context.update(error.context)
        return failure

    async def _clean_up(self) -> None:
        for post in self._posts:
            if post.over or isinstance(post.message, Request):
                post.task.cancel()
        # What needs no answer was given to be sent.
        await self._wait_for_posts()
        for post in self._posts:
            post.task.cancel()
        await self._wait_for_posts()

    async def _wait_for_posts(self) -> None:
        if self._posts:
            ended = _ended([post.task for post in self._posts])
            await self._within_timeout(asyncio.get_running_loop().create_task(ended))


async def _ended(tasks: "list[asyncio.Task[None]]") -> None:
    await asyncio.wait(tasks)


def _name(message: Message) -> str:
    return message.method if isinstance(message, Request | Notification) else "a request of its own"


def create_streamable_http_transport(
    *,
    endpoint: str,
    fetch_impl: StreamingFetch,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    close_timeout: float = CLOSE_TIMEOUT,
) -> StreamableHttpTransport:
    """Make the client's side of Streamable HTTP.

    Nothing is opened before the first message. Each message goes out at once, on its own, and fails alone: an error of
    one leaves the others and the transport as they are.

    Args:
        endpoint: the URL of the server.
        fetch_impl: makes the POSTs; see `StreamingFetch`. Credentials are its business.
        max_frame_bytes: the largest message that is read; a request whose answer is larger fails.
        close_timeout: seconds that sending what needs no answer may take at the close, and that an answered POST may
            take to end so that its connection can be used again.

    Returns:
        The transport.

    Raises:
        ValueError: the endpoint is no URL, or the limit is too small for any message.
    """
    return StreamableHttpTransport(endpoint, fetch_impl, max_frame_bytes=max_frame_bytes, close_timeout=close_timeout)
