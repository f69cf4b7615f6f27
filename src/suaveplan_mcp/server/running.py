"""How a handler is run: on the loop, or in a thread so that it cannot hold up the others."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, cast

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.server.asking import AskError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.input_rounds import InputNeededError, needed_in
from suaveplan_mcp.server.logging import LogError
from suaveplan_mcp.server.refusals import InvalidArgumentsError, RegistrationError
from suaveplan_mcp.server.signatures.signature import CallableShape

# These tell of an exchange with another peer, or of a mistake in the handler, so they are no answer to its caller.
_NO_ANSWERS: Final = frozenset(
    {
        MCP_CODES.ALREADY_CONNECTED,
        MCP_CODES.DUPLICATE_REGISTRATION,
        MCP_CODES.HANDLER_FAILED,
        MCP_CODES.METHOD_NOT_FOUND,
        MCP_CODES.NOT_INITIALIZED,
        MCP_CODES.PROTOCOL_INVALID,
        MCP_CODES.PROTOCOL_VERSION_MISMATCH,
        MCP_CODES.TIMEOUT,
        MCP_CODES.TRANSPORT_CLOSED,
        MCP_CODES.TRANSPORT_ERROR,
    }
)

PASSING: Final = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, InputNeededError)
"""What ends more than a handler, and so is nothing that the handler failed with."""

_MISTAKES: Final = (AskError, InvalidArgumentsError, LogError, RegistrationError)


class Runner:
    """Runs handlers for all features of a server.

    Args:
        make_context: gives the context of a call to a handler that asks for one.
        threads: where plain functions run.
    """

    __slots__ = ("_make_context", "_threads")

    def __init__(self, make_context: Callable[[InboundCall], Context], threads: WorkerThreads) -> None:
        self._make_context = make_context
        self._threads = threads

    async def run(
        self, shape: CallableShape, arguments: dict[str, object], call: InboundCall, *, inline: bool = False
    ) -> object:
        """Run a handler and return what it returned.

        Args:
            shape: the handler.
            arguments: by name; used up.
            call: the call it answers.
            inline: run a plain function on the loop all the same.

        Raises:
            InputNeededError: the client has to answer something first.
            MCPError: `INVALID_PARAMS`, the client sent a state that cannot be used; `HANDLER_FAILED`, the handler went
                on without an answer.
            BaseException: what the handler raises.
        """
        if shape.context_parameter is None and getattr(call.params, "request_state", None) is None:
            return await self._invoke(shape, arguments, None, inline=inline)
        context = self._make_context(call)
        if context.run is None:
            return await self._invoke(shape, arguments, context, inline=inline)
        try:
            value = await self._invoke(shape, arguments, context, inline=inline)
        except BaseExceptionGroup as error:
            # A group of tasks raises what its tasks raised.
            end = needed_in(error)
            if end is None:
                raise
            raise end from error
        if context.run.waits:
            text = (
                f"the handler of {shape.label} went on though its client has not answered yet: it catches "
                "BaseException, or gathers exceptions as results, and must let InputNeededError pass"
            )
            raise MCPError(MCP_CODES.HANDLER_FAILED, text, context={"handler": shape.label})
        return value

    def _invoke(
        self, shape: CallableShape, arguments: dict[str, object], context: Context | None, *, inline: bool
    ) -> Awaitable[object]:
        """Begin to run a handler."""
        if shape.is_async:
            return cast("Awaitable[object]", shape.invoke(arguments, context))
        return self._invoke_plain(shape, arguments, context, inline=inline)

    async def _invoke_plain(
        self, shape: CallableShape, arguments: dict[str, object], context: Context | None, *, inline: bool
    ) -> object:
        if inline:
            value = shape.invoke(arguments, context)
        else:
            value = await self._threads.run(partial(shape.invoke, arguments, context))
        return await cast("Awaitable[object]", value) if inspect.isawaitable(value) else value

    async def run_reported(
        self, shape: CallableShape, arguments: dict[str, object], call: InboundCall, *, inline: bool = False
    ) -> object:
        """Run a handler whose exceptions are none of the caller's business.

        Raises:
            MCPError: the handler raised it as its answer; or `HANDLER_FAILED`, whose cause is what it raised.
        """
        try:
            return await self.run(shape, arguments, call, inline=inline)
        except PASSING:
            raise
        except BaseException as error:
            if is_answer(error):
                raise
            text = f"the handler of {shape.label} failed: {error}"
            raise MCPError(MCP_CODES.HANDLER_FAILED, text, cause=error, context={"handler": shape.label}) from error


def is_answer(error: BaseException) -> bool:
    """Tell whether an exception that a handler let through is meant for its caller.

    What a peer answered to the handler never is: it was said to this side. A number of its own makes any other
    `MCPError` an answer. Otherwise those are none that only the handler can do something about.
    """
    if not isinstance(error, MCPError) or error.received:
        return False
    return error.jsonrpc_code is not None or not (isinstance(error, _MISTAKES) or error.code in _NO_ANSWERS)
