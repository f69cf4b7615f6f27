"""Lists that come in pages. Spec: server/utilities/pagination"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from suaveplan_mcp.client.arguments import Meta, copy_meta, refusal, require_text
from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError
from suaveplan_mcp.types.pagination import PaginatedRequestParams

_FIRST: Final = PaginatedRequestParams()


def page_params(cursor: str | None, meta: Meta = None) -> PaginatedRequestParams:
    """Return the params that ask for one page; the empty string is a cursor like any other.

    Raises:
        MCPError: `INVALID_PARAMS`, the cursor is no string, or `meta` no JSON.
    """
    if cursor is None and meta is None:
        return _FIRST
    text = None if cursor is None else require_text("cursor", cursor)
    return PaginatedRequestParams(cursor=text, meta=copy_meta(meta))


async def collect_pages(
    ask: Callable[[str, PaginatedRequestParams], Awaitable[Any]], method: str, attribute: str, max_pages: int
) -> list[Any]:
    """Walk all pages of a list and return its items.

    Args:
        ask: sends one request and gives its result.
        method: the method that lists.
        attribute: where a page has its items.
        max_pages: how many pages are too many to be true.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, the server gave a cursor twice, or does not come to an end. A part of a
            list is never taken for the whole.
    """
    items: list[Any] = []
    seen: set[str] = set()
    params = _FIRST
    for _ in range(max_pages):
        page = await ask(method, params)
        items.extend(getattr(page, attribute))
        # A list that never had pages, such as that of roots, has no cursor at all.
        cursor: str | None = getattr(page, "next_cursor", None)
        if cursor is None:
            return items
        if cursor in seen:
            raise _endless(method, cursor, "the server gave the cursor a second time")
        seen.add(cursor)
        params = PaginatedRequestParams(cursor=cursor)
    raise _endless(method, params.cursor, f"there is more after {max_pages} pages (max_pages)")


def require_max_pages(max_pages: int) -> int:
    """Return `max_pages`, which must be at least 1.

    Raises:
        MCPError: `INVALID_PARAMS`.
    """
    if max_pages < 1:
        raise refusal("max_pages", "at least one page has to be read")
    return max_pages


def _endless(method: str, cursor: str | None, reason: str) -> MCPProtocolError:
    text = f"the pages of {method} do not end at cursor {cursor!r}: {reason}"
    return MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, context={"method": method, "cursor": cursor})
