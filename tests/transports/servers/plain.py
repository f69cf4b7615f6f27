"""A server without MCP in it: JSON-RPC over this process's streams, with handlers that misbehave in every way."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.serving import run
from suaveplan_mcp.transport.base import Transport, find_paced

COUNT_STDIN = "import sys; print(len(sys.stdin.read()))"


class PlainServer:
    """Can be served like an `MCPServer`."""

    def __init__(self) -> None:
        self.threads = WorkerThreads()

    async def start(self, transport: Transport) -> JsonRpcDispatcher:
        self.transport = transport
        self.dispatcher = JsonRpcDispatcher(transport, side="server")
        for name in (
            "echo",
            "chatter",
            "child",
            "print",
            "system",
            "input",
            "nap",
            "sleep",
            "block",
            "stubborn",
            "background",
            "die",
        ):
            self.dispatcher.register_handler(name, getattr(self, name))
        return self.dispatcher

    async def stop(self) -> None:
        await self.dispatcher.close()
        self.threads.close()
        sys.stderr.write("cleaned up\n")

    async def echo(self, params: Any) -> Any:
        return params

    async def chatter(self, params: Any) -> Any:
        """Return how many messages were sent in a row, at the most, to a client that was behind with its reading."""
        transport, in_a_row, most = find_paced(self.transport), 0, 0
        assert transport is not None
        for _ in range(params):
            sent = self.dispatcher.post_notification("news", "x" * 1000)
            in_a_row = in_a_row + 1 if transport.congested else 0
            if in_a_row and not most:
                sys.stderr.write("the client is behind\n")
                sys.stderr.flush()
            most = max(most, in_a_row)
            await sent
        return most

    async def child(self, params: Any) -> Any:
        command = [sys.executable, "-c", COUNT_STDIN]
        done = await self.threads.run(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
        return done.stdout.strip()

    async def print(self, params: Any) -> Any:
        await self.threads.run(lambda: print("printed"))  # noqa: T201  what it is here for
        return "done"

    async def system(self, params: Any) -> Any:
        return await self.threads.run(lambda: os.system("echo from a shell"))  # pyright: ignore[reportDeprecated]  people do it

    async def input(self, params: Any) -> Any:
        def ask() -> str:
            try:
                return input()
            except EOFError:
                return "end of input"

        return await self.threads.run(ask)

    async def nap(self, params: Any) -> Any:
        await asyncio.sleep(0.01)
        return "awake"

    async def sleep(self, params: Any) -> Any:
        await asyncio.sleep(60)

    async def block(self, params: Any) -> Any:
        await self.threads.run(lambda: time.sleep(60))

    async def stubborn(self, params: Any) -> Any:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    async def background(self, params: Any) -> Any:
        async def tick() -> None:
            while True:
                await asyncio.sleep(0.01)

        self.background_task = asyncio.create_task(tick())
        return "started"

    async def die(self, params: Any) -> Any:
        sys.stderr.write("about to die\n")
        sys.stderr.flush()
        if params == "signal":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(3)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    run(PlainServer())
