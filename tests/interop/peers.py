"""How the servers of these tests are started, ours and other people's."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NODE_FOLDER = Path(__file__).parent / "node"
NODE_ABSENT = "Node is absent (no `node` on the PATH, or nothing installed in tests/interop/node)"

DEADLINE = 60
"""Seconds that a program of other people's may take."""

HANDSHAKE_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]

Target = list[str] | str
"""What connects to a server: a command that starts it, or the URL where it listens."""

# The servers are modules of this folder, and import what stands beside them.
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def command_of(server: str, transport: str = "stdio") -> list[str]:
    """Return the command that starts one of the servers in `servers/`."""
    return [sys.executable, "-m", f"tests.interop.servers.{server}", transport]


@contextmanager
def listening(command: list[str]) -> Generator[str]:
    """Run a server that listens; give the URL that is its first line."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **ENVIRONMENT}, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def has_node() -> bool:
    """Tell whether the programs of `node/` can run."""
    return shutil.which("node") is not None and (NODE_FOLDER / "node_modules").is_dir()


needs_node = pytest.mark.skipif(not has_node(), reason=NODE_ABSENT)


def node_command(package: str, *arguments: str) -> list[str]:
    """Return the command that starts a server from npm."""
    return ["node", str(NODE_FOLDER / "node_modules" / "@modelcontextprotocol" / package / "dist/index.js"), *arguments]


def node_version(package: str) -> str:
    """Return the version of a package from npm that is installed."""
    manifest = NODE_FOLDER / "node_modules" / "@modelcontextprotocol" / package / "package.json"
    content: dict[str, Any] = json.loads(manifest.read_text("utf-8"))
    return content["version"]
