"""Starts `servers/plain.py` as a real process, with everything that tests look at when it is over."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher

SERVERS = Path(__file__).parent / "servers"
PLAIN = [sys.executable, str(SERVERS / "plain.py")]

# What a server may take to end; it fails a test, never slows one down.
DEADLINE = 10


async def spawn(command: list[str], **options: Any) -> tuple[ServerProcess, JsonRpcDispatcher]:
    """Start a server in our environment, which coverage needs, and connect to it."""
    server = await ServerProcess.spawn(command, inherit_env=os.environ, **options)
    return server, JsonRpcDispatcher(server.transport)


@asynccontextmanager
async def running(command: list[str], **options: Any) -> AsyncGenerator[JsonRpcDispatcher]:
    """Start a server, connect to it, and close it in the end."""
    _, dispatcher = await spawn(command, **options)
    try:
        yield dispatcher
    finally:
        await dispatcher.close()


def script(code: str) -> list[str]:
    """Return the command for a server that is written in a test."""
    return [sys.executable, "-c", code]


def serve_lines(
    data: bytes, command: list[str] = PLAIN, env: Mapping[str, str] | None = None
) -> tuple[int, bytes, str]:
    """Run a server on an input that ends, and return its exit status, its output and what it wrote to stderr."""
    done = subprocess.run(command, input=data, capture_output=True, timeout=DEADLINE, check=False, env=env)
    return done.returncode, done.stdout, done.stderr.decode()


async def until_gone(pid: int) -> None:
    """Return when a process has ended that another process has to wait for."""
    while is_running(pid):
        await asyncio.sleep(0.005)


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended; in a container nobody may wait for an orphan."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def open_descriptors() -> set[str]:
    """Return the open file descriptors of this process, each with what it is."""
    folder = Path("/proc/self/fd")
    descriptors: set[str] = set()
    for entry in os.listdir(folder):
        try:
            descriptors.add(f"{entry} {os.readlink(folder / entry)}")
        except FileNotFoundError:
            # It was the one that reads the folder.
            continue
    return descriptors
