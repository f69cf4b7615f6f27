"""The handshake era: a connection opens with `initialize` and keeps its revision. Spec: basic/lifecycle

The methods that may come and go are two tables that change with the phase: before `initialize` they hold only
`initialize` and `ping`, afterwards what the negotiated revision has. So legality costs one look-up a message, and no
method of this class asks which phase it is in.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from functools import cache
from typing import Final, cast

from msgspec import UNSET

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.messages import Notification, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.admission import admit_params, admit_result, progress_token, seal_params, seal_result
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.era import Era, method_not_found, peer_of
from suaveplan_mcp.protocol.methods import Method, find, lives_in, methods_of
from suaveplan_mcp.protocol.negotiation import choose_revision, require_accepted
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, V2025_03_26, V2025_11_25, is_at_least
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.capabilities import ClientCapabilities, ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"

_BEFORE: Final = (INITIALIZE, "ping", "notifications/cancelled", "notifications/progress", "notifications/message")


@cache
def _methods_of(sender: Side, revision: str | None) -> Mapping[str, Method]:
    """Return what a side may send in a revision, or before one is agreed on."""
    if revision is not None:
        return methods_of(sender, revision)
    rows = ((name, find(name, sender)) for name in _BEFORE)
    return {name: row for name, row in rows if row is not None}


class HandshakeEra(Era):
    """The rules of the revisions that open with `initialize`.

    Args:
        side: which side of the connection this is.
        served: the methods that have a handler here.
        accepted: the revisions this side speaks.
    """

    def __init__(self, side: Side, served: Container[str], accepted: Collection[str] = HANDSHAKE_REVISIONS) -> None:
        super().__init__(side, served)
        self.accepted = accepted
        self.peer_info: Implementation | None = None
        self.peer_capabilities: ClientCapabilities | ServerCapabilities | None = None
        self._agree(None)

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, Caller]:
        """Return the typed params, the progress token and the caller of a request that is legal now.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, `NOT_INITIALIZED`, `ALREADY_CONNECTED` or `INVALID_PARAMS`.
        """
        method = self._theirs.get(request.method)
        if method is None or method.kind != "request" or request.method not in self.served:
            raise self._refusal(request.method, peer_of(self.side))
        params = admit_params(method, request.params)
        token = progress_token(params.meta) if isinstance(params, RequestParams) else None
        # Last, so that a request that is refused agrees on nothing.
        if request.method == INITIALIZE:
            self._admit_initialize(cast("InitializeRequestParams", params))
        return params, token, self.caller

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        """Return the typed params, or what a cancellation or progress notice asks for.

        Raises:
            MCPError: the notification is unknown, illegal now, or malformed; it is dropped.
        """
        method = self._theirs.get(notification.method)
        if method is None or method.kind != "notification":
            raise self._refusal(notification.method, peer_of(self.side))
        return self.meaning(admit_params(method, notification.params))

    def admit_result(self, method: str, result: Payload) -> tuple[Payload, Sequence[str]]:
        """Return the typed result; that of `initialize` settles the revision.

        Raises:
            MCPError: `PROTOCOL_INVALID`, or `PROTOCOL_VERSION_MISMATCH` for a revision that is not accepted.
        """
        admitted, deviations = admit_result(self._ours[method], result)
        if method == INITIALIZE:
            self._take_answer(cast("InitializeResult", admitted))
        return admitted, deviations

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        """Return params fit to be sent.

        Raises:
            MCPError: `NOT_INITIALIZED`, `METHOD_NOT_FOUND` where the revision has no such method, `INVALID_PARAMS`.
        """
        row = self._ours.get(method)
        if row is None:
            raise self._refusal(method, self.side)
        return seal_params(row, params, progress_token)

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        """Return what a handler answers a call with, fit to be sent."""
        return seal_result(self._theirs[call.method], result)

    def cancellation(self, method: str, id_: RequestId, reason: str | None) -> Notification | None:
        """Return the notice that gives up a request; `initialize` must not be given up so."""
        return None if method == INITIALIZE else super().cancellation(method, id_, reason)

    def _admit_initialize(self, params: InitializeRequestParams) -> None:
        if self.revision is not None:
            raise MCPError(MCP_CODES.ALREADY_CONNECTED, "initialize came twice on one connection")
        self.peer_info, self.peer_capabilities = params.client_info, params.capabilities
        self.caller.info, self.caller.capabilities = params.client_info, params.capabilities
        self._agree(choose_revision(params.protocol_version, self.accepted))

    def _take_answer(self, result: InitializeResult) -> None:
        require_accepted(result.protocol_version, self.accepted)
        self.peer_info, self.peer_capabilities = result.server_info, result.capabilities
        self.caller.info = result.server_info
        self._agree(result.protocol_version)

    def _agree(self, revision: str | None) -> None:
        self.revision = self.caller.revision = revision
        self._ours = _methods_of(self.side, revision)
        self._theirs = _methods_of(peer_of(self.side), revision)
        self.admits_batches = revision == V2025_03_26
        named = revision is None or not is_at_least(revision, V2025_11_25)
        self.unknown_id = None if named else UNSET

    def _refusal(self, method: str, sender: Side) -> MCPError:
        """Return why a side may not send a method now."""
        known = find(method, sender)
        if self.revision is None and known is not None and method not in _BEFORE:
            return MCPError(MCP_CODES.NOT_INITIALIZED, f"{method} came before initialize")
        if known is not None and not lives_in(known, str(self.revision)):
            return method_not_found(method, f" in revision {self.revision}")
        return method_not_found(method)
