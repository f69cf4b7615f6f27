"""The server's side of Streamable HTTP as an ASGI application: every POST is one message, answered on its own.

Spec: basic/transports/streamable-http
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypedDict

from msgspec import UNSET

from suaveplan_mcp.errors import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST
from suaveplan_mcp.jsonrpc.messages import Batch, ErrorResponse, Message, Response
from suaveplan_mcp.protocol.http_binding import find_repeated
from suaveplan_mcp.transport.asgi import (
    BodyCutOffError,
    BodyTooLargeError,
    HttpRequest,
    Receive,
    Scope,
    Send,
    read_request,
    respond,
)
from suaveplan_mcp.transport.base import Delivery, logger
from suaveplan_mcp.transport.event_stream import KEEP_ALIVE, CallLater, call_later
from suaveplan_mcp.transport.frames import decode_frame
from suaveplan_mcp.transport.http_guard import HttpGuard, Refusal
from suaveplan_mcp.transport.media_types import EVENT_STREAM, JSON, is_acceptable, media_type_of
from suaveplan_mcp.transport.streamable_http.attendance import INTERVAL, Attendance
from suaveplan_mcp.transport.streamable_http.authentication import Authenticate, challenge
from suaveplan_mcp.transport.streamable_http.cors import is_preflight, preflight_headers, share_with
from suaveplan_mcp.transport.streamable_http.exchange import Answer, BodyTooSlowError, ExchangeRules, HttpExchange
from suaveplan_mcp.transport.streamable_http.refusals import error_frame, respond_empty, respond_json

CLOSE_TIMEOUT: Final = 1.0
MAX_REQUESTS: Final = 4096
MAX_HEADERS: Final = 256
MAX_HEADER_BYTES: Final = 64 * 1024
BODY_TIMEOUT: Final = 30.0

# How many are remembered, and how long all that they say may be: anybody may say anything.
_MOST_REMEMBERED: Final = 256
_LONGEST_REMEMBERED: Final = 256

_RETRY: Final = {"retry-after": "1"}
_SHUTTING_DOWN: Final = "the server is shutting down"

Hook = Callable[[], Awaitable[object]]
"""Called at the start or at the end of the process."""


class AsgiAppOptions(TypedDict, total=False):
    """What may be said about an application beside its path.

    Args:
        allowed_hosts: the names of the server; see `HttpGuard`.
        allowed_origins: web pages that may use it; see `HttpGuard`.
        authenticate: a coroutine function that takes the headers of a request, names in lower case, and returns who
            sent it, `Principal` for example; None refuses it with 401. Handlers find it as `ctx.principal`.
        bearer_token: a token that every request has to show, in place of `authenticate`.
        cors: whether web pages of other origins, which `allowed_origins` names, are told that they may use the server.
        max_body_bytes: the longest message that is taken.
        max_requests: how many requests may be open at once, listen streams among them; further ones get 503.
        max_headers: how many headers a request may have.
        max_header_bytes: how long all of them together may be.
        body_timeout: seconds that the body of a request may take.
        keep_alive: seconds of silence after which a stream gets a comment; None sends none.
    """

    allowed_hosts: Collection[str] | None
    allowed_origins: Collection[str]
    authenticate: Authenticate | None
    bearer_token: str | None
    cors: bool
    max_body_bytes: int
    max_requests: int
    max_headers: int
    max_header_bytes: int
    body_timeout: float
    keep_alive: float | None


class StreamableHttpApp:
    """An ASGI application that has every POST answered by a server.

    It needs no lifespan, keeps no task between requests and sends no redirects, so it can be mounted in any framework
    under any path. A client that goes away gives its request up.

    Args:
        answer: serves one message.
        path: where messages are posted to, inside the application.
        guard: tells which requests may be served.
        authenticate: tells who sent a request; None serves everybody.
        cors: whether pages of the origins that the guard lets in are told so.
        max_requests: how many requests may be open at once.
        max_headers: how many headers a request may have.
        max_header_bytes: how long all of them together may be.
        body_timeout: seconds that the body of a request may take.
        keep_alive: seconds of silence after which a stream gets a comment; None sends none.
        close_timeout: seconds that the requests which are open may take where the server closes them.
        on_startup: called when a web server starts the application, if it is one that does.
        on_shutdown: likewise at its end, after the requests.
        call_later: sets timers.

    Raises:
        ValueError: a path does not begin with a slash, or a limit lets nothing through.
    """

    def __init__(  # noqa: PLR0913  each has a default that suits nearly everybody
        self,
        answer: Answer,
        *,
        path: str = "/mcp",
        guard: HttpGuard | None = None,
        authenticate: Authenticate | None = None,
        cors: bool = False,
        max_requests: int = MAX_REQUESTS,
        max_headers: int = MAX_HEADERS,
        max_header_bytes: int = MAX_HEADER_BYTES,
        body_timeout: float = BODY_TIMEOUT,
        keep_alive: float | None = KEEP_ALIVE,
        close_timeout: float = CLOSE_TIMEOUT,
        on_startup: Hook | None = None,
        on_shutdown: Hook | None = None,
        call_later: CallLater = call_later,
    ) -> None:
        if not path.startswith("/"):
            raise ValueError(f"`path` must begin with a slash: {path!r}")
        for name, limit in (
            ("max_requests", max_requests),
            ("max_headers", max_headers),
            ("max_header_bytes", max_header_bytes),
            ("body_timeout", body_timeout),
        ):
            if limit <= 0:
                raise ValueError(f"`{name}` must be more than 0, but is {limit}")
        self._answer = answer
        self._path = path.rstrip("/")
        self._guard = guard or HttpGuard()
        self._authenticate = authenticate
        self._cors = cors
        self._max_requests = max_requests
        self._max_headers, self._max_header_bytes = max_headers, max_header_bytes
        self._body_timeout = body_timeout
        self._close_timeout = close_timeout
        self._on_startup, self._on_shutdown = on_startup, on_shutdown
        # One look at a body may come at once, the next is an interval later.
        self._rules = ExchangeRules(keep_alive, call_later, int(body_timeout / INTERVAL) + 1)
        self._attendance = Attendance(call_later)
        self._welcome: set[tuple[str | None, str | None, str]] = set()
        self._closing = False

    def __len__(self) -> int:
        """Return how many requests are open."""
        return len(self._attendance)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await self._take(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._take_part_in_lifespan(receive, send)
        else:
            await send({"type": "websocket.close"})

    def refuse_new(self) -> None:
        """Serve no further request, so that whatever stands behind can end those that are open."""
        self._closing = True

    async def close(self) -> None:
        """Refuse new requests, give up those that are open and wait until they are over: for the end of the process."""
        self.refuse_new()
        await self._attendance.end(self._close_timeout)

    async def _take_part_in_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event: str = (await receive())["type"]
            starting = event == "lifespan.startup"
            try:
                if starting:
                    # A framework under test may start the application again after its end.
                    self._closing = False
                    await _call(self._on_startup)
                else:
                    self.refuse_new()
                    await _call(self._on_shutdown)
                    await self.close()
            except Exception as error:
                logger.error("%s failed: %r", event, error)
                await send({"type": f"{event}.failed", "message": f"{type(error).__name__}: {error}"})
            else:
                await send({"type": f"{event}.complete"})
            if not starting:
                return

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_headers: list[tuple[bytes, bytes]] = scope["headers"]
        if len(raw_headers) > self._max_headers:
            await respond(send, 431, f"there are more than {self._max_headers} headers (`max_headers`)")
            return
        if sum([len(name) + len(value) for name, value in raw_headers]) > self._max_header_bytes:
            text = f"the headers are over the limit of {self._max_header_bytes} bytes (`max_header_bytes`)"
            await respond(send, 431, text)
            return
        request = read_request(scope)
        if not await self._lets_in(request, send):
            return
        if self._cors:
            send = share_with(request.headers.get("origin"), send)
        if request.path != self._path:
            here = request.mount + (self._path or "/")
            await respond(send, 404, f"there is nothing here; messages are posted to {here}")
        elif self._cors and is_preflight(request.method, request.headers):
            await respond_empty(send, 204, preflight_headers(request.headers))
        elif request.method != "POST":
            # In this revision there is neither a stream to be opened with GET nor a session to be ended with DELETE.
            await respond(send, 405, "messages are sent here with POST", {"allow": "POST"})
        elif self._closing:
            await respond(send, 503, _SHUTTING_DOWN, _RETRY)
        elif len(self._attendance) >= self._max_requests:
            await respond(send, 503, f"there are {self._max_requests} requests already (`max_requests`)", _RETRY)
        else:
            exchange = HttpExchange(receive, send, self._rules)
            self._attendance.add(exchange)
            try:
                await self._take_message(exchange, request, raw_headers, send)
            finally:
                self._attendance.discard(exchange)

    async def _lets_in(self, request: HttpRequest, send: Send) -> bool:
        """Ask the guard, unless it has let in the same before."""
        visitor = (request.headers.get("host"), request.headers.get("origin"), request.server)
        if visitor in self._welcome:
            return True
        refusal = self._guard.check(request.headers, request.server)
        if refusal is not None:
            await respond(send, refusal.status, refusal.text)
            return False
        if len(self._welcome) < _MOST_REMEMBERED and sum(len(part or "") for part in visitor) <= _LONGEST_REMEMBERED:
            self._welcome.add(visitor)
        return True

    async def _take_message(
        self, exchange: HttpExchange, request: HttpRequest, raw_headers: list[tuple[bytes, bytes]], send: Send
    ) -> None:
        headers = request.headers
        principal: object | None = None
        if self._authenticate is not None:
            try:
                principal = await self._authenticate(headers)
            except Exception as error:
                logger.error("`authenticate` raised %r", error)
                await respond_json(send, 500, error_frame(INTERNAL_ERROR, "Internal error", UNSET))
                return
            if principal is None:
                await respond(send, 401, "who sends this must be shown", {"www-authenticate": challenge(headers)})
                return
        refusal = self._check_types(headers.get("content-type", ""), headers.get("accept", ""))
        if refusal is not None:
            await respond(send, refusal.status, refusal.text)
        # Only where two became one can there be one that came twice.
        elif len(raw_headers) != len(headers) and (repeated := find_repeated(raw_headers)) is not None:
            await respond_json(send, 400, error_frame(HEADER_MISMATCH, f"the header {repeated} came twice", UNSET))
        else:
            message = await self._read_message(exchange, request, send)
            if message is not None:
                delivery = Delivery(headers=headers, principal=principal)
                takes_stream = is_acceptable(headers.get("accept", ""), EVENT_STREAM)
                await exchange.serve(self._route(request, message), message, delivery, takes_stream=takes_stream)

    def _check_types(self, content_type: str, accept: str) -> Refusal | None:
        """Return why a message of such a type is not taken, or no answer can be given."""
        if media_type_of(content_type) != JSON:
            return Refusal(415, f"a message must have `Content-Type: {JSON}`")
        if not is_acceptable(accept, JSON):
            return Refusal(406, f"answers are {JSON} or {EVENT_STREAM}, and `Accept` must admit both")
        return None

    async def _read_message(self, exchange: HttpExchange, request: HttpRequest, send: Send) -> Message | None:
        """Return the message of a request that is worth an answer; None where it was refused."""
        limit = self._guard.max_body_bytes
        try:
            body = await exchange.read_body(request.headers, limit)
        except BodyTooLargeError:
            await respond(send, 413, f"the message is over the limit of {limit} bytes (`max_body_bytes`)")
        except BodyTooSlowError:
            await respond(send, 408, f"the body took more than {self._body_timeout:g} seconds (`body_timeout`)")
        except BodyCutOffError:
            logger.debug("a client went away in the middle of a message")
        else:
            message = decode_frame(body)
            if not isinstance(message, Response | ErrorResponse | Batch):
                return message
            what = "a batch" if isinstance(message, Batch) else "a response"
            text = f"the body must be a single request or notification, not {what}"
            await respond_json(send, 400, error_frame(INVALID_REQUEST, text, UNSET))
        return None

    def _route(self, request: HttpRequest, message: Message) -> Answer:
        """Return who serves a message.

        All are served as the stateless era has it. One of a client that knows only the handshake is refused there, with
        an error that names what is missing.
        """
        return self._answer


async def _call(hook: Hook | None) -> None:
    if hook is not None:
        await hook()
