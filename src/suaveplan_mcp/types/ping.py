"""Is the peer there, and results that say nothing. Spec: basic/utilities/ping"""

from suaveplan_mcp.types.base import Result


class EmptyResult(Result, frozen=True, kw_only=True):
    """Answer a request that wants no more than an answer: `ping`, `resources/subscribe`, `logging/setLevel` and others.

    Spec: basic/utilities/ping
    """
