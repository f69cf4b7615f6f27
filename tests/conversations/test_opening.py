"""How a connection of the handshake era opens, and what may be said in which phase and revision."""

import pytest

from suaveplan_mcp.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    LATEST,
    LATEST_HANDSHAKE,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
)
from tests.conversations.transcript import Speaker, hello, play, welcome

NOT_FOUND = '{"code": -32601, "message": "...", "data": "..."}'
TOO_EARLY = '{"code": -32600, "message": "...", "data": {"code": "MCP.NOT_INITIALIZED"}}'


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_both_sides_open_a_connection_in_every_revision(revision: str) -> None:
    play(
        f"""
        client: call initialize {hello(revision)}
        -> {{"id": 0, "method": "initialize", "params": {hello(revision)}}}
        server | called initialize 0
        server: answer 0 {welcome(revision)}
        <- {{"id": 0, "result": {welcome(revision)}}}
        client | succeeded 0
        client: notify notifications/initialized
        -> {{"method": "notifications/initialized"}}
        server | notified notifications/initialized
        client: call tools/list
        -> {{"id": 1, "method": "tools/list"}}
        server | called tools/list 1
        server: call roots/list
        <- {{"id": 0, "method": "roots/list"}}
        client | called roots/list 0
        client: answer 0 {{"roots": []}}
        -> {{"id": 0, "result": {{"roots": []}}}}
        server | succeeded 0
        server: answer 1 {{"tools": []}}
        <- {{"id": 1, "result": {{"tools": []}}}}
        client | succeeded 1
        """,
        client=Speaker("client"),
        server=Speaker("server"),
    )


@pytest.mark.parametrize("requested", ["1999-01-01", LATEST])
def test_a_revision_the_server_does_not_speak_is_answered_with_one_it_does(requested: str) -> None:
    server = Speaker("server")
    play(
        f"""
        -> {{"id": 0, "method": "initialize", "params": {hello(requested)}}}
        server | called initialize 0
        """,
        server=server,
    )

    assert LATEST_HANDSHAKE == server.era.revision


def test_a_client_fails_the_opening_for_a_revision_it_does_not_speak() -> None:
    play(
        f"""
        client: call initialize {hello()}
        -> {{"id": 0, "method": "initialize", "params": "..."}}
        <- {{"id": 0, "result": {welcome("1999-01-01")}}}
        client | failed 0 MCP.PROTOCOL_VERSION_MISMATCH
        client: call tools/list
        client | raised MCP.NOT_INITIALIZED
        """,
        client=Speaker("client"),
    )


def test_before_initialize_only_a_ping_is_answered() -> None:
    play(
        f"""
        -> {{"id": 1, "method": "tools/list"}}
        server | refused
        <- {{"id": 1, "error": {TOO_EARLY}}}
        -> {{"id": 2, "method": "ping"}}
        server | called ping 2
        server: answer 2 {{}}
        <- {{"id": 2, "result": {{}}}}
        -> {{"method": "notifications/initialized"}}
        server | dropped
        server: call roots/list
        server | raised MCP.NOT_INITIALIZED
        server: notify notifications/message {{"level": "info", "data": 1}}
        <- {{"method": "notifications/message", "params": {{"level": "info", "data": 1}}}}
        """,
        server=Speaker("server"),
    )


def test_a_list_that_comes_after_initialize_but_before_the_initialized_notice_is_served() -> None:
    play(
        f"""
        -> {{"id": 0, "method": "initialize", "params": {hello()}}}
        server | called initialize 0
        -> {{"id": 1, "method": "tools/list"}}
        server | called tools/list 1
        """,
        server=Speaker("server"),
    )


def test_a_second_initialize_is_refused() -> None:
    play(
        f"""
        -> {{"id": 9, "method": "initialize", "params": {hello()}}}
        server | refused
        <- {{"id": 9, "error": {{"code": -32600, "message": "initialize came twice on one connection", \
               "data": {{"code": "MCP.ALREADY_CONNECTED"}}}}}}
        -> {{"id": 10, "method": "tools/list"}}
        server | called tools/list 10
        """,
        server=Speaker("server", LATEST_HANDSHAKE),
    )


def test_a_malformed_initialize_may_be_mended() -> None:
    play(
        f"""
        -> {{"id": 0, "method": "initialize", "params": {{"protocolVersion": 5}}}}
        server | refused
        <- {{"id": 0, "error": {{"code": -32602, "message": "Invalid request parameters", \
               "data": {{"code": "MCP.INVALID_PARAMS", "path": "protocolVersion", "reason": "..."}}}}}}
        -> {{"id": 1, "method": "initialize", "params": {hello()}}}
        server | called initialize 1
        """,
        server=Speaker("server"),
    )


def test_initialize_is_given_up_without_a_notice() -> None:
    play(
        f"""
        client: call initialize {hello()}
        -> {{"id": 0, "method": "initialize", "params": "..."}}
        client: give up 0
        <- {{"id": 0, "result": {{}}}}
        client | dropped
        """,
        client=Speaker("client"),
    )


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@pytest.mark.parametrize("method", ["invalid/method", "sampling/createMessage", "notifications/initialized", ""])
def test_unknown_methods_and_those_of_the_other_direction_are_not_found(method: str) -> None:
    play(
        f"""
        -> {{"id": 1, "method": "{method}", "params": {{"_meta": {{}}}}}}
        server | refused
        <- {{"id": 1, "error": {NOT_FOUND}}}
        """,
        server=Speaker("server", LATEST_HANDSHAKE),
    )


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@pytest.mark.parametrize(
    "frame",
    [
        '{"method": "codex/event", "params": {"msg": {"x": 1}}}',
        '{"method": "notifications/progress", "params": {"progressToken": "nope", "progress": "NaN"}}',
        '{"method": "ping"}',
        '{"method": "tools/list"}',
        '{"method": "notifications/message", "params": {"level": "info", "data": 1}}',
        '{"method": "cancelled", "params": {"requestId": 1}}',
    ],
)
def test_a_notification_nobody_expects_is_never_answered(frame: str) -> None:
    play(
        f"""
        -> {frame}
        server | dropped
        -> {{"id": 1, "method": "ping"}}
        server | called ping 1
        """,
        server=Speaker("server", LATEST_HANDSHAKE),
    )


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_method_of_a_newer_revision_is_not_found(revision: str) -> None:
    old = revision in (V2024_11_05, V2025_03_26)
    happening = "refused" if old else "called elicitation/create 1"
    answer = f'-> {{"id": 1, "error": {NOT_FOUND}}}' if old else ""
    play(
        f"""
        <- {{"id": 1, "method": "elicitation/create", \
            "params": {{"message": "m", "requestedSchema": {{"type": "object", "properties": {{}}}}}}}}
        client | {happening}
        {answer}
        """,
        client=Speaker("client", revision),
    )


def test_our_own_request_of_another_revision_or_direction_is_not_sent() -> None:
    play(
        """
        server: call elicitation/create {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
        server | raised MCP.METHOD_NOT_FOUND
        server: call tools/list
        server | raised MCP.METHOD_NOT_FOUND
        server: notify notifications/roots/list_changed
        server | raised MCP.METHOD_NOT_FOUND
        server: call sampling/createMessage {"messages": 5}
        server | raised MCP.INVALID_PARAMS
        """,
        server=Speaker("server", V2025_03_26),
    )


def test_the_stateless_methods_do_not_live_here() -> None:
    play(
        f"""
        -> {{"id": 1, "method": "server/discover"}}
        server | refused
        <- {{"id": 1, "error": {NOT_FOUND}}}
        """,
        server=Speaker("server", V2025_06_18),
    )
