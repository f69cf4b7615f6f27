"""The rules every era shares, and the open rules of a connection without an era.

An era is what `JsonRpcConnection` asks about legality: it decides which methods live, gives params and results their
types, and maps errors to and from the wire. This module knows no revision.
"""

from collections.abc import Container, Sequence
from typing import ClassVar, Final, cast

from msgspec import UNSET, DecodeError, Raw, UnsetType
from msgspec.json import Decoder, decode

from suaveplan_mcp.errors import (
    HANDSHAKE_NUMBERS,
    INTERNAL_ERROR,
    MCP_CODES,
    ErrorNumbers,
    MCPError,
    MCPProtocolError,
    MCPTransportError,
    code_for,
    number_for,
)
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.complaints import explain
from suaveplan_mcp.jsonrpc.messages import ErrorObject, JsonValue, Notification, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice, Rules
from suaveplan_mcp.protocol.admission import (
    NOT_JSON,
    admit_params,
    invalid_params,
    meta_of,
    progress_token,
    raw_json,
    with_progress_token,
)
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.progress import ProgressNotificationParams

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"

_INTERNAL: Final = ErrorObject(INTERNAL_ERROR, "Internal error", {"code": MCP_CODES.INTERNAL_ERROR})
_EMPTY: Final = Raw(b"{}")
_any: Final = Decoder[JsonValue]()


def peer_of(side: Side) -> Side:
    """Return the other side."""
    return "server" if side == "client" else "client"


def method_not_found(method: str, why: str = "") -> MCPError:
    """Return the error for a method without a handler. Spec: basic, Error Codes"""
    data: dict[str, JsonValue] = {"code": MCP_CODES.METHOD_NOT_FOUND, "method": method}
    return MCPError(MCP_CODES.METHOD_NOT_FOUND, f"Method not found: {method}{why}", data=data)


class Era(Rules):
    """What all eras do alike.

    Args:
        side: which side of the connection this is.
        served: the methods that have a handler here; it is looked at for every request, so it may change.

    Attributes:
        revision: the revision that is spoken, None where there is none or it is not agreed on yet.
        caller: the peer, as far as the connection as a whole knows it.
    """

    numbers: ClassVar[ErrorNumbers] = HANDSHAKE_NUMBERS

    def __init__(self, side: Side, served: Container[str]) -> None:
        self.side: Side = side
        self.served = served
        self.answers_nonsense = side == "server"
        self.admits_batches = False
        self.unknown_id: UnsetType | None = None
        self.revision: str | None = None
        self.caller = Caller()

    def describe(self, error: BaseException, method: str | None, caller: object = None) -> ErrorObject:
        """Return what the peer may know of an exception: all of an `MCPError`, nothing of any other.

        A failure of a transport is no message to the peer either: it tells of some other connection.
        """
        if not isinstance(error, MCPError) or isinstance(error, MCPTransportError):
            return _INTERNAL
        number = error.jsonrpc_code
        if number is None:
            if error.code == MCP_CODES.HANDLER_FAILED:
                return _INTERNAL
            number = number_for(error.code, method, self.numbers_for(caller))
        elif error.data is UNSET:
            return ErrorObject(number, error.message)
        return ErrorObject(number, error.message, _plain_data(error))

    def numbers_for(self, caller: object) -> ErrorNumbers:
        """Return how errors are written for a caller; None stands for whoever is at the other end."""
        return self.numbers

    def interpret(self, error: ErrorObject, method: str) -> MCPError:
        """Return what an error of the peer's means to the caller: its own code first, else its number."""
        named = error.data.get("code") if isinstance(error.data, dict) else None
        if not isinstance(named, str) or named not in MCP_CODES:
            named = code_for(error.code, method, error.data, self.numbers)
        context = {"method": method}
        received = MCPError(named, error.message, jsonrpc_code=error.code, data=error.data, context=context)
        received.received = True
        return received

    def cancellation(self, method: str, id_: RequestId, reason: str | None) -> Notification | None:
        """Return the notice that gives up a request of ours. Spec: basic/utilities/cancellation"""
        return Notification(CANCELLED, CancelledNotificationParams(request_id=id_, reason=reason))

    def progress(self, token: RequestId, progress: float, total: float | None, message: str | None) -> Notification:
        """Return the notice of progress. Spec: basic/utilities/progress"""
        params = ProgressNotificationParams(progress_token=token, progress=progress, total=total, message=message)
        return Notification(PROGRESS, params)

    def meaning(self, params: WireStruct) -> WireStruct | CancelNotice | ProgressNotice:
        """Return what the connection has to know about a notification."""
        if type(params) is ProgressNotificationParams:
            return ProgressNotice(params.progress_token, params)
        if type(params) is CancelledNotificationParams:
            return CancelNotice(params.request_id, params)
        return params


class OpenEra(Era):
    """Plain JSON-RPC 2.0: any method with a handler, any params; cancellation and progress as MCP writes them."""

    def __init__(self, side: Side, served: Container[str]) -> None:
        super().__init__(side, served)
        self.admits_batches = True
        self._params: dict[str, Decoder[JsonValue]] = {}

    def expect(self, method: str, params_type: type[object]) -> None:
        """Check the params of `method` against a type from now on.

        Raises:
            TypeError: msgspec cannot decode into that type.
        """
        # What it decodes to goes to the one handler that asked for it.
        self._params[method] = cast("Decoder[JsonValue]", Decoder(params_type))

    def accept_anything(self, method: str) -> None:
        """Stop checking the params of `method`."""
        self._params.pop(method, None)

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, Caller]:
        """Return the params, as the expected type or else as plain JSON; the progress token; and an unknown caller.

        Raises:
            MCPError: `METHOD_NOT_FOUND` or `INVALID_PARAMS`.
        """
        if request.method not in self.served:
            raise method_not_found(request.method)
        params = self._decode(request.method, request.params)
        return params, progress_token(meta_of(params)), self.caller

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        """Return the params, or what a cancellation or progress notice asks for.

        Raises:
            MCPError: `INVALID_PARAMS`; it is dropped.
        """
        if notification.method in (CANCELLED, PROGRESS):
            method = METHODS[notification.method][peer_of(self.side)]
            return self.meaning(admit_params(method, notification.params))
        return self._decode(notification.method, notification.params)

    def admit_result(self, method: str, result: Payload) -> tuple[Payload, Sequence[str]]:
        """Return the result as plain JSON.

        Raises:
            MCPProtocolError: `PROTOCOL_INVALID`, it cannot be decoded.
        """
        try:
            return _any.decode(result if isinstance(result, Raw) else encode(result)), ()
        except (DecodeError, *NOT_JSON) as error:
            text = f"the result of {method} is malformed: {error}"
            raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, cause=error) from error

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        """Return params as raw JSON, so that nothing is shared with the peer.

        Raises:
            MCPError: `INVALID_PARAMS`, they are no JSON.
        """
        if progress_token is not None:
            params = with_progress_token(params, progress_token)
        return UNSET if params is UNSET or params is None else _raw(params)

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        """Return what a handler answers a call with as raw JSON.

        Raises:
            MCPError: `HANDLER_FAILED`, it is no JSON.
        """
        try:
            return result if isinstance(result, Raw) else Raw(encode(result))
        except NOT_JSON as error:
            text = f"the handler of {call.method} returned what is no JSON: {error}"
            raise MCPError(MCP_CODES.HANDLER_FAILED, text, cause=error, context={"method": call.method}) from error

    def _decode(self, method: str, params: Payload) -> Payload:
        try:
            return self._params.get(method, _any).decode(_EMPTY if params is UNSET else _raw(params))
        except (DecodeError, RecursionError) as error:
            path, reason = explain(error)
            raise invalid_params(path, reason) from error


def _raw(value: Payload) -> Raw:
    return value if isinstance(value, Raw) else raw_json(value)


def _plain_data(error: MCPError) -> JsonValue:
    """Return the `data` of an error as plain JSON: its code where it brings none, or none that is JSON."""
    by_default: JsonValue = {"code": error.code}
    try:
        return by_default if error.data is UNSET else decode(encode(error.data))
    except (DecodeError, *NOT_JSON):
        return by_default
