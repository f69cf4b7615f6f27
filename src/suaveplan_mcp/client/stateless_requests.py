"""How requests are sent where each speaks for itself: from what is kept, and with headers for what is in the arguments.

Spec: server/utilities/caching, basic/transports/streamable-http
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from suaveplan_mcp.client.header_annotations import describe_refusal, sort_out
from suaveplan_mcp.client.input_rounds import InputRounds
from suaveplan_mcp.client.pagination import collect_pages
from suaveplan_mcp.client.response_cache import ServerCache, name_context
from suaveplan_mcp.errors import HEADER_MISMATCH, MCPError
from suaveplan_mcp.jsonrpc.messages import Payload, RequestId
from suaveplan_mcp.protocol.methods import Method, find
from suaveplan_mcp.protocol.param_headers import ParamHeader, headers_of, read_arguments
from suaveplan_mcp.protocol.result_kinds import may_ask
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.types.tools import CallToolRequestParams, ListToolsResult

_CALL: Final = "tools/call"
_LIST: Final = "tools/list"
_MAX_PAGES: Final = 1000
_NONE: Final[Mapping[str, str]] = MappingProxyType({})

Report = Callable[[str, BaseException | None], object]
"""Takes what no caller is waiting to hear, and the error behind it."""


class StatelessRequests:
    """Sends the requests of one connection.

    Args:
        dispatcher: the connection.
        report: told of what is left out of a list, and of faults of the cache.
        cache: what is kept of the server's results; None to keep nothing.
        context: names what the headers of every request authorize, as `name_context` does.
        rounds: answers what the server asks in its results; None to return such results as they are.
        has_headers: whether the transport carries headers, so that arguments may have to travel in them.
    """

    __slots__ = ("_cache", "_context", "_dispatcher", "_has_headers", "_param_headers", "_report", "_rounds")

    def __init__(
        self,
        dispatcher: JsonRpcDispatcher,
        report: Report,
        cache: ServerCache | None = None,
        context: str = "",
        *,
        rounds: InputRounds | None = None,
        has_headers: bool = False,
    ) -> None:
        self._dispatcher = dispatcher
        self._report = report
        self._cache = cache
        self._context = context
        self._rounds = rounds
        self._has_headers = has_headers
        # By tool, as it was last listed.
        self._param_headers: dict[str, tuple[ParamHeader, ...]] = {}

    def request(  # noqa: PLR0913  every option stands for itself
        self,
        method: str,
        params: Payload = None,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        signal: AbortSignal | None = None,
        on_progress: OnProgress | None = None,
        delivery: Delivery | None = None,
        on_sent: Callable[[RequestId], object] | None = None,
        fresh: bool = False,
    ) -> Coroutine[Any, Any, Any]:
        """Send a request, or answer it from what is kept; see `JsonRpcDispatcher.request`.

        What the server asks in its result is answered by the client's providers; each of the requests that this takes
        has the timeout, the total timeout is that of all of them.

        Args:
            method: the method.
            params: its params.
            timeout: seconds of silence to bear.
            total_timeout: seconds to bear in all.
            signal: gives the request up when it is aborted.
            on_progress: called for every report of progress.
            delivery: the headers of this one request.
            on_sent: called with the id of the request.
            fresh: ask even where a result is kept.
        """
        send = partial(
            self._dispatcher.request,
            method,
            timeout=timeout,
            signal=signal,
            on_progress=on_progress,
            on_sent=on_sent,
        )
        row = find(method, "client")
        rounds = self._rounds
        if rounds is None or row is None or not may_ask(row):
            # One request is all.
            return self._send(row, params, partial(send, params, total_timeout=total_timeout), delivery, fresh=fresh)

        def send_leg(params: Payload, seconds: float | None) -> Coroutine[Any, Any, Any]:
            return self._send(row, params, partial(send, params, total_timeout=seconds), delivery, fresh=fresh)

        return rounds.complete(row, params, send_leg, total_timeout, signal)

    def _send(
        self,
        method: Method | None,
        params: Payload,
        send: Callable[..., Coroutine[Any, Any, Any]],
        delivery: Delivery | None,
        *,
        fresh: bool,
    ) -> Coroutine[Any, Any, Any]:
        """Send one request, with headers and from what is kept as its method has it."""
        if method is None:
            return send(delivery=delivery)
        if self._has_headers and method.name == _CALL and isinstance(params, CallToolRequestParams):
            return self._call(send, params, delivery)
        if not method.cacheable:
            return send(delivery=delivery)
        return self._ask(method.name, params, partial(send, delivery=delivery), delivery, fresh=fresh)

    def take_notice(self, method: str, uri: str | None = None) -> None:
        """Forget what a notification of the server's makes stale."""
        if self._cache is not None:
            self._cache.take_notice(method, uri)

    async def _ask(
        self,
        method: str,
        params: Payload,
        send: Callable[[], Coroutine[Any, Any, Any]],
        delivery: Delivery | None,
        *,
        fresh: bool,
    ) -> Any:
        if self._cache is None:
            result = await send()
        else:
            own = _NONE if delivery is None else delivery.headers
            context = f"{self._context}{name_context(own)}"
            kept = UNSET if params is None else params
            result = await self._cache.request(method, kept, send, context=context, fresh=fresh)
        return self._look_over(result) if isinstance(result, ListToolsResult) and self._has_headers else result

    def _look_over(self, result: ListToolsResult) -> ListToolsResult:
        """Take note of what travels in headers; leave out the tools that may not be called over HTTP."""
        kept, headers, refused = sort_out(result.tools)
        self._param_headers |= headers
        if not refused:
            return result
        for tool, reason in refused:
            self._param_headers.pop(tool.name, None)
            self._report(describe_refusal(tool, reason), None)
        return replace(result, tools=kept)

    async def _call(
        self, send: Callable[..., Coroutine[Any, Any, Any]], params: CallToolRequestParams, delivery: Delivery | None
    ) -> Any:
        """Call a tool; where the server says that the headers are wrong, list the tools and try once more."""
        headers = self._headers_for(params)
        try:
            return await send(delivery=_with_headers(delivery, headers))
        except MCPError as error:
            if not error.received or error.jsonrpc_code != HEADER_MISMATCH:
                raise
            await collect_pages(partial(self.request, fresh=True), _LIST, "tools", _MAX_PAGES)
            others = self._headers_for(params)
            if others == headers:
                raise
        return await send(delivery=_with_headers(delivery, others))

    def _headers_for(self, params: CallToolRequestParams) -> dict[str, str]:
        found = self._param_headers.get(params.name)
        return headers_of(found, read_arguments(params.arguments)) if found else {}


def _with_headers(delivery: Delivery | None, headers: Mapping[str, str]) -> Delivery | None:
    """Return a delivery with more headers; those of the caller's own stay, whatever they are."""
    if not headers:
        return delivery
    own = _NONE if delivery is None else delivery.headers
    return Delivery(headers={**headers, **own})
