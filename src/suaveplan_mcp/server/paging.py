"""Pages of a list, and the cursors between them. Spec: server/utilities/pagination"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Raw, Struct

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.admission import SealedResult, invalid_params
from suaveplan_mcp.protocol.revisions import V2026_07_28, is_at_least
from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.caching import CacheScope

_PREFIX: Final = "after:"
Item = TypeVar("Item")

Form: TypeAlias = Literal["handshake", "stateless"]
"""How a list is written: the revisions of one era take the same form."""


class Listing(Struct, frozen=True):
    """How a server answers what asks for lists.

    Args:
        scope: tells whether answers may be shared between callers.
        complete: gives a result all that one of the stateless era carries.
        page_size: how many items a page has; None for all.
        ttl_ms: milliseconds that a list may be kept.
    """

    scope: Callable[[], CacheScope]
    complete: Callable[[Result], Result]
    page_size: int | None = None
    ttl_ms: int = 0


class Page(NamedTuple, Generic[Item]):
    """One page of a list.

    Args:
        items: what is on it.
        next_cursor: leads to the next page, None at the end.
        scope: who may share it.
        ttl_ms: milliseconds that it may be kept.
        form: how it is written.
    """

    items: list[Item]
    next_cursor: str | None
    scope: CacheScope
    ttl_ms: int
    form: Form


MakePage: TypeAlias = Callable[[Page[Item]], Result]
"""Makes the result of a list method."""


class Pages(Generic[Item]):
    """The answers to a list method as JSON, made once and kept until a registration changes.

    As JSON they cost nothing to send again, and a client in the same process cannot reach into what is registered.

    Args:
        items: gives the whole list in one form.
        make_page: makes the result of one page.
        listing: how lists are answered.
    """

    __slots__ = ("_items", "_kept", "_listing", "_make_page")

    def __init__(
        self,
        items: Callable[[Form], Sequence[Item]],
        make_page: MakePage[Item],
        listing: Listing,
    ) -> None:
        self._items = items
        self._make_page = make_page
        self._listing = listing
        self._kept: dict[tuple[str | None, CacheScope, Form], Payload] = {}

    def answer(self, cursor: str | None, revision: str | None) -> Payload:
        """Return the page that a cursor leads to.

        Args:
            cursor: where the page begins, None for the first.
            revision: what the caller speaks.

        Raises:
            MCPError: `INVALID_PARAMS`, no page of this list gave that cursor.
        """
        listing, form = self._listing, form_of(revision)
        scope = listing.scope()
        kept = self._kept.get((cursor, scope, form))
        if kept is None:
            items, next_cursor = page_of(self._items(form), cursor, listing.page_size)
            result = self._make_page(Page(items, next_cursor, scope, listing.ttl_ms, form))
            # A whole answer of the stateless era is kept, so that nothing has to be added to it when it goes out.
            raw = Raw(encode(listing.complete(result) if form == "stateless" else result))
            kept = self._kept[cursor, scope, form] = SealedResult(raw) if form == "stateless" else raw
        return kept

    def forget(self) -> None:
        """Make every page anew when it is next asked for, because the list has changed."""
        self._kept.clear()


def form_of(revision: str | None) -> Form:
    """Return how lists are written for a revision."""
    return "stateless" if is_at_least(str(revision), V2026_07_28) else "handshake"


def require_page_size(size: int | None) -> int | None:
    """Return a page size that a list can be cut by.

    Raises:
        MCPError: `INVALID_PARAMS`, a page would hold nothing.
    """
    if size is not None and size < 1:
        raise invalid_params("page_size", f"a page holds at least one item, not {size}")
    return size


def require_ttl(setting: str, ttl_ms: int) -> int:
    """Return how long something may be kept.

    Raises:
        MCPError: `INVALID_PARAMS`, it is less than nothing.
    """
    if ttl_ms < 0:
        raise invalid_params(setting, f"milliseconds are counted from 0 on, not from {ttl_ms}")
    return ttl_ms


def page_of(items: Sequence[Item], cursor: str | None, size: int | None) -> tuple[list[Item], str | None]:
    """Return one page and the cursor of the next.

    Args:
        items: the whole list.
        cursor: where the page begins, as an earlier page gave it; None for the first.
        size: how many items a page has; None for all.

    Returns:
        The items, and the next cursor, or None at the end.

    Raises:
        MCPError: `INVALID_PARAMS`, no page of this list gave that cursor.
    """
    start = 0 if cursor is None else _position(cursor, len(items), size)
    if size is None or start + size >= len(items):
        return list(items[start:]), None
    return list(items[start : start + size]), f"{_PREFIX}{start + size}"


def _position(cursor: str, length: int, size: int | None) -> int:
    digits = cursor.removeprefix(_PREFIX)
    # A number longer than the list's own length is never read, however long it is.
    if size is not None and digits != cursor and len(digits) <= len(str(length)) and digits.isdecimal():
        position = int(digits)
        if f"{_PREFIX}{position}" == cursor and position in range(size, length, size):
            return position
    raise invalid_params("cursor", "no page of this list gave this cursor")
