"""The state machine: ids, the two tables, and the one record that each message gives."""

from math import inf, nan

import pytest
from msgspec import UNSET, UnsetType

from suaveplan_mcp.errors import INVALID_REQUEST, MCP_CODES, PARSE_ERROR, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.jsonrpc.records import (
    BatchReceived,
    CallCancelled,
    CallReceived,
    MessageDropped,
    MessageRefused,
    NotificationReceived,
    OutboundRequest,
    ProgressReceived,
    RequestFailed,
    RequestSucceeded,
)
from tests.unit.jsonrpc.plain_rules import BAD, call_of, connect, send

FAILURE = ValueError("it broke")
DESCRIBED = ErrorObject(-1, "it broke", "ask")

ODD_IDS: list[RequestId] = [0, "", 1, "1", -7, 9007199254740993, 2**80, "0x1", "long" * 80]


# Requests of ours


def test_ids_are_integers_from_zero() -> None:
    connection = connect()

    assert [Request(0, "a"), Request(1, "b", {"x": 1})] == [
        connection.open(OutboundRequest("a"), Request(0, "a").params),
        connection.open(OutboundRequest("b"), {"x": 1}),
    ]
    assert 0 in connection.ours
    assert "0" not in connection.ours


def test_ids_come_from_the_generator_that_is_given() -> None:
    connection = connect(next_id=iter(["x", "y"]).__next__)

    assert ["x", "y"] == [connection.open(OutboundRequest("a"), None).id for _ in range(2)]


def test_an_id_may_be_taken_before_the_request_is_opened() -> None:
    connection, entry = connect(), OutboundRequest("ask")
    id_ = connection.next_id()

    assert Request(id_, "ask", None) == connection.open(entry, None, id_=id_)
    assert 1 == send(connection).id


def test_an_id_that_is_still_in_flight_is_refused_and_the_first_request_stays() -> None:
    connection = connect(next_id=lambda: 5)
    first = send(connection)

    with pytest.raises(MCPProtocolError, match="5, which is still in flight"):
        connection.open(OutboundRequest("b"), None)

    assert RequestSucceeded(first, "yes", ()) == connection.receive(Response(5, "yes"))


def test_params_that_may_not_be_sent_leave_nothing_in_flight() -> None:
    connection = connect()

    with pytest.raises(MCPError, match="bad params for ask"):
        connection.open(OutboundRequest("ask"), BAD, progress=True)

    assert [] == list(connection.pending)
    assert ProgressReceived(None, 0) == connection.receive(Notification("progress", 0))


def test_an_answer_goes_to_the_request_of_its_id() -> None:
    connection = connect()
    first, second = send(connection), send(connection)

    assert RequestSucceeded(second, "two", ()) == connection.receive(Response(1, "two"))
    assert RequestSucceeded(first, "one", ()) == connection.receive(Response(0, "one"))
    assert [] == list(connection.pending)


def test_what_was_forgiven_in_an_answer_is_told() -> None:
    connection = connect()
    entry = send(connection)

    assert RequestSucceeded(entry, "odd", ["forgiven"]) == connection.receive(Response(0, "odd"))


def test_an_answer_is_taken_once() -> None:
    connection = connect()
    send(connection)
    connection.receive(Response(0, "first"))

    assert MessageDropped("an answer to 0, which is not in flight") == connection.receive(Response(0, "second"))


def test_an_answer_with_the_id_in_another_type_is_not_taken() -> None:
    connection = connect()
    entry = send(connection)

    assert MessageDropped("an answer to '0', which is not in flight") == connection.receive(Response("0", "no"))
    assert [entry] == list(connection.pending)


def test_an_answer_that_breaks_the_rules_fails_its_request() -> None:
    connection = connect()
    entry = send(connection)

    record = connection.receive(Response(0, BAD))

    assert isinstance(record, RequestFailed)
    assert (entry, "a bad result of ask") == (record.entry, record.error.message)
    assert [] == list(connection.pending)


def test_an_error_fails_the_request_of_its_id() -> None:
    connection = connect()
    entry = send(connection)

    record = connection.receive(ErrorResponse(0, ErrorObject(-5, "no")))

    assert isinstance(record, RequestFailed)
    assert (entry, -5, "ask: no") == (record.entry, record.error.jsonrpc_code, record.error.message)


def test_an_error_for_an_unknown_id_is_dropped() -> None:
    record = connect().receive(ErrorResponse(9, ErrorObject(-5, "no")))

    assert MessageDropped("an error for 9, which is not in flight: no") == record


@pytest.mark.parametrize("unknown", [None, UNSET])
def test_an_error_without_an_id_fails_the_only_request_in_flight(unknown: UnsetType | None) -> None:
    connection = connect()
    entry = send(connection)

    record = connection.receive(ErrorResponse(unknown, ErrorObject(-5, "no")))

    assert isinstance(record, RequestFailed)
    assert entry is record.entry


@pytest.mark.parametrize("in_flight", [0, 2])
def test_an_error_without_an_id_is_dropped_where_it_could_be_anybodys(in_flight: int) -> None:
    connection = connect()
    entries = [send(connection) for _ in range(in_flight)]

    assert isinstance(connection.receive(ErrorResponse(None, ErrorObject(-5, "no"))), MessageDropped)
    assert entries == list(connection.pending)


def test_a_malformed_answer_fails_its_request() -> None:
    connection = connect()
    entry = send(connection)

    record = connection.receive(InvalidMessage(INVALID_REQUEST, "two answers", 0, answers=True))

    assert isinstance(record, RequestFailed)
    assert (entry, MCP_CODES.PROTOCOL_INVALID) == (record.entry, record.error.code)
    assert "the answer is malformed: two answers" == record.error.message


def test_a_request_that_is_given_up_sends_the_notice_and_drops_the_late_answer() -> None:
    connection = connect()
    entry = send(connection)

    assert Notification("cancel", 0) == connection.abandon(entry)
    assert isinstance(connection.receive(Response(0, "late")), MessageDropped)


def test_a_request_is_given_up_once() -> None:
    connection = connect()
    entry = send(connection)
    connection.abandon(entry)

    assert connection.abandon(entry) is None


def test_an_answered_request_cannot_be_given_up() -> None:
    connection = connect()
    entry = send(connection)
    connection.receive(Response(0, "yes"))

    assert connection.abandon(entry) is None


def test_giving_up_an_answered_request_spares_the_next_one_of_the_same_id() -> None:
    connection = connect(next_id=lambda: 5)
    first = send(connection)
    connection.receive(Response(5, "yes"))
    second = send(connection)

    assert connection.abandon(first) is None
    assert [second] == list(connection.pending)


def test_a_request_that_cannot_be_cancelled_is_given_up_in_silence() -> None:
    connection = connect()
    entry = send(connection, "stubborn")

    assert connection.abandon(entry) is None
    assert [] == list(connection.pending)


def test_progress_finds_the_request_by_its_token_until_the_answer() -> None:
    connection = connect()
    entry = OutboundRequest("ask")

    assert Request(0, "ask", {"token": 0}) == connection.open(entry, None, progress=True)
    assert ProgressReceived(entry, 0) == connection.receive(Notification("progress", 0))
    connection.receive(Response(0, "yes"))
    assert ProgressReceived(None, 0) == connection.receive(Notification("progress", 0))


def test_progress_that_was_not_asked_for_belongs_to_nobody() -> None:
    connection = connect()
    send(connection)

    assert ProgressReceived(None, 0) == connection.receive(Notification("progress", 0))


def test_a_notification_is_sealed_like_a_request() -> None:
    connection = connect()

    assert Notification("news", {"x": 1}) == connection.notify("news", {"x": 1})
    with pytest.raises(MCPError, match="bad params for news"):
        connection.notify("news", BAD)


# Requests of theirs


@pytest.mark.parametrize("id_", ODD_IDS)
def test_an_id_is_echoed_as_it_came(id_: RequestId) -> None:
    connection = connect()
    reply = connection.complete(call_of(connection, Request(id_, "ask")), "yes")

    assert isinstance(reply, Response)
    assert (type(id_), id_) == (type(reply.id), reply.id)


def test_one_as_a_number_and_one_as_a_string_are_two_requests() -> None:
    connection = connect()
    number, string = call_of(connection, Request(1, "ask")), call_of(connection, Request("1", "ask"))

    connection.receive(Notification("cancel", 1))

    assert (False, True) == (number.open, string.open)
    assert Response("1", "yes") == connection.complete(string, "yes")


def test_a_second_request_with_an_id_in_flight_is_refused_and_the_first_is_still_answered() -> None:
    connection = connect()
    first = call_of(connection, Request(5, "ask"))

    refused = connection.receive(Request(5, "other"))

    reason = "request id 5 is still in flight"
    error = ErrorObject(INVALID_REQUEST, reason, {"code": "MCP.PROTOCOL_INVALID"})
    assert MessageRefused(ErrorResponse(5, error), reason, "other") == refused
    assert Response(5, "yes") == connection.complete(first, "yes")


def test_an_id_may_be_used_again_after_the_answer() -> None:
    connection = connect()
    connection.complete(call_of(connection, Request(5, "ask")), "yes")

    assert Response(5, "again") == connection.complete(call_of(connection, Request(5, "ask")), "again")


def test_a_request_that_breaks_the_rules_is_refused_and_is_not_in_flight() -> None:
    connection = connect()

    refused = connection.receive(Request(3, "unknown"))

    reply = ErrorResponse(3, ErrorObject(-1, "no such method", "unknown"))
    assert MessageRefused(reply, "unknown: no such method", "unknown") == refused
    assert 3 not in connection.theirs


def test_a_call_is_answered_once() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask"))

    assert Response(1, "yes") == connection.complete(call, "yes")
    assert [None, None] == [connection.complete(call, "again"), connection.fail(call, FAILURE)]


def test_a_failed_call_is_answered_with_its_error() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask"))

    assert ErrorResponse(1, DESCRIBED) == connection.fail(call, FAILURE)
    assert connection.complete(call, "late") is None


def test_a_result_of_the_wrong_shape_leaves_the_call_open() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask"))

    with pytest.raises(MCPError, match="a bad result of ask"):
        connection.complete(call, BAD)

    assert ErrorResponse(1, DESCRIBED) == connection.fail(call, FAILURE)


def test_a_cancelled_call_is_never_answered() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask"))

    assert CallCancelled(call, 1, None) == connection.receive(Notification("cancel", 1))
    assert [None, None] == [connection.complete(call, "yes"), connection.fail(call, FAILURE)]
    assert 1 not in connection.theirs


@pytest.mark.parametrize("id_", [999, "1", None])
def test_cancelling_what_is_not_in_flight_does_nothing(id_: RequestId | None) -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask"))

    assert CallCancelled(None, id_, None) == connection.receive(Notification("cancel", id_))
    assert call.open


def test_a_second_cancel_does_nothing() -> None:
    connection = connect()
    call_of(connection, Request(1, "ask"))
    connection.receive(Notification("cancel", 1))

    assert CallCancelled(None, 1, None) == connection.receive(Notification("cancel", 1))


def test_the_answer_to_a_cancelled_call_cannot_be_taken_for_the_next_one_of_its_id() -> None:
    connection = connect()
    old = call_of(connection, Request(1, "ask"))
    connection.receive(Notification("cancel", 1))
    new = call_of(connection, Request(1, "ask"))

    assert connection.complete(old, "old") is None
    assert Response(1, "new") == connection.complete(new, "new")


@pytest.mark.parametrize("token", [0, "", "x", 2**70])
def test_progress_goes_out_under_the_token_as_it_came(token: RequestId) -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask", {"token": token}))

    assert Notification("progress", [token, 1, 3, "going"]) == connection.report_progress(call, 1, 3, "going")


def test_progress_only_grows() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask", {"token": 7}))

    sent = [connection.report_progress(call, value, 3, None) for value in (1, 2, 2, 1, 2.5)]

    assert [[7, 1, 3, None], [7, 2, 3, None], None, None, [7, 2.5, 3, None]] == [
        notice and notice.params for notice in sent
    ]


def test_progress_may_begin_below_zero() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask", {"token": 7}))

    assert Notification("progress", [7, -5, None, None]) == connection.report_progress(call, -5, None, None)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_progress_that_json_cannot_write_is_left_out(value: float) -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask", {"token": 7}))

    assert connection.report_progress(call, value, 3, None) is None
    assert Notification("progress", [7, 1, None, None]) == connection.report_progress(call, 1, value, None)


def test_nobody_hears_of_progress_who_did_not_ask() -> None:
    connection = connect()

    assert connection.report_progress(call_of(connection, Request(1, "ask", {})), 1, 3, None) is None


def test_no_progress_follows_the_answer() -> None:
    connection = connect()
    call = call_of(connection, Request(1, "ask", {"token": 7}))
    connection.complete(call, "yes")

    assert connection.report_progress(call, 1, 3, None) is None


# Notifications and nonsense


def test_a_notification_is_handed_on() -> None:
    assert NotificationReceived("news", {"x": 1}) == connect().receive(Notification("news", {"x": 1}))


def test_a_notification_that_breaks_the_rules_is_dropped() -> None:
    assert MessageDropped("unknown: no such notification", "unknown") == connect().receive(Notification("unknown"))


def test_call_that_may_not_be_cancelled_goes_on() -> None:
    connection = connect()
    call = call_of(connection, Request(4, "stubborn"))

    assert CallCancelled(None, 4, None) == connection.receive(Notification("cancel", 4))
    assert Response(4, "yes") == connection.complete(call, "yes")


def test_nonsense_is_answered_with_its_id_where_it_has_one() -> None:
    record = connect().receive(InvalidMessage(INVALID_REQUEST, "no method", 4, b'{"id":4}'))

    reply = ErrorResponse(4, ErrorObject(-1, "no method", None))
    assert MessageRefused(reply, "no method: b'{\"id\":4}'", None) == record


def test_nonsense_is_dropped_by_a_side_that_does_not_answer_it() -> None:
    connection = connect(answers_nonsense=False)

    assert MessageDropped("not JSON: b'Server started'") == connection.receive(
        InvalidMessage(PARSE_ERROR, "not JSON", sample=b"Server started")
    )


def test_nonsense_with_the_id_of_a_call_in_flight_is_answered_without_it() -> None:
    connection = connect()
    call = call_of(connection, Request(4, "ask"))

    record = connection.receive(InvalidMessage(INVALID_REQUEST, "no method", 4))

    assert MessageRefused(ErrorResponse(None, ErrorObject(-1, "no method", None)), "no method", None) == record
    assert call.open


def test_id_that_could_not_be_read_is_left_out_where_the_rules_say_so() -> None:
    connection = connect()
    connection.rules.unknown_id = UNSET

    record = connection.receive(InvalidMessage(PARSE_ERROR, "not JSON"))

    assert isinstance(record, MessageRefused)
    assert UNSET is record.reply.id


def test_a_malformed_answer_of_a_busy_id_gets_no_answer_that_could_be_mistaken() -> None:
    connection = connect()
    call_of(connection, Request(4, "ask"))

    assert MessageDropped("two answers") == connection.receive(
        InvalidMessage(INVALID_REQUEST, "two answers", 4, answers=True)
    )


# Batches


def test_a_batch_is_one_error_where_it_is_not_allowed_and_nothing_in_it_happens() -> None:
    connection = connect()
    entry = send(connection)

    record = connection.receive(Batch((Request(1, "ask"), Response(0, "yes"))))

    assert isinstance(record, MessageRefused)
    assert record.reply.id is None
    assert 1 not in connection.theirs
    assert [entry] == list(connection.pending)


def test_the_answers_to_a_batch_go_out_together_when_the_last_one_is_there() -> None:
    connection = connect(admits_batches=True)
    record = connection.receive(Batch((Request(1, "ask"), Notification("news", 3), Request(2, "ask"))))

    assert isinstance(record, BatchReceived)
    first, news, second = record.records
    assert isinstance(first, CallReceived)
    assert isinstance(second, CallReceived)
    assert (NotificationReceived("news", 3), None) == (news, record.reply)
    assert connection.complete(second, "two") is None
    assert Batch((Response(2, "two"), ErrorResponse(1, DESCRIBED))) == connection.fail(first, FAILURE)


def test_a_batch_of_refusals_is_answered_at_once() -> None:
    connection = connect(admits_batches=True)

    record = connection.receive(Batch((Request(1, "unknown"), InvalidMessage(INVALID_REQUEST, "no method"))))

    assert isinstance(record, BatchReceived)
    refusals = (ErrorObject(-1, "no such method", "unknown"), ErrorObject(-1, "no method", None))
    assert Batch((ErrorResponse(1, refusals[0]), ErrorResponse(None, refusals[1]))) == record.reply


def test_a_batch_of_notifications_is_not_answered() -> None:
    record = connect(admits_batches=True).receive(Batch((Notification("news"), Notification("unknown"))))

    assert isinstance(record, BatchReceived)
    assert record.reply is None


def test_a_batch_may_hold_answers_to_requests_of_ours() -> None:
    connection = connect(admits_batches=True)
    entry = send(connection)

    record = connection.receive(Batch((Response(0, "yes"),)))

    assert BatchReceived((RequestSucceeded(entry, "yes", ()),), None) == record


def test_the_last_call_of_a_batch_to_be_cancelled_releases_the_other_answers() -> None:
    connection = connect(admits_batches=True)
    record = connection.receive(Batch((Request(1, "ask"), Request(2, "ask"))))
    assert isinstance(record, BatchReceived)
    first = record.records[0]
    assert isinstance(first, CallReceived)
    connection.complete(first, "one")

    cancelled = connection.receive(Notification("cancel", 2))

    assert isinstance(cancelled, CallCancelled)
    assert Batch((Response(1, "one"),)) == cancelled.reply


def test_a_batch_that_is_cancelled_as_a_whole_is_not_answered() -> None:
    connection = connect(admits_batches=True)
    connection.receive(Batch((Request(1, "ask"),)))

    cancelled = connection.receive(Notification("cancel", 1))

    assert isinstance(cancelled, CallCancelled)
    assert cancelled.reply is None


def test_a_cancel_in_the_same_batch_ends_the_call() -> None:
    connection = connect(admits_batches=True)

    record = connection.receive(Batch((Request(1, "ask"), Notification("cancel", 1))))

    assert isinstance(record, BatchReceived)
    call = record.records[0]
    assert isinstance(call, CallReceived)
    assert (False, None) == (call.open, record.reply)


# The end


def test_closing_gives_back_everything_in_flight_and_leaves_nothing() -> None:
    connection = connect()
    entry = send(connection, progress=True)
    call = call_of(connection, Request(9, "ask", {"token": 1}))

    assert ([entry], [call]) == connection.close()
    assert ([], []) == connection.close()
    assert [None, None] == [connection.complete(call, "yes"), connection.report_progress(call, 1, 3, None)]
    assert connection.abandon(entry) is None
    assert isinstance(connection.receive(Response(0, "late")), MessageDropped)
    assert ProgressReceived(None, 0) == connection.receive(Notification("progress", 0))
