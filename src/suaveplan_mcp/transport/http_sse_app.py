"""The server's side of HTTP+SSE as an ASGI application: one event stream for each client, and POSTs to it.

Spec: basic, transports, HTTP with SSE
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypedDict
from urllib.parse import quote

from suaveplan_mcp.framing.sse import encode_event
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.transport.asgi import (
    BodyCutOffError,
    BodyTooLargeError,
    HttpRequest,
    Receive,
    Scope,
    Send,
    answer_lifespan,
    read_body,
    read_request,
    respond,
)
from suaveplan_mcp.transport.base import Delivery, Transport, logger
from suaveplan_mcp.transport.closing import ClosingTransport, transport_error
from suaveplan_mcp.transport.event_stream import KEEP_ALIVE, CallLater, EventStream, call_later
from suaveplan_mcp.transport.frames import decode_frame, encode_frame
from suaveplan_mcp.transport.http_guard import HttpGuard
from suaveplan_mcp.transport.media_types import EVENT_STREAM, JSON, is_acceptable, media_type_of
from suaveplan_mcp.transport.stdio import MAX_FRAME_BYTES

CLOSE_TIMEOUT: Final = 1.0

MAX_UNSENT_BYTES: Final = MAX_FRAME_BYTES
"""How much may wait for a client that does not read before it is given up."""

_NO_SESSION: Final = "there is no such session; open the event stream and post to the URL it names"

Attach = Callable[[Transport], Awaitable[object]]
"""Takes the transport of a new client and serves it."""


class SseAppOptions(TypedDict, total=False):
    """What may be said about an application beside its paths.

    Args:
        allowed_hosts: the names of the server; see `HttpGuard`.
        allowed_origins: web pages that may use it; see `HttpGuard`.
        max_body_bytes: the longest message that is taken.
        keep_alive: seconds of silence after which a stream gets a comment; None sends none.
    """

    allowed_hosts: Collection[str] | None
    allowed_origins: Collection[str]
    max_body_bytes: int
    keep_alive: float | None


class HttpSseSession(ClosingTransport):
    """The way to one client: its event stream out, its POSTs in."""

    __slots__ = ("_stream",)

    def __init__(self, stream: EventStream, close_timeout: float) -> None:
        super().__init__(close_timeout)
        self._stream = stream

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message` on the event stream.

        Args:
            message: what to send.
            delivery: says nothing here, since there is only one stream.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed; `TRANSPORT_ERROR`, the client has not read
                its stream for so long that it is given up.
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        if self._ended:
            raise self._refusal()
        self._stream.write(encode_event(encode_frame(message), event="message"))
        if self._stream.unsent > MAX_UNSENT_BYTES:
            self._stream.abort()
            raise self._fail(transport_error(f"the client does not read: {self._stream.unsent} bytes wait for it"))

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message` on the event stream, and wait while too much is unsent.

        Args:
            message: what to send.
            delivery: says nothing here, since there is only one stream.

        Raises:
            MCPTransportError: as `post`.
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        self.post(message)
        await self._stream.drain()

    def receive(self, message: Message, delivery: Delivery) -> bool:
        """Hand on a message that was posted; return False for one that comes after the end."""
        if self._ended:
            return False
        self._receive(message, delivery)
        return True

    async def _clean_up(self) -> None:
        self._stream.end()
        await self._within_timeout(asyncio.get_running_loop().create_task(self._stream.wait_ended()))
        self._stream.abort()


class HttpSseApp:
    """An ASGI application that makes a transport of every event stream that is opened.

    It needs no lifespan, keeps no task between requests and sends no redirects, so it can be mounted in any framework
    under any path. A client that goes away closes its transport.

    Args:
        attach: serves the transport of a new client; it is awaited before the stream begins.
        session_ids: makes ids that cannot be guessed.
        path: where the event stream is, inside the application.
        messages_path: where messages are posted to, likewise.
        guard: tells which requests may be served.
        keep_alive: seconds of silence after which a stream gets a comment; None sends none.
        close_timeout: seconds that the end of a stream may take where the server closes it.
        call_later: sets timers.

    Raises:
        ValueError: a path does not begin with a slash, or both are the same.
    """

    def __init__(
        self,
        attach: Attach,
        session_ids: Callable[[], str],
        *,
        path: str = "/sse",
        messages_path: str = "/messages",
        guard: HttpGuard | None = None,
        keep_alive: float | None = KEEP_ALIVE,
        close_timeout: float = CLOSE_TIMEOUT,
        call_later: CallLater = call_later,
    ) -> None:
        for name, value in (("path", path), ("messages_path", messages_path)):
            if not value.startswith("/"):
                raise ValueError(f"`{name}` must begin with a slash: {value!r}")
        self._path, self._messages_path = path.rstrip("/"), messages_path.rstrip("/")
        if self._path == self._messages_path:
            raise ValueError(f"`path` and `messages_path` must differ: {path!r}")
        self._attach = attach
        self._session_ids = session_ids
        self._guard = guard or HttpGuard()
        self._keep_alive = keep_alive
        self._close_timeout = close_timeout
        self._call_later = call_later
        self._sessions: dict[str, HttpSseSession] = {}
        self._closing = False

    def __len__(self) -> int:
        """Return how many clients are connected."""
        return len(self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self._answer(read_request(scope), receive, send)

    async def close(self) -> None:
        """End every stream in order and refuse new ones: for the end of the process."""
        self._closing = True
        for closing in [asyncio.ensure_future(session.close()) for session in self._sessions.values()]:
            await closing

    async def _answer(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        refusal = self._guard.check(request.headers, request.server)
        if refusal is not None:
            await respond(send, refusal.status, refusal.text)
        elif request.path == self._path:
            await self._answer_stream(request, receive, send)
        elif request.path == self._messages_path:
            await self._answer_message(request, receive, send)
        else:
            here = request.mount + (self._path or "/")
            await respond(send, 404, f"there is nothing here; the event stream is at {here}")

    async def _answer_stream(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        if request.method != "GET":
            await respond(send, 405, "this is an event stream, to be opened with GET", {"allow": "GET"})
        elif not is_acceptable(request.headers.get("accept", ""), EVENT_STREAM):
            await respond(send, 406, f"this is an event stream, but `Accept` rules out {EVENT_STREAM}")
        elif self._closing:
            await respond(send, 503, "the server is shutting down", {"retry-after": "1"})
        else:
            await self._serve_stream(request, receive, send)

    async def _serve_stream(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        stream = EventStream(keep_alive=self._keep_alive, call_later=self._call_later)
        session = HttpSseSession(stream, self._close_timeout)
        session_id = self._session_ids()
        self._sessions[session_id] = session
        session.on_close(lambda: self._sessions.pop(session_id, None))
        url = f"{request.mount}{quote(self._messages_path)}?session_id={quote(session_id, safe='')}"
        stream.write(encode_event(url.encode(), event="endpoint"))
        try:
            await self._attach(session)
            await stream.respond(receive, send)
        finally:
            await session.close()

    async def _answer_message(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        session = self._sessions.get(request.query_value("session_id"))
        if request.method != "POST":
            await respond(send, 405, "messages are sent here with POST", {"allow": "POST"})
        elif media_type_of(request.headers.get("content-type", "")) != JSON:
            await respond(send, 415, f"a message must have `Content-Type: {JSON}`")
        elif session is None:
            await respond(send, 404, _NO_SESSION)
        else:
            await self._take_message(session, request, receive, send)

    async def _take_message(self, session: HttpSseSession, request: HttpRequest, receive: Receive, send: Send) -> None:
        limit = self._guard.max_body_bytes
        try:
            body = await read_body(receive, request.headers, limit)
        except BodyTooLargeError:
            await respond(send, 413, f"the message is over the limit of {limit} bytes (`max_body_bytes`)")
        except BodyCutOffError:
            logger.debug("a client went away in the middle of a message")
        else:
            # The stream may have ended while the body came.
            taken = session.receive(decode_frame(body), Delivery(headers=request.headers))
            await respond(send, *((202, "Accepted") if taken else (404, _NO_SESSION)))
