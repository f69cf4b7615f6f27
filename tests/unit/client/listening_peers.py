"""A client of the stateless era and the server it listens to, played by hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import FaultReported
from suaveplan_mcp.jsonrpc.messages import JsonObject, Message, Request
from suaveplan_mcp.protocol.revisions import V2026_07_28
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.meta import SUBSCRIPTION_ID_KEY

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CANCELLED = "notifications/cancelled"
UPDATED = "notifications/resources/updated"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"

TELLS_OF_RESOURCES: JsonObject = {"resources": {"subscribe": True}}


class OwnWays:
    """A transport on which each request goes its own way, so that it may be cut off alone."""

    def __init__(self, inner: InMemoryTransport) -> None:
        self._inner = inner
        self._failed: dict[Any, Callable[[MCPError], object]] = {}
        self.on_message, self.on_close, self.close = inner.on_message, inner.on_close, inner.close
        self.send = inner.send

    @property
    def closed(self) -> bool:
        return self._inner.closed

    def begin(
        self, message: Message, *, delivery: Delivery | None = None, failed: Callable[[MCPError], object]
    ) -> None:
        if isinstance(message, Request):
            self._failed[message.id] = failed
        self._inner.post(message, delivery=delivery)

    def cut(self, request: Request) -> None:
        """Let a request fail as one does whose answer breaks off."""
        self._failed[request.id](MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "the answer breaks off"))


class Listener:
    """A connected client, the server's end, and what was reported meanwhile."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        options = {"prefetch": False, **options}
        self.client = MCPClient(protocol="stateless", clock=self.clock, timers=self.clock, **options)
        self.faults: list[str] = []
        self.events: list[str] = []
        near, far = InMemoryTransport.pair()
        self.ways, self.peer = OwnWays(near), ScriptedPeer(far)

        def note_fault(reported: FaultReported) -> None:
            self.faults.append(reported.fault)

        self.client.events.on("fault:reported", note_fault)
        self.client.events.on("list:changed", lambda event: self.events.append(event.kind))
        self.client.events.on("resource:updated", lambda event: self.events.append(event.uri))

    async def discovered(self, capabilities: JsonObject) -> None:
        """Answer what the server is."""
        request = await self.peer.expect_request("server/discover")
        result: JsonObject = {
            "supportedVersions": [V2026_07_28],
            "capabilities": capabilities,
            "resultType": "complete",
        }
        self.peer.respond(request.id, {**result, "ttlMs": 0, "cacheScope": "private"})

    async def connect(self, capabilities: JsonObject) -> None:
        """Open the connection."""
        await asyncio.gather(self.client.connect(self.ways), self.discovered(capabilities))

    async def acknowledge(self, honoured: Any = None) -> Request:
        """Acknowledge the next message, which asks to listen: all of it, or a part."""
        request = await self.peer.expect_request(LISTEN)
        self.tell(request.id, ACKNOWLEDGED, notifications=wanted_in(request) if honoured is None else honoured)
        return request

    async def acknowledged(self, work: Coroutine[Any, Any, Any], honoured: Any = None) -> Request:
        """Run what waits for an acknowledgement."""
        task = asyncio.create_task(work)
        request = await self.acknowledge(honoured)
        await task
        return request

    def tell(self, id_: Any, method: str, **params: Any) -> None:
        """Send a notification for a subscription."""
        self.peer.notify(method, {"_meta": {SUBSCRIPTION_ID_KEY: id_}, **params})

    def end(self, id_: int | str, reason: str | None = None) -> None:
        """End a stream in order."""
        self.tell(id_, CANCELLED, requestId=id_, **({} if reason is None else {"reason": reason}))
        self.peer.respond(id_, {"resultType": "complete", "_meta": {SUBSCRIPTION_ID_KEY: id_}})

    async def settle(self) -> None:
        """Let the loop run what is ready."""
        await self.clock.settle()


@asynccontextmanager
async def listener(capabilities: JsonObject | None = None, **options: Any) -> AsyncGenerator[Listener]:
    """Give a connected client that fetches nothing by itself."""
    made = Listener(**options)
    await made.connect(TELLS_OF_RESOURCES if capabilities is None else capabilities)
    async with made.client:
        yield made


def wanted_in(request: Request) -> Any:
    """Return the filter that a request asks for."""
    assert isinstance(request.params, dict)
    return request.params["notifications"]
