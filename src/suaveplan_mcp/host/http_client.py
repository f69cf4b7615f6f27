"""HTTP for clients: aiohttp, asked for exactly what our transports need."""

import ssl
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from typing import Final
from urllib.parse import urljoin

import aiohttp

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.framing.limits import SAMPLE, FrameTooLarge
from suaveplan_mcp.framing.sse import ServerSentEvent, SseDecoder
from suaveplan_mcp.transport.http_sse import address_of, origin_of
from suaveplan_mcp.transport.media_types import EVENT_STREAM, media_type_of
from suaveplan_mcp.transport.stdio import MAX_FRAME_BYTES

CONNECT_TIMEOUT: Final = 30.0
"""Seconds that reaching a server may take, the lookup of its name and TLS included."""

# Less than the 5 s that many web servers wait: a connection they close under a request would make it fail.
_KEEP_ALIVE: Final = 4.0
_PIECE: Final = 64 * 1024
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({307, 308})
_REDIRECTS_OF_GET: Final = frozenset({301, 302, 303, 307, 308})


class HttpResponse:
    """One response: read it, iterate over it, or close it.

    Attributes:
        status: the HTTP status.
        headers: its headers; a name may be in any case.
    """

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def read(self) -> bytes:
        """Return the whole body."""
        return await self._response.read()

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the body as it comes."""
        return self._response.content.iter_any().__aiter__()

    def close(self) -> None:
        """Let go of what has not been read."""
        self._response.close()


class HttpClient:
    """Makes requests over connections that are kept; close it in the end.

    Nothing but connecting has a timeout: how long an answer may take is a matter of the protocol above. Redirects are
    followed within one origin only, and only where the method stays as it is: what a request carries may be secret.

    Args:
        headers: go out with every request; those of a request take precedence.
        connect_timeout: seconds that reaching the server may take; None for any.
        tls: the certificates to trust and to show; those of the system by default.
        trust_env: whether proxies named in the environment are used.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float | None = CONNECT_TIMEOUT,
        tls: ssl.SSLContext | None = None,
        trust_env: bool = False,
    ) -> None:
        self._headers = dict(headers or {})
        self._connect_timeout = connect_timeout
        self._tls = tls
        self._trust_env = trust_env
        self._session: aiohttp.ClientSession | None = None

    async def fetch(
        self, url: str, *, method: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HttpResponse:
        """Make one request; return when the headers of the response are there.

        Args:
            url: where.
            method: the HTTP method.
            headers: of this request.
            body: what to send.

        Raises:
            MCPTransportError: `TRANSPORT_ERROR`, it is redirected to another origin or too often, or what comes back is
                no HTTP.
            aiohttp.ClientError: there is no response.
            TimeoutError: the server cannot be reached in time.
        """
        redirects = _REDIRECTS_OF_GET if method == "GET" else _REDIRECTS
        target = url
        for _ in range(_MOST_REDIRECTS):
            response = await self._request(target, method, headers, body)
            location = response.headers.get("Location")
            if response.status not in redirects or location is None:
                return response
            response.close()
            target = _join(target, location, response.status)
            if origin_of(target) != origin_of(url):
                elsewhere = address_of(target)[:SAMPLE]
                problem = f"the server redirects to another origin, {elsewhere!r}; connect there if that is right"
                raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, problem, context={"status": response.status})
        raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, f"the server redirects more than {_MOST_REDIRECTS} times")

    async def _request(
        self, url: str, method: str, headers: Mapping[str, str] | None, body: bytes | None
    ) -> HttpResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE, ssl=self._tls or True),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout),
                trust_env=self._trust_env,
            )
        merged = {name.lower(): value for part in (self._headers, headers or {}) for name, value in part.items()}
        # A large one goes out in pieces, so that nothing else on the loop has to wait for it.
        data = BytesIO(body) if body is not None and len(body) > _PIECE else body
        try:
            response = await self._session.request(method, url, headers=merged, data=data, allow_redirects=False)
        # What the library's own errors say holds the URL and the headers, and those may hold secrets.
        except aiohttp.ClientResponseError as error:
            raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, f"what came is no HTTP: {error.message}") from None
        except aiohttp.InvalidURL:
            raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, f"{address_of(url)!r} cannot be requested") from None
        except TimeoutError:
            problem = f"the server was not reached within {self._connect_timeout} s (`connect_timeout`)"
            raise TimeoutError(problem) from None
        return HttpResponse(response)

    async def close(self) -> None:
        """Close every connection; the client can be used again."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def open_event_source(self, url: str, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> "HttpEventSource":
        """Open an event stream, with the first step of the iteration over it.

        Args:
            url: where.
            max_frame_bytes: the most bytes that the data of an event may have.
        """
        return HttpEventSource(self, url, max_frame_bytes)


def _join(url: str, location: str, status: int) -> str:
    """Return where a redirect leads.

    Raises:
        MCPTransportError: `TRANSPORT_ERROR`, nowhere.
    """
    try:
        target = urljoin(url, location)
        origin_of(target)
    except ValueError as error:
        problem = f"the server redirects to what is no URL: {error}"
        raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, problem, context={"status": status}) from None
    return target


class HttpEventSource:
    """An event stream; iterate over it once.

    Attributes:
        response: the response it is in, None before the server has answered.
    """

    __slots__ = ("_client", "_max_frame_bytes", "_url", "response")

    def __init__(self, client: HttpClient, url: str, max_frame_bytes: int) -> None:
        self._client = client
        self._url = url
        self._max_frame_bytes = max_frame_bytes
        self.response: HttpResponse | None = None

    async def __aiter__(self) -> AsyncIterator[ServerSentEvent | FrameTooLarge]:
        """Yield the events as they come.

        Raises:
            MCPTransportError: `TRANSPORT_ERROR`, the server answers with something else: `context` has its `status`.
            aiohttp.ClientError: the server cannot be reached, or the stream breaks off.
        """
        headers = {"Accept": EVENT_STREAM, "Cache-Control": "no-cache", "Accept-Encoding": "identity"}
        response = self.response = await self._client.fetch(self._url, method="GET", headers=headers)
        kind = media_type_of(response.headers.get("Content-Type", ""))
        if response.status != 200 or kind != EVENT_STREAM:
            what = f"{response.status}, {kind or 'of no type'}"
            sample = (await anext(aiter(response), b""))[:SAMPLE]
            raise MCPTransportError(
                MCP_CODES.TRANSPORT_ERROR,
                f"there is no event stream; the server answered with {what}: {sample!r}",
                context={"status": response.status},
            )
        decoder = SseDecoder(self._max_frame_bytes)
        async for chunk in response:
            for event in decoder.feed(chunk):
                yield event

    async def close(self) -> None:
        """Let go of the stream."""
        if self.response is not None:
            self.response.close()
