"""Two dispatchers facing each other, one dispatcher facing a scripted peer, and a transport that can only `send`."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from suaveplan_mcp.events import FaultReported, Side
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.testing import FakeClock, RecordingTransport, ScriptedPeer
from suaveplan_mcp.transport.base import CloseHandler, Delivery, MessageHandler, Transport, Unsubscribe
from suaveplan_mcp.transport.in_memory import InMemoryTransport


@dataclass
class Pair:
    """A client and a server over a recorded in-memory transport, on one fake clock."""

    client: JsonRpcDispatcher
    server: JsonRpcDispatcher
    wire: RecordingTransport
    clock: FakeClock
    faults: list[FaultReported]

    @property
    def sent(self) -> list[Message]:
        """What the client sent."""
        return self.wire.sent

    @property
    def received(self) -> list[Message]:
        """What the client received."""
        return self.wire.received


@asynccontextmanager
async def connected(**server_options: Any) -> AsyncGenerator[Pair]:
    """Connect two dispatchers without an era; close both in the end."""
    near, far = InMemoryTransport.pair()
    clock, wire, faults = FakeClock(), RecordingTransport(near), list[FaultReported]()
    client = JsonRpcDispatcher(wire, clock=clock, timers=clock)
    server = JsonRpcDispatcher(far, side="server", clock=clock, timers=clock, **server_options)
    for side in (client, server):
        side.events.on("fault:reported", faults.append)
    try:
        yield Pair(client, server, wire, clock, faults)
    finally:
        await client.close()
        await server.close()


@dataclass
class Alone:
    """A dispatcher whose peer is played by hand."""

    dispatcher: JsonRpcDispatcher
    peer: ScriptedPeer
    clock: FakeClock
    faults: list[FaultReported]


class Crowded(InMemoryTransport):
    """An end that says of itself what a test wants: how much is unwritten. What is posted arrives all the same."""

    def __init__(self, peer: InMemoryTransport | None = None) -> None:
        super().__init__(peer)
        self.congested = False
        self.overfull = False
        self.may_pause: Callable[[], bool] = lambda: False
        self._room = asyncio.Event()

    async def drained(self) -> None:
        await self._room.wait()

    def fill(self) -> None:
        self.congested = True
        self._room.clear()

    def make_room(self) -> None:
        self.congested = self.overfull = False
        self._room.set()


@asynccontextmanager
async def facing_a_script(
    side: Side = "client", *, ends: tuple[InMemoryTransport, InMemoryTransport] | None = None, **options: Any
) -> AsyncGenerator[Alone]:
    """Connect a dispatcher with a scripted peer; close it in the end."""
    near, far = ends or InMemoryTransport.pair()
    clock, faults = FakeClock(), list[FaultReported]()
    dispatcher = JsonRpcDispatcher(near, side=side, clock=clock, timers=clock, **options)
    dispatcher.events.on("fault:reported", faults.append)
    try:
        yield Alone(dispatcher, ScriptedPeer(far), clock, faults)
    finally:
        await dispatcher.close()


class SendOnly:
    """A transport without `post`, one message at a time; it can be made to stand still or to fail.

    Args:
        inner: what really sends.

    Attributes:
        gate: nothing passes while it is not set.
        error: what the next sends raise.
    """

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: BaseException | None = None

    @property
    def closed(self) -> bool:
        return self.inner.closed

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        await self.inner.send(message, delivery=delivery)

    def on_message(self, handler: MessageHandler) -> Unsubscribe:
        return self.inner.on_message(handler)

    def on_close(self, handler: CloseHandler) -> Unsubscribe:
        return self.inner.on_close(handler)

    async def close(self) -> None:
        await self.inner.close()


async def turns(count: int = 5) -> None:
    """Let the event loop run what is ready."""
    for _ in range(count):
        await asyncio.sleep(0)


async def never() -> None:
    """Wait for what does not happen."""
    await asyncio.Event().wait()


def texts(faults: list[FaultReported]) -> list[str]:
    """Return what the faults say."""
    return [fault.fault for fault in faults]
