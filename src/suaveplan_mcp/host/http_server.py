"""A web server for our ASGI applications: uvicorn, started and ended our way."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final

import uvicorn

from suaveplan_mcp.transport.asgi import AsgiApp

_GRACE: Final = 1
"""Whole seconds that requests may take at the end."""

_KEEP_ALIVE: Final = 75
"""Seconds that an idle connection is kept: longer than clients keep theirs, so that none is closed under a request."""

_NO_SUCH_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


class _Uvicorn(uvicorn.Server):
    """Leaves the process's signals to the code that started it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at every address of a host.

    Args:
        host: a name or an address; the empty string means every address of this machine.
        port: 0 takes one that is free, the same at all addresses.

    Raises:
        OSError: it cannot listen there; the message says where and why.
    """
    listeners: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in addresses:
            listener = _listen_at(family, (str(address[0]), port_of(listeners) if listeners else port))
            if listener is not None:
                listeners.append(listener)
        if not listeners:
            raise OSError(errno.EADDRNOTAVAIL, "this machine has no such address")
    except OSError as error:
        for listener in listeners:
            listener.close()
        place = f"{host or 'every address'}, port {port}"
        raise OSError(error.errno, f"cannot listen at {place}: {error.strerror}") from error
    return listeners


def _listen_at(family: int, address: tuple[str, int]) -> socket.socket | None:
    try:
        listener = socket.create_server(address, family=family)
    except OSError as error:
        # A name may lead to addresses of a kind that this machine does not speak.
        if error.errno in _NO_SUCH_ADDRESS:
            return None
        raise
    # asyncio sends without delay only where a socket says that it speaks TCP; this one does not yet.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, listener.detach())


def port_of(listeners: list[socket.socket]) -> int:
    """Return the port that sockets listen at."""
    port: int = listeners[0].getsockname()[1]
    return port


def url_of(listeners: list[socket.socket], path: str) -> str:
    """Return the URL of a path at the first of the addresses that sockets listen at."""
    host: str = listeners[0].getsockname()[0]
    return f"http://{f'[{host}]' if ':' in host else host}:{port_of(listeners)}{path}"


async def serve_http(
    app: AsgiApp, listeners: list[socket.socket], *, until: asyncio.Event, stop: Callable[[], Awaitable[object]]
) -> None:
    """Serve an application; return when it has ended and every connection is closed.

    Args:
        app: the application; its lifespan is not run.
        listeners: where to listen; they are closed in the end.
        until: end as soon as it is set.
        stop: ends the responses that would go on for ever; awaited before anything is waited for.
    """
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        # The logs belong to the owner of the process, and a line for each request would tell the ids of sessions.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Uvicorn(config)
    serving = asyncio.ensure_future(server.serve(listeners))
    waiting = asyncio.ensure_future(until.wait())
    try:
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        await stop()
        server.should_exit = True
        await serving
