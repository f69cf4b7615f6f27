"""Serving an ASGI application on a free port of the loopback address, and saying which."""

import socket

import uvicorn
from starlette.types import ASGIApp


def serve_sse(app: ASGIApp) -> None:
    """Serve until the process is terminated; the first line on standard output is the URL of the event stream."""
    # Named as TCP, or small answers would wait until the client has acknowledged what came before them.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    # On standard output because the test reads its first line and nothing else writes there.
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/sse", flush=True)  # noqa: T201
    # Clients hold their event streams open, and nobody waits for them once the test is over.
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=0)
    uvicorn.Server(config).run(sockets=[listener])
