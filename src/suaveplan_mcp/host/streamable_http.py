"""Streamable HTTP over real connections, for clients."""

import ssl
from collections.abc import Mapping

from suaveplan_mcp.host.http_client import CONNECT_TIMEOUT, HttpClient
from suaveplan_mcp.transport.stdio import CLOSE_TIMEOUT, MAX_FRAME_BYTES
from suaveplan_mcp.transport.streamable_http.client import StreamableHttpTransport


class _ConnectedTransport(StreamableHttpTransport):
    """Closes its HTTP client with itself."""

    __slots__ = ("_client",)

    def __init__(self, url: str, client: HttpClient, *, max_frame_bytes: int, close_timeout: float) -> None:
        super().__init__(url, client.fetch, max_frame_bytes=max_frame_bytes, close_timeout=close_timeout)
        self._client = client

    async def _clean_up(self) -> None:
        await super()._clean_up()
        await self._client.close()


def connect_streamable_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    connect_timeout: float | None = CONNECT_TIMEOUT,
    tls: ssl.SSLContext | None = None,
    trust_env: bool = False,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    close_timeout: float = CLOSE_TIMEOUT,
) -> StreamableHttpTransport:
    """Return a transport to a server that speaks Streamable HTTP; it connects when it is first used.

    Args:
        url: where the server is.
        headers: go out with every request, such as `{"Authorization": "Bearer …"}`.
        connect_timeout: seconds that reaching the server may take; None for any.
        tls: the certificates to trust and to show; those of the system by default.
        trust_env: whether proxies named in the environment are used.
        max_frame_bytes: the largest message that is read.
        close_timeout: seconds that each step of closing may take.

    Raises:
        ValueError: the URL is none, or the limit is too small for any message.
    """
    client = HttpClient(headers=headers, connect_timeout=connect_timeout, tls=tls, trust_env=trust_env)
    return _ConnectedTransport(url, client, max_frame_bytes=max_frame_bytes, close_timeout=close_timeout)
