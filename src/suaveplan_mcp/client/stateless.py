"""Opening a connection on which every request speaks for itself. Spec: basic/versioning, server/discover"""

from collections.abc import Collection
from typing import Final, cast

from msgspec import UNSET, UnsetType, ValidationError, convert

from suaveplan_mcp.client.connection import Greeting, ServerConnection
from suaveplan_mcp.client.input_rounds import InputRounds
from suaveplan_mcp.client.opening import Setup, give_up
from suaveplan_mcp.client.stateless_requests import StatelessRequests
from suaveplan_mcp.errors import (
    HEADER_MISMATCH,
    MCP_CODES,
    MISSING_CAPABILITY,
    UNSUPPORTED_REVISION,
    MCPError,
    MCPProtocolError,
    MCPTransportError,
)
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.discover import DiscoverResult
from suaveplan_mcp.types.meta import ResultMetaObject

DISCOVER: Final = "server/discover"

_MODERN: Final = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_REVISION})


def is_modern_error(error: MCPError) -> bool:
    """Tell whether only a server of the stateless era answers so. Spec: basic/versioning, Backward Compatibility"""
    return error.received and error.jsonrpc_code in _MODERN


def supported_by(error: MCPError) -> Collection[str]:
    """Return the revisions that a server names which does not speak the one it was asked in."""
    data = error.data
    named: object = cast("dict[str, object]", data).get("supported") if isinstance(data, dict) else None
    return [str(name) for name in cast("list[object]", named)] if isinstance(named, list) else []


class Stateless:
    """Open a connection by asking the server what it is.

    No request needs that, but a server of the other era might answer some in its own way, and this one it refuses.

    Args:
        accepted: the revisions the client speaks; it prefers the newest.
    """

    __slots__ = ("_accepted",)

    def __init__(self, accepted: Collection[str]) -> None:
        self._accepted = accepted

    async def open(self, transport: Transport, setup: Setup) -> ServerConnection:
        """Open a connection; see `Opener`."""
        dispatcher = setup.dispatch(transport, self.rules(setup))
        try:
            return await self.greet(dispatcher, setup)
        except MCPError as error:
            await give_up(dispatcher, error)
            raise self._explained(error) from error.__cause__
        except BaseException as error:
            await give_up(dispatcher, error)
            raise

    def rules(self, setup: Setup) -> StatelessEra:
        """Return the rules of a new connection."""
        callbacks = setup.callbacks
        return StatelessEra(
            "client",
            callbacks.handlers,
            self._accepted,
            info=setup.info,
            capabilities=lambda: callbacks.capabilities_in(max(self._accepted)),
        )

    async def greet(
        self, dispatcher: JsonRpcDispatcher, setup: Setup, patience: float | None | UnsetType = UNSET
    ) -> ServerConnection:
        """Open a connection that has a transport and these rules already; it stays as it is where that fails.

        Args:
            dispatcher: the connection.
            setup: what the client brings.
            patience: seconds to wait for an answer; as long as for any other by default.

        Raises:
            MCPError: see `Opener`.
        """
        limits, era = setup.limits, cast("StatelessEra", dispatcher.era)
        timeout = limits.timeout if patience is UNSET else patience
        named: Collection[str] = ()
        # Once more than there are revisions: one that is refused and named in one breath is tried again.
        for _ in range(len(self._accepted) + 1):
            try:
                result: DiscoverResult = await dispatcher.request(
                    DISCOVER, RequestParams(), timeout=timeout, total_timeout=limits.total_timeout
                )
            except MCPError as error:
                # A server that knows the era, but not this revision of it, names those it knows.
                if error.jsonrpc_code != UNSUPPORTED_REVISION or not error.received:
                    raise
                named = supported_by(error)
                if not self._settle(era, named):
                    raise _disagreement(named, self._accepted) from error
            else:
                if not self._settle(era, result.supported_versions):
                    raise _disagreement(result.supported_versions, self._accepted)
                greeting = _greeting(str(era.revision), result)
                return ServerConnection(dispatcher, greeting, limits, setup.clock, _requests_on(dispatcher, setup))
        text = f"the server refuses {', '.join(self._accepted)}, which it names as supported"
        context = {"supported": list(named), "accepted": list(self._accepted)}
        raise MCPProtocolError(MCP_CODES.PROTOCOL_VERSION_MISMATCH, text, context=context)

    def _settle(self, era: StatelessEra, supported: Collection[str]) -> bool:
        """Speak the newest revision that both sides know, and tell whether there is one."""
        mutual = [revision for revision in self._accepted if revision in supported]
        if mutual:
            era.speak(max(mutual))
        return bool(mutual)

    def _explained(self, error: MCPError) -> MCPError:
        """Return the error of opening with what its reader may do about it."""
        if isinstance(error, MCPTransportError) or is_modern_error(error) or not (_is_timeout(error) or error.received):
            return error
        names = ", ".join(sorted(self._accepted, reverse=True))
        text = (
            f"the server did not answer {DISCOVER}, which every server that speaks {names} does: {error.message}; "
            'for one that opens with `initialize`, use protocol="auto"'
        )
        return MCPError(MCP_CODES.PROTOCOL_VERSION_MISMATCH, text, cause=error, context={"accepted": names})


def _requests_on(dispatcher: JsonRpcDispatcher, setup: Setup) -> StatelessRequests:
    """Return what sends the requests of a connection."""
    server, report = setup.server, Observer("client", dispatcher.dispatcher_id, setup.events, setup.clock).fault
    name = server.name or f"{dispatcher.dispatcher_id}"
    cache = None if setup.cache is None else setup.cache.bind(name, report)
    rounds = InputRounds(dispatcher, setup.callbacks, setup.clock, setup.timers, setup.max_rounds)
    return StatelessRequests(dispatcher, report, cache, server.context, rounds=rounds, has_headers=dispatcher.has_ways)


def _is_timeout(error: MCPError) -> bool:
    return error.code == MCP_CODES.TIMEOUT


def _disagreement(supported: Collection[str], accepted: Collection[str]) -> MCPError:
    theirs = ", ".join(supported) or "no revision that it names"
    text = f"the server speaks {theirs}, this client {', '.join(accepted)}"
    context = {"supported": list(supported), "accepted": list(accepted)}
    return MCPError(MCP_CODES.PROTOCOL_VERSION_MISMATCH, text, context=context)


def _greeting(revision: str, result: DiscoverResult) -> Greeting:
    try:
        info = convert(result.meta or {}, ResultMetaObject).server_info
    except ValidationError:
        # It is for display only, and not worth a connection.
        info = None
    return Greeting(revision, info, result.capabilities, result.instructions)
