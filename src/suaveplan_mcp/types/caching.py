"""How long a result stays fresh. Spec: server/utilities/caching"""

from typing import Literal, TypeAlias

from suaveplan_mcp.types.base import Result

CacheScope: TypeAlias = Literal["private", "public"]
"""Who may be given a cached copy: only the client that asked, or any client. Spec: server/utilities/caching"""


class CacheableResult(Result, frozen=True, kw_only=True):
    """Base the results that say how long they stay fresh.

    Args:
        ttl_ms: milliseconds; absent, zero and negative all mean stale at once.
        cache_scope: who may be given a cached copy.

    Spec: server/utilities/caching
    """

    ttl_ms: int | float | None = None
    cache_scope: CacheScope | None = None
