"""A server and the client it serves, played by hand."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from suaveplan_mcp.events import FaultReported
from suaveplan_mcp.jsonrpc.messages import ErrorObject, ErrorResponse, JsonObject, Response
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.local_calls import LocalCall
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport

EVERYTHING: JsonObject = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
}


async def join(
    server: MCPServer, *, capabilities: JsonObject | None = None, revision: str = LATEST_HANDSHAKE
) -> ScriptedPeer:
    """Attach one more client and shake hands with it."""
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    peer = ScriptedPeer(far)
    await peer.initialize(revision=revision, capabilities=capabilities)
    return peer


@asynccontextmanager
async def serving(
    server: MCPServer, *, capabilities: JsonObject | None = None, revision: str = LATEST_HANDSHAKE
) -> AsyncGenerator[ScriptedPeer]:
    """Give a client that has shaken hands; stop the server at the end."""
    try:
        yield await join(server, capabilities=capabilities, revision=revision)
    finally:
        await server.stop()


async def ask(peer: ScriptedPeer, method: str, params: Any = None, *, id: int | str = "asked") -> Any:
    """Send a request and return what answers it, as plain JSON; an `ErrorObject` where it is an error."""
    peer.request(id, method, {} if params is None else params)
    return outcome(await peer.expect_response(id))


async def call(peer: ScriptedPeer, tool: str, **arguments: Any) -> Any:
    """Call a tool and return what `ask` does."""
    return await ask(peer, "tools/call", {"name": tool, "arguments": arguments})


def outcome(message: Response | ErrorResponse) -> Any:
    return message.result if isinstance(message, Response) else message.error


def code_of(error: Any) -> tuple[int, str]:
    """Return the number and the code of an error from the wire."""
    assert isinstance(error, ErrorObject)
    data: Any = error.data
    return error.code, data["code"]


def text_of(result: Any) -> str:
    """Return the text of a tool's result from the wire."""
    return result["content"][0]["text"]


def record_faults(server: MCPServer) -> list[FaultReported]:
    """Collect the faults that are reported from now on."""
    faults: list[FaultReported] = []
    server.events.on("fault:reported", faults.append)
    return faults


def a_call(method: str = "tools/call") -> InboundCall:
    """Return a call that has no client behind it."""
    return LocalCall(method)


async def settle(turns: int = 20) -> None:
    """Let the loop run what is ready."""
    for _ in range(turns):
        await asyncio.sleep(0)
