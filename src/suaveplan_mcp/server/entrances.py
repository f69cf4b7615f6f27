"""How people open a server: as a process of its own, or as an application inside one of theirs."""

from collections.abc import Collection
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Unpack

from suaveplan_mcp.runtime.timers import Timers

if TYPE_CHECKING:
    # Most servers never speak HTTP.
    from suaveplan_mcp.transport.http_sse_app import HttpSseApp, SseAppOptions
    from suaveplan_mcp.transport.streamable_http.app import AsgiAppOptions, StreamableHttpApp


class Entrances:
    """The part of a server that opens it.

    Attributes:
        _timers: what sets timers; the event loop where it is None.
    """

    _timers: Timers | None

    def run(
        self,
        transport: str = "stdio",
        *,
        host: str | None = None,
        port: int | None = None,
        path: str | None = None,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] = (),
        max_frame_bytes: int | None = None,
    ) -> None:
        """Serve until the client goes away or the process is told to end.

        Args:
            transport: `"stdio"`, `"http"` for Streamable HTTP, or `"sse"` for the older HTTP+SSE.
            host: where to listen, over HTTP; `127.0.0.1` by default. The empty string means every address.
            port: likewise; 8000 by default.
            path: where clients connect, over HTTP; `/mcp` or `/sse` by default.
            allowed_hosts: the names of the server, over HTTP, where it has others than those of this machine alone.
            allowed_origins: web pages that may use it, over HTTP, such as `"https://app.example.com"`.
            max_frame_bytes: the largest message that is taken; 64 MiB by default, over HTTP 16 MiB.
        """
        _serving().run(
            self,
            transport,
            host=host,
            port=port,
            path=path,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            max_frame_bytes=max_frame_bytes,
        )

    def asgi_app(self, path: str = "/mcp", **options: "Unpack[AsgiAppOptions]") -> "StreamableHttpApp":
        """Return an ASGI application that serves over Streamable HTTP.

        Run it with any ASGI server, or mount it in any framework under any path. It needs no lifespan; one that is run
        stops the server at its end.

        Args:
            path: where messages are posted to, inside the application.
            options: `allowed_hosts`, `authenticate`, `cors` and so on; see `AsgiAppOptions`.

        Raises:
            ValueError: a path or an option that cannot be; the message says which.
        """
        return _serving().asgi_app(self, path, timers=self._timers, **options)

    def sse_app(
        self, path: str = "/sse", messages_path: str = "/messages", **options: "Unpack[SseAppOptions]"
    ) -> "HttpSseApp":
        """Return an ASGI application that serves over HTTP+SSE.

        Run it with any ASGI server, or mount it in any framework under any path. It needs no lifespan.

        Args:
            path: where the event stream is, inside the application.
            messages_path: where messages are posted to, likewise.
            options: `allowed_hosts`, `allowed_origins`, `max_body_bytes` and `keep_alive`; see `SseAppOptions`.

        Raises:
            ValueError: a path or an option that cannot be; the message says which.
        """
        return _serving().sse_app(self, path, messages_path, timers=self._timers, **options)


def _serving() -> ModuleType:
    # The one late binding of the house: people expect this on the server, and serving stands above this room.
    return import_module("suaveplan_mcp.serving")
