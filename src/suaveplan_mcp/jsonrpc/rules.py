"""What a connection has to be told about its methods, because this room does not know what any of them means."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, final

from msgspec import UnsetType

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.jsonrpc.messages import ErrorObject, Notification, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived


@final
class CancelNotice(NamedTuple):
    """What the rules say of a notification that cancels a request."""

    request_id: RequestId | None
    params: Payload


@final
class ProgressNotice(NamedTuple):
    """What the rules say of a notification that reports progress."""

    token: RequestId
    params: Payload


class Rules(Protocol):
    """What the methods mean and what is legal. The room `protocol` implements it once per era."""

    answers_nonsense: bool
    """Whether a frame that holds no message is answered with an error (servers) or dropped (clients)."""

    admits_batches: bool
    """Whether several messages may come in one frame."""

    unknown_id: UnsetType | None
    """What an error has for an id where the id could not be read: `null`, or nothing at all."""

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, object]:
        """Return the typed params, the progress token and who the caller is, or raise the `MCPError` to answer with."""
        ...

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        """Return the typed params or what the notification asks for, or raise `MCPError` to have it dropped."""
        ...

    def admit_result(self, method: str, result: Payload) -> tuple[Payload, Sequence[str]]:
        """Return the typed result and what had to be forgiven in it, or raise the `MCPError` the caller shall see."""
        ...

    def seal_params(self, method: str, params: Payload, progress_token: RequestId | None) -> Payload:
        """Return params fit for the wire, or raise `MCPError` where they are not legal to send."""
        ...

    def seal_result(self, call: CallReceived[object], result: Payload) -> Payload:
        """Return a handler's answer to a call, fit for the wire, or raise `MCPError` where it has the wrong shape."""
        ...

    def describe(self, error: BaseException, method: str | None, caller: object = None) -> ErrorObject:
        """Return what the peer may know of an exception, in the words that a caller understands. Never raises."""
        ...

    def interpret(self, error: ErrorObject, method: str) -> MCPError:
        """Return what an error of the peer's means to the caller."""
        ...

    def cancellation(self, method: str, id_: RequestId, reason: str | None) -> Notification | None:
        """Return the notice that gives up a request of ours, or None where it may not be sent."""
        ...

    def progress(self, token: RequestId, progress: float, total: float | None, message: str | None) -> Notification:
        """Return the notice of progress."""
        ...
