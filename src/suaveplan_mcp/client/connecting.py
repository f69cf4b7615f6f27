"""How a connection is opened: the only file of the client that knows how an era begins.

An `Opener` takes a transport and gives an open connection; which one it is follows from the client's `protocol` option.
"""

from collections.abc import Callable, Collection
from typing import Protocol

from msgspec import Struct

from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.client.connection import Greeting, Limits, ServerConnection
from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import RequestId
from suaveplan_mcp.protocol.handshake import INITIALIZE, INITIALIZED, HandshakeEra
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, STATELESS_REVISIONS
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult


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
    """

    info: Implementation
    callbacks: Callbacks
    limits: Limits
    events: EventBus
    clock: Clock
    timers: Timers
    id_generator: Callable[[], RequestId] | None


class Opener(Protocol):
    """One way to begin."""

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; the transport is closed where that fails.

        Raises:
            MCPError: the two sides cannot agree, or the server broke the rules.
            MCPTransportError: the transport failed or closed.
        """
        ...


class Handshake:
    """Open a connection with `initialize`. Spec: basic/lifecycle

    Args:
        accepted: the revisions the client speaks; it asks for the newest.
    """

    __slots__ = ("_accepted",)

    def __init__(self, accepted: Collection[str]) -> None:
        self._accepted = accepted

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; see `Opener`."""
        callbacks, limits = setup.callbacks, setup.limits
        requested = max(self._accepted)
        dispatcher = JsonRpcDispatcher(
            transport,
            era=HandshakeEra("client", callbacks.handlers, self._accepted),
            id_generator=setup.id_generator,
            clock=setup.clock,
            timers=setup.timers,
            side="client",
            handlers=callbacks.handlers,
            events=setup.events,
        )
        params = InitializeRequestParams(
            protocol_version=requested, capabilities=callbacks.declare(requested), client_info=setup.info
        )
        try:
            result: InitializeResult = await dispatcher.request(
                INITIALIZE, params, timeout=limits.timeout, total_timeout=limits.total_timeout
            )
            await dispatcher.notify(INITIALIZED)
        except BaseException as error:
            await dispatcher.close(str(error) or "connecting was given up")
            raise
        greeting = Greeting(result.protocol_version, result.server_info, result.capabilities, result.instructions)
        return ServerConnection(dispatcher, greeting, limits, setup.clock)


def choose_opener(protocol: str, accepted_versions: Collection[str] | str | None) -> Opener:
    """Return how a client of these options begins.

    Args:
        protocol: `"handshake"`, or one of its revisions to speak no other.
        accepted_versions: the revisions the client speaks, all of the era by default.

    Raises:
        ValueError: there is no such protocol, or no revision is left to speak.
    """
    known = ("handshake", *HANDSHAKE_REVISIONS)
    if protocol not in known:
        raise ValueError(f"protocol {protocol!r} is not available; choose one of {', '.join(known)}")
    versions = HANDSHAKE_REVISIONS if accepted_versions is None else accepted_versions
    given = (versions,) if isinstance(versions, str) else versions
    accepted = [v for v in given if v not in STATELESS_REVISIONS and protocol in ("handshake", v)]
    if not accepted:
        raise ValueError(f"accepted_versions {', '.join(given)!r} leave nothing for protocol {protocol!r}")
    return Handshake(tuple(accepted))
