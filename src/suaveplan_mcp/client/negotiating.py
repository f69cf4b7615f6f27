"""Opening a connection to a server whose era is not known. Spec: basic/versioning, Backward Compatibility"""

from typing import cast

from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.client.handshake import Handshake
from suaveplan_mcp.client.opening import Setup, give_up
from suaveplan_mcp.client.stateless import Stateless, is_modern_error
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.transport.base import Transport, find_begin

PATIENCE = 5.0
"""Seconds that a server on a pipe may stay silent before it is taken for one that knows no `server/discover`."""


class Negotiation:
    """Open a connection in the newest era that the server knows.

    Args:
        stateless: tried first, unless the server is known to be of the other era.
        handshake: what is fallen back to.
    """

    __slots__ = ("_handshake", "_stateless")

    def __init__(self, stateless: Stateless, handshake: Handshake) -> None:
        self._stateless = stateless
        self._handshake = handshake

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; see `Opener`."""
        remembered = setup.server.verdict.era == "handshake"
        rules = self._handshake.rules(setup) if remembered else self._stateless.rules(setup)
        dispatcher = setup.dispatch(transport, rules)
        try:
            connection = await self._greet_as_remembered(dispatcher, setup) if remembered else None
            if connection is not None:
                return connection
            return await self._greet_first(dispatcher, setup, waits_long=find_begin(transport) is not None)
        except BaseException as error:
            await give_up(dispatcher, error)
            raise

    async def _greet_as_remembered(self, dispatcher: JsonRpcDispatcher, setup: Setup) -> ServerConnection | None:
        """Ask as the older era does; return None where the server will not have it, and may be another one by now."""
        try:
            return await self._handshake.greet(dispatcher, setup)
        except MCPError as error:
            setup.server.verdict.era = None
            if not error.received:
                raise
        dispatcher.adopt(self._stateless.rules(setup))
        return None

    async def _greet_first(self, dispatcher: JsonRpcDispatcher, setup: Setup, *, waits_long: bool) -> ServerConnection:
        """Ask as the newer era does, and fall back on what no server of that era answers."""
        try:
            connection = (
                await self._stateless.greet(dispatcher, setup)
                if waits_long
                else await self._stateless.greet(dispatcher, setup, _shorter(setup.limits.timeout))
            )
        except MCPError as error:
            if not (self._speaks_older(error) or _is_older(error, waits_long=waits_long)):
                raise
            # Also where the server went away over it: it will be asked in the other way if it is started again.
            setup.server.verdict.era = "handshake"
            if dispatcher.closed:
                raise
        else:
            setup.server.verdict.era = "stateless"
            return connection
        dispatcher.adopt(self._handshake.rules(setup))
        return await self._fall_back(dispatcher, setup)

    def _speaks_older(self, error: MCPError) -> bool:
        """Tell whether a server has named the revisions it speaks, and one of the handshake's is among them."""
        supported = error.context.get("supported") if error.code == MCP_CODES.PROTOCOL_VERSION_MISMATCH else None
        return isinstance(supported, list) and self._handshake.accepts_any(cast("list[str]", supported))

    async def _fall_back(self, dispatcher: JsonRpcDispatcher, setup: Setup) -> ServerConnection:
        """Ask as the older era does; a server that was only slow to say that it is a newer one says so now."""
        try:
            return await self._handshake.greet(dispatcher, setup)
        except MCPError as error:
            # One that goes away now may have done so over the question before.
            if not _is_end(error):
                setup.server.verdict.era = None
            if not is_modern_error(error):
                raise
        dispatcher.adopt(self._stateless.rules(setup))
        connection = await self._stateless.greet(dispatcher, setup)
        setup.server.verdict.era = "stateless"
        return connection


def _shorter(timeout: float | None) -> float:
    return PATIENCE if timeout is None else min(timeout, PATIENCE)


def _is_older(error: MCPError, *, waits_long: bool) -> bool:
    """Tell whether what came of asking a server means that it knows the handshake only.

    Args:
        error: what came of it.
        waits_long: whether it was asked over HTTP, where every request is answered, if only with a status.
    """
    if isinstance(error, MCPTransportError):
        status = error.context.get("status")
        return (isinstance(status, int) and 400 <= status < 500) if waits_long else _is_end(error)
    if error.received:
        return not is_modern_error(error)
    # A result that says nothing of what the server is, or none at all.
    return error.code in (MCP_CODES.PROTOCOL_INVALID, MCP_CODES.TIMEOUT) and not waits_long


def _is_end(error: MCPError) -> bool:
    return error.code == MCP_CODES.TRANSPORT_CLOSED and not error.received
