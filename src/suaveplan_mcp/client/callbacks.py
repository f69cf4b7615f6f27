"""What a client serves: the server's requests, answered by the providers that were set."""

from collections.abc import Mapping
from typing import Final

from suaveplan_mcp.client.completion import CompletionService, complete_nothing
from suaveplan_mcp.client.elicitation import ElicitationService
from suaveplan_mcp.client.providers import Provider, ProviderFunction
from suaveplan_mcp.client.roots import RootsService
from suaveplan_mcp.client.sampling import SamplingService
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.protocol.methods import CLIENT_COMPLETIONS
from suaveplan_mcp.protocol.revisions import V2025_06_18, V2025_11_25, V2026_07_28, is_at_least
from suaveplan_mcp.runtime.handlers import HandlerFunction, HandlerTable
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.types.capabilities import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from suaveplan_mcp.types.ping import EmptyResult

_PONG: Final = EmptyResult()


class Callbacks:
    """The providers of one client, and the handlers that call them.

    Args:
        experimental: what the client declares beside its providers, by key.
    """

    __slots__ = ("_capabilities", "_declared", "_experimental", "_offered", "_threads", "handlers")

    def __init__(self, experimental: Mapping[str, JsonObject] | None = None) -> None:
        self.handlers = HandlerTable()
        self._threads = WorkerThreads()
        self._experimental = dict(experimental or {})
        # By method, what its provider makes the client offer: `sampling` and `sampling.tools`, for example.
        self._offered: dict[str, frozenset[str]] = {}
        self._declared: frozenset[str] | None = None
        # By revision, until a provider changes it.
        self._capabilities: dict[str, ClientCapabilities] = {}
        self.handlers.register("ping", _answer_ping, exempt=True)
        self.handlers.register("completion/complete", complete_nothing)

    def set_sampling(self, function: ProviderFunction | None, *, tools: bool, context: bool) -> None:
        """Let `function` answer for the client's model.

        Raises:
            MCPError: `ALREADY_CONNECTED`, the server was told that the client cannot do this.
        """
        more = {"sampling.tools": tools, "sampling.context": context}
        offers = frozenset({"sampling", *(path for path, wanted in more.items() if wanted)})
        serve = None if function is None else SamplingService(self._provider(function), tools=tools).serve
        self._set("sampling/createMessage", serve, offers)

    def set_roots(self, function: ProviderFunction | None) -> None:
        """Let `function` say which roots there are; raises what `set_sampling` raises."""
        serve = None if function is None else RootsService(self._provider(function)).serve
        self._set("roots/list", serve, frozenset({"roots"}))

    def set_elicitation(self, function: ProviderFunction | None, *, form: bool, url: bool) -> None:
        """Let `function` answer for the client's user; raises what `set_sampling` raises.

        Raises:
            MCPError: `INVALID_PARAMS`, neither mode is wanted.
        """
        modes = frozenset(mode for mode, wanted in {"form": form, "url": url}.items() if wanted)
        if not modes:
            raise MCPError(MCP_CODES.INVALID_PARAMS, "an elicitation provider needs at least one of `form` and `url`")
        serve = None if function is None else ElicitationService(self._provider(function), modes).serve
        self._set("elicitation/create", serve, frozenset(f"elicitation.{mode}" for mode in modes))

    def set_completion(self, function: ProviderFunction | None) -> None:
        """Let `function` complete arguments; without one nothing is suggested. Raises what `set_sampling` raises."""
        serve = complete_nothing if function is None else CompletionService(self._provider(function)).serve
        self._set("completion/complete", serve, frozenset() if function is None else frozenset({"completion"}))

    def declare(self, revision: str) -> ClientCapabilities:
        """Return what the client can do, in the words of a revision of the handshake era; it is bound to that now."""
        self._declared = self._offered_in(revision)
        return self.capabilities_in(revision)

    def capabilities_in(self, revision: str) -> ClientCapabilities:
        """Return what the client can do, no more and no less, in the words of a revision."""
        known = self._capabilities.get(revision)
        if known is None:
            known = self._capabilities[revision] = self._describe(revision)
        return known

    def _offered_in(self, revision: str) -> frozenset[str]:
        offered = frozenset[str]().union(*self._offered.values())
        if not is_at_least(revision, V2025_11_25):
            offered -= {"sampling.tools", "sampling.context", "elicitation.url"}
        if not is_at_least(revision, V2025_06_18):
            offered -= {"elicitation.form"}
        return offered

    def _describe(self, revision: str) -> ClientCapabilities:
        offered = self._offered_in(revision)
        # In the stateless era a server cannot ask for completions, and asks for the roots whenever it wants them.
        stateless = is_at_least(revision, V2026_07_28)
        experimental = dict(self._experimental)
        if "completion" in offered and not stateless:
            experimental[CLIENT_COMPLETIONS] = {}
        roots = RootsCapability(list_changed=None if stateless else True)
        return ClientCapabilities(
            roots=roots if "roots" in offered else None,
            sampling=_sampling(offered),
            elicitation=_elicitation(offered, named=is_at_least(revision, V2025_11_25)),
            experimental=experimental or None,
        )

    def require_declared_roots(self) -> None:
        """Make sure that the server was told of roots.

        Raises:
            MCPError: `METHOD_NOT_FOUND`.
        """
        if self._declared is None or "roots" not in self._declared:
            text = "the server was not told of any roots; set a roots provider before connecting"
            raise MCPError(MCP_CODES.METHOD_NOT_FOUND, text)

    def release(self) -> None:
        """Be bound to nothing any more, and let go of the threads."""
        self._declared = None
        self._threads.close()

    def _provider(self, function: ProviderFunction) -> Provider:
        return Provider(function, self._threads)

    def _set(self, method: str, serve: HandlerFunction | None, offers: frozenset[str]) -> None:
        if serve is not None and self._declared is not None and not offers <= self._declared:
            missing = ", ".join(sorted(offers - self._declared))
            text = f"the server was told that this client has no {missing}; set the provider before connecting"
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, text, context={"method": method})
        if method in self.handlers:
            self.handlers.unregister(method)
        self._offered.pop(method, None)
        self._capabilities.clear()
        if serve is not None:
            self.handlers.register(method, serve, pauses_timeouts=True)
            self._offered[method] = offers


def _answer_ping(_: object) -> EmptyResult:
    return _PONG


def _object(offered: frozenset[str], path: str) -> JsonObject | None:
    return {} if path in offered else None


def _sampling(offered: frozenset[str]) -> SamplingCapability | None:
    if "sampling" not in offered:
        return None
    return SamplingCapability(context=_object(offered, "sampling.context"), tools=_object(offered, "sampling.tools"))


def _elicitation(offered: frozenset[str], *, named: bool) -> ElicitationCapability | None:
    """Return the modes; the first revision with elicitation has no names for them."""
    form, url = _object(offered, "elicitation.form"), _object(offered, "elicitation.url")
    if form is None and url is None:
        return None
    return ElicitationCapability(form=form, url=url) if named else ElicitationCapability()
