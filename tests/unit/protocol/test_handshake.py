"""The rules of a connection that opens with `initialize`, phase by phase."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.messages import JsonObject, Notification, Request
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    LATEST,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
)
from suaveplan_mcp.types.base import NotificationParams, RequestParams
from suaveplan_mcp.types.capabilities import ClientCapabilities, ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.lifecycle import InitializeRequestParams, InitializeResult
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.ping import EmptyResult

EVERYTHING = frozenset(METHODS)


def call_of(method: str) -> CallReceived[object]:
    return CallReceived(1, method, None, None, None)


def hello(revision: str = V2025_11_25, **more: Any) -> JsonObject:
    return {
        "protocolVersion": revision,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
        **more,
    }


def welcome(revision: str = V2025_11_25) -> JsonObject:
    return {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


def server(revision: str | None = V2025_11_25) -> HandshakeEra:
    """Return the server's side, after `initialize` or before it."""
    era = HandshakeEra("server", EVERYTHING)
    if revision is not None:
        era.admit_request(Request(0, "initialize", hello(revision)))
    return era


def client(revision: str | None = V2025_11_25) -> HandshakeEra:
    """Return the client's side, after the answer to `initialize` or before it."""
    era = HandshakeEra("client", EVERYTHING)
    if revision is not None:
        era.admit_result("initialize", welcome(revision))
    return era


def refusal_of(era: HandshakeEra, method: str) -> str:
    with pytest.raises(MCPError) as caught:
        era.admit_request(Request(1, method, {}))
    return caught.value.code


# Opening


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_both_sides_agree_on_a_revision_they_know(revision: str) -> None:
    assert [revision, revision] == [server(revision).revision, client(revision).revision]


def test_initialize_tells_each_side_who_the_other_is() -> None:
    ours, theirs = server(), client()

    assert Implementation(name="c", version="1") == ours.peer_info
    assert isinstance(ours.peer_capabilities, ClientCapabilities)
    assert Implementation(name="s", version="1") == theirs.peer_info
    assert isinstance(theirs.peer_capabilities, ServerCapabilities)


def test_nothing_is_agreed_on_before_initialize() -> None:
    era = server(None)

    assert (None, None, None, False) == (era.revision, era.peer_info, era.peer_capabilities, era.admits_batches)


@pytest.mark.parametrize("requested", ["1999-01-01", LATEST])
def test_a_server_offers_its_newest_revision_of_the_era_for_one_it_does_not_speak(requested: str) -> None:
    assert V2025_11_25 == server(requested).revision


def test_a_server_speaks_only_what_it_was_told_to() -> None:
    era = HandshakeEra("server", EVERYTHING, [V2024_11_05, V2025_03_26])
    era.admit_request(Request(0, "initialize", hello(V2025_11_25)))

    assert V2025_03_26 == era.revision


def test_a_client_refuses_a_revision_it_does_not_accept_and_agrees_on_nothing() -> None:
    era = HandshakeEra("client", EVERYTHING, [V2025_11_25])

    with pytest.raises(MCPError) as caught:
        era.admit_result("initialize", welcome("1999-01-01"))

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == caught.value.code
    assert (None, None) == (era.revision, era.peer_info)


def test_a_malformed_initialize_result_agrees_on_nothing() -> None:
    era = client(None)

    with pytest.raises(MCPError) as caught:
        era.admit_result("initialize", {"protocolVersion": 5})

    assert (MCP_CODES.PROTOCOL_INVALID, None) == (caught.value.code, era.revision)


@pytest.mark.parametrize("params", [{}, hello(_meta={"progressToken": 1.5}), {**hello(), "capabilities": []}])
def test_a_malformed_initialize_agrees_on_nothing_and_may_be_sent_again(params: JsonObject) -> None:
    era = server(None)

    with pytest.raises(MCPError) as caught:
        era.admit_request(Request(0, "initialize", params))
    assert (MCP_CODES.INVALID_PARAMS, None) == (caught.value.code, era.revision)
    era.admit_request(Request(1, "initialize", hello()))

    assert V2025_11_25 == era.revision


def test_a_second_initialize_is_refused_and_changes_nothing() -> None:
    era = server(V2025_06_18)

    with pytest.raises(MCPError) as caught:
        era.admit_request(Request(1, "initialize", hello(V2024_11_05)))

    assert (MCP_CODES.ALREADY_CONNECTED, V2025_06_18) == (caught.value.code, era.revision)


def test_initialize_is_never_given_up_with_a_notice() -> None:
    assert client(None).cancellation("initialize", 0, None) is None
    assert client().cancellation("tools/list", 0, None) is not None


# What may be said when


@pytest.mark.parametrize("make", [server, client])
def test_a_ping_is_answered_in_every_phase(make: Any) -> None:
    for era in (make(None), make()):
        assert (RequestParams(), None) == era.admit_request(Request(1, "ping"))[:2]
        assert RequestParams() == era.seal_params("ping", RequestParams(), None)
        assert (EmptyResult(), ()) == era.admit_result("ping", EmptyResult())
        assert EmptyResult() == era.seal_result(call_of("ping"), EmptyResult())


@pytest.mark.parametrize("method", ["tools/list", "resources/read", "logging/setLevel", "server/discover"])
def test_a_request_before_initialize_is_refused_as_too_early(method: str) -> None:
    assert MCP_CODES.NOT_INITIALIZED == refusal_of(server(None), method)


@pytest.mark.parametrize("method", ["tools/list", "notifications/initialized"])
def test_nothing_but_initialize_and_ping_may_be_sent_before_initialize(method: str) -> None:
    with pytest.raises(MCPError) as caught:
        client(None).seal_params(method, None, None)

    assert MCP_CODES.NOT_INITIALIZED == caught.value.code


@pytest.mark.parametrize("revision", [None, V2025_11_25])
@pytest.mark.parametrize("method", ["invalid/method", "sampling/createMessage", "notifications/unheard_of", ""])
def test_an_unknown_method_or_one_of_the_wrong_direction_is_not_found(method: str, revision: str | None) -> None:
    assert MCP_CODES.METHOD_NOT_FOUND == refusal_of(server(revision), method)


def test_a_request_of_the_other_direction_may_not_be_sent() -> None:
    with pytest.raises(MCPError, match="Method not found: sampling/createMessage"):
        client().seal_params("sampling/createMessage", {}, None)


def test_a_method_without_a_handler_is_not_found() -> None:
    served = {"initialize", "tools/list"}
    era = HandshakeEra("server", served)
    era.admit_request(Request(0, "initialize", hello()))

    assert (PaginatedRequestParams(), None) == era.admit_request(Request(1, "tools/list"))[:2]
    served.discard("tools/list")
    assert MCP_CODES.METHOD_NOT_FOUND == refusal_of(era, "tools/list")


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_what_would_be_legal_before_initialize_is_not_found_without_a_handler(method: str) -> None:
    assert MCP_CODES.METHOD_NOT_FOUND == refusal_of(HandshakeEra("server", ()), method)


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled"])
def test_a_notification_sent_as_a_request_is_not_found(method: str) -> None:
    assert MCP_CODES.METHOD_NOT_FOUND == refusal_of(server(), method)


@pytest.mark.parametrize("method", ["ping", "tools/list", "codex/event", "notifications/message"])
def test_a_request_or_a_foreign_notification_is_dropped_as_a_notification(method: str) -> None:
    with pytest.raises(MCPError, match=f"Method not found: {method}"):
        server().admit_notification(Notification(method, {}))


@pytest.mark.parametrize(
    ("method", "side", "living"),
    [
        ("elicitation/create", "client", [V2025_06_18, V2025_11_25]),
        ("tasks/list", "server", [V2025_11_25]),
        ("sampling/createMessage", "client", list(HANDSHAKE_REVISIONS)),
        ("server/discover", "server", []),
    ],
)
def test_a_method_lives_in_its_revisions_and_in_no_other(method: str, side: Side, living: list[str]) -> None:
    for revision in HANDSHAKE_REVISIONS:
        era = server(revision) if side == "server" else client(revision)
        if revision in living:
            assert MCP_CODES.INVALID_PARAMS == refusal_of_params(era, method)
        else:
            with pytest.raises(MCPError, match=f"Method not found: {method} in revision {revision}"):
                era.admit_request(Request(1, method, {}))


def refusal_of_params(era: HandshakeEra, method: str) -> str:
    with pytest.raises(MCPError) as caught:
        era.admit_request(Request(1, method, []))
    return caught.value.code


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
@pytest.mark.parametrize("make", [server, client])
def test_one_revision_has_batches(make: Any, revision: str) -> None:
    assert (revision == V2025_03_26) == make(revision).admits_batches


# Typed both ways


def test_params_and_results_are_typed_on_the_way_in() -> None:
    assert (PaginatedRequestParams(cursor="c"), None) == server().admit_request(
        Request(1, "tools/list", {"cursor": "c"})
    )[:2]
    assert NotificationParams() == server().admit_notification(Notification("notifications/initialized"))
    result, _ = client().admit_result("initialize", welcome(V2025_06_18))
    assert isinstance(result, InitializeResult)


@pytest.mark.parametrize("token", [0, "", "t"])
def test_the_progress_token_of_a_request_is_told(token: str | int) -> None:
    request = Request(1, "tools/list", {"_meta": {"progressToken": token}})

    assert token == server().admit_request(request)[1]


def test_malformed_params_are_refused() -> None:
    with pytest.raises(MCPError) as caught:
        server().admit_request(Request(1, "tools/call", {"name": 42}))

    assert (MCP_CODES.INVALID_PARAMS, "name") == (caught.value.code, caught.value.context["path"])


def test_what_is_sent_is_checked() -> None:
    sealed = client().seal_params("tools/call", {"name": "t"}, 0)
    answer = server().seal_result(call_of("tools/call"), {"content": []})

    assert isinstance(sealed, Raw)
    assert isinstance(answer, Raw)
    assert [{"name": "t", "_meta": {"progressToken": 0}}, {"content": []}] == [decode(sealed), decode(answer)]
    with pytest.raises(MCPError, match="Invalid request parameters"):
        client().seal_params("tools/call", {}, None)
    with pytest.raises(MCPError, match="the handler of tools/call returned a wrong result"):
        server().seal_result(call_of("tools/call"), {})


@pytest.mark.parametrize("revision", [None, V2025_11_25])
def test_cancel_and_progress_are_understood_in_every_phase(revision: str | None) -> None:
    era = client(revision)

    assert isinstance(era.admit_notification(Notification("notifications/cancelled", {"requestId": 0})), CancelNotice)
    assert isinstance(
        era.admit_notification(Notification("notifications/progress", {"progressToken": 0, "progress": 1})),
        ProgressNotice,
    )


def test_a_typed_initialize_is_taken_as_it_is() -> None:
    params = InitializeRequestParams(
        protocol_version=V2025_03_26,
        capabilities=ClientCapabilities(),
        client_info=Implementation(name="c", version="1"),
    )
    era = server(None)

    assert params is era.admit_request(Request(0, "initialize", params))[0]
    assert V2025_03_26 == era.revision
