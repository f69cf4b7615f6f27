"""What a server asks its clients: each question only where the client has said that it can be asked.

Spec: client/elicitation, client/sampling, client/roots
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TypeAlias, cast

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.forms import check_answer
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.server.asking import SAMPLE, Ask, AskError, AskResult
from suaveplan_mcp.server.connections import Connections, ServerConnection
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.capabilities import ClientCapabilities
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

    __slots__ = ("_connections", "_threads", "sampling_provider")

    def __init__(self, connections: Connections, threads: WorkerThreads) -> None:
        self._connections = connections
        self._threads = threads
        self.sampling_provider: SamplingProvider | None = None

    async def ask_caller(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
        """Ask the client behind a call; the questions are taken back when the call is given up.

        Nothing is asked unless everything can be, and where one question fails the others are taken back.

        Raises:
            MCPError: `METHOD_NOT_FOUND` where the client has not declared that it can be asked; `PROTOCOL_INVALID`
                where its answer is none to that question; or the error it answered with.
        """
        connection = self._connections.of(call.peer)
        for ask in asks:
            self._require_askable(connection, ask)
        if len(asks) == 1:
            return [await self._ask(connection, asks[0], call.signal, call.reply_delivery)]
        asking = [asyncio.ensure_future(self._ask(connection, ask, call.signal, call.reply_delivery)) for ask in asks]
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
        clients = [connection for connection in self._connections if connection.greeted]
        if len(clients) > 1:
            text = f"{len(clients)} clients are connected; ask the one behind a call with its context"
            raise MCPError(MCP_CODES.NOT_INITIALIZED, text)
        if not clients and not (ask.method == SAMPLE and self.sampling_provider):
            raise MCPError(MCP_CODES.NOT_INITIALIZED, "no client is connected")
        connection = clients[0] if clients else None
        self._require_askable(connection, ask)
        return await self._ask(connection, ask, signal, None)

    def _require_askable(self, connection: ServerConnection | None, ask: Ask) -> None:
        if ask.method == SAMPLE and self.sampling_provider is not None:
            return
        if connection is None:
            text = f"{ask.method} cannot be asked here: the call has no client behind it"
            raise AskError(MCP_CODES.METHOD_NOT_FOUND, text, context={"method": ask.method})
        capability = _lacking(ask, connection.client_capabilities)
        if capability is not None:
            text = f"{ask.method} cannot be asked here: the client has not declared `{capability}`"
            raise AskError(MCP_CODES.METHOD_NOT_FOUND, text, context={"method": ask.method, "capability": capability})

    async def _ask(
        self, connection: ServerConnection | None, ask: Ask, signal: AbortSignal | None, delivery: Delivery | None
    ) -> AskResult:
        if connection is None or _lacking(ask, connection.client_capabilities) is not None:
            # Only a question that the server can answer itself has come so far.
            return await self._sample_here(cast("CreateMessageRequestParams", ask.params))
        result: AskResult = await connection.dispatcher.request(
            ask.method, ask.params, signal=signal, delivery=delivery
        )
        if isinstance(ask.params, ElicitRequestParams):
            _check(ask.params, cast("ElicitResult", result))
        return result

    async def _sample_here(self, params: CreateMessageRequestParams) -> AskResult:
        provider = cast("SamplingProvider", self.sampling_provider)
        answer = (
            provider(params) if iscoroutinefunction(provider) else await self._threads.run(partial(provider, params))
        )
        answer = await answer if isawaitable(answer) else answer
        result, _ = admit_result(METHODS[SAMPLE]["server"], answer)
        return cast("AskResult", result)


def _check(params: ElicitRequestParams, result: ElicitResult) -> None:
    try:
        check_answer(params, result)
    except MCPError as error:
        place, reason = error.context["path"], error.context["reason"]
        text = f"the answer to elicitation/create does not fit the form: {place}: {reason}"
        raise AskError(MCP_CODES.PROTOCOL_INVALID, text, cause=error, context=error.context) from error


def _lacking(ask: Ask, declared: ClientCapabilities) -> str | None:
    """Return the capability that the client would have to declare and has not, or None."""
    params = ask.params
    if isinstance(params, ElicitRequestParams):
        return _lacking_elicitation(params, declared)
    if isinstance(params, CreateMessageRequestParams):
        if declared.sampling is None:
            return "sampling"
        uses_tools = params.tools is not None or params.tool_choice is not None
        return "sampling.tools" if uses_tools and declared.sampling.tools is None else None
    return None if declared.roots is not None else "roots"


def _lacking_elicitation(params: ElicitRequestParams, declared: ClientCapabilities) -> str | None:
    modes = declared.elicitation
    if modes is None:
        return "elicitation"
    if params.mode == "url":
        return None if modes.url is not None else "elicitation.url"
    # Naming neither mode is the older way to declare forms.
    return None if modes.form is not None or modes.url is None else "elicitation.form"
