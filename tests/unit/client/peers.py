"""A client and the server it talks to, played by hand."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.client.connection import Limits
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.opening import KnownServer, Setup, Verdict
from suaveplan_mcp.events import EventBus, FaultReported
from suaveplan_mcp.jsonrpc.messages import JsonObject, Request
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.implementation import Implementation

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

_CLOCK = FakeClock()
SETUP = Setup(
    info=Implementation(name="host", version="9"),
    callbacks=Callbacks(None),
    limits=Limits(None, None),
    events=EventBus("client"),
    clock=_CLOCK,
    timers=_CLOCK,
    id_generator=None,
    server=KnownServer(Verdict()),
    cache=None,
)
"""What a client brings that has no limits, providers or cache, and knows nothing of its server."""


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


@asynccontextmanager
async def opened_stateless(
    discovered: JsonObject | None = None, *, client: MCPClient | None = None
) -> AsyncGenerator[tuple[MCPClient, ScriptedPeer]]:
    """Give a client of the stateless era that is connected, and its peer.

    Args:
        discovered: what the peer says that it is; by default it can do everything.
        client: the client, where it is not one like any other.
    """
    client = client or MCPClient(protocol="stateless", prefetch=False)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    result = {"supportedVersions": [LATEST], "capabilities": EVERYTHING} if discovered is None else discovered
    await asyncio.gather(client.connect(near), answer(peer, "server/discover", result))
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
