"""The plainest rules a connection can have: what they mean is easy to see, and they are not those of MCP."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UnsetType

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import (
    ErrorObject,
    Message,
    Notification,
    Payload,
    Request,
    RequestId,
)
from suaveplan_mcp.jsonrpc.records import CallReceived, OutboundRequest
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice

BAD = "bad"
"""Params or a result that no method takes."""


@dataclass
class PlainRules:
    """Any method but `unknown` is legal; `stubborn` cannot be cancelled; `cancel` and `progress` are notices."""

    answers_nonsense: bool = True
    admits_batches: bool = False
    unknown_id: UnsetType | None = None

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, object]:
        if request.method == "unknown":
            raise MCPError(MCP_CODES.METHOD_NOT_FOUND, "no such method")
        params: Any = request.params
        return params, params.get("token") if isinstance(params, dict) else None, "a caller"

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        params: Any = notification.params
        if notification.method == "unknown":
            raise MCPError(MCP_CODES.METHOD_NOT_FOUND, "no such notification")
        if notification.method == "cancel":
            return CancelNotice(params, params)
        return ProgressNotice(params, params) if notification.method == "progress" else params

    def admit_result(self, method: str, result: Payload) -> tuple[Payload, Sequence[str]]:
        if result == BAD:
            raise MCPError(MCP_CODES.PROTOCOL_INVALID, f"a bad result of {method}")
        return result, ["forgiven"] if result == "odd" else ()

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        if params == BAD:
            raise MCPError(MCP_CODES.INVALID_PARAMS, f"bad params for {method}")
        return params if progress_token is None else {"token": progress_token}

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        if result == BAD:
            raise MCPError(MCP_CODES.HANDLER_FAILED, f"a bad result of {call.method}")
        return result

    def describe(self, error: BaseException, method: str | None, caller: object = None) -> ErrorObject:
        return ErrorObject(-1, str(error), method)

    def interpret(self, error: ErrorObject, method: str) -> MCPError:
        return MCPError(MCP_CODES.INTERNAL_ERROR, f"{method}: {error.message}", jsonrpc_code=error.code)

    def cancellation(self, method: str, id_: RequestId, reason: str | None) -> Notification | None:
        return None if method == "stubborn" else Notification("cancel", id_)

    def progress(self, token: RequestId, progress: float, total: float | None, message: str | None) -> Notification:
        return Notification("progress", [token, progress, total, message])


Connection = JsonRpcConnection[OutboundRequest, CallReceived[object]]


def connect(
    *, answers_nonsense: bool = True, admits_batches: bool = False, next_id: Callable[[], RequestId] | None = None
) -> Connection:
    """Return a connection with plain rules."""
    return JsonRpcConnection(PlainRules(answers_nonsense, admits_batches), CallReceived, next_id)


def call_of(connection: Connection, message: Message) -> CallReceived[object]:
    """Let a request arrive and return the call."""
    record = connection.receive(message)
    assert isinstance(record, CallReceived)
    return record


def send(
    connection: Connection, method: str = "ask", params: Payload = None, *, progress: bool = False
) -> OutboundRequest:
    """Put a request of ours in flight and return its entry."""
    entry = OutboundRequest(method)
    connection.open(entry, params, progress=progress)
    return entry
