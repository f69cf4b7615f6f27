"""Who answers which method, and who listens to which notification."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from suaveplan_mcp.errors import MCP_CODES, MCPError

HandlerFunction: TypeAlias = Callable[..., Any]
"""Takes the params, or the params and the call, both without a default; returns the result or an awaitable of it."""

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Listener: TypeAlias = Callable[[Any], object]
"""Takes the params of a notification; may return an awaitable."""


class Handler:
    """One registered handler.

    Args:
        function: what answers.
        takes_call: whether it wants the `InboundCall` beside the params.
        pauses_timeouts: whether our own requests stop ageing while it runs, because a person may be thinking.
        exempt: whether it runs at once, however many handlers run already.
        endless: whether it goes on until one of both sides has enough, so that nobody waits for it.
    """

    __slots__ = ("endless", "exempt", "function", "is_coroutine", "pauses_timeouts", "takes_call")

    def __init__(
        self,
        function: HandlerFunction,
        *,
        takes_call: bool,
        pauses_timeouts: bool = False,
        exempt: bool = False,
        endless: bool = False,
    ) -> None:
        self.function = function
        self.is_coroutine = inspect.iscoroutinefunction(function)
        self.takes_call = takes_call
        self.pauses_timeouts = pauses_timeouts
        self.exempt = exempt or endless
        self.endless = endless


class HandlerTable:
    """The handlers and listeners of one peer; several connections may share it.

    It can be asked `method in table`, and the era asks it that to learn what is served.
    """

    __slots__ = ("_handlers", "_listeners")

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._listeners: dict[str, tuple[Listener, ...]] = {}

    def __contains__(self, method: object) -> bool:
        """Tell whether a method has a handler."""
        return method in self._handlers

    def __iter__(self) -> Iterator[str]:
        """Iterate over the methods that have a handler."""
        return iter(self._handlers)

    def register(
        self,
        method: str,
        function: HandlerFunction,
        *,
        pauses_timeouts: bool = False,
        exempt: bool = False,
        endless: bool = False,
    ) -> None:
        """Let `function` answer `method`.

        Args:
            method: the method.
            function: what answers.
            pauses_timeouts: whether our own requests stop ageing while it runs.
            exempt: whether it runs at once, however many handlers run already; for what keeps a connection alive.
            endless: whether it goes on until one of both sides has enough: it is exempt, takes nobody's room and keeps
                no connection busy.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, the method has a handler.
        """
        if method in self._handlers:
            raise MCPError(MCP_CODES.DUPLICATE_REGISTRATION, f"{method} has a handler already")
        # A second parameter with a default is the function's own business: `lambda params, name=name: …`.
        takes_call = count_parameters(function, required_only=True) > 1
        self._handlers[method] = Handler(
            function, takes_call=takes_call, pauses_timeouts=pauses_timeouts, exempt=exempt, endless=endless
        )

    def unregister(self, method: str) -> None:
        """Take the handler of `method` away.

        Raises:
            MCPError: `NOT_FOUND`, it has none.
        """
        if self._handlers.pop(method, None) is None:
            raise MCPError(MCP_CODES.NOT_FOUND, f"{method} has no handler")

    def handler_of(self, method: str) -> Handler:
        """Return the handler of a method that is in the table."""
        return self._handlers[method]

    def listen(self, method: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the params of every such notification, after those that listen already.

        Returns:
            A function that ends it.
        """
        self._listeners[method] = (*self.listeners_of(method), listener)
        listening = True

        def stop() -> None:
            nonlocal listening
            if listening:
                listening = False
                kept = list(self._listeners[method])
                kept.remove(listener)
                self._listeners[method] = tuple(kept)

        return stop

    def listeners_of(self, method: str) -> tuple[Listener, ...]:
        """Return who listens to a notification now."""
        return self._listeners.get(method, ())


def count_parameters(function: Callable[..., object], *, required_only: bool = False) -> int:
    """Return how many positional arguments a callable takes.

    Args:
        function: the callable.
        required_only: whether to leave out those that have a default.

    Returns:
        The number; 99 for `*args`; 1 for a built-in function that does not tell.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return 99
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    return sum(not required_only or parameter.default is parameter.empty for parameter in positional)
