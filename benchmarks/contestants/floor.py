"""The floor: see `benchmarks.floor_protocol`."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.contract import Call
from benchmarks.floor_protocol import Client, Server, answer_alone
from benchmarks.floor_streams import LineProtocol
from benchmarks.http_calls import App, asgi_caller
from benchmarks.web_server import calling_uvicorn

SERVER = str(Path(__file__).parents[1] / "servers" / "floor.py")


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Call]:
    """Give a call that crosses over as typed messages, one loop turn each way."""
    loop = asyncio.get_running_loop()
    ends: dict[str, Any] = {}
    server = Server(lambda reply: loop.call_soon(ends["client"].take, reply))
    ends["client"] = client = Client(lambda request: loop.call_soon(server.take, request), as_bytes=False)
    yield client.call


async def _app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message["body"])
        if not message.get("more_body"):
            break
    body = await answer_alone(b"".join(parts))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def make_app() -> App:
    """Return an ASGI application that does the work and nothing else."""
    return _app


@asynccontextmanager
async def asgi() -> AsyncGenerator[Call]:
    """Give a call to the ASGI application in this process."""
    yield asgi_caller(_app)


def uvicorn() -> AbstractAsyncContextManager[Call]:
    """Give a call to the ASGI application under uvicorn."""
    return calling_uvicorn("floor")


@asynccontextmanager
async def stdio() -> AsyncGenerator[Call]:
    """Give a call to a child process over pipes."""
    loop = asyncio.get_running_loop()
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = Client(process.stdin.write, as_bytes=True)
    lines = LineProtocol(client.take_line)
    reading = loop.create_task(_pump(process.stdout, lines))
    try:
        yield client.call
    finally:
        process.stdin.close()
        await process.wait()
        await reading


async def _pump(stream: asyncio.StreamReader, lines: LineProtocol) -> None:
    while chunk := await stream.read(1 << 16):
        lines.data_received(chunk)
