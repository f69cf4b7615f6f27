"""HTTP requests of a client that go straight into an ASGI application in this process."""

from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

from suaveplan_mcp.testing.asgi import AsgiClient, AsgiExchange
from suaveplan_mcp.transport.asgi import AsgiApp


class AsgiResponse:
    """A response of an application; iterate over its body, or close it.

    Attributes:
        status: the HTTP status.
        headers: its headers.
    """

    def __init__(self, exchange: AsgiExchange) -> None:
        self._exchange = exchange
        self.status = exchange.status or 0
        self.headers: Mapping[str, str] = exchange.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        while part := await self._exchange.next_part():
            yield part

    async def close(self) -> None:
        """Go away, as a client does that wants no more."""
        await self._exchange.disconnect()


class AsgiFetch:
    """What transports over HTTP take as `fetch_impl`, without a network: requests go into an application.

    Args:
        app: the application.
        root_path: the path under which a framework or a proxy has it.
    """

    def __init__(self, app: AsgiApp, *, root_path: str = "") -> None:
        self._client = AsgiClient(app, root_path=root_path, deadline=None)

    async def __call__(self, url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> AsgiResponse:
        """Make a request; return when the response has begun."""
        parts = urlsplit(url)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        exchange = self._client.open(method, target, headers={"host": parts.netloc, **headers}, body=body)
        try:
            await exchange.start()
        except BaseException:
            await exchange.disconnect()
            raise
        return AsgiResponse(exchange)
