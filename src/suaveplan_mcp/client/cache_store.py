"""Where a client keeps the results that a server lets it keep: what a store has to do, and the one in memory.

Spec: server/utilities/caching
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from suaveplan_mcp.client.arguments import refusal
from suaveplan_mcp.runtime.timers import Clock, loop_clock

MAX_ENTRIES: Final = 1000
MAX_BYTES: Final = 16 * 2**20

# What an entry costs beside its texts: a key, two rows of tables, a number.
_OVERHEAD: Final = 512


class CacheKey(NamedTuple):
    """What a result answers, and whom.

    Args:
        server: who gave it, as the client tells its servers apart.
        method: what was asked.
        uri: the resource it is about; empty for a list.
        params: all that was asked with it, as JSON whose members are sorted.
        context: for whom it is: an opaque name of an authorization context; None where it is for anyone.

    Spec: server/utilities/caching, Cache Key
    """

    server: str
    method: str
    uri: str
    params: str
    context: str | None


class CacheStore(Protocol):
    """Keeps results for a `ResponseCache`: any object that has these four methods.

    They are plain functions, and must not block for long: a notice of change has to have taken effect before the next
    request looks, and a store that needs a network of its own is as slow as the server. One that has such a network
    keeps a copy in memory and brings it up to date in a task of its own.

    What a method raises is reported, and costs no request. After a `keys` or a `delete` that failed nothing is kept or
    found any more, since what should be gone may still be there.
    """

    def get(self, key: CacheKey) -> bytes | None:
        """Return the JSON kept under a key, None where there is none or its time is over."""
        ...

    def put(self, key: CacheKey, json: bytes, ttl: float) -> None:
        """Keep JSON under a key, in place of what was there; a store may always keep nothing.

        Args:
            key: where.
            json: what; it is bytes so that nobody who is given it can change it.
            ttl: for how long from now, in seconds: greater than 0. The clock is the store's own, and must never go
                back.
        """
        ...

    def delete(self, key: CacheKey) -> None:
        """Forget what is kept under a key; there may be nothing."""
        ...

    def keys(self, server: str, method: str) -> Iterable[CacheKey]:
        """Return the keys of everything that is kept of one method of one server, for everyone and for anyone."""
        ...


class _Entry(NamedTuple):
    json: bytes
    expires_at: float
    size: int


class MemoryCacheStore:
    """Keeps results in memory; what has not been asked for longest makes room for what is new.

    Args:
        max_entries: how many results are kept.
        max_bytes: how much memory they may take, keys included; a result that is larger is not kept.
        clock: seconds on a scale that never goes back; the loop's by default.

    Raises:
        MCPError: `INVALID_PARAMS`, a limit is negative.
    """

    __slots__ = ("_bytes", "_clock", "_entries", "_keys", "_max_bytes", "_max_entries")

    def __init__(
        self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES, clock: Clock = loop_clock
    ) -> None:
        for name, limit in (("max_entries", max_entries), ("max_bytes", max_bytes)):
            if limit < 0:
                raise refusal(name, "it cannot be negative")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        # The one that was used last stands last.
        self._entries: OrderedDict[CacheKey, _Entry] = OrderedDict()
        self._keys: dict[tuple[str, str], set[CacheKey]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """Return how many results are kept, those included whose time is over and that nobody has asked for since."""
        return len(self._entries)

    @property
    def size(self) -> int:
        """How many bytes the results take, about."""
        return self._bytes

    def get(self, key: CacheKey) -> bytes | None:
        """Return the JSON kept under a key, None where there is none or its time is over."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock() >= entry.expires_at:
            self.delete(key)
            return None
        self._entries.move_to_end(key)
        return entry.json

    def put(self, key: CacheKey, json: bytes, ttl: float) -> None:
        """Keep JSON under a key for `ttl` seconds, and make room for it."""
        self.delete(key)
        size = _OVERHEAD + len(json) + sum(len(part) for part in key if part is not None)
        if size > self._max_bytes or self._max_entries == 0:
            return
        self._entries[key] = _Entry(json, self._clock() + ttl, size)
        self._keys.setdefault((key.server, key.method), set()).add(key)
        self._bytes += size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            self.delete(next(iter(self._entries)))

    def delete(self, key: CacheKey) -> None:
        """Forget what is kept under a key."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._bytes -= entry.size
        group = self._keys[key.server, key.method]
        group.remove(key)
        if not group:
            del self._keys[key.server, key.method]

    def keys(self, server: str, method: str) -> Iterable[CacheKey]:
        """Return the keys of everything that is kept of one method of one server."""
        return tuple(self._keys.get((server, method), ()))

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._keys.clear()
        self._bytes = 0
