"""The client's side of HTTP+SSE: an event stream one way, POSTs the other. Spec: basic, transports, HTTP with SSE"""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeVar, cast
from urllib.parse import urljoin, urlsplit

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.framing.limits import SAMPLE, FrameTooLarge
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.closing import ClosingTransport, transport_error
from suaveplan_mcp.transport.frames import decode_frame, encode_frame
from suaveplan_mcp.transport.stdio import CLOSE_TIMEOUT, MAX_FRAME_BYTES

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


_T = TypeVar("_T")


class StreamEvent(Protocol):
    """One event of a stream, such as `framing.sse.ServerSentEvent`; without `event`, or as a dict, it will do too."""

    @property
    def event(self) -> str | None:
        """Its type; none means `message`."""
        ...

    @property
    def data(self) -> bytes | str:
        """Its data lines, joined."""
        ...


AnyEvent = StreamEvent | Mapping[str, bytes | str] | FrameTooLarge
"""What an event stream yields; a dict has the members of a `StreamEvent`."""


class EventSource(Protocol):
    """An open event stream. An async generator of events will do as well: it needs no `close`."""

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        """Iterate over the events; end with the stream, raise when it breaks."""
        ...

    def close(self) -> object:
        """Let go of the stream; what it returns is awaited where it can be."""
        ...


class FetchResponse(Protocol):
    """The answer to one POST; its body is the result of `read()` or `text()`, awaited where it can be, or none."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...


class Fetch(Protocol):
    """Make one HTTP request."""

    def __call__(
        self, url: str, *, method: str, headers: Mapping[str, str], body: bytes
    ) -> FetchResponse | Awaitable[FetchResponse]:
        """Return the response, of any status; raise when there is none. What it returns is awaited where it can be."""
        ...


_Source = EventSource | AsyncIterator[AnyEvent]

OpenEventSource = Callable[[str], _Source | Awaitable[_Source]]
"""Open the event stream at a URL, at once, when it is awaited, or when the iteration starts."""

_Outgoing = tuple[bytes, Mapping[str, str], "asyncio.Future[None] | None"]


class HttpSseTransport(ClosingTransport):
    """Messages over an event stream and POSTs; make it with `create_http_sse_transport`."""

    __slots__ = (
        "_endpoint",
        "_fetch",
        "_max_frame_bytes",
        "_open_source",
        "_post_url",
        "_poster",
        "_queue",
        "_reader",
        "_source",
        "_url_known",
    )

    def __init__(
        self,
        endpoint: str,
        fetch_impl: Fetch,
        event_source_impl: OpenEventSource,
        *,
        wait_for_endpoint: bool,
        max_frame_bytes: int,
        close_timeout: float,
    ) -> None:
        """Make the transport; use `create_http_sse_transport`."""
        super().__init__(close_timeout)
        self._endpoint = endpoint
        self._fetch = fetch_impl
        self._open_source = event_source_impl
        self._max_frame_bytes = max_frame_bytes
        self._post_url = None if wait_for_endpoint else endpoint
        self._url_known: asyncio.Future[None] | None = None
        self._queue: deque[_Outgoing] = deque()
        self._poster: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._source: object = None

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Queue `message`; a POST that fails closes the transport, since no caller would hear of it.

        Args:
            message: what to send.
            delivery: its headers go out with the POST.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed.
            MCPProtocolError: the message has no JSON form; nothing was queued.
        """
        self._enqueue(message, delivery, None)

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """POST `message`, after those queued before, and wait until it was taken.

        Args:
            message: what to send.
            delivery: its headers go out with the POST.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, the transport is closed; `TRANSPORT_ERROR`, there was no answer, or
                one that refuses the message: `context` has its `status`.
            MCPProtocolError: the message has no JSON form; nothing was sent.
        """
        taken = asyncio.get_running_loop().create_future()
        self._enqueue(message, delivery, taken)
        await taken

    def _enqueue(self, message: Message, delivery: Delivery | None, taken: "asyncio.Future[None] | None") -> None:
        if self._ended:
            raise self._refusal()
        frame = encode_frame(message)
        headers = {**delivery.headers} if delivery is not None else {}
        headers["Content-Type"] = "application/json"
        self._queue.append((frame, headers, taken))
        if self._post_url is None:
            # The stream has to name the URL before anything can go out.
            self._start_reading()
        if self._poster is None:
            self._poster = asyncio.get_running_loop().create_task(self._post_queued())

    async def _post_queued(self) -> None:
        """POST one message at a time: two at once could overtake each other."""
        try:
            if self._post_url is None:
                self._url_known = asyncio.get_running_loop().create_future()
                await self._url_known
            while self._queue and self.failure is None:
                frame, headers, taken = self._queue[0]
                error = await self._post_frame(self._post_url or self._endpoint, frame, headers)
                # Only now: the clean-up tells those who wait for a POST that was cancelled.
                self._queue.popleft()
                self._settle(taken, error)
        finally:
            self._poster = None

    async def _post_frame(self, url: str, frame: bytes, headers: Mapping[str, str]) -> MCPTransportError | None:
        try:
            response = await settled(self._fetch(url, method="POST", headers=headers, body=frame))
            body = await _read_body(response)
        except Exception as error:
            return transport_error(f"the POST to {address_of(url)} failed: {error!r}", error)
        if 200 <= response.status < 300:
            return None
        return MCPTransportError(
            MCP_CODES.TRANSPORT_ERROR,
            f"the POST to {address_of(url)} was answered with {response.status}: {body[:SAMPLE]!r}",
            context={"status": response.status},
        )

    def _settle(self, taken: "asyncio.Future[None] | None", error: MCPTransportError | None) -> None:
        if taken is None:
            if error is not None:
                self._fail(error)
        elif taken.done():
            return
        elif error is None:
            taken.set_result(None)
        else:
            taken.set_exception(error)

    def _start_reading(self) -> None:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        try:
            source = self._source = await settled(self._open_source(self._endpoint))
            async for event in source:
                self._take_event(event)
        except Exception as error:
            self._fail(transport_error(f"the event stream of {address_of(self._endpoint)} failed: {error!r}", error))
            return
        if self._post_url is None:
            self._fail(transport_error("the event stream ended before it named the endpoint to post to"))
        self._end()

    def _take_event(self, event: AnyEvent) -> None:
        if isinstance(event, FrameTooLarge):
            self._receive(decode_frame(event))
            return
        kind, data = _members(event)
        if kind == "endpoint":
            if self._post_url is None:
                self._take_endpoint(data)
        elif kind == "message" and data:
            over = len(data) > self._max_frame_bytes
            frame = FrameTooLarge(self._max_frame_bytes, len(data), data[:SAMPLE], data[-SAMPLE:]) if over else data
            self._receive(decode_frame(frame))

    def _take_endpoint(self, data: bytes) -> None:
        try:
            url = urljoin(self._endpoint, data.decode().strip())
            same_origin = origin_of(url) == origin_of(self._endpoint)
        except ValueError:
            same_origin, url = False, ""
        if not same_origin:
            # Our messages may carry secrets, so a server may not have them sent elsewhere.
            problem = f"the endpoint to post to is not of the origin of {address_of(self._endpoint)}: {data[:SAMPLE]!r}"
            self._fail(transport_error(problem))
            return
        self._post_url = url
        if self._url_known is not None and not self._url_known.done():
            self._url_known.set_result(None)

    async def _clean_up(self) -> None:
        loop = asyncio.get_running_loop()
        if self._poster is not None:
            if self._post_url is None:
                self._poster.cancel()
            await self._within_timeout(self._poster)
        for _, _, taken in self._queue:
            if taken is not None and not taken.done():
                taken.set_exception(self._refusal())
        self._queue.clear()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))
        await self._within_timeout(loop.create_task(self._close_source()))

    async def _close_source(self) -> None:
        close: Callable[[], object] | None = getattr(self._source, "close", None)
        if close is not None:
            await settled(close())


def _members(event: StreamEvent | Mapping[str, bytes | str]) -> tuple[object, bytes]:
    """Return the type of an event and its data."""
    if isinstance(event, Mapping):
        kind, data = event.get("event"), event.get("data", b"")
    else:
        kind, data = getattr(event, "event", None), event.data
    return kind or "message", data.encode() if isinstance(data, str) else data


async def _read_body(response: FetchResponse) -> bytes | str:
    # Also of a good answer: its connection is not free before.
    read: Callable[[], bytes | str | Awaitable[bytes | str]] | None
    read = getattr(response, "read", None) or getattr(response, "text", None)
    return b"" if read is None else await settled(read())


async def settled(value: _T | Awaitable[_T]) -> _T:
    """Return a value, or what it turns out to be when it is awaited."""
    return await value if inspect.isawaitable(value) else cast("_T", value)


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return the origin of a URL: what may get our headers and messages. Spec: RFC 6454

    Raises:
        ValueError: it is no URL.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def address_of(url: str) -> str:
    """Return `url` without what may be secret in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def create_http_sse_transport(
    *,
    endpoint: str,
    fetch_impl: Fetch,
    event_source_impl: OpenEventSource,
    wait_for_endpoint: bool = True,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    close_timeout: float = CLOSE_TIMEOUT,
) -> HttpSseTransport:
    """Make the client's side of an HTTP+SSE connection.

    Use it for servers of the first revision, which know no Streamable HTTP. The event stream opens with the first
    `on_message` handler, or with the first message that has to wait for it. Its end closes the transport in order; when
    it breaks, the transport closes with a `failure`.

    Args:
        endpoint: the URL of the event stream.
        fetch_impl: makes the POSTs; see `Fetch`. Credentials are its business.
        event_source_impl: opens the event stream at a URL; see `EventSource`.
        wait_for_endpoint: wait for the stream's `endpoint` event and post to the URL it names, which must be of the
            same origin. If false, post to `endpoint` right away.
        max_frame_bytes: the largest message that is read. A larger one is handed on as an `InvalidMessage`.
        close_timeout: seconds that posting what is queued, and then closing the stream, may take each.

    Returns:
        The transport, not yet connected.
    """
    return HttpSseTransport(
        endpoint,
        fetch_impl,
        event_source_impl,
        wait_for_endpoint=wait_for_endpoint,
        max_frame_bytes=max_frame_bytes,
        close_timeout=close_timeout,
    )
