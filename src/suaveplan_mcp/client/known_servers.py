"""What is remembered of servers from one connection to the next. Spec: basic/versioning"""

from collections.abc import Hashable

from suaveplan_mcp.client.opening import KnownServer, Verdict


class KnownServers:
    """Remembers the servers that were asked for last.

    Args:
        limit: how many are remembered; beyond it the one that was not asked for the longest time is forgotten.
    """

    __slots__ = ("_limit", "_verdicts")

    def __init__(self, limit: int = 1000) -> None:
        self._limit = limit
        self._verdicts: dict[Hashable, Verdict] = {}

    def find(self, key: Hashable, name: str | None = None, context: str = "") -> KnownServer:
        """Return what is known of a server; what its connections learn is remembered under its key.

        Args:
            key: what its user calls it, with all that may make it another one.
            name: what tells it from others in a cache that clients share.
            context: names what the headers of every request to it authorize.
        """
        verdict = self._verdicts.pop(key, None) or Verdict()
        self._verdicts[key] = verdict
        if len(self._verdicts) > self._limit:
            del self._verdicts[next(iter(self._verdicts))]
        return KnownServer(verdict, name, context)
