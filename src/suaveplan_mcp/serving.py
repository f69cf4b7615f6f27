"""The composition root of servers: from a server to a process that serves it."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Unpack, cast

from suaveplan_mcp.host.extras import load_http
from suaveplan_mcp.host.leaving import Stuck, find_stuck_threads, leave_at_the_end
from suaveplan_mcp.host.platform import PLATFORM
from suaveplan_mcp.host.stdio import StandardStreams, take_standard_streams
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.runtime.timers import Timers
from suaveplan_mcp.transport.base import Delivery, Transport
from suaveplan_mcp.transport.frames import check_limit
from suaveplan_mcp.transport.stdio import MAX_FRAME_BYTES

if TYPE_CHECKING:
    # A server over standard streams need not wait until this is loaded.
    from suaveplan_mcp.transport.asgi import AsgiApp
    from suaveplan_mcp.transport.http_sse_app import HttpSseApp, SseAppOptions
    from suaveplan_mcp.transport.streamable_http.app import AsgiAppOptions, StreamableHttpApp

_GRACE: Final = 0.5
"""Seconds that tasks which do not heed their cancellation may take at the end."""

_Serve = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""Serves until the event is set, or the input ends."""


class Served(Protocol):
    """One connection of a server."""

    @property
    def busy(self) -> bool:
        """Whether a handler is at work for the client."""
        ...


class Servable(Protocol):
    """Anything that can be started on a transport and stopped again; `MCPServer` is the one people have."""

    async def start(self, transport: Transport) -> Served:
        """Serve one transport."""
        ...

    async def stop(self) -> None:
        """Close every connection and clean up."""
        ...


class HttpServable(Servable, Protocol):
    """A server that can have many clients at once."""

    async def attach(self, transport: Transport) -> object:
        """Serve one more transport."""
        ...


class Answering(Protocol):
    """A server that answers messages which come alone."""

    async def answer(self, exchange: Transport, message: Message, delivery: Delivery) -> None:
        """Serve one message, in the current task."""
        ...

    async def stop(self) -> None:
        """Give up what is open, and clean up."""
        ...


def run(
    server: Servable,
    transport: str = "stdio",
    *,
    host: str | None = None,
    port: int | None = None,
    path: str | None = None,
    allowed_hosts: Collection[str] | None = None,
    allowed_origins: Collection[str] = (),
    max_frame_bytes: int | None = None,
) -> None:
    """Serve until the input ends or the process is told to end, then clean up and return.

    It returns within about a second, even where handlers are busy. Where a thread that a handler started would keep the
    process alive after the program is over, exit functions run and the process ends at once.

    Args:
        server: what to serve.
        transport: `"stdio"`, `"http"` for Streamable HTTP, or `"sse"` for HTTP+SSE.
        host: where to listen, over HTTP; `127.0.0.1` by default. The empty string means every address.
        port: likewise; 8000 by default, and 0 for one that is free.
        path: where clients connect, over HTTP; `/mcp` by default, `/sse` for HTTP+SSE.
        allowed_hosts: the names of the server, over HTTP; see `HttpGuard`.
        allowed_origins: web pages that may use it, over HTTP; see `HttpGuard`.
        max_frame_bytes: the largest message that is taken; 64 MiB by default, over HTTP 16 MiB. A larger one is
            answered with an error.

    Raises:
        ValueError: there is no such transport, or an option that cannot be; the message says which there are.
        OSError: it cannot listen there; the message says where.
        ImportError: a library is not installed that serving over HTTP needs; the message names the extra.
        RuntimeError: an event loop runs in this thread; await `serve_stdio`, or mount `asgi_app`, there.
    """
    if transport == "stdio":
        run_stdio(server, max_frame_bytes=max_frame_bytes, known_threads=threading.enumerate())
        return
    serve = {"http": run_http, "sse": run_sse}.get(transport)
    if serve is None:
        raise ValueError(f"there is no transport {transport!r}; there are 'stdio', 'http' and 'sse'")
    serve(
        cast("Any", server),
        host=host,
        port=port,
        path=path,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        max_frame_bytes=max_frame_bytes,
        known_threads=threading.enumerate(),
    )


def run_stdio(
    server: Servable, *, max_frame_bytes: int | None = None, known_threads: Collection[threading.Thread] = ()
) -> None:
    """Serve on standard input and output; see `run`.

    Args:
        server: what to serve.
        max_frame_bytes: the largest message that is taken.
        known_threads: threads that may keep the process alive.
    """
    _require_no_loop()
    limit = _frame_limit(max_frame_bytes)
    # Before the loop opens anything: where standard input was closed, its number is free for the taking.
    streams = take_standard_streams()
    try:
        stuck = _run_loop(lambda told: _serve_until(server, streams, told, limit))
    finally:
        streams.restore()
    _leave_if_stuck(stuck, known_threads)


def run_http(
    server: Answering,
    *,
    host: str | None = None,
    port: int | None = None,
    path: str | None = None,
    allowed_hosts: Collection[str] | None = None,
    allowed_origins: Collection[str] = (),
    max_frame_bytes: int | None = None,
    known_threads: Collection[threading.Thread] = (),
) -> None:
    """Serve over Streamable HTTP; see `run`, and `run_stdio` for the threads."""
    _require_no_loop()
    path = path or "/mcp"
    options: AsgiAppOptions = {"allowed_hosts": allowed_hosts, "allowed_origins": allowed_origins}
    if max_frame_bytes is not None:
        options["max_body_bytes"] = check_limit(max_frame_bytes)
    app = asgi_app(server, path, **options)

    async def stop() -> None:
        # Those who listen are told of the end before their streams are broken off.
        app.refuse_new()
        await server.stop()
        await app.close()

    _run_web(app, stop, _Place(host, port, path), known_threads)


def run_sse(
    server: HttpServable,
    *,
    host: str | None = None,
    port: int | None = None,
    path: str | None = None,
    allowed_hosts: Collection[str] | None = None,
    allowed_origins: Collection[str] = (),
    max_frame_bytes: int | None = None,
    known_threads: Collection[threading.Thread] = (),
) -> None:
    """Serve over HTTP+SSE; see `run`, and `run_stdio` for the threads."""
    _require_no_loop()
    path = path or "/sse"
    messages_path = f"{path.rstrip('/').rpartition('/')[0]}/messages"
    options: SseAppOptions = {"allowed_hosts": allowed_hosts, "allowed_origins": allowed_origins}
    if max_frame_bytes is not None:
        options["max_body_bytes"] = check_limit(max_frame_bytes)
    app = sse_app(server, path, messages_path, **options)

    async def stop() -> None:
        await app.close()
        await server.stop()

    _run_web(app, stop, _Place(host, port, path), known_threads)


def asgi_app(
    server: Answering,
    path: str = "/mcp",
    *,
    timers: Timers | None = None,
    **options: "Unpack[AsgiAppOptions]",
) -> "StreamableHttpApp":
    """Return an ASGI application that serves over Streamable HTTP, to be mounted in any framework under any path.

    Args:
        server: what it serves; a web server that ends the application stops it.
        path: where messages are posted to, inside the application.
        timers: what sets timers; the event loop by default.
        options: see `AsgiAppOptions`.

    Raises:
        ValueError: a path or an option that cannot be; the message says which.
    """
    make = load_http("streamable_http_server").make_streamable_http_app
    return make(server.answer, path, timers=timers, on_shutdown=server.stop, **options)


def sse_app(
    server: HttpServable,
    path: str = "/sse",
    messages_path: str = "/messages",
    *,
    timers: Timers | None = None,
    **options: "Unpack[SseAppOptions]",
) -> "HttpSseApp":
    """Return an ASGI application that serves over HTTP+SSE, to be mounted in any framework under any path.

    Args:
        server: what it serves.
        path: where the event stream is, inside the application.
        messages_path: where messages are posted to, likewise.
        timers: what sets timers; the event loop by default.
        options: see `SseAppOptions`.

    Raises:
        ValueError: a path or an option that cannot be; the message says which.
    """
    return load_http("http_sse_server").make_sse_app(server.attach, path, messages_path, timers=timers, **options)


class _Place(NamedTuple):
    """Where a web server listens, as its user said it."""

    host: str | None
    port: int | None
    path: str


def _run_web(
    app: "AsgiApp", stop: Callable[[], Awaitable[object]], place: _Place, known_threads: Collection[threading.Thread]
) -> None:
    """Serve an application until the process is told to end."""
    web = load_http("http_server")
    host, port, path = place
    listeners = web.listen("127.0.0.1" if host is None else host, 8000 if port is None else port)

    async def serve(told: asyncio.Event) -> None:
        # Said when a signal is heeded: whoever reads it may send one at once.
        print(f"listening at {web.url_of(listeners, path)}", file=sys.stderr, flush=True)  # noqa: T201  for the user
        await web.serve_http(app, listeners, until=told, stop=stop)

    stuck = _run_loop(serve)
    _leave_if_stuck(stuck, known_threads)


async def serve_stdio(server: Servable, *, max_frame_bytes: int | None = None) -> None:
    """Serve on this process's standard input and output until the input ends; then stop the server.

    Use it where an event loop runs already. Meanwhile file descriptor 0 is the null device and 1 is standard error, so
    that nothing a handler does can get between the messages.

    Args:
        server: what to serve.
        max_frame_bytes: the largest message that is taken, 64 MiB by default. A larger one is answered with an error.

    Raises:
        ValueError: no message is that short.
    """
    limit = _frame_limit(max_frame_bytes)
    streams = take_standard_streams()
    try:
        await _serve_until(server, streams, asyncio.Event(), limit)
    finally:
        streams.restore()


def _frame_limit(max_frame_bytes: int | None) -> int:
    return MAX_FRAME_BYTES if max_frame_bytes is None else check_limit(max_frame_bytes)


def _leave_if_stuck(tasks: Collection[Stuck], known_threads: Collection[threading.Thread]) -> None:
    stuck = [*tasks, *find_stuck_threads(known_threads)]
    if _owns_process() and stuck:
        leave_at_the_end(stuck)


def _owns_process() -> bool:
    return threading.current_thread() is threading.main_thread()


async def _until_told(serve: _Serve) -> None:
    """Serve until the process is told to end, where this is the thread that is told."""
    told = asyncio.Event()
    if not _owns_process():
        await serve(told)
        return
    patience = 2

    def take_signal() -> None:
        # A client that was interrupted together with its server may add a signal of its own, and cleaning up must
        # survive that; a sender of a third one has lost patience.
        nonlocal patience
        patience -= 1
        told.set()
        if not patience:
            stop_watching()

    stop_watching = PLATFORM.watch_signals(asyncio.get_running_loop(), PLATFORM.STOP_SIGNALS, take_signal)
    try:
        await serve(told)
    finally:
        stop_watching()


async def _serve_until(server: Servable, streams: StandardStreams, ended: asyncio.Event, max_frame_bytes: int) -> None:
    transport = streams.open_transport(max_frame_bytes=max_frame_bytes)
    transport.on_close(ended.set)
    try:
        served = await server.start(transport)
        transport.is_busy = lambda: served.busy
        await ended.wait()
    finally:
        await server.stop()
        await transport.close()


def _run_loop(serve: _Serve) -> Collection[Stuck]:
    """Serve on a loop of its own; return the tasks that go on all the same."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(_until_told(serve))
    finally:
        stubborn = loop.run_until_complete(_end_tasks())
        loop.close()
    return stubborn


async def _end_tasks() -> Collection[Stuck]:
    """Cancel what is left on the loop, but do not wait for ever; return what goes on all the same."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    closing = asyncio.ensure_future(asyncio.get_running_loop().shutdown_asyncgens())
    _, stubborn = await asyncio.wait({*left, closing}, timeout=_GRACE)
    return stubborn


def _require_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "an event loop runs in this thread already; use `await serve_stdio(server)`, or mount `asgi_app`, there"
    )
