"""The JSON-RPC connection as a state machine: a message in, one record out.

It owns the ids and the two tables of what is in flight, ours and theirs, and nothing else: it never awaits, reads no
clock and does no I/O, so a transcript can drive it without an event loop. What a method means, and whether a message is
legal, is told by a `Rules` object; a request that breaks the rules is answered here and never reaches a handler.

How it works: `open` takes an entry of ours and gives the request to send. `receive` takes what came and gives a record
in the past tense. The record of a request, `CallReceived`, *is* its entry in the table of theirs; `complete`, `fail`
and `report_progress` take it back and give the message to send, or None where nothing may be sent any more. An id
leaves its table exactly once, so an answer is given at most once and taken at most once.
"""

from collections.abc import Callable, Collection, Container
from itertools import count
from math import inf
from typing import Final, Generic

from msgspec import UNSET

from suaveplan_mcp.errors import INVALID_REQUEST, MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Payload,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.jsonrpc.records import (
    BatchReceived,
    BatchReply,
    CallCancelled,
    CallReceived,
    MessageDropped,
    MessageRefused,
    NotificationReceived,
    Ours,
    ProgressReceived,
    Record,
    RequestFailed,
    RequestSucceeded,
    Theirs,
)
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice, Rules

_INVALID: Final = MCP_CODES.PROTOCOL_INVALID


class JsonRpcConnection(Generic[Ours, Theirs]):
    """One side of a JSON-RPC conversation.

    Args:
        rules: what the methods mean.
        call_type: the class of the records of their requests.
        next_id: gives a fresh id for each request of ours; integers from 0 by default.
    """

    def __init__(self, rules: Rules, call_type: type[Theirs], next_id: Callable[[], RequestId] | None = None) -> None:
        self.rules = rules
        self.next_id: Callable[[], RequestId] = next_id or count().__next__
        self._call_type = call_type
        self._ours: dict[RequestId, Ours] = {}
        self._theirs: dict[RequestId, Theirs] = {}
        self._tokens: dict[RequestId, Ours] = {}

    @property
    def ours(self) -> Container[RequestId]:
        """The ids of our requests in flight."""
        return self._ours.keys()

    @property
    def theirs(self) -> Container[RequestId]:
        """The ids of their requests in flight."""
        return self._theirs.keys()

    @property
    def pending(self) -> Collection[Ours]:
        """Our requests in flight."""
        return self._ours.values()

    def open(self, entry: Ours, params: Payload, *, id_: RequestId | None = None, progress: bool = False) -> Request:
        """Put a request of ours in flight.

        Args:
            entry: what the answer will come back with.
            params: what to send.
            id_: an id from `next_id`, for a caller that has to know it beforehand.
            progress: whether to ask for progress, with the id as the token.

        Returns:
            The message to send.

        Raises:
            MCPError: the params are not legal to send, or the id generator repeated an id in flight.
        """
        if id_ is None:
            id_ = self.next_id()
        if id_ in self._ours:
            raise MCPProtocolError(
                MCP_CODES.PROTOCOL_INVALID, f"the id generator gave {id_!r}, which is still in flight"
            )
        token = id_ if progress else None
        message = Request(id_, entry.method, self.rules.seal_params(entry.method, params, token))
        entry.id = id_
        self._ours[id_] = entry
        if token is not None:
            entry.progress_token = token
            self._tokens[token] = entry
        return message

    def abandon(self, entry: Ours, reason: str | None = None) -> Notification | None:
        """Give up a request of ours; a late answer will be dropped.

        Returns:
            The notice to send, or None where the answer is already there or the method cannot be cancelled.
        """
        if self._ours.get(entry.id) is not entry:
            return None
        self._take_ours(entry.id)
        return self.rules.cancellation(entry.method, entry.id, reason)

    def notify(self, method: str, params: Payload) -> Notification:
        """Return a notification to send.

        Raises:
            MCPError: it is not legal to send.
        """
        return Notification(method, self.rules.seal_params(method, params, None))

    def complete(self, call: Theirs, result: Payload) -> Response | Batch | None:
        """Answer a call.

        Returns:
            The message to send, or None where the call was cancelled or its batch still waits for others.

        Raises:
            MCPError: the result has the wrong shape; the call is still open.
        """
        if not call.open:
            return None
        reply = Response(call.id, self.rules.seal_result(call, result))
        self._close(call)
        return reply if call.batch is None else call.batch.settle(reply)

    def fail(self, call: Theirs, error: BaseException) -> ErrorResponse | Batch | None:
        """Answer a call with an error; returns what `complete` returns."""
        if not call.open:
            return None
        reply = ErrorResponse(call.id, self.rules.describe(error, call.method, call.caller))
        self._close(call)
        return reply if call.batch is None else call.batch.settle(reply)

    def report_progress(
        self, call: Theirs, progress: float, total: float | None, message: str | None
    ) -> Notification | None:
        """Report progress of a call.

        Returns:
            The notice to send; None where none was asked for, the call is over, or the value has not grown. A total
            that is no finite number is left out. Spec: basic/utilities/progress
        """
        if call.progress_token is None or not call.open:
            return None
        last = call.last_progress
        # JSON has neither infinity nor NaN, and NaN compares as false with everything.
        if not (-inf if last is None else last) < progress < inf:
            return None
        call.last_progress = progress
        if total is not None and not -inf < total < inf:
            total = None
        return self.rules.progress(call.progress_token, progress, total, message)

    def receive(self, message: Message) -> Record[Ours, Theirs]:
        """Take one message and say what happened."""
        if type(message) is Response:
            return self._receive_response(message)
        if type(message) is Request:
            return self._receive_request(message)
        if type(message) is Notification:
            return self._receive_notification(message)
        if type(message) is ErrorResponse:
            return self._receive_error(message)
        if type(message) is Batch:
            return self._receive_batch(message)
        return self._receive_invalid(message)

    def close(self) -> tuple[list[Ours], list[Theirs]]:
        """End everything in flight and return it; nothing of it can be answered or taken afterwards."""
        ours, theirs = list(self._ours.values()), list(self._theirs.values())
        for call in theirs:
            call.open = False
        self._ours.clear()
        self._theirs.clear()
        self._tokens.clear()
        return ours, theirs

    def _receive_request(self, request: Request) -> Theirs | MessageRefused:
        id_, method = request.id, request.method
        if id_ in self._theirs:
            error = ErrorObject(INVALID_REQUEST, f"request id {id_!r} is still in flight", {"code": _INVALID})
            return MessageRefused(ErrorResponse(id_, error), error.message, method)
        try:
            params, token, caller = self.rules.admit_request(request)
        except MCPError as refusal:
            reply = ErrorResponse(id_, self.rules.describe(refusal, method))
            return MessageRefused(reply, f"{method}: {refusal.message}", method)
        call = self._call_type(id_, method, params, token, caller)
        self._theirs[id_] = call
        return call

    def _receive_notification(self, notification: Notification) -> Record[Ours, Theirs]:
        try:
            meaning = self.rules.admit_notification(notification)
        except MCPError as error:
            return MessageDropped(f"{notification.method}: {error.message}", notification.method)
        if type(meaning) is ProgressNotice:
            return ProgressReceived(self._tokens.get(meaning.token), meaning.params)
        if type(meaning) is CancelNotice:
            return self._cancel_theirs(meaning)
        return NotificationReceived(notification.method, meaning)

    def _cancel_theirs(self, notice: CancelNotice) -> CallCancelled[Theirs]:
        call = None if notice.request_id is None else self._theirs.get(notice.request_id)
        # What this side would not be allowed to give up, the peer is not either.
        if call is None or self.rules.cancellation(call.method, call.id, None) is None:
            return CallCancelled(None, notice.params, None)
        self._close(call)
        return CallCancelled(call, notice.params, None if call.batch is None else call.batch.settle(None))

    def _receive_response(self, response: Response) -> Record[Ours, Theirs]:
        entry = self._take_ours(response.id)
        if entry is None:
            return MessageDropped(f"an answer to {response.id!r}, which is not in flight")
        try:
            result, deviations = self.rules.admit_result(entry.method, response.result)
        except MCPError as error:
            return RequestFailed(entry, error)
        return RequestSucceeded(entry, result, deviations)

    def _receive_error(self, response: ErrorResponse) -> Record[Ours, Theirs]:
        id_ = None if response.id is UNSET else response.id
        if id_ is None and len(self._ours) == 1:
            # The peer could not read the id of what it refused; with one request in flight there is no doubt which.
            (id_,) = self._ours
        entry = None if id_ is None else self._take_ours(id_)
        if entry is None:
            return MessageDropped(f"an error for {id_!r}, which is not in flight: {response.error.message}")
        return RequestFailed(entry, self.rules.interpret(response.error, entry.method))

    def _receive_invalid(self, message: InvalidMessage) -> Record[Ours, Theirs]:
        id_ = message.id
        entry = self._take_ours(id_) if message.answers and id_ is not None else None
        if entry is not None:
            malformed = MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, f"the answer is malformed: {message.reason}")
            return RequestFailed(entry, malformed)
        reason = f"{message.reason}: {message.sample!r}" if message.sample else message.reason
        # While a request of that id is in flight, an error with the id would read as the answer to that one.
        taken = id_ in self._theirs
        if not self.rules.answers_nonsense or (taken and message.answers):
            return MessageDropped(reason)
        error = MCPProtocolError(_INVALID, message.reason, jsonrpc_code=message.number, data={"code": _INVALID})
        answered = self.rules.unknown_id if taken or id_ is None else id_
        return MessageRefused(ErrorResponse(answered, self.rules.describe(error, None)), reason, None)

    def _receive_batch(self, batch: Batch) -> Record[Ours, Theirs]:
        if not self.rules.admits_batches:
            return self._receive_invalid(InvalidMessage(INVALID_REQUEST, "a batch, which is not allowed here"))
        collected = BatchReply()
        records: list[Record[Ours, Theirs]] = []
        for message in batch.messages:
            record = self.receive(message)
            if isinstance(record, CallReceived):
                record.batch = collected
                collected.expect()
            elif type(record) is MessageRefused:
                collected.expect()
                collected.settle(record.reply)
            records.append(record)
        return BatchReceived(tuple(records), collected.settle(None))

    def _close(self, call: Theirs) -> None:
        call.open = False
        del self._theirs[call.id]

    def _take_ours(self, id_: RequestId) -> Ours | None:
        entry = self._ours.pop(id_, None)
        if entry is not None and entry.progress_token is not None:
            del self._tokens[entry.progress_token]
        return entry
