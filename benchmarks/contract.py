"""What every contestant offers."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

Call = Callable[[int, int], Awaitable[int]]
"""Calls the tool `add` and returns the sum that came back."""


class Contestant(Protocol):
    """A module of `contestants`."""

    def in_memory(self) -> AbstractAsyncContextManager[Call]:
        """Give a call to a server in this process."""
        ...

    def asgi(self) -> AbstractAsyncContextManager[Call]:
        """Give a call to its ASGI application in this process."""
        ...

    def uvicorn(self) -> AbstractAsyncContextManager[Call]:
        """Give a call to its ASGI application under uvicorn, in a child process."""
        ...

    def stdio(self) -> AbstractAsyncContextManager[Call]:
        """Give a call to a server in a child process."""
        ...
