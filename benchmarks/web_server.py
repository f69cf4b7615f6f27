"""A contestant's application under uvicorn, in a process of its own."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.contract import Call
from benchmarks.http_calls import HttpCaller

_ROOT = Path(__file__).parents[1]


@asynccontextmanager
async def calling_uvicorn(contestant: str) -> AsyncGenerator[Call]:
    """Serve `make_app` of a contestant, and give a call to it."""
    # The socket listens before uvicorn runs, so no port is guessed and nobody connects too early.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        port: int = listener.getsockname()[1]
        app = f"benchmarks.contestants.{contestant}:make_app"
        options = ["--fd", str(listener.fileno()), "--loop", "uvloop", "--http", "httptools", "--log-level", "error"]
        # Connections must outlive the turns of the others.
        patient = ["--timeout-keep-alive", "3600"]
        command = [sys.executable, "-m", "uvicorn", *options, *patient, "--factory", app]
        server = await asyncio.create_subprocess_exec(*command, cwd=_ROOT, pass_fds=[listener.fileno()])
        caller = HttpCaller(port)
        try:
            yield caller.call
        finally:
            caller.close()
            server.terminate()
            await server.wait()
