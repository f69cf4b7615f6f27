"""The composition root of clients: from a name of a server to a client that is connected to it."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack, runtime_checkable
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from suaveplan_mcp.client.known_servers import KnownServers
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.opening import KnownServer, Verdict
from suaveplan_mcp.client.reopening import Reopen
from suaveplan_mcp.client.response_cache import ResponseCache, name_context
from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.host.extras import load_http
from suaveplan_mcp.host.mcp_json import ServerEntry, only_entry, read_entry
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.host.respawn import Respawn, RespawnedServer
from suaveplan_mcp.host.stderr_log import ForwardLine
from suaveplan_mcp.jsonrpc.messages import JsonObject, RequestId
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Clock, Timers, loop_clock
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.frames import check_limit
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.transport.stdio import MAX_FRAME_BYTES
from suaveplan_mcp.types.logging import LoggingMessageNotificationParams

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILES: Final = frozenset({".py", ".json"})
# The longer names are what some files of other programs have.
_HTTP_TRANSPORTS: Final = {
    "http": ("streamable_http", "connect_streamable_http"),
    "streamable-http": ("streamable_http", "connect_streamable_http"),
    "streamableHttp": ("streamable_http", "connect_streamable_http"),
    "sse": ("http_sse", "connect_http_sse"),
}

_Release: TypeAlias = Callable[[], Awaitable[object]]


class _Opened(NamedTuple):
    """A way to a server, what lets go of it, and what makes another where the server has ended."""

    transport: Transport
    release: _Release
    reopen: Reopen | None = None


class _Closable(Protocol):
    async def close(self) -> None: ...


class _ServedConnection(Protocol):
    @property
    def dispatcher(self) -> _Closable: ...


class _ServerState(Protocol):
    @property
    def running(self) -> bool: ...


@runtime_checkable
class LocalServer(Protocol):
    """A server in this process: an `MCPServer`. Only its shape is known here, so that clients need not load servers."""

    async def attach(self, transport: Transport) -> _ServedConnection:
        """Serve one more transport."""
        ...

    async def stop(self) -> None:
        """Close every connection."""
        ...

    def get_info(self) -> _ServerState:
        """Tell whether it runs."""
        ...


Target: TypeAlias = LocalServer | Transport | Mapping[str, Any] | Sequence[str] | str | os.PathLike[str]
"""What `connect` takes."""


class ClientOptions(TypedDict, total=False):
    """The options of `MCPClient`, which describes them."""

    name: str
    version: str
    protocol: str
    prefetch: bool
    timeout: float | None
    total_timeout: float | None
    accepted_versions: Collection[str] | None
    experimental: Mapping[str, JsonObject] | None
    max_pages: int
    max_rounds: int
    on_log: Callable[[LoggingMessageNotificationParams], object] | None
    events: EventBus | None
    clock: Clock | None
    timers: Timers | None
    id_generator: Callable[[], RequestId] | None
    cache: ResponseCache | None


class OpeningOptions(Struct, frozen=True):
    """How a target is opened.

    Args:
        env: variables that a server which is started gets beside the inherited ones.
        cwd: its working folder, ours by default.
        on_stderr: called with every line it writes to its standard error.
        transport: how to speak to a URL, where the URL does not tell.
        headers: go out with every HTTP request.
        max_frame_bytes: the largest message that is read.
        respawn: whether and how a server that was started is started again when it has ended by itself.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
    """

    env: Mapping[str, str]
    cwd: str | os.PathLike[str] | None = None
    on_stderr: ForwardLine | None = None
    transport: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    max_frame_bytes: int = MAX_FRAME_BYTES
    respawn: Respawn | None = None
    clock: Clock = loop_clock
    timers: Timers = LOOP_TIMERS


class Connection:
    """What `connect` returns: enter it to connect, leave it to disconnect, each from any task.

    Attributes:
        client: the client, for what has to be set before connecting, such as its providers.
    """

    def __init__(self, target: Target, options: OpeningOptions, client: MCPClient, verdict: Verdict) -> None:
        """Name the target; use `connect`."""
        self.client = client
        self._verdict = verdict
        self._target = target
        self._options = options
        self._release: _Release | None = None

    async def __aenter__(self) -> MCPClient:
        """Open the target and connect to it; where that fails nothing is left behind.

        Raises:
            TypeError: the target is nothing that can be connected to.
            ValueError: a target that cannot be used; the message says why.
            FileNotFoundError: the target is a file that does not exist.
            MCPTransportError: the server cannot be started, or ended at once; the message has its last words.
            MCPError: see `MCPClient.connect`.
        """
        known = self._verdict.era
        try:
            return await self._connect()
        except MCPTransportError:
            # Some servers end over a question of the newer era; they are started again and asked as of old.
            if isinstance(self._target, Transport) or self._verdict.era in (known, None):
                raise
        return await self._connect()

    async def _connect(self) -> MCPClient:
        transport, release, reopen = await _open(self._target, self._options)
        try:
            if reopen is None and self._options.respawn is not None:
                raise ValueError("`respawn` is for servers that are started here, by a command or a file")
            await self.client.connect(transport, reopen=reopen)
        except BaseException:
            await _finish(release)
            raise
        self._release = release
        return self.client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect, and end what was started for the connection."""
        release, self._release = self._release, None
        try:
            await self.client.disconnect()
        finally:
            if release is not None:
                await _finish(release)


def connect(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_stderr: ForwardLine | None = None,
    transport: str | None = None,
    headers: Mapping[str, str] | None = None,
    max_frame_bytes: int | None = None,
    respawn: Respawn | bool = False,
    **options: Unpack[ClientOptions],
) -> Connection:
    """Connect to a server, named in any of several ways.

    Use it as `async with connect(target) as client`; to set providers first, keep what it returns and use its `client`.

    Args:
        target: an `MCPServer` in this process; a command to start, as a list or as one string; the path of a Python
            file with a server in it; a URL; a transport; or an `mcp.json` with one server, as its path or as a dict.
        env: variables for a server that is started, beside the inherited ones.
        cwd: the working folder of a server that is started.
        on_stderr: called with every line that a server that is started writes to its standard error; by default they
            go to the logger `suaveplan_mcp.server_process`.
        transport: how to speak to a URL: `"http"` for Streamable HTTP, `"sse"` for HTTP+SSE; by default the latter
            where it ends in `/sse`, else the former.
        headers: go out with every HTTP request, such as `{"Authorization": "Bearer …"}`; never to another origin.
        max_frame_bytes: the largest message that is read from a process or over HTTP, 64 MiB by default; a larger one
            is dropped and reported.
        respawn: start a server again when it has ended by itself, as `Respawn` says; True takes its defaults. Calls
            that were in flight fail with the reason, later ones wait until it is back, for as long as their timeout.
        options: see `MCPClient`. Where they are left out, `protocol` is `"auto"` here and `prefetch` False.

    Returns:
        What to enter for the connected client.

    Raises:
        ValueError: an option that cannot be used.
    """
    options.setdefault("protocol", "auto")
    options.setdefault("prefetch", False)
    options.setdefault("protocol", "auto")
    limit = MAX_FRAME_BYTES if max_frame_bytes is None else check_limit(max_frame_bytes)
    opening = OpeningOptions(
        env or {},
        cwd,
        on_stderr,
        transport,
        headers or {},
        limit,
        (Respawn() if respawn else None) if isinstance(respawn, bool) else respawn,
        options.get("clock") or loop_clock,
        options.get("timers") or LOOP_TIMERS,
    )
    server = _known_server(target, opening)
    return Connection(target, opening, MCPClient(**options, server=server), server.verdict)


_servers: Final = KnownServers()


def _known_server(target: Target, options: OpeningOptions) -> KnownServer:
    if isinstance(target, LocalServer | Transport):
        return KnownServer(Verdict())
    context = name_context(options.headers)
    words = (repr(target), options.transport, str(options.cwd))
    url = target if isinstance(target, str) and _URL.match(target) else None
    return _servers.find((*words, context, *sorted(options.env.items())), url, context)


async def _finish(release: _Release) -> None:
    """Let go of a target in a task of its own: the caller may be cancelled, at every step of the way."""
    await asyncio.shield(asyncio.ensure_future(release()))


async def _open(target: Target, options: OpeningOptions) -> _Opened:
    if isinstance(target, LocalServer):
        return await _attach(target)
    if isinstance(target, Transport):
        return _Opened(target, target.close)
    if isinstance(target, Mapping):
        return await _open_entry(only_entry(target, "the target"), options)
    if isinstance(target, str | os.PathLike):
        return await _open_text(os.fspath(target), options)
    if isinstance(target, Sequence) and all(isinstance(word, str) for word in target):  # pyright: ignore[reportUnnecessaryIsInstance]  callers need not be type-checked
        return await _spawn(target, options)
    raise TypeError(
        f"cannot connect to {target!r}: pass an MCPServer, a transport, a command as a list of strings or one string, "
        "the path of a Python file or of an mcp.json, or such a file's content as a dict"
    )


# A server in this process

# How many connections there are to each server that was started for the first of them.
_started: WeakKeyDictionary[LocalServer, int] = WeakKeyDictionary()


async def _attach(server: LocalServer) -> _Opened:
    near, far = InMemoryTransport.pair()
    ours = server in _started or not server.get_info().running
    connection = await server.attach(far)
    if ours:
        _started[server] = _started.get(server, 0) + 1

    async def release() -> None:
        await near.close()
        await connection.dispatcher.close()
        if ours:
            _started[server] -= 1
            if not _started[server]:
                del _started[server]
                await server.stop()

    return _Opened(near, release)


# A server that is started


async def _spawn(command: Sequence[str] | str, options: OpeningOptions) -> _Opened:
    def spawn() -> Awaitable[ServerProcess]:
        return ServerProcess.spawn(
            command,
            env=options.env,
            cwd=options.cwd,
            on_stderr=options.on_stderr,
            max_frame_bytes=options.max_frame_bytes,
        )

    if options.respawn is None:
        server = await spawn()
        return _Opened(server.transport, server.close)
    servers = RespawnedServer(spawn, options.respawn, options.clock, options.timers)
    return _Opened(await servers.start(), servers.close, servers.start_again)


async def _open_text(text: str, options: OpeningOptions) -> _Opened:
    if _URL.match(text):
        return _open_url(text, options)
    path = Path(text)
    kind = _kind(path)
    if kind == ".py":
        return await _spawn_python(text, options)
    if kind == ".json":
        return await _open_entry(read_entry(path), options)
    return await _spawn(text, options)


def _kind(path: Path) -> str:
    """Return the suffix of a file that a target can be; the empty string for a command.

    Raises:
        FileNotFoundError: it can only be such a file, but does not exist.
    """
    text = str(path)
    file, _, name = text.rpartition(":")
    if path.suffix in _FILES and path.is_file():
        return path.suffix
    if file.endswith(".py") and name.isidentifier() and Path(file).is_file():
        return ".py"
    if path.suffix in _FILES and not re.search(r"\s", text):
        raise FileNotFoundError(f"there is no file {text!r}")
    return ""


async def _spawn_python(file: str, options: OpeningOptions) -> _Opened:
    # It runs in this very interpreter, so what steers that one steers it.
    env = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")} | dict(options.env)
    command = [sys.executable, "-m", "suaveplan_mcp", "run", file]
    return await _spawn(command, replace(options, env=env))


async def _open_entry(entry: ServerEntry, options: OpeningOptions) -> _Opened:
    if entry.command is None:
        if entry.url is None:
            raise ValueError("the server's entry has no `command` and no `url`")
        transport = options.transport or entry.type
        return _open_url(
            entry.url, replace(options, transport=transport, headers=entry.headers | dict(options.headers))
        )
    command = [entry.command, *entry.args]
    cwd = entry.cwd if options.cwd is None else options.cwd
    return await _spawn(command, replace(options, env={**entry.env, **options.env}, cwd=cwd))


# A server that listens somewhere


def _open_url(url: str, options: OpeningOptions) -> _Opened:
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https"):
        raise ValueError(f"cannot connect to {url}: only http and https are known")
    named = options.transport or ("sse" if parts.path.rstrip("/").endswith("/sse") else "http")
    if named not in _HTTP_TRANSPORTS:
        raise ValueError(f"cannot connect to {url}: the transport {named!r} is none of {', '.join(_HTTP_TRANSPORTS)}")
    module, function = _HTTP_TRANSPORTS[named]
    connect_url = getattr(load_http(module), function)
    transport: Transport = connect_url(url, headers=options.headers, max_frame_bytes=options.max_frame_bytes)
    return _Opened(transport, transport.close)
