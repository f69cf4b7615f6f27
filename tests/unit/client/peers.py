"""A client and the server it talks to, played by hand."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.events import FaultReported
from suaveplan_mcp.jsonrpc.messages import JsonObject, Request
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport

TOOLS: JsonObject = {"tools": {}}
RESOURCES: JsonObject = {"resources": {"subscribe": True}}
EVERYTHING: JsonObject = {
    **TOOLS,
    **RESOURCES,
    "prompts": {},
    "completions": {},
    "logging": {},
    "experimental": {"suaveplan/roots": {}},
}


async def open_client(
    client: MCPClient, *, capabilities: JsonObject | None = None, revision: str = LATEST_HANDSHAKE
) -> tuple[ScriptedPeer, Request]:
    """Connect a client that does not prefetch; return its peer and the `initialize` request."""
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    _, request = await asyncio.gather(
        client.connect(near), peer.handshake(revision=revision, capabilities=capabilities)
    )
    return peer, request


@asynccontextmanager
async def connected(
    client: MCPClient | None = None, *, capabilities: JsonObject | None = None, revision: str = LATEST_HANDSHAKE
) -> AsyncGenerator[tuple[MCPClient, ScriptedPeer]]:
    """Give a connected client and its peer."""
    client = client or MCPClient(prefetch=False)
    peer, _ = await open_client(
        client, capabilities=EVERYTHING if capabilities is None else capabilities, revision=revision
    )
    async with client:
        yield client, peer


async def answer(peer: ScriptedPeer, method: str, result: Any) -> Any:
    """Answer the next message, a request of `method`."""
    request = await peer.expect_request(method)
    peer.respond(request.id, result)
    return request


async def exchange(peer: ScriptedPeer, method: str, work: Coroutine[Any, Any, Any], result: Any) -> tuple[Any, Any]:
    """Run what sends one request and answer it; return the request and what came of it."""
    task = asyncio.create_task(work)
    request = await answer(peer, method, result)
    return request, await task


async def ask(peer: ScriptedPeer, method: str, params: Any) -> Any:
    """Ask the client something and return its answer."""
    peer.request("asked", method, params)
    return await peer.expect_response("asked")


def record_faults(client: MCPClient) -> list[FaultReported]:
    """Collect the faults that are reported from now on."""
    faults: list[FaultReported] = []
    client.events.on("fault:reported", faults.append)
    return faults


async def settle() -> None:
    """Let the loop run what is ready."""
    await FakeClock().settle()
