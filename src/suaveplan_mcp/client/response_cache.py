"""Results that a client need not ask for again: whose they are, how long they last, and what makes them stale.

What is kept is the JSON of a result, and whoever is given it decodes it anew: nobody can change what the next one gets,
and nothing that this library does not know is lost. What has run out is never given, not even where the server cannot
be asked. Spec: server/utilities/caching
"""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from math import inf
from types import MappingProxyType, TracebackType
from typing import Any, Final, TypeAlias, cast

from msgspec import UNSET, DecodeError, Raw
from msgspec.json import Decoder, Encoder

from suaveplan_mcp.client.arguments import refusal
from suaveplan_mcp.client.cache_store import CacheKey, CacheStore, MemoryCacheStore
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Payload
from suaveplan_mcp.protocol.admission import NOT_JSON, PROGRESS_TOKEN, admit_result
from suaveplan_mcp.protocol.methods import find
from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.caching import CacheableResult

MAX_TTL: Final = 86_400.0
"""For how many seconds a result is kept at most, whatever its server says."""

Report: TypeAlias = Callable[[str, BaseException], object]
"""Takes what no caller is waiting to hear."""

_READ: Final = "resources/read"
_UPDATED: Final = "notifications/resources/updated"
_LISTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "notifications/tools/list_changed": ("tools/list",),
        "notifications/prompts/list_changed": ("prompts/list",),
        "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
    }
)
"""The lists that a notice makes stale, every page of them."""

# A request that brings answers to the server's questions is answered with more in mind than its params.
_ANSWERS: Final = ("inputResponses", "requestState")

# The member that makes params ask for a page; a text inside them has its quotes escaped.
_CURSOR: Final = '"cursor":'

_params: Final = Decoder(dict[str, JsonValue] | None)
_canonical: Final = Encoder(order="sorted")


def name_context(headers: Mapping[str, str]) -> str:
    """Return an opaque name for what the headers of a request authorize; without headers it is empty.

    Every header counts, since a server may go by any of them: two requests that differ in one never share what is
    private.

    Args:
        headers: those the user gave, for all requests and for this one.
    """
    if not headers:
        return ""
    return sha256(encode(sorted((name.lower(), value) for name, value in headers.items()))).hexdigest()


class ResponseCache:
    """The results that are kept of any number of servers; several clients on one event loop may share it.

    Args:
        store: what keeps them; one in memory by default.
        max_ttl: for how many seconds a result is kept at most, whatever its server says.

    Raises:
        MCPError: `INVALID_PARAMS`, `max_ttl` is negative or without end.

    Spec: server/utilities/caching
    """

    __slots__ = ("_fetches", "_max_ttl", "_store", "_trusted")

    def __init__(self, store: CacheStore | None = None, *, max_ttl: float = MAX_TTL) -> None:
        if not 0 <= max_ttl < inf:
            raise refusal("max_ttl", "expected a finite number of seconds that is not negative")
        self._store: CacheStore = MemoryCacheStore() if store is None else store
        self._max_ttl = max_ttl
        # Until the store fails to forget something.
        self._trusted = True
        # A notice makes stale what is on its way as well as what is here.
        self._fetches: set[Fetch] = set()

    def bind(self, server: str, report: Report) -> "ServerCache":
        """Return what a client uses of the cache for one server.

        Args:
            server: what tells it from other servers: its URL, or a name of the client's own. Two clients that give the
                same share what is public.
            report: called where the store fails.
        """
        return ServerCache(self, server, report)

    def find(self, key: CacheKey, report: Report) -> Raw | None:
        """Return the JSON that is kept under a key."""
        if not self._trusted:
            return None
        try:
            json = self._store.get(key)
        except Exception as error:
            report(f"the cache could not look for a result of {key.method}: {error}", error)
            return None
        return None if json is None else Raw(json)

    def keep(self, key: CacheKey, json: bytes, ttl: float, report: Report) -> None:
        """Keep JSON under a key for so many seconds."""
        if not self._trusted:
            return
        try:
            self._store.put(key, json, ttl)
        except Exception as error:
            report(f"the cache could not keep a result of {key.method}: {error}", error)

    def lifetime_of(self, result: object) -> float:
        """Return for how many seconds a result may be kept; 0 where it may not.

        Spec: server/utilities/caching, Time-to-Live (TTL) Field
        """
        if not isinstance(result, CacheableResult) or result.result_type not in {None, "complete"}:
            return 0.0
        ttl_ms = result.ttl_ms
        # Written so that what is no number counts as no time, and a number of any size as the longest.
        if ttl_ms is None or not ttl_ms > 0:
            return 0.0
        return self._max_ttl if ttl_ms >= self._max_ttl * 1000 else ttl_ms / 1000

    def delete(self, key: CacheKey, report: Report) -> None:
        """Forget what is kept under a key."""
        self._delete(key.method, lambda: (key,), report)

    def delete_all(self, server: str, method: str, uri: str | None, report: Report) -> None:
        """Forget what is kept of a method, and what is on its way; with a URI, what that resource is a part of."""
        for fetch in self._fetches:
            key = fetch.key
            if key is not None and key.server == server and key.method == method and _is_about(key, uri):
                fetch.is_outdated = True
        self._delete(method, lambda: [key for key in self._store.keys(server, method) if _is_about(key, uri)], report)

    def watch(self, fetch: "Fetch") -> None:
        """Let notices of change reach a request that is on its way."""
        self._fetches.add(fetch)

    def unwatch(self, fetch: "Fetch") -> None:
        """Forget a request that is on its way no more."""
        self._fetches.discard(fetch)

    def _delete(
        self, method: str, choose: Callable[[], "tuple[CacheKey, ...] | list[CacheKey]"], report: Report
    ) -> None:
        if not self._trusted:
            return
        try:
            for key in choose():
                self._store.delete(key)
        except Exception as error:
            # What should be gone may still be there, and there is no telling it from the rest.
            self._trusted = False
            report(f"the cache could not forget results of {method}, and is not used any more: {error}", error)


class ServerCache:
    """What a client uses of a `ResponseCache` for one server.

    Args:
        cache: what is shared.
        server: what tells the server from others.
        report: called where the store fails.
    """

    __slots__ = ("_cache", "_report", "_server")

    def __init__(self, cache: ResponseCache, server: str, report: Report) -> None:
        self._cache = cache
        self._server = server
        self._report = report

    async def request(
        self,
        method: str,
        params: Payload,
        ask: Callable[[], Awaitable[Any]],
        *,
        context: str = "",
        fresh: bool = False,
    ) -> Any:
        """Return a result that is kept, or ask for one and keep it.

        Args:
            method: what is asked; where it gives nothing that can be kept, the server is asked.
            params: what is asked with it.
            ask: sends the request and gives its result.
            context: an opaque name of what the request is authorized to see, such as `name_context` gives.
            fresh: ask even where a result is kept; what comes takes its place.

        Raises:
            MCPError: what `ask` raises. No result that has run out is given in its place.
        """
        kept = None if fresh else self.lookup(method, params, context)
        if kept is not None:
            row = find(method, "client")
            try:
                # Only what the table of methods has is ever kept.
                return admit_result(row, kept)[0]  # pyright: ignore[reportArgumentType]
            except MCPProtocolError as error:
                self._report(f"the cache holds no result of {method}: {error.message}", error)
        with self.fetch(method, params, context) as fetch:
            result = await ask()
            fetch.store(result)
        return result

    def lookup(self, method: str, params: Payload, context: str = "") -> Raw | None:
        """Return the JSON of a result that is still fresh, None where the server has to be asked.

        Args:
            method: what is asked.
            params: what is asked with it.
            context: as of `request`; what is for anyone is found in every one.
        """
        key = self._key(method, params, context)
        if key is None:
            return None
        private = self._cache.find(key, self._report)
        return self._cache.find(_for_anyone(key), self._report) if private is None else private

    def fetch(self, method: str, params: Payload, context: str = "") -> "Fetch":
        """Return a context manager for the time in which a request is on its way; hand it the result that comes."""
        return Fetch(self, self._key(method, params, context))

    def take_notice(self, method: str, uri: str | None = None) -> None:
        """Forget what a notification of the server's makes stale; most make nothing so.

        Args:
            method: the notification's.
            uri: the resource that has changed, where it names one.

        Spec: server/utilities/caching, Interaction with Notifications
        """
        if method == _UPDATED:
            self.forget(_READ, uri)
        for listed in _LISTS.get(method, ()):
            self.forget(listed)

    def forget(self, method: str, uri: str | None = None) -> None:
        """Forget what is kept of a method, and keep nothing that is on its way now.

        Args:
            method: whose results.
            uri: only those about this resource, and about those it is a part of.
        """
        self._cache.delete_all(self._server, method, uri, self._report)

    def watch(self, fetch: "Fetch") -> None:
        """Let notices of change reach a request that is on its way."""
        self._cache.watch(fetch)

    def unwatch(self, fetch: "Fetch") -> None:
        """Forget a request that is on its way no more."""
        self._cache.unwatch(fetch)

    def store(self, key: CacheKey, result: object) -> None:
        """Keep a result as long as it may be kept, in place of any that answered the same before.

        A scope that is not known is no leave to share. Spec: server/utilities/caching, Cache Scope Field
        """
        ttl = self._cache.lifetime_of(result)
        json = _json_of(result) if ttl > 0 else None
        is_public = isinstance(result, CacheableResult) and result.cache_scope == "public"
        for target, chosen in ((key, not is_public), (_for_anyone(key), is_public)):
            if chosen and json is not None:
                self._cache.keep(target, json, ttl, self._report)
            else:
                self._cache.delete(target, self._report)

    def _key(self, method: str, params: Payload, context: str) -> CacheKey | None:
        """Return the key of a request, None where its result can never be kept."""
        row = find(method, "client")
        if row is None or not row.cacheable:
            return None
        try:
            members: JsonObject = {} if params is UNSET else _params.decode(encode(params)) or {}
            if any(members.get(name) is not None for name in _ANSWERS):
                return None
            canonical = _canonical.encode(_without_absent(members)).decode()
        except (DecodeError, *NOT_JSON):
            return None
        uri = members.get("uri")
        return CacheKey(self._server, method, uri if isinstance(uri, str) else "", canonical, context)


class Fetch:
    """A request on its way, whose result may be kept unless a notice makes it stale before it is here.

    Args:
        cache: where its result goes.
        key: what it answers; None where nothing is kept.

    Attributes:
        is_outdated: whether a notice has come since it was sent.
    """

    __slots__ = ("_cache", "is_outdated", "key")

    def __init__(self, cache: ServerCache, key: CacheKey | None) -> None:
        self._cache = cache
        self.key = key
        self.is_outdated = False

    def __enter__(self) -> "Fetch":
        """Begin to hear of notices."""
        if self.key is not None:
            self._cache.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Hear no more of them; where the server does not know the cursor any more, the pages before it go too.

        Spec: server/utilities/caching, Interaction with Pagination
        """
        self._cache.unwatch(self)
        if self.key is not None and _is_refusal(error) and _CURSOR in self.key.params:
            self._cache.forget(self.key.method)

    def store(self, result: object) -> None:
        """Keep the result that has come, where that may be."""
        if self.key is not None and not self.is_outdated:
            self._cache.store(self.key, result)


def _is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, MCPError) and error.received and error.code == MCP_CODES.INVALID_PARAMS


def _for_anyone(key: CacheKey) -> CacheKey:
    return key._replace(context=None)


def _is_about(key: CacheKey, uri: str | None) -> bool:
    """Tell whether a key is about a resource, or one that it is a part of. Spec: server/resources, Subscriptions"""
    return uri is None or key.uri == uri or uri.startswith(key.uri.rstrip("/") + "/")


def _without_absent(members: JsonObject) -> JsonObject:
    """Return params without what asks for nothing else: `null`, and the token under which progress is told."""
    meta = members.get("_meta")
    if isinstance(meta, dict):
        meta.pop(PROGRESS_TOKEN, None)
    return {name: value for name, value in members.items() if value is not None and (name != "_meta" or value)}


def _json_of(result: object) -> bytes | None:
    """Return a result as it came; one that was handed over in memory is written now, None where it cannot be."""
    raw = cast("Result", result).raw
    try:
        return encode(result) if raw is None else bytes(raw)
    except NOT_JSON:
        return None
