"""The functions a user gives to answer the server: plain or coroutine, with or without the call beside the params."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.handlers import count_parameters
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads

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
            BaseException: whatever the function raises.
        """
        arguments = (params, call)[: self._arguments]
        if self._is_coroutine:
            return await self._function(*arguments)
        answer: Any = await self._threads.run(partial(self._function, *arguments))
        return await answer if inspect.isawaitable(answer) else answer


def wrong_answer(method: str, reason: str) -> MCPError:
    """Return the error for a provider that answered with nonsense; the peer learns only that it failed."""
    text = f"the provider for {method} returned a wrong answer: {reason}"
    return MCPError(MCP_CODES.HANDLER_FAILED, text, cause=ValueError(reason), context={"method": method})
