"""What a connection keeps about requests in flight, and the records it gives of what happened, in the past tense."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar, final

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.jsonrpc.messages import Batch, ErrorResponse, Payload, RequestId, Response


class OutboundRequest:
    """A request of ours that waits for its answer. A runtime subclasses it to hang its waiter on."""

    __slots__ = ("id", "method", "progress_token")

    def __init__(self, method: str) -> None:
        self.id: RequestId = -1
        self.method = method
        self.progress_token: RequestId | None = None


Caller = TypeVar("Caller", covariant=True)


class CallReceived(Generic[Caller]):
    """A legal request of theirs with typed params, in flight until it is completed, failed or cancelled.

    A runtime subclasses it to hang its task on. Who the caller is, the rules say; this room only passes it on.
    """

    __slots__ = ("batch", "caller", "id", "last_progress", "method", "open", "params", "progress_token")

    def __init__(
        self, id_: RequestId, method: str, params: Payload, progress_token: RequestId | None, caller: Caller
    ) -> None:
        self.id = id_
        self.method = method
        self.params = params
        self.progress_token = progress_token
        self.caller = caller
        self.open = True
        self.last_progress: float | None = None
        self.batch: BatchReply | None = None


class BatchReply:
    """Collects the answers to one batch until the last one is there."""

    __slots__ = ("_replies", "_waiting")

    def __init__(self) -> None:
        # The frame itself counts as one, so that nothing goes out before all its members were looked at.
        self._waiting = 1
        self._replies: list[Response | ErrorResponse] = []

    def expect(self) -> None:
        """Wait for one answer more."""
        self._waiting += 1

    def settle(self, reply: Response | ErrorResponse | None) -> Batch | None:
        """Take one answer, None where there is none to give, and return the whole when it is complete."""
        self._waiting -= 1
        if reply is not None:
            self._replies.append(reply)
        return None if self._waiting or not self._replies else Batch(tuple(self._replies))


Ours = TypeVar("Ours", bound=OutboundRequest)
Theirs = TypeVar("Theirs", bound=CallReceived[object])


@final
class NotificationReceived(NamedTuple):
    """A legal notification with typed params."""

    method: str
    params: Payload


@final
class ProgressReceived(NamedTuple, Generic[Ours]):
    """Progress of a request of ours; the entry is None where nothing in flight has that token."""

    entry: Ours | None
    params: Payload


@final
class CallCancelled(NamedTuple, Generic[Theirs]):
    """The peer gave up a request of its own; the call is None where nothing in flight has that id."""

    call: Theirs | None
    params: Payload
    reply: Batch | None
    """What is left to send of the batch the call came in."""


@final
class RequestSucceeded(NamedTuple, Generic[Ours]):
    """The answer to a request of ours came."""

    entry: Ours
    result: Payload
    deviations: Sequence[str]
    """What the peer did wrong in it, each forgiven."""


@final
class RequestFailed(NamedTuple, Generic[Ours]):
    """A request of ours failed: the peer said so, or its answer cannot be used."""

    entry: Ours
    error: MCPError


@final
class MessageRefused(NamedTuple):
    """A message broke the rules; `reply` is the answer to send, unless the message came in a batch."""

    reply: ErrorResponse
    reason: str
    method: str | None
    """The method of a refused request; None for what is not even a request."""


@final
class MessageDropped(NamedTuple):
    """A message broke the rules or came too late, and nothing may be said about it to the peer."""

    reason: str
    method: str | None = None
    """The method of a dropped notification; None for what is no notification."""


@final
class BatchReceived(NamedTuple, Generic[Ours, Theirs]):
    """Several records from one frame."""

    records: "tuple[Record[Ours, Theirs], ...]"
    reply: Batch | None
    """What can be answered already, where no member is left to wait for."""


# The parameters of the alias come in the order in which they appear: `Record[Ours, Theirs]`.
Record: TypeAlias = (
    RequestSucceeded[Ours]
    | Theirs
    | NotificationReceived
    | ProgressReceived[Ours]
    | RequestFailed[Ours]
    | CallCancelled[Theirs]
    | MessageRefused
    | MessageDropped
    | BatchReceived[Ours, Theirs]
)
"""What happened. The record of a request is its entry in the table of theirs."""
