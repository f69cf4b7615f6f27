"""The server of the field cases: tools that do what tools have been seen to do. Runs in process and as a process."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any

from msgspec import UNSET

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer

COUNT_STDIN = "import sys; print(len(sys.stdin.read()))"
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


def make_server() -> MCPServer:
    """Return a new server with every tool."""
    server = MCPServer("field", "1.0")
    for add in (_add_plain, _add_waiting, _add_blocking, _add_noisy, _add_starting, _add_deadly, _add_reporting):
        add(server)
    _add_failing(server)
    return server


def _add_plain(server: MCPServer) -> None:
    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def mirror(value: Any, context: Context) -> dict[str, Any]:
        return {"value": value, "meta": context.meta}

    @server.tool
    async def nothing() -> str:
        return "done"

    @server.tool
    async def last() -> None:
        """Answer when everything that can go on has done so."""
        for _ in range(50):
            await asyncio.sleep(0)


def _add_waiting(server: MCPServer) -> None:
    released = asyncio.Event()
    ended: list[str] = []

    @server.tool
    async def hold(name: str) -> str:
        """Wait until `release` is called."""
        try:
            await released.wait()
        finally:
            ended.append(name)
        return name

    @server.tool
    async def release() -> None:
        released.set()

    @server.tool
    async def wait(name: str = "") -> None:
        """Wait for ever."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)
            sys.stderr.write("cleaned up\n")

    @server.tool
    async def stubborn() -> str:
        """Swallow the cancellation and return all the same."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("stubborn")
        return "too late"

    @server.tool
    async def who_ended() -> list[str]:
        return ended

    @server.tool
    async def background() -> None:
        async def tick() -> None:
            while True:
                await asyncio.sleep(0.01)

        server.background_task = asyncio.create_task(tick())  # pyright: ignore[reportAttributeAccessIssue]


def _add_blocking(server: MCPServer) -> None:
    released = threading.Event()

    @server.tool
    def block() -> str:
        """Hold a thread until `unblock` is called."""
        released.wait(60)
        return "unblocked"

    @server.tool
    def unblock() -> None:
        released.set()

    @server.tool
    def sleep() -> None:
        time.sleep(60)

    @server.tool
    def look_around(name: str) -> list[Any]:
        return [WHO.get(), threading.current_thread() is threading.main_thread()]


def _add_noisy(server: MCPServer) -> None:
    @server.tool
    def prints() -> str:
        print("printed")  # noqa: T201  what it is here for
        return "done"

    @server.tool
    def shell() -> str:
        return str(os.system("echo from a shell"))  # pyright: ignore[reportDeprecated]  people do it

    @server.tool
    def reads() -> str:
        try:
            return input()
        except EOFError:
            return "end of input"

    @server.tool
    def writes_bytes() -> str:
        os.write(1, b"bytes for descriptor 1\n")
        sys.stdout.buffer.write(b"bytes for the buffer\n")
        sys.stdout.flush()
        return "done"

    @server.tool
    def logs() -> str:
        handler = logging.StreamHandler(sys.stdout)
        handler.handle(logging.makeLogRecord({"msg": "logged", "levelno": logging.INFO}))
        return "done"


def _add_starting(server: MCPServer) -> None:
    @server.tool
    def child() -> str:
        command = [sys.executable, "-c", COUNT_STDIN]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @server.tool
    def leaves_a_child() -> str:
        return str(subprocess.Popen(["sleep", "60"]).pid)

    @server.tool
    def noisy_child() -> str:
        subprocess.run(["echo", "an inherited stdout"], check=True)
        return "done"

    @server.tool
    def child_reads_inherited() -> str:
        return str(subprocess.run(["cat"], check=True).returncode)


def _add_deadly(server: MCPServer) -> None:
    @server.tool
    async def die(how: str) -> None:
        sys.stderr.write("about to die\n")
        sys.stderr.flush()
        if how == "signal":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(3)

    @server.tool
    async def leave() -> None:
        sys.exit(3)

    @server.tool
    def leave_from_a_thread() -> None:
        sys.exit(3)


def _add_reporting(server: MCPServer) -> None:
    late: list[Context] = []

    @server.tool
    async def count(context: Context) -> str:
        """Report what grows, what stays and what falls."""
        for value in (1, 2, 2, 1, 3):
            await context.progress(value, 3)
        late.append(context)
        return "counted"

    @server.tool
    def count_in_a_thread(context: Context) -> str:
        for value in (1, 2, 2, 1, 3):
            context.progress(value, 3)
        return "counted"

    @server.tool
    async def report_late() -> int:
        """Report once more for every call that is over, from a task of its own."""

        async def report() -> None:
            for context in late:
                await context.progress(99, 99)

        await asyncio.create_task(report())
        return len(late)


def _error(kind: str) -> Exception:
    if kind == "raises":
        return ValueError("secret path /etc/x")
    if kind == "invalid":
        data = {"field": "id", "why": [1, {"a": None}]}
        return MCPError(MCP_CODES.INVALID_PARAMS, "bad id", jsonrpc_code=-32602, data=data)
    falsy: dict[str, Any] = {"zero": 0, "null": None, "false": False, "text": "", "list": [], "object": {}}
    return MCPError("CUSTOM.CODE", "custom", jsonrpc_code=4001, data=falsy.get(kind, UNSET))


def _add_failing(server: MCPServer) -> None:
    @server.tool
    async def fails(kind: str) -> None:
        raise _error(kind)

    @server.tool
    def fails_in_a_thread(kind: str) -> None:
        raise _error(kind)

    @server.tool
    async def raises() -> None:
        raise _error("raises")

    @server.resource("field://{kind}")
    async def resource(kind: str) -> str:
        raise _error(kind)

    @server.prompt
    async def prompt(kind: str) -> str:
        raise _error(kind)


if __name__ == "__main__":
    make_server().run()
    sys.stderr.write("the server has stopped\n")
