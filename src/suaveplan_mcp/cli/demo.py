"""`suaveplan-mcp demo [FOLDER]`: a server, a client, and every method between them, on the files of a folder.

The server is `demo_server.py`, in a process of its own; the client is here. The walk's steps stand in tables, in their
order; every step checks the answer it gets.
"""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from msgspec import to_builtins

from suaveplan_mcp.cli.demo_account import Account, shorten_middle
from suaveplan_mcp.cli.demo_resource_steps import PROMPT_STEPS, RESOURCE_STEPS
from suaveplan_mcp.cli.demo_tool_steps import TOOL_STEPS
from suaveplan_mcp.cli.demo_walk import Step, Walk, expect, start_server
from suaveplan_mcp.cli.printing import write_error

_REASON_LENGTH: Final = 800


class StepError(Exception):
    """A step failed; the message says which, and why."""


def main(folder: str) -> int:
    """Walk through the demo.

    Args:
        folder: what the server serves.

    Returns:
        The exit status: 0 where every answer was as it should be; else 1, and one sentence on standard error.
    """
    try:
        os.scandir(folder).close()
    except OSError as error:
        write_error(f"the demo needs a folder, and cannot list {folder!r}: {error.strerror}")
        return 1
    with TemporaryDirectory(prefix="suaveplan-mcp-demo-") as temporary:
        watched = Path(temporary).resolve() / "watched.txt"
        watched.write_text("as it was at first", "utf-8")
        return asyncio.run(walk_through(Path(folder).resolve(), watched))


async def walk_through(folder: Path, watched: Path) -> int:
    """Start the server, do every step as long as none fails, and end the server in any case; return the exit status.

    Raises:
        MCPTransportError: the server could not be started.
    """
    account = Account()
    account.open(str(folder))
    server = await start_server(folder, watched)
    walk = Walk(folder, watched, server)
    try:
        for step in STEPS:
            await do_step(step, walk, account)
    except StepError as error:
        write_error(f"the demo failed at {error}")
        return 1
    finally:
        await walk.end()
    account.close(f"the server, process {server.pid}, has ended with status {server.exit_status}")
    return 0


async def do_step(step: Step, walk: Walk, account: Account) -> None:
    """Do one step and tell of it.

    Raises:
        StepError: it failed; the message says why.
    """
    started = perf_counter()
    try:
        answer = await step.run(walk)
    except Exception as error:
        # What a server that has died said last is at the end.
        reason = shorten_middle(str(error) or repr(error), _REASON_LENGTH)
        raise StepError(f"step {account.steps + 1}, {step.title}: {reason}") from error
    account.add(step, answer, perf_counter() - started)


async def initialize(walk: Walk) -> str:
    """Shake hands with the server."""
    client = walk.client
    await client.connect(walk.server.transport)
    info = client.server_info
    expect(info is not None and info.name == "suaveplan-mcp-demo", f"another server answered: {info}")
    offers = ", ".join(to_builtins(client.server_capabilities))
    return f"{getattr(info, 'title', '')}; it speaks {client.protocol_version} and offers {offers}"


async def be_initialized(walk: Walk) -> str:
    """See that the server was told that the client is ready."""
    expect(walk.sent == ["notifications/initialized"], f"{walk.sent} went out instead")
    return "sent; a notification is not answered"


async def ping(walk: Walk) -> str:
    """Ask for a sign of life."""
    await walk.client.ping()
    return "it is"


async def hear_all_logs(walk: Walk) -> str:
    """Ask for every log message."""
    await walk.client.set_log_level("debug")
    return "agreed"


async def hear_few_logs(walk: Walk) -> str:
    """Ask for log messages of errors only, and see that a lesser one does not come."""
    await walk.client.set_log_level("error")
    walk.logs.clear()
    await walk.client.call_tool("summarise")
    expect(not walk.logs, f"all the same it sent {walk.logs}")
    return "agreed, and summarise was silent"


async def disconnect(walk: Walk) -> str:
    """Disconnect, and see that the server's process ends by itself."""
    await walk.end()
    status = walk.server.exit_status
    expect(status == 0, f"the server ended with status {status} instead of 0")
    return "the server has ended with status 0"


STEPS: Final = (
    Step("who are you?", initialize, ("initialize",)),
    Step("we are ready", be_initialized, ("notifications/initialized",)),
    Step("is anybody there?", ping, ("ping",)),
    Step("tell us everything", hear_all_logs, ("logging/setLevel",)),
    *RESOURCE_STEPS,
    *TOOL_STEPS,
    *PROMPT_STEPS,
    Step("tell us of errors only", hear_few_logs, ("logging/setLevel", "tools/call")),
    Step("goodbye, and see the server end", disconnect),
)
"""The walk, in order."""
