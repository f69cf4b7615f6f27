"""What a server asks its clients: each question only where the client has said that it can be asked.

Spec: client/elicitation, client/sampling, client/roots
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from itertools import count
from typing import TypeAlias, cast

from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.caller import Caller, is_stateless
from suaveplan_mcp.protocol.features import known_sampling, sampling_unknown_to, unknown_to
from suaveplan_mcp.protocol.forms import check_answer
from suaveplan_mcp.protocol.input_rounds import lacking
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.sampling import require_balance
from suaveplan_mcp.protocol.stateless import missing_capability
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import InboundCall, Peer
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.server.asking import SAMPLE, Ask, AskError, AskResult, malformed, without_visit
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.elicitation import ElicitRequestParams, ElicitResult
from suaveplan_mcp.types.sampling import CreateMessageRequestParams

SamplingProvider: TypeAlias = Callable[[CreateMessageRequestParams], object]
"""Takes the params; returns a `CreateMessageResult`, a dict of its shape, or an awaitable of either."""


class ClientRequests:
    """Asks clients on behalf of handlers and of the server's owner.

    Args:
        connections: the clients.
        threads: where a plain sampling provider runs.
    """

    __slots__ = ("_connections", "_numbers", "_threads", "sampling_provider")

    def __init__(self, connections: Connections, threads: WorkerThreads) -> None:
        self._connections = connections
        self._threads = threads
        self._numbers = count(1)
        self.sampling_provider: SamplingProvider | None = None

    async def ask_caller(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
        """Ask the client behind a call; the questions are taken back when the call is given up.

        Nothing is asked unless everything can be, and where one question fails the others are taken back.

        Raises:
            MCPError: `METHOD_NOT_FOUND` where the client has not declared that it can be asked; `PROTOCOL_INVALID`
                where its answer is none to that question; or the error it answered with.
        """
        caller, peer, connection = call.caller, call.peer, self._connections.of(call.peer)
        if is_stateless(caller):
            where = "only while it calls a tool, gets a prompt or reads a resource"
            text = f"nothing can be asked in {call.method}: a client of revision {caller.revision} can be asked {where}"
            raise AskError(MCP_CODES.METHOD_NOT_FOUND, text, context={"method": call.method})
        asks = [self.askable(caller, ask) for ask in asks]
        if connection is not None and any(_lacking(ask, caller) is None for ask in asks):
            await connection.wait_initialized(call.signal)
        if len(asks) == 1:
            return [await self._ask(caller, peer, asks[0], call.signal, call.reply_delivery)]
        asking = [asyncio.ensure_future(self._ask(caller, peer, ask, call.signal, call.reply_delivery)) for ask in asks]
        try:
            return list(await asyncio.gather(*asking))
        finally:
            for each in asking:
                each.cancel()

    async def ask_only_client(self, ask: Ask, signal: AbortSignal | None) -> AskResult:
        """Ask the one client there is.

        Raises:
            MCPError: `NOT_INITIALIZED` where there is none or more than one; otherwise as `ask_caller`.
        """
        clients = [connection for connection in self._connections if connection.initialized]
        if len(clients) > 1:
            text = f"{len(clients)} clients are connected; ask the one behind a call with its context"
            raise MCPError(MCP_CODES.NOT_INITIALIZED, text)
        if not clients and not (ask.method == SAMPLE and self.sampling_provider):
            raise MCPError(MCP_CODES.NOT_INITIALIZED, "no client is connected")
        if not clients:
            return await self.sample_here(cast("CreateMessageRequestParams", ask.params))
        (connection,) = clients
        ask = self.askable(connection.caller, ask)
        return await self._ask(connection.caller, connection.dispatcher, ask, signal, None)

    def askable(self, caller: Caller, ask: Ask) -> Ask:
        """Return a question as the caller's revision can carry it.

        Raises:
            AskError: `METHOD_NOT_FOUND`, the client has not declared to answer it; `INVALID_PARAMS`, its revision has
                no such question.
        """
        if isinstance(ask.params, CreateMessageRequestParams):
            _require_balance(ask.params)
        capability = _lacking(ask, caller)
        if ask.method == SAMPLE and self.sampling_provider is not None and capability is not None:
            return ask
        if caller.revision is None:
            text = f"{ask.method} cannot be asked here: the call has no client behind it"
            raise AskError(MCP_CODES.METHOD_NOT_FOUND, text, context={"method": ask.method})
        if capability is not None and is_stateless(caller):
            raise _undeclared(ask.method, capability)
        if capability is not None:
            text = f"{ask.method} cannot be asked here: the client has not declared `{capability}`"
            raise AskError(MCP_CODES.METHOD_NOT_FOUND, text, context={"method": ask.method, "capability": capability})
        ask = _in_revision(ask, caller.revision)
        return without_visit(ask) if is_stateless(caller) else self._named(ask)

    def is_answered_here(self, caller: Caller, ask: Ask) -> bool:
        """Tell whether a question that `askable` let pass is one for the server's own provider."""
        return _lacking(ask, caller) is not None

    def _named(self, ask: Ask) -> Ask:
        """Return a question with a name of its own, where it sends the user to an address and has none."""
        params = ask.params
        if not isinstance(params, ElicitRequestParams) or params.mode != "url" or params.elicitation_id is not None:
            return ask
        return replace(ask, params=replace(params, elicitation_id=f"elicitation-{next(self._numbers)}"))

    async def _ask(
        self, caller: Caller, peer: Peer, ask: Ask, signal: AbortSignal | None, delivery: Delivery | None
    ) -> AskResult:
        if self.is_answered_here(caller, ask):
            return await self.sample_here(cast("CreateMessageRequestParams", ask.params))
        result: AskResult = await peer.request(ask.method, ask.params, signal=signal, delivery=delivery)
        if isinstance(ask.params, ElicitRequestParams):
            _check(ask.params, cast("ElicitResult", result))
        return result

    async def sample_here(self, params: CreateMessageRequestParams) -> AskResult:
        """Ask the server's own provider in place of a client's model.

        Raises:
            MCPProtocolError: `PROTOCOL_INVALID`, what it answers is none.
            BaseException: what it raises.
        """
        provider = cast("SamplingProvider", self.sampling_provider)
        answer = (
            provider(params) if iscoroutinefunction(provider) else await self._threads.run(partial(provider, params))
        )
        answer = await answer if isawaitable(answer) else answer
        result, _ = admit_result(METHODS[SAMPLE]["server"], answer)
        return cast("AskResult", result)


def _in_revision(ask: Ask, revision: str) -> Ask:
    params = ask.params
    if isinstance(params, ElicitRequestParams):
        unknown = unknown_to(revision, params)
    elif isinstance(params, CreateMessageRequestParams):
        unknown = sampling_unknown_to(revision, params)
        ask = replace(ask, params=known_sampling(revision, params))
    else:
        unknown = None
    if unknown is not None:
        raise malformed(*unknown)
    return ask


def _require_balance(params: CreateMessageRequestParams) -> None:
    try:
        require_balance(params.messages)
    except MCPError as error:
        raise malformed(str(error.context["path"]), str(error.context["reason"]), error) from error


def _check(params: ElicitRequestParams, result: ElicitResult) -> None:
    try:
        check_answer(params, result)
    except MCPError as error:
        place, reason = error.context["path"], error.context["reason"]
        text = f"the answer to elicitation/create does not fit the form: {place}: {reason}"
        raise AskError(MCP_CODES.PROTOCOL_INVALID, text, cause=error, context=error.context) from error


def _undeclared(method: str, capability: str) -> AskError:
    """Return the error that tells a client of the stateless era what it would have to declare."""
    told = missing_capability(capability, method)
    context = {"method": method, "capability": capability}
    return AskError(told.code, told.message, jsonrpc_code=told.jsonrpc_code, data=told.data, context=context)


def _lacking(ask: Ask, caller: Caller) -> str | None:
    """Return the capability that the client would have to declare and has not, or None."""
    return lacking(ask.params, caller.capabilities, caller.revision)
