"""Ids, cancellation, progress, errors and the end: what two sides may do to each other once the connection is open."""

import pytest

from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from tests.conversations.transcript import Speaker, hello, play, welcome

CALL = '"method": "tools/call", "params": {"name": "t"'


def client() -> Speaker:
    return Speaker("client", LATEST_HANDSHAKE)


def server() -> Speaker:
    return Speaker("server", LATEST_HANDSHAKE)


# Ids


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@pytest.mark.parametrize(
    "id_",
    ["0", '""', '"1"', "1", "-7", "9007199254740993", "123456789012345678901234567890", '"0x1"', f'"{"y" * 300}"'],
)
def test_an_id_is_echoed_with_its_type(id_: str) -> None:
    play(
        f"""
        -> {{"id": {id_}, "method": "ping"}}
        server | called ping {id_.replace('"', "'")}
        server: answer {id_} {{}}
        <- {{"id": {id_}, "result": {{}}}}
        """,
        server=server(),
    )


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
def test_the_number_and_the_string_of_one_id_are_independent() -> None:
    play(
        """
        -> {"id": 1, "method": "tools/call", "params": {"name": "slow"}}
        server | called tools/call 1
        -> {"id": "1", "method": "tools/call", "params": {"name": "slow"}}
        server | called tools/call '1'
        -> {"method": "notifications/cancelled", "params": {"requestId": 1}}
        server | cancelled 1
        server: answer "1" {"content": []}
        <- {"id": "1", "result": {"content": []}}
        server: answer 1 {"content": []}
        """,
        server=server(),
    )


def test_a_second_request_with_an_open_id_is_refused_and_the_first_is_answered() -> None:
    play(
        """
        -> {"id": 5, "method": "tools/call", "params": {"name": "slow"}}
        server | called tools/call 5
        -> {"id": 5, "method": "ping"}
        server | refused
        <- {"id": 5, "error": {"code": -32600, "message": "request id 5 is still in flight", \
            "data": {"code": "MCP.PROTOCOL_INVALID"}}}
        server: answer 5 {"content": []}
        <- {"id": 5, "result": {"content": []}}
        -> {"id": 5, "method": "ping"}
        server | called ping 5
        """,
        server=server(),
    )


@pytest.mark.parametrize("id_", ["1.5", "null", "true", "[1]", '{"a": 1}'])
def test_an_id_that_is_none_is_refused(id_: str) -> None:
    play(
        f"""
        -> {{"id": {id_}, "method": "ping"}}
        server | refused
        <- {{"error": {{"code": -32600, "message": "...", "data": {{"code": "MCP.PROTOCOL_INVALID"}}}}}}
        """,
        server=server(),
    )


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
def test_an_answer_with_an_unknown_id_or_the_id_in_another_type_is_dropped() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        <- {"id": "0", "result": {"tools": []}}
        client | dropped
        <- {"id": 7, "result": {"tools": []}}
        client | dropped
        <- {"id": 0, "result": {"tools": []}}
        client | succeeded 0
        <- {"id": 0, "result": {"tools": []}}
        client | dropped
        """,
        client=client(),
    )


# Cancellation


def test_a_cancelled_call_is_never_answered() -> None:
    play(
        """
        client: call tools/call {"name": "slow"}
        -> {"id": 0, "method": "tools/call", "params": {"name": "slow"}}
        server | called tools/call 0
        client: give up 0 "user"
        -> {"method": "notifications/cancelled", "params": {"requestId": 0, "reason": "user"}}
        server | cancelled 0
        server: answer 0 {"content": []}
        server: fail 0 MCP.NOT_FOUND "gone"
        client: give up 0
        """,
        client=client(),
        server=server(),
    )


def test_a_cancel_and_an_answer_that_cross_disturb_nobody() -> None:
    play(
        """
        client: call tools/call {"name": "quick"}
        -> {"id": 0, "method": "tools/call", "params": {"name": "quick"}}
        server | called tools/call 0
        server: answer 0 {"content": []}
        client: give up 0
        <- {"id": 0, "result": {"content": []}}
        client | dropped
        -> {"method": "notifications/cancelled", "params": {"requestId": 0}}
        server | cancelled nothing
        """,
        client=client(),
        server=server(),
    )


@pytest.mark.parametrize("params", ['{"requestId": 999}', '{"requestId": "1"}', "{}", "null", '{"reason": "no id"}'])
def test_a_cancel_of_nothing_is_ignored(params: str) -> None:
    play(
        f"""
        -> {{"id": 1, "method": "ping"}}
        server | called ping 1
        -> {{"method": "notifications/cancelled", "params": {params}}}
        server | cancelled nothing
        server: answer 1 {{}}
        <- {{"id": 1, "result": {{}}}}
        """,
        server=server(),
    )


@pytest.mark.parametrize("params", ['{"requestId": 1.5}', '{"requestId": [1]}', "[1]", "5"])
def test_a_malformed_cancel_is_ignored(params: str) -> None:
    play(
        f"""
        -> {{"id": 1, "method": "ping"}}
        server | called ping 1
        -> {{"method": "notifications/cancelled", "params": {params}}}
        server | dropped
        server: answer 1 {{}}
        <- {{"id": 1, "result": {{}}}}
        """,
        server=server(),
    )


def test_a_second_cancel_is_ignored() -> None:
    play(
        """
        -> {"id": 1, "method": "ping"}
        server | called ping 1
        -> {"method": "notifications/cancelled", "params": {"requestId": 1}}
        server | cancelled 1
        -> {"method": "notifications/cancelled", "params": {"requestId": 1}}
        server | cancelled nothing
        """,
        server=server(),
    )


# Progress


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@pytest.mark.parametrize("token", ["0", '""', '"t"', "1"])
def test_progress_keeps_its_token_only_grows_and_ends_with_the_answer(token: str) -> None:
    play(
        f"""
        -> {{"id": 1, {CALL}, "_meta": {{"progressToken": {token}}}}}}}
        server | called tools/call 1
        server: progress 1 1 3
        <- {{"method": "notifications/progress", "params": {{"progressToken": {token}, "progress": 1, "total": 3}}}}
        server: progress 1 2 3
        <- {{"method": "notifications/progress", "params": {{"progressToken": {token}, "progress": 2, "total": 3}}}}
        server: progress 1 2 3
        server: progress 1 1 3
        server: progress 1 3 3
        <- {{"method": "notifications/progress", "params": {{"progressToken": {token}, "progress": 3, "total": 3}}}}
        server: answer 1 {{"content": []}}
        <- {{"id": 1, "result": {{"content": []}}}}
        server: progress 1 4
        """,
        server=server(),
    )


@pytest.mark.parametrize("meta", ["", ', "_meta": {}', ', "_meta": null', ', "_meta": {"other": 1}'])
def test_no_progress_goes_to_whoever_did_not_ask(meta: str) -> None:
    play(
        f"""
        -> {{"id": 1, {CALL}{meta}}}}}
        server | called tools/call 1
        server: progress 1 1 3
        """,
        server=server(),
    )


def test_progress_is_for_the_request_that_asked_until_its_answer() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        client: call tools/call {"name": "t"} progress
        -> {"id": 1, "method": "tools/call", "params": {"name": "t", "_meta": {"progressToken": 1}}}
        <- {"method": "notifications/progress", "params": {"progressToken": 0, "progress": 1}}
        client | progress of nothing
        <- {"method": "notifications/progress", "params": {"progressToken": "1", "progress": 1}}
        client | progress of nothing
        <- {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        client | progress of 1
        <- {"id": 1, "result": {"content": []}}
        client | succeeded 1
        <- {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 2}}
        client | progress of nothing
        """,
        client=client(),
    )


@pytest.mark.parametrize("token", ["1.5", "true", "[]"])
def test_a_token_that_is_none_is_refused(token: str) -> None:
    play(
        f"""
        -> {{"id": 1, {CALL}, "_meta": {{"progressToken": {token}}}}}}}
        server | refused
        <- {{"id": 1, "error": {{"code": -32602, "message": "Invalid request parameters", "data": "..."}}}}
        """,
        server=server(),
    )


# Errors


def test_an_error_goes_to_the_request_of_its_id() -> None:
    play(
        """
        client: call resources/read {"uri": "a:b"}
        -> {"id": 0, "method": "resources/read", "params": {"uri": "a:b"}}
        client: call tools/list
        -> {"id": 1, "method": "tools/list"}
        <- {"id": 0, "error": {"code": -32002, "message": "none", "data": {"uri": "a:b"}}}
        client | failed 0 MCP.NOT_FOUND
        <- {"id": 1, "error": {"code": -32002, "message": "stopped"}}
        client | failed 1 MCP.REQUEST_CANCELLED
        """,
        client=client(),
    )


def test_an_error_without_an_id_fails_the_only_request_there_is() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        <- {"id": null, "error": {"code": -32700, "message": "what?"}}
        client | failed 0 MCP.PROTOCOL_INVALID
        <- {"id": null, "error": {"code": -32700, "message": "what?"}}
        client | dropped
        """,
        client=client(),
    )


def test_an_error_without_an_id_fails_nobody_where_there_are_several() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        client: call ping
        -> {"id": 1, "method": "ping"}
        <- {"error": {"code": -32600, "message": "what?"}}
        client | dropped
        <- {"id": 1, "result": {}}
        client | succeeded 1
        """,
        client=client(),
    )


def test_a_result_of_the_wrong_shape_fails_the_request() -> None:
    play(
        """
        client: call tools/call {"name": "t"}
        -> {"id": 0, "method": "tools/call", "params": {"name": "t"}}
        <- {"id": 0, "result": {"content": 5}}
        client | failed 0 MCP.PROTOCOL_INVALID
        """,
        client=client(),
    )


def test_a_handler_of_the_wrong_shape_leaves_the_call_open_for_an_error() -> None:
    play(
        """
        -> {"id": 1, "method": "tools/list"}
        server | called tools/list 1
        server: answer 1 {"tools": 5}
        server | raised MCP.HANDLER_FAILED
        server: fail 1 MCP.HANDLER_FAILED "secret"
        <- {"id": 1, "error": {"code": -32603, "message": "Internal error", "data": {"code": "MCP.INTERNAL_ERROR"}}}
        """,
        server=server(),
    )


def test_malformed_params_name_the_field() -> None:
    play(
        """
        -> {"id": 1, "method": "logging/setLevel", "params": {"level": "loud"}}
        server | refused
        <- {"id": 1, "error": {"code": -32602, "message": "Invalid request parameters", \
               "data": {"code": "MCP.INVALID_PARAMS", "path": "level", "reason": "..."}}}
        """,
        server=server(),
    )


# The end


def test_after_the_end_nothing_of_before_counts() -> None:
    play(
        """
        client: call tools/call {"name": "t"} progress
        -> {"id": 0, "method": "tools/call", "params": {"name": "t", "_meta": {"progressToken": 0}}}
        server | called tools/call 0
        client: close
        client | closed with 1 and 0
        server: close
        server | closed with 0 and 1
        server: progress 0 1
        server: answer 0 {"content": []}
        client: give up 0
        client: close
        client | closed with 0 and 0
        """,
        client=client(),
        server=server(),
    )


def test_a_late_answer_is_dropped() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        client: close
        client | closed with 1 and 0
        <- {"id": 0, "result": {"tools": []}}
        client | dropped
        """,
        client=client(),
    )


def test_client_that_takes_initialize_back_is_answered_all_the_same() -> None:
    play(
        f"""
        -> {{"id": 0, "method": "initialize", "params": {hello()}}}
        server | called initialize 0
        -> {{"method": "notifications/cancelled", "params": {{"requestId": 0}}}}
        server | cancelled nothing
        server: answer 0 {welcome()}
        <- {{"id": 0, "result": {welcome()}}}
        """,
        server=Speaker("server"),
    )
