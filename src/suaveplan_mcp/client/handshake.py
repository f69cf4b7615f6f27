"""Opening a connection with `initialize`. Spec: basic/lifecycle"""

from collections.abc import Collection

from suaveplan_mcp.client.connection import Greeting, ServerConnection
from suaveplan_mcp.client.opening import Setup, give_up
from suaveplan_mcp.protocol.handshake import INITIALIZE, INITIALIZED, HandshakeEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult


class Handshake:
    """Open a connection with `initialize`.

    Args:
        accepted: the revisions the client speaks; it asks for the newest.
    """

    __slots__ = ("_accepted",)

    def __init__(self, accepted: Collection[str]) -> None:
        self._accepted = accepted

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; see `Opener`."""
        dispatcher = setup.dispatch(transport, self.rules(setup))
        try:
            return await self.greet(dispatcher, setup)
        except BaseException as error:
            await give_up(dispatcher, error)
            raise

    def rules(self, setup: Setup) -> HandshakeEra:
        """Return the rules of a new connection."""
        return HandshakeEra("client", setup.callbacks.handlers, self._accepted)

    def accepts_any(self, revisions: Collection[str]) -> bool:
        """Tell whether the client speaks one of these revisions."""
        return not set(self._accepted).isdisjoint(revisions)

    async def greet(self, dispatcher: JsonRpcDispatcher, setup: Setup) -> ServerConnection:
        """Open a connection that has a transport and these rules already; it stays as it is where that fails.

        Raises:
            MCPError: see `Opener`.
        """
        limits, requested = setup.limits, max(self._accepted)
        params = InitializeRequestParams(
            protocol_version=requested, capabilities=setup.callbacks.declare(requested), client_info=setup.info
        )
        result: InitializeResult = await dispatcher.request(
            INITIALIZE, params, timeout=limits.timeout, total_timeout=limits.total_timeout
        )
        await dispatcher.notify(INITIALIZED)
        greeting = Greeting(result.protocol_version, result.server_info, result.capabilities, result.instructions)
        return ServerConnection(dispatcher, greeting, limits, setup.clock)
