"""What all eras do alike, and plain JSON-RPC without an era."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import UNSET, Raw, Struct
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, STATELESS_NUMBERS, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import ErrorObject, JsonValue, Notification, Payload, Request
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.era import Era, OpenEra, method_not_found, peer_of
from suaveplan_mcp.types.cancellation import CancelledNotificationParams
from suaveplan_mcp.types.progress import ProgressNotificationParams

INTERNAL = ErrorObject(-32603, "Internal error", {"code": "MCP.INTERNAL_ERROR"})


def call_of(method: str) -> CallReceived[object]:
    return CallReceived(1, method, None, None, None)


def open_era(*served: str) -> OpenEra:
    return OpenEra("server", set(served))


def plain(value: Payload) -> JsonValue:
    assert isinstance(value, Raw)
    return decode(value)


# Errors on the wire


@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret path /etc/x"),
        SystemExit("secret"),
        KeyboardInterrupt(),
        MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "of some other connection"),
        MCPError(MCP_CODES.HANDLER_FAILED, "secret", cause=ValueError("secret")),
    ],
)
def test_nothing_of_an_exception_that_was_not_meant_for_the_peer_leaks(error: BaseException) -> None:
    assert INTERNAL == open_era().describe(error, "ask")


@pytest.mark.requirement("every-branch-is-reached", "error-codes-have-one-registry")
@pytest.mark.parametrize("code", list(MCP_CODES))
def test_every_code_comes_back_from_the_wire_as_it_was(code: str) -> None:
    era = open_era()
    sent = era.describe(MCPError(code, "told"), "ask")

    expected = MCP_CODES.INTERNAL_ERROR if code == MCP_CODES.HANDLER_FAILED else code
    assert expected == era.interpret(sent, "ask").code


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (MCP_CODES.PROTOCOL_INVALID, -32600),
        (MCP_CODES.NOT_INITIALIZED, -32600),
        (MCP_CODES.ALREADY_CONNECTED, -32600),
        (MCP_CODES.METHOD_NOT_FOUND, -32601),
        (MCP_CODES.INVALID_PARAMS, -32602),
        (MCP_CODES.NOT_FOUND, -32602),
        (MCP_CODES.UNAUTHORIZED, -32001),
        (MCP_CODES.REQUEST_CANCELLED, -32002),
        (MCP_CODES.TIMEOUT, -32603),
    ],
)
def test_an_error_of_ours_goes_out_with_its_number_and_its_code(code: str, number: int) -> None:
    assert ErrorObject(number, "told", {"code": code}) == open_era().describe(MCPError(code, "told"), "ask")


def test_the_number_depends_on_the_era_and_on_the_method() -> None:
    class Newer(OpenEra):
        numbers = STATELESS_NUMBERS

    unauthorized, missing = MCPError(MCP_CODES.UNAUTHORIZED, "no"), MCPError(MCP_CODES.NOT_FOUND, "none")

    assert -31001 == Newer("server", ()).describe(unauthorized, "ask").code
    assert -32002 == open_era().describe(missing, "resources/read").code
    assert -32602 == Newer("server", ()).describe(missing, "resources/read").code


@pytest.mark.parametrize("data", [{"field": "id", "why": [1, {"a": None}]}, 0, "", False, None, []])
def test_number_message_and_data_of_an_error_go_out_unchanged(data: JsonValue) -> None:
    error = MCPError(MCP_CODES.INTERNAL_ERROR, "bad id", jsonrpc_code=4001, data=data)

    assert ErrorObject(4001, "bad id", data) == open_era().describe(error, "ask")


def test_a_number_of_its_own_without_data_goes_out_without_data() -> None:
    error = MCPError(MCP_CODES.INTERNAL_ERROR, "no data", jsonrpc_code=4001)

    assert ErrorObject(4001, "no data", UNSET) == open_era().describe(error, "ask")


def test_raw_data_goes_out_as_plain_json() -> None:
    error = MCPError(MCP_CODES.INTERNAL_ERROR, "x", jsonrpc_code=1, data=Raw(b'{"a":[1]}'))

    assert {"a": [1]} == open_era().describe(error, "ask").data


def test_data_goes_out_as_a_copy() -> None:
    data = {"a": [1]}
    sent = open_era().describe(MCPError(MCP_CODES.NOT_FOUND, "x", data=data), "ask")
    data["a"].append(2)

    assert {"a": [1]} == sent.data


@pytest.mark.parametrize("data", [object(), {"x": 1j}, "\ud800", Raw(b"{")])
@pytest.mark.parametrize("number", [None, 4001])
def test_data_that_is_no_json_is_replaced_by_the_code(data: object, number: int | None) -> None:
    error = MCPError(MCP_CODES.NOT_FOUND, "gone", data=data, jsonrpc_code=number)

    assert ErrorObject(number or -32602, "gone", {"code": "MCP.NOT_FOUND"}) == open_era().describe(error, "ask")


# Errors from the wire


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize(
    ("number", "method", "code"),
    [
        (-32700, "ask", MCP_CODES.PROTOCOL_INVALID),
        (-32600, "ask", MCP_CODES.PROTOCOL_INVALID),
        (-32601, "ask", MCP_CODES.METHOD_NOT_FOUND),
        (-32602, "ask", MCP_CODES.INVALID_PARAMS),
        (-32603, "ask", MCP_CODES.INTERNAL_ERROR),
        (-32001, "ask", MCP_CODES.UNAUTHORIZED),
        (-31001, "ask", MCP_CODES.INTERNAL_ERROR),
        (-32002, "ask", MCP_CODES.REQUEST_CANCELLED),
        (-32002, "resources/read", MCP_CODES.NOT_FOUND),
        (-31002, "ask", MCP_CODES.INTERNAL_ERROR),
        (-32022, "ask", MCP_CODES.PROTOCOL_VERSION_MISMATCH),
        (4001, "ask", MCP_CODES.INTERNAL_ERROR),
    ],
)
@pytest.mark.parametrize("data", [UNSET, None, "text", {"code": 5}, {"code": "THEIRS.OWN"}])
def test_an_error_without_a_code_of_ours_is_known_by_its_number(number: int, method: str, code: str, data: Any) -> None:
    error = open_era().interpret(ErrorObject(number, "no", data), method)

    assert (code, number, "no", data) == (error.code, error.jsonrpc_code, error.message, error.data)
    assert {"method": method} == error.context


def test_numbers_of_a_peer_are_read_as_its_era_has_them() -> None:
    class Newer(OpenEra):
        numbers = STATELESS_NUMBERS

    assert MCP_CODES.UNAUTHORIZED == open_era().interpret(ErrorObject(-32001, "no"), "ask").code
    assert MCP_CODES.INTERNAL_ERROR == Newer("client", ()).interpret(ErrorObject(-32001, "no"), "ask").code


def test_only_an_error_a_peer_answered_with_is_marked_as_received() -> None:
    assert open_era().interpret(ErrorObject(-32000, "no"), "ask").received
    assert not MCPError(MCP_CODES.INTERNAL_ERROR, "no", jsonrpc_code=-32000).received


def test_a_code_of_ours_goes_before_the_number() -> None:
    error = open_era().interpret(ErrorObject(-32603, "late", {"code": "MCP.TIMEOUT", "more": 1}), "ask")

    assert (MCP_CODES.TIMEOUT, -32603, {"code": "MCP.TIMEOUT", "more": 1}) == (
        error.code,
        error.jsonrpc_code,
        error.data,
    )


def test_an_unknown_method_is_told_with_its_name() -> None:
    error = method_not_found("codex/event", " here")

    assert ("Method not found: codex/event here", {"code": "MCP.METHOD_NOT_FOUND", "method": "codex/event"}) == (
        error.message,
        error.data,
    )


# Notices


def test_giving_up_and_progress_are_notifications_of_mcp() -> None:
    era = open_era()

    assert Notification(
        "notifications/cancelled", CancelledNotificationParams(request_id="1", reason="why")
    ) == era.cancellation("ask", "1", "why")
    assert Notification(
        "notifications/progress", ProgressNotificationParams(progress_token=0, progress=1, total=2, message="m")
    ) == era.progress(0, 1, 2, "m")


@pytest.mark.parametrize("side", ["client", "server"])
def test_each_side_has_the_other_for_a_peer(side: Any) -> None:
    assert {"client", "server"} == {side, peer_of(side)}


def test_only_a_server_answers_nonsense() -> None:
    assert [True, False] == [OpenEra("server", ()).answers_nonsense, OpenEra("client", ()).answers_nonsense]


# Without an era


@dataclass
class Sum:
    a: int
    b: int = 2


class WithMeta(Struct, rename={"meta": "_meta"}):
    meta: dict[str, Any]


def test_plain_json_rpc_has_batches_and_no_revision() -> None:
    era: Era = open_era()

    assert (True, None) == (era.admits_batches, era.revision)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (UNSET, {}),
        (None, None),
        ([1, 2], [1, 2]),
        ({"a": 1}, {"a": 1}),
        (Raw(b'{"a":1}'), {"a": 1}),
        (Sum(1), {"a": 1, "b": 2}),
    ],
)
def test_any_params_are_taken_as_plain_json(params: Any, expected: JsonValue) -> None:
    assert (expected, None) == open_era("ask").admit_request(Request(1, "ask", params))[:2]
    assert expected == open_era().admit_notification(Notification("news", params))


def test_only_methods_with_a_handler_are_served() -> None:
    served = {"ask"}
    era = OpenEra("server", served)
    served.discard("ask")

    with pytest.raises(MCPError, match="Method not found: ask"):
        era.admit_request(Request(1, "ask"))


@pytest.mark.parametrize("token", [0, "", "t"])
def test_the_progress_token_is_found_in_plain_and_in_typed_params(token: str | int) -> None:
    era = open_era("ask")
    request = Request(1, "ask", {"_meta": {"progressToken": token}})

    assert token == era.admit_request(request)[1]
    era.expect("ask", WithMeta)
    assert (WithMeta({"progressToken": token}), token) == era.admit_request(request)[:2]


def test_expected_params_are_checked_until_anything_is_accepted_again() -> None:
    era = open_era("ask")
    era.expect("ask", Sum)

    assert (Sum(1), None) == era.admit_request(Request(1, "ask", {"a": 1}))[:2]
    with pytest.raises(MCPError) as caught:
        era.admit_request(Request(1, "ask", {"a": "x"}))
    assert "a" == caught.value.context["path"]
    era.accept_anything("ask")
    assert ({"a": "x"}, None) == era.admit_request(Request(1, "ask", {"a": "x"}))[:2]
    era.accept_anything("ask")


def test_params_that_are_not_sent_are_checked_like_empty_ones() -> None:
    class Optional(Struct):
        a: int = 5

    era = open_era("ask")
    era.expect("ask", Optional)

    assert (Optional(5), None) == era.admit_request(Request(1, "ask"))[:2]


def test_a_type_that_json_cannot_become_refuses_every_request() -> None:
    class Odd:
        def __init__(self, x: int) -> None:
            self.x = x

    era = open_era("ask")
    era.expect("ask", Odd)

    with pytest.raises(MCPError, match="Invalid request parameters"):
        era.admit_request(Request(1, "ask", {"x": 1}))


def test_a_type_that_cannot_be_decoded_at_all_is_refused_at_once() -> None:
    ambiguous: Any = list[int] | set[int]

    with pytest.raises(TypeError):
        open_era("ask").expect("ask", ambiguous)


def test_cancel_and_progress_are_understood() -> None:
    era = open_era()
    cancelled = CancelledNotificationParams(request_id=0)
    progress = ProgressNotificationParams(progress_token="", progress=1)

    assert CancelNotice(0, cancelled) == era.admit_notification(
        Notification("notifications/cancelled", {"requestId": 0})
    )
    assert ProgressNotice("", progress) == era.admit_notification(
        Notification("notifications/progress", {"progressToken": "", "progress": 1})
    )


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/cancelled", {"requestId": 1.5}),
        ("notifications/cancelled", [1]),
        ("notifications/progress", {"progressToken": "nope", "progress": "NaN"}),
        ("notifications/progress", {}),
        ("notifications/progress", UNSET),
    ],
)
def test_a_malformed_cancel_or_progress_notice_is_refused(method: str, params: Any) -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        open_era().admit_notification(Notification(method, params))


@pytest.mark.parametrize("params", [UNSET, None])
def test_a_cancel_without_params_names_no_request(params: Any) -> None:
    notice = open_era().admit_notification(Notification("notifications/cancelled", params))

    assert isinstance(notice, CancelNotice)
    assert notice.request_id is None


@pytest.mark.parametrize("result", [{"a": [1]}, Raw(b'{"a":[1]}'), Sum])
def test_a_result_is_taken_as_plain_json(result: Any) -> None:
    result = {"a": [1]} if result is Sum else result

    assert ({"a": [1]}, ()) == open_era().admit_result("ask", result)


@pytest.mark.parametrize("result", [Raw(b"{"), Raw(b"\xff"), object()])
def test_a_result_that_is_no_json_is_malformed(result: Any) -> None:
    with pytest.raises(MCPProtocolError, match="the result of ask is malformed"):
        open_era().admit_result("ask", result)


def test_what_is_sent_is_not_shared_with_the_caller() -> None:
    inner: list[JsonValue] = [1]
    params = open_era().seal_params("ask", {"a": inner}, None)
    result = open_era().seal_result(call_of("ask"), {"a": inner})
    inner.append(2)

    assert [{"a": [1]}, {"a": [1]}] == [plain(params), plain(result)]


@pytest.mark.parametrize("params", [None, UNSET])
def test_no_params_are_sent_as_none(params: Payload) -> None:
    assert UNSET is open_era().seal_params("ask", params, None)


def test_raw_json_is_sent_as_it_is() -> None:
    raw = Raw(b'{"a":1}')

    assert raw is open_era().seal_params("ask", raw, None)
    assert raw is open_era().seal_result(call_of("ask"), raw)


def test_a_token_goes_into_meta_and_leaves_positional_params_alone() -> None:
    assert {"a": 1, "_meta": {"progressToken": 0}} == plain(open_era().seal_params("ask", {"a": 1}, 0))
    assert [1, 2] == plain(open_era().seal_params("ask", [1, 2], 0))


def test_params_that_are_no_json_are_not_sent() -> None:
    params: Any = {"x": object()}

    with pytest.raises(MCPError) as caught:
        open_era().seal_params("ask", params, None)

    assert MCP_CODES.INVALID_PARAMS == caught.value.code


@pytest.mark.parametrize("result", [object(), {1j}, UNSET])
def test_a_result_that_is_no_json_is_the_fault_of_the_handler(result: Any) -> None:
    with pytest.raises(MCPError, match="the handler of ask returned what is no JSON") as caught:
        open_era().seal_result(call_of("ask"), result)

    assert MCP_CODES.HANDLER_FAILED == caught.value.code
