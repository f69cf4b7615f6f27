"""Frames that hold no message, and several messages in one frame."""

import pytest

from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, V2025_03_26, V2025_06_18, V2025_11_25
from tests.conversations.transcript import Speaker, hello, play

WITHOUT_BATCHES = [revision for revision in HANDSHAKE_REVISIONS if revision != V2025_03_26]

NONSENSE = {
    r"\xff\xfe": -32700,
    "Server started on stdio": -32700,
    "[Breadcrumb] {": -32700,
    "{": -32700,
    r"\x00": -32700,
    r"\"just a string\"": -32600,
    "42": -32600,
    "null": -32600,
    "{}": -32600,
    r"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}": -32600,
    r"{\"id\":1,\"method\":\"ping\"}": -32600,
    r"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}": -32600,
    r"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1,\"result\":{}}": -32600,
}


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@pytest.mark.parametrize("frame", NONSENSE)
def test_a_server_says_what_is_wrong_and_goes_on(frame: str) -> None:
    play(
        f"""
        ->> {frame}
        server | refused
        <- {{"id": "...", "error": {{"code": {NONSENSE[frame]}, "message": "...", "data": "..."}}}}
        -> {{"id": 1, "method": "ping"}}
        server | called ping 1
        """,
        server=Speaker("server", V2025_06_18),
    )


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@pytest.mark.parametrize("frame", NONSENSE)
def test_a_client_drops_it_and_its_call_completes(frame: str) -> None:
    play(
        f"""
        client: call tools/list
        -> {{"id": 0, "method": "tools/list"}}
        <<- {frame}
        client | dropped
        <- {{"id": 0, "result": {{"tools": []}}}}
        client | succeeded 0
        """,
        client=Speaker("client", V2025_06_18),
    )


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
def test_a_byte_order_mark_before_a_message_is_ignored() -> None:
    play(
        r"""
        ->> \xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}
        server | called ping 1
        """,
        server=Speaker("server", V2025_06_18),
    )


@pytest.mark.parametrize(
    "answer",
    [
        '{"id": 0, "result": {"tools": []}, "error": {"code": 1, "message": "m"}}',
        '{"id": 0, "error": "text"}',
        '{"id": 0, "error": {"code": "1", "message": "m"}}',
        '{"id": 0}',
    ],
)
def test_a_malformed_answer_fails_its_request_which_need_not_hang(answer: str) -> None:
    play(
        f"""
        client: call tools/list
        -> {{"id": 0, "method": "tools/list"}}
        <- {answer}
        client | failed 0 MCP.PROTOCOL_INVALID
        """,
        client=Speaker("client", V2025_06_18),
    )


def test_a_server_that_waits_for_an_answer_takes_a_malformed_one_as_well() -> None:
    play(
        """
        server: call roots/list
        <- {"id": 0, "method": "roots/list"}
        -> {"id": 0, "error": 5}
        server | failed 0 MCP.PROTOCOL_INVALID
        """,
        server=Speaker("server", V2025_06_18),
    )


def test_nonsense_with_the_id_of_an_open_call_does_not_answer_that_call() -> None:
    play(
        """
        -> {"id": 5, "method": "ping"}
        server | called ping 5
        -> {"id": 5, "method": 7}
        server | refused
        <- {"id": null, "error": {"code": -32600, "message": "...", "data": {"code": "MCP.PROTOCOL_INVALID"}}}
        -> {"id": 5, "result": 1, "error": 2}
        server | dropped
        server: answer 5 {}
        <- {"id": 5, "result": {}}
        """,
        server=Speaker("server", V2025_06_18),
    )


# Batches


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@pytest.mark.parametrize("revision", WITHOUT_BATCHES)
@pytest.mark.parametrize(
    "frame",
    [
        '[{"id": 1, "method": "tools/list"}, {"id": 2, "method": "tools/list"}]',
        "[]",
        "[1]",
        '[{"method": "notifications/cancelled", "params": {"requestId": 1}}]',
        "[[]]",
    ],
)
def test_a_batch_is_one_error_and_nothing_of_it_runs(revision: str, frame: str) -> None:
    unknown = "" if revision == V2025_11_25 else '"id": null, '
    play(
        f"""
        -> {{"id": 1, "method": "ping"}}
        server | called ping 1
        -> {frame}
        server | refused
        <- {{{unknown}"error": {{"code": -32600, "message": "...", "data": {{"code": "MCP.PROTOCOL_INVALID"}}}}}}
        server: answer 1 {{}}
        <- {{"id": 1, "result": {{}}}}
        """,
        server=Speaker("server", revision),
    )


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
def test_a_batch_before_initialize_is_an_error_in_every_revision() -> None:
    play(
        f"""
        -> [{{"id": 0, "method": "initialize", "params": {hello(V2025_03_26)}}}]
        server | refused
        <- {{"id": null, "error": {{"code": -32600, "message": "...", "data": {{"code": "MCP.PROTOCOL_INVALID"}}}}}}
        """,
        server=Speaker("server"),
    )


def test_a_client_takes_a_batch_for_a_bad_message() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        <- [{"id": 0, "result": {"tools": []}}]
        client | dropped
        """,
        client=Speaker("client", V2025_06_18),
    )


def test_the_one_revision_that_has_batches_answers_them_in_one_piece() -> None:
    play(
        """
        -> [{"id": 1, "method": "ping"}, {"method": "notifications/initialized"}, \
            {"id": 2, "method": "nope"}, {"id": "1", "method": "ping"}]
        server | called ping 1, notified notifications/initialized, refused, called ping '1'
        server: answer "1" {}
        server: answer 1 {}
        <- [{"id": 2, "error": {"code": -32601, "message": "...", "data": "..."}}, \
            {"id": "1", "result": {}}, {"id": 1, "result": {}}]
        """,
        server=Speaker("server", V2025_03_26),
    )


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
def test_an_id_is_taken_once_within_a_batch_too() -> None:
    play(
        """
        -> [{"id": 1, "method": "ping"}, {"id": 1, "method": "ping"}]
        server | called ping 1, refused
        server: answer 1 {}
        <- [{"id": 1, "error": {"code": -32600, "message": "...", "data": {"code": "MCP.PROTOCOL_INVALID"}}}, \
            {"id": 1, "result": {}}]
        """,
        server=Speaker("server", V2025_03_26),
    )


def test_a_batch_that_leaves_nothing_to_answer_is_not_answered() -> None:
    play(
        """
        -> [{"id": 1, "method": "ping"}, \
            {"method": "notifications/cancelled", "params": {"requestId": 1}}, {"method": "nope"}]
        server | called ping 1, cancelled 1, dropped
        server: answer 1 {}
        """,
        server=Speaker("server", V2025_03_26),
    )


def test_cancelling_the_rest_of_a_batch_sends_what_is_there() -> None:
    play(
        """
        -> [{"id": 1, "method": "ping"}, {"id": 2, "method": "ping"}]
        server | called ping 1, called ping 2
        server: answer 1 {}
        -> {"method": "notifications/cancelled", "params": {"requestId": 2}}
        server | cancelled 2
        <- [{"id": 1, "result": {}}]
        """,
        server=Speaker("server", V2025_03_26),
    )


@pytest.mark.parametrize(("frame", "happened"), [("[]", "refused"), ("[1]", "refused"), ("[[]]", "refused")])
def test_nonsense_in_a_batch_is_answered_where_batches_are(frame: str, happened: str) -> None:
    play(
        f"""
        -> {frame}
        server | {happened}
        <- "..."
        """,
        server=Speaker("server", V2025_03_26),
    )


def test_answers_may_come_in_a_batch_where_batches_are() -> None:
    play(
        """
        client: call tools/list
        -> {"id": 0, "method": "tools/list"}
        client: call ping
        -> {"id": 1, "method": "ping"}
        <- [{"id": 1, "result": {}}, {"id": 0, "error": {"code": -32603, "message": "m"}}]
        client | succeeded 1, failed 0 MCP.INTERNAL_ERROR
        """,
        client=Speaker("client", V2025_03_26),
    )
