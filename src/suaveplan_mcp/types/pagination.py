"""Lists in pages. Spec: server/utilities/pagination"""

from typing import TypeAlias

from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.caching import CacheableResult

Cursor: TypeAlias = str
"""Where the next page starts; opaque, and the empty string is one too. Spec: server/utilities/pagination"""


class PaginatedRequestParams(RequestParams, frozen=True, kw_only=True):
    """Ask for a page of a list.

    Args:
        cursor: `next_cursor` of the page before; None asks for the first.

    Spec: server/utilities/pagination
    """

    cursor: Cursor | None = None


class PaginatedResult(CacheableResult, frozen=True, kw_only=True):
    """Base the results that are a page of a list. Every page may say how long it stays fresh.

    Args:
        next_cursor: where the next page starts; None ends the list.

    Spec: server/utilities/pagination
    """

    next_cursor: Cursor | None = None
