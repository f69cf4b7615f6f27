"""Handlers in a module with postponed annotations, as people write them."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from elsewhere import Secret  # pyright: ignore[reportMissingImports]


class Context:
    """Stands for the server's context."""


class Narrow(Context):
    """A context of somebody's own."""


def plain(number: int, text: str = "x") -> str:
    """Do something."""
    return text * number


async def asynchronous(number: int, factor: int = 1) -> int:
    return number * factor


def with_context(number: int, ctx: Context) -> Any:
    return number, ctx


def with_annotated_context(ctx: Annotated[Context, "mine"], number: int) -> Any:
    return number, ctx


def with_optional_context(number: int, ctx: Narrow | None = None) -> Any:
    return number, ctx


def with_two_contexts(one: Context, two: Context) -> None:
    """Never runs."""


def with_secret(number: int, hidden: Secret) -> None:
    """Never runs."""


def with_secret_result() -> Secret:
    """Never runs."""


def keeping_its_signature(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def positional(number: int, /) -> None:
    """Never runs."""


def variadic(*numbers: int) -> None:
    """Never runs."""


def keywords(**numbers: int) -> None:
    """Never runs."""


def generator() -> Iterator[int]:
    yield 1


async def asynchronous_generator() -> AsyncIterator[int]:
    yield 1


class Multiplier:
    """Multiply."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def method(self, number: int) -> int:
        """Multiply by the factor."""
        return number * self.factor

    @staticmethod
    def static(number: int) -> int:
        return number * 2

    @classmethod
    def build(cls, factor: int) -> int:
        return cls(factor).factor

    async def __call__(self, number: int) -> int:
        return number * self.factor


class Unreadable:
    """An object that hides its parameters."""

    __signature__ = "none"

    def __call__(self) -> None:
        """Never runs."""
