"""The lifespan of a server that is a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE

SERVER = """
import asyncio, sys, time
from contextlib import asynccontextmanager
from suaveplan_mcp import MCPServer

@asynccontextmanager
async def database():
    try:
        yield
    finally:
        await asyncio.sleep(0.01)
        sys.stderr.write("the database is closed\\n")

server = MCPServer("s", "1", lifespan=database)

@server.tool
async def nap():
    await asyncio.sleep(60)

@server.tool
def block():
    time.sleep(60)
"""


@pytest.mark.parametrize("tool", ["nap", "block"])
def test_what_the_server_opened_is_closed_when_its_input_ends_whatever_runs(tool: str, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    hello = {
        "protocolVersion": LATEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool}},
    )
    done = subprocess.run(
        [sys.executable, "-m", "suaveplan_mcp", "run", "server.py"],
        cwd=tmp_path,
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )

    assert (0, [1]) == (done.returncode, [json.loads(line)["id"] for line in done.stdout.splitlines()])
    assert ["the database is closed"] == done.stderr.splitlines()
