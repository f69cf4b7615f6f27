"""Telling the server which places it may work in. Spec: client/roots"""

from collections.abc import Iterable
from typing import Final, Protocol, cast, runtime_checkable

from msgspec import ValidationError, convert, to_builtins

from suaveplan_mcp.client.providers import Provider, wrong_answer
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.roots import ListRootsResult, Root

METHOD: Final = "roots/list"


@runtime_checkable
class HasUri(Protocol):
    """A place that knows its own URI, as a path of the standard library does."""

    def as_uri(self) -> str:
        """Return the URI."""
        ...


class RootsService:
    """Answers `roots/list`.

    Args:
        provider: returns a `ListRootsResult`, a dict of that shape, or any number of roots, each a `Root`, a dict of
            that shape, a URI as a string, or a path.
    """

    __slots__ = ("_provider",)

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def serve(self, params: RequestParams, call: InboundCall) -> ListRootsResult:
        """Return the roots.

        Raises:
            MCPError: `HANDLER_FAILED`, the provider returned something else, or a root that is no `file://` URI.
        """
        answer: object = await self._provider.ask(params, call)
        if isinstance(answer, ListRootsResult):
            return ListRootsResult(roots=_roots(answer.roots), meta=answer.meta)
        if isinstance(answer, dict):
            answer = cast("dict[str, object]", answer).get("roots")
        return ListRootsResult(roots=_roots(answer))


def _roots(answer: object) -> list[Root]:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise wrong_answer(METHOD, f"expected roots, got {type(answer).__qualname__}")
    return [_root(item) for item in cast("Iterable[object]", answer)]


def _root(item: object) -> Root:
    if isinstance(item, HasUri):
        item = item.as_uri()
    try:
        # A struct checks nothing when it is made, so it is taken apart first.
        plain = {"uri": item} if isinstance(item, str) else to_builtins(item)
        root = convert(plain, Root)
    except (TypeError, ValidationError) as error:
        raise wrong_answer(METHOD, str(error)) from error
    if not root.uri.startswith("file://"):
        raise wrong_answer(METHOD, f"{root.uri!r} is no file:// URI")
    return root
