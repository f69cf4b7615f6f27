"""Both eras on one connection: each request says itself to which it belongs. Spec: basic/versioning"""

from collections.abc import Collection, Container
from typing import Final

from suaveplan_mcp.errors import INVALID_PARAMS, MCP_CODES, ErrorNumbers, MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.protocol.admission import admit_params, invalid_params, meta_of
from suaveplan_mcp.protocol.caller import Caller, is_stateless
from suaveplan_mcp.protocol.methods import find
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS
from suaveplan_mcp.protocol.stateless import StatelessEra, is_modern
from suaveplan_mcp.server.handshake import ServerHandshake
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY

ERAS: Final = ("handshake", "stateless")

_WANTED: Final = f"_meta.{PROTOCOL_VERSION_KEY}"


class ServerEras(ServerHandshake):
    """The rules of a server's connection that knows only from each request which era its client is of.

    A request whose `_meta` speaks for itself is served as the stateless era has it, whatever came before; any other
    belongs to the handshake, which such requests leave as it is.

    Args:
        served: the methods that have a handler here.
        stateless: the rules of the requests that speak for themselves.
        accepted: the revisions of the handshake that the server speaks; none switches that era off.
    """

    def __init__(
        self, served: Container[str], stateless: StatelessEra, accepted: Collection[str] = HANDSHAKE_REVISIONS
    ) -> None:
        super().__init__(served, accepted)
        self._stateless = stateless

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, Caller]:
        """Return the typed params, the progress token and the caller of a request that is legal now.

        Raises:
            MCPError: as the era that the request belongs to has it.
        """
        row = find(request.method, "client")
        modern = not self.accepted
        if row is None or row.kind != "request":
            modern = modern or is_modern(request.params)
        else:
            try:
                # The struct is the same in both eras, so it is decoded before it can be known which one it is.
                params = admit_params(row, request.params)
            except MCPError:
                modern = modern or is_modern(request.params)
            else:
                modern = modern or _speaks_for_itself(meta_of(params))
                request = Request(request.id, request.method, params)
        return self._stateless.admit_request(request) if modern else super().admit_request(request)

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        """Return params fit to be sent.

        Raises:
            MCPError: `METHOD_NOT_FOUND` where neither era has such a method now, `INVALID_PARAMS`.
        """
        row = find(method, self.side)
        if row is not None and row.kind == "notification" and method not in self._ours:
            return self._stateless.seal_params(method, params, progress_token)
        return super().seal_params(method, params, progress_token)

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        """Return what a handler answers a call with, fit to be sent."""
        return (self._stateless if _is_modern(call.caller) else super()).seal_result(call, result)

    def numbers_for(self, caller: object) -> ErrorNumbers:
        """Return how errors are written for a caller."""
        return self._stateless.numbers if _is_modern(caller) else self.numbers

    def _refusal(self, method: str, sender: Side) -> MCPError:
        """Return why a side may not send a method now."""
        error = super()._refusal(method, sender)
        if error.code != MCP_CODES.NOT_INITIALIZED or sender == self.side:
            return error
        # It lacks a handshake, or else what speaks for itself: the number is the one that both eras allow.
        reason = "is missing, and no initialize came before"
        data: JsonObject = {"code": error.code, "path": _WANTED, "reason": reason}
        text = f"{error.message}, and without {_WANTED}"
        return MCPError(error.code, text, jsonrpc_code=INVALID_PARAMS, data=data, context={"path": _WANTED})


def require_eras(eras: Collection[str]) -> Collection[str]:
    """Return the eras a server shall serve.

    Raises:
        MCPError: `INVALID_PARAMS`, there are none, or one that does not exist.
    """
    if not eras or not set(eras) <= set(ERAS):
        raise invalid_params("eras", f"expected some of {', '.join(ERAS)}, not {eras!r}")
    return eras


def _speaks_for_itself(meta: JsonObject | None) -> bool:
    return meta is not None and (PROTOCOL_VERSION_KEY in meta or CLIENT_CAPABILITIES_KEY in meta)


def _is_modern(caller: object) -> bool:
    return isinstance(caller, Caller) and is_stateless(caller)
