"""What is common to every way of opening a connection."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.client.connection import Limits, ServerConnection
from suaveplan_mcp.client.response_cache import ResponseCache
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import RequestId
from suaveplan_mcp.protocol.era import Era
from suaveplan_mcp.protocol.input_rounds import MAX_ROUNDS
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.types.implementation import Implementation

EraName: TypeAlias = Literal["handshake", "stateless"]


class Verdict:
    """What is known of the era of one server, kept from one connection to the next.

    Attributes:
        era: the era it was last found to speak; None before it was ever asked.
    """

    __slots__ = ("era",)

    def __init__(self) -> None:
        self.era: EraName | None = None


class KnownServer(Struct, frozen=True):
    """What is known of a server before it is asked anything.

    Args:
        verdict: which era it speaks.
        name: what tells it from others in a cache that clients share; None for one that no other client knows.
        context: an opaque name of what the headers of every request to it authorize.
    """

    verdict: Verdict
    name: str | None = None
    context: str = ""


class Setup(Struct, frozen=True):
    """What a client brings to each of its connections.

    Args:
        info: what it calls itself.
        callbacks: what it serves.
        limits: how long its requests may take.
        events: the bus to report on.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
        id_generator: gives the ids of its requests.
        server: what is known of the server beforehand.
        cache: what keeps results that the server lets it keep; None to keep nothing.
        max_rounds: how often a server may ask for input before it has to complete a request.
    """

    info: Implementation
    callbacks: Callbacks
    limits: Limits
    events: EventBus
    clock: Clock
    timers: Timers
    id_generator: Callable[[], RequestId] | None
    server: "KnownServer"
    cache: ResponseCache | None
    max_rounds: int = MAX_ROUNDS

    def dispatch(self, transport: Transport, era: Era) -> JsonRpcDispatcher:
        """Return what runs a connection of the client over a transport, by the rules of an era."""
        return JsonRpcDispatcher(
            transport,
            era=era,
            id_generator=self.id_generator,
            clock=self.clock,
            timers=self.timers,
            side="client",
            handlers=self.callbacks.handlers,
            events=self.events,
        )


class Opener(Protocol):
    """One way to begin."""

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; the transport is closed where that fails.

        Raises:
            MCPError: the two sides cannot agree, or the server broke the rules.
            MCPTransportError: the transport failed or closed.
        """
        ...


async def give_up(dispatcher: JsonRpcDispatcher, error: BaseException) -> None:
    """Close what could not be opened."""
    await dispatcher.close(str(error) or "connecting was given up")
