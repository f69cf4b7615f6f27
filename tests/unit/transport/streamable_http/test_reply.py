"""What comes back for one POST, read from responses made of pieces."""

import pytest
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import (
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.transport.streamable_http.reply import AnswerReader, Reply, describe
from tests.unit.transport.streamable_http.scripted_fetch import SSE, event
from tests.unit.transport.streamable_http.scripted_fetch import Reply as Scripted

ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}'
NOTICE = b'{"jsonrpc":"2.0","method":"notifications/progress"}'
ASKED = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
ERROR = b'"error":{"code":-32601,"message":"no such method","data":null}'
LIMIT = 200


async def read(
    response: Scripted, id_: RequestId = 1, *, stateless: bool = True
) -> tuple[Response | ErrorResponse, list[Message]]:
    handed: list[Message] = []
    reader = AnswerReader(Request(id_, "tools/list"), LIMIT, handed.append, stateless=stateless)
    return await reader.read(Reply(response, "the answer")), handed


async def broken(response: Scripted, id_: RequestId = 1, *, stateless: bool = True) -> MCPTransportError:
    with pytest.raises(MCPTransportError, match="^the answer ") as raised:
        await read(response, id_, stateless=stateless)
    assert (MCP_CODES.TRANSPORT_ERROR, response.status) == (raised.value.code, raised.value.context["status"])
    return raised.value


# One JSON object


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/json;"])
async def test_an_answer_in_json_is_read_in_any_number_of_pieces(kind: str) -> None:
    answer, handed = await read(Scripted(ANSWER[:9], b"", ANSWER[9:], kind=kind))

    assert isinstance(answer, Response)
    assert (1, {"a": 1}, []) == (answer.id, decode(answer.result), handed)  # pyright: ignore[reportArgumentType]


async def test_an_error_in_json_is_the_answer() -> None:
    answer, _ = await read(Scripted(b'{"jsonrpc":"2.0","id":"1",%b}' % ERROR), "1")

    assert isinstance(answer, ErrorResponse)
    assert ("1", -32601, None) == (answer.id, answer.error.code, answer.error.data)


@pytest.mark.parametrize("id_", [b'"id":null,', b""])
@pytest.mark.parametrize("status", [200, 400, 404, 503])
async def test_an_error_without_an_id_is_the_answer_whatever_the_status(id_: bytes, status: int) -> None:
    answer, _ = await read(Scripted(b'{"jsonrpc":"2.0",%b%b}' % (id_, ERROR), status=status))

    assert (1, -32601) == (answer.id, answer.error.code if isinstance(answer, ErrorResponse) else None)


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "is empty (200, application/json)"),
        (b"<html>", "is malformed: JSON is malformed"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}', "is malformed: Input data was truncated"),
        (b"\xff", "is malformed: the frame is not UTF-8"),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', "has the wrong id: 2 in place of 1"),
        (b'{"jsonrpc":"2.0","id":"1","result":{}}', "has the wrong id: '1' in place of 1"),
        (b'{"jsonrpc":"2.0","id":2,%b}' % ERROR, "has the wrong id: 2 in place of 1"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},%b}' % ERROR, "is malformed: a response has both `result` and `error`"),
        (b'{"jsonrpc":"2.0","id":1}', "is malformed: a message has none of `method`, `result`, `error`"),
        (b'{"jsonrpc":"2.0","result":{}}', "is malformed: `id` is missing from a response"),
        (b"42", "is malformed: Expected `object`"),
        (NOTICE, "is no response, but a notification"),
        (ASKED, "is no response, but a request"),
        (b"[%b]" % ANSWER, "is no response, but a batch"),
        (b" " * LIMIT + ANSWER, "is over the limit of 200 bytes (`max_frame_bytes`)"),
    ],
)
async def test_json_that_is_no_answer_is_an_error_that_says_why(body: bytes, said: str) -> None:
    error = await broken(Scripted(body))

    assert said in error.message


async def test_no_more_is_read_of_what_is_too_large() -> None:
    response = Scripted(b"x" * 150, b"x" * 150, b"x" * 150, b"x" * 150)
    await broken(response)

    assert not response.read_to_end


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
async def test_a_body_that_breaks_off_is_an_error(kind: str) -> None:
    error = await broken(
        Scripted(b"data: 1\n", OSError("reset"), kind=kind)
        if kind != "text/html"
        else Scripted(OSError("reset"), kind=kind)
    )

    assert ("the answer broke off: OSError: reset", True) == (error.message, isinstance(error.cause, OSError))


# Another type, another status


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize(
    ("response", "said"),
    [
        (Scripted(b"<html>", kind="text/html; charset=utf-8"), "is 200, text/html: b'<html>'"),
        (Scripted(ANSWER, kind=""), 'is 200, of no type: b\'{"jsonrpc"'),
        (Scripted(status=202, kind=""), "is 202, of no type: b''"),
        (Scripted(ANSWER, status=201), "is 201, application/json: b'{"),
        (Scripted(ANSWER, status=400), "is 400, application/json: b'{"),
        (Scripted(b"who are you?", status=401, kind="text/plain"), "is 401, text/plain: b'who are you?'"),
        (Scripted(b"<h1>502</h1>", status=502, kind="text/html"), "is 502, text/html: b'<h1>502</h1>'"),
        (Scripted(b'{"jsonrpc":"2.0","id":2,%b}' % ERROR, status=400), "is 400, application/json: b'{"),
        (Scripted(b"x" * 1000, status=500, kind="text/plain"), f"is 500, text/plain: b'{'x' * 200}'"),
        (
            Scripted(status=302, kind="", location="https://me:secret@else.example/there?key=secret"),
            "is 302, of no type, which leads to else.example/there: b''",
        ),
    ],
)
async def test_what_is_no_answer_at_all_is_an_error_with_status_type_and_sample(response: Scripted, said: str) -> None:
    error = await broken(response)

    assert said in error.message
    assert "secret" not in error.message


async def test_a_refusal_that_breaks_off_keeps_its_status() -> None:
    error = await broken(Scripted(OSError(), status=400))

    assert "the answer broke off: OSError" == error.message


# An event stream


async def test_what_comes_before_the_answer_is_handed_on_and_what_comes_after_is_not() -> None:
    answer, handed = await read(
        Scripted(event(NOTICE) + event(b"not mine", "ping"), event(ANSWER) + event(NOTICE), kind=f"{SSE};charset=UTF-8")
    )

    assert ([Notification("notifications/progress")], 1) == (handed, answer.id)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_an_answer_is_read_however_it_is_cut(end: bytes) -> None:
    stream = b": kept alive\n\nid: 1\ndata:\n\n".replace(b"\n", end) + event(ANSWER).replace(b"\n", end)
    for cut in range(len(stream)):
        answer, handed = await read(Scripted(stream[:cut], stream[cut:], kind=SSE))
        assert (1, []) == (answer.id, handed)


async def test_an_event_that_cannot_be_used_is_reported_and_the_answer_still_read() -> None:
    too_long = b'{"jsonrpc":"2.0","method":"x","params":{"a":"%b"}}' % (b"y" * LIMIT)
    answer, handed = await read(Scripted(event(b"{"), event(too_long), event(ANSWER), kind=SSE))

    assert [InvalidMessage, InvalidMessage] == [type(message) for message in handed]
    assert 1 == answer.id


@pytest.mark.requirement("a-broken-http-answer-is-an-error-at-once")
@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([], "ended before it was complete: the event stream has no response in it"),
        ([event(NOTICE)], "ended before it was complete: the event stream has no response in it"),
        ([event(ANSWER)[:-1]], "ended before it was complete: the event stream has no response in it"),
        ([event(b"oh no")], "has no response in it; the last event that cannot be used: JSON is malformed"),
        ([event(ANSWER.replace(b"1", b"2"))], "has the wrong id: 2 in place of 1"),
        ([event(b'{"jsonrpc":"2.0","id":2}')], "is malformed: a message has none of"),
        ([event(b'{"jsonrpc":"2.0","id":1,"result":"%b"}' % (b"y" * LIMIT))], "is malformed: a frame of 236 bytes"),
    ],
)
async def test_a_stream_without_the_answer_is_an_error_that_says_why(events: list[bytes], said: str) -> None:
    error = await broken(Scripted(*events, kind=SSE))

    assert said in error.message


async def test_an_error_without_an_id_on_a_stream_is_the_answer() -> None:
    answer, _ = await read(Scripted(event(b'{"jsonrpc":"2.0",%b}' % ERROR), kind=SSE), "a")

    assert ("a", ErrorResponse) == (answer.id, type(answer))


async def test_a_request_is_not_answered_in_the_era_in_which_servers_ask_nothing() -> None:
    _, handed = await read(Scripted(event(ASKED), event(ANSWER), kind=SSE))

    assert ["a request, ping, on the stream of an answer"] == [getattr(message, "reason", None) for message in handed]


async def test_a_request_is_handed_on_in_the_other_era() -> None:
    _, handed = await read(Scripted(event(ASKED), event(ANSWER), kind=SSE), stateless=False)

    assert [Request(7, "ping")] == handed


async def test_an_answer_may_be_in_a_batch_in_the_other_era_only() -> None:
    batch = event(b"[%b,%b]" % (NOTICE, ANSWER))
    answer, handed = await read(Scripted(batch, kind=SSE), stateless=False)
    error = await broken(Scripted(batch, kind=SSE))

    assert (1, [Notification("notifications/progress")]) == (answer.id, handed)
    assert "ended before it was complete" in error.message


# Letting go


async def test_what_closing_raises_is_of_no_interest() -> None:
    class Stubborn(Scripted):
        def close(self) -> None:
            raise OSError("gone")

    await Reply(Stubborn(), "the answer").close()


async def test_a_close_that_can_be_awaited_is_awaited() -> None:
    closed: list[bool] = []

    class Slow(Scripted):
        async def close(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            closed.append(True)

    await Reply(Slow(), "the answer").close()

    assert [True] == closed


def test_an_error_is_described_by_what_it_says() -> None:
    assert "OSError: gone" == describe(OSError("gone"))
    assert "TimeoutError" == describe(TimeoutError())
    assert "said so" == describe(MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "said so"))
