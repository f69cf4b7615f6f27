"""The functions a user gives to answer the server: plain or coroutine, with or without the call beside the params."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from msgspec import Raw

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.runtime.handlers import count_parameters
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.types.base import Result

ProviderFunction: TypeAlias = Callable[..., Any]
"""Takes nothing, the params, or the params and the `InboundCall`; returns the answer or an awaitable of it."""


class Provider:
    """One function, called the way it wants to be called.

    Args:
        function: a coroutine function runs on the event loop, any other one in a worker thread.
        threads: where the worker threads come from.
    """

    __slots__ = ("_arguments", "_function", "_is_coroutine", "_threads")

    def __init__(self, function: ProviderFunction, threads: WorkerThreads) -> None:
        self._function = function
        self._is_coroutine = inspect.iscoroutinefunction(function)
        self._arguments = count_parameters(function)
        self._threads = threads

    async def ask(self, params: object, call: InboundCall) -> Any:
        """Return what the function answers.

        Raises:
            MCPError: `HANDLER_FAILED`, it is a result of the right class and has something wrong in it.
            BaseException: what the function raises.
        """
        arguments = (params, call)[: self._arguments]
        if self._is_coroutine:
            return _look_over(call.method, await self._function(*arguments))
        answer: Any = await self._threads.run(partial(self._function, *arguments))
        return _look_over(call.method, await answer if inspect.isawaitable(answer) else answer)


def _look_over(method: str, answer: object) -> object:
    """Return an answer that holds what its class promises.

    Structs check nothing when they are made, so a result that a provider made is written and read once; plain values
    are checked when they are sent. What came from a peer, to be passed on, was read already.
    """
    row = METHODS[method]["server"]
    if not isinstance(answer, Result) or type(answer) is not row.result or answer.raw is not None:
        return answer
    try:
        result, deviations = admit_result(row, Raw(encode(answer)))
    except (TypeError, MCPError) as error:
        raise wrong_answer(method, str(error)) from error
    # What would be forgiven in a peer's result is none to send.
    if deviations:
        raise wrong_answer(method, deviations[0])
    return result


def wrong_answer(method: str, reason: str) -> MCPError:
    """Return the error for a provider that answered with nonsense; the peer learns only that it failed."""
    text = f"the provider for {method} returned a wrong answer: {reason}"
    return MCPError(MCP_CODES.HANDLER_FAILED, text, cause=ValueError(reason), context={"method": method})
