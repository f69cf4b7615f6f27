"""The rules of the revisions in which every request says itself who sends it."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import decode, encode

from suaveplan_mcp.errors import MCP_CODES, STATELESS_NUMBERS, MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.messages import JsonObject, Notification, Payload, Request
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.admission import SealedResult
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE, V2026_07_28
from suaveplan_mcp.protocol.stateless import StatelessEra, is_modern, missing_capability, unsupported_revision
from suaveplan_mcp.types.base import NotificationParams, RequestParams, WireStruct, keep_raw
from suaveplan_mcp.types.capabilities import ClientCapabilities, RootsCapability
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.meta import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    SERVER_INFO_KEY,
)
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult

EVERYTHING = frozenset(METHODS)
LATER = "2099-01-01"
NAME = Implementation(name="n", version="1")
NAMED: JsonObject = {"name": "n", "version": "1"}
WHO: JsonObject = {PROTOCOL_VERSION_KEY: V2026_07_28, CLIENT_CAPABILITIES_KEY: {}}
OURS: JsonObject = {"_meta": {SERVER_INFO_KEY: NAMED}}
ASKING: JsonObject = {"resultType": "input_required", "requestState": "s"}
TOO_DEEP = Raw(b'{"_meta":' + b"[" * 5000 + b"]" * 5000 + b"}")


class Said:
    """A transport's word about a request; it notes what it is asked, and disputes one thing."""

    def __init__(self, disputed: str = "") -> None:
        self.heard: list[object] = []
        self._disputed = disputed

    def check_revision(self, revision: str) -> None:
        self._check("revision", revision)

    def check_method(self, method: str) -> None:
        self._check("method", method)

    def check_params(self, method: str, params: WireStruct) -> None:
        self._check("params", method, params)

    def _check(self, what: str, *facts: object) -> None:
        self.heard += facts
        if what == self._disputed:
            raise MCPError(MCP_CODES.PROTOCOL_INVALID, f"the {what} differs", jsonrpc_code=-32020)


def server(*served: str, **options: Any) -> StatelessEra:
    return StatelessEra("server", served or EVERYTHING, **options)


def client(**options: Any) -> StatelessEra:
    return StatelessEra("client", (), **options)


def request(method: str = "tools/list", *, meta: Any = WHO, **params: Any) -> Request:
    """Return a request from a wire."""
    return Request(1, method, Raw(encode({**params, "_meta": meta})))


def without(key: str) -> JsonObject:
    return {name: value for name, value in WHO.items() if name != key}


def refusal_of(era: StatelessEra, asked: Request) -> MCPError:
    with pytest.raises(MCPError) as caught:
        era.admit_request(asked)
    return caught.value


def call_of(method: str) -> CallReceived[object]:
    return CallReceived(1, method, None, None, None)


def plain(value: Payload) -> Any:
    return decode(encode(value))


# Telling and refusing


@pytest.mark.parametrize(
    ("modern", "params"),
    [
        (True, {"_meta": {PROTOCOL_VERSION_KEY: 5}}),
        (True, {"_meta": {CLIENT_CAPABILITIES_KEY: None}}),
        (True, Raw(encode({"_meta": WHO, "name": 5}))),
        (True, RequestParams(meta=WHO)),
        (False, RequestParams()),
        (False, {"_meta": {CLIENT_INFO_KEY: NAMED, "progressToken": 1}}),
        (False, {"_meta": [PROTOCOL_VERSION_KEY]}),
        (False, {}),
        (False, UNSET),
        (False, None),
        (False, [WHO]),
        (False, "text"),
        (False, Raw(b"null")),
        (False, Raw(b"{")),
        (False, TOO_DEEP),
    ],
)
def test_what_names_a_revision_or_capabilities_of_its_own_is_of_this_era(modern: object, params: Payload) -> None:
    assert modern is is_modern(params)


@pytest.mark.parametrize(
    ("path", "required"), [("sampling", {"sampling": {}}), ("elicitation.url", {"elicitation": {"url": {}}})]
)
def test_a_missing_capability_is_named_as_the_client_would_declare_it(path: str, required: JsonObject) -> None:
    error = missing_capability(path, "tools/call")

    assert f"tools/call needs a client that declares the capability `{path}`" == error.message
    described = server().describe(error, "tools/call")
    assert (-32021, {"code": error.code, "requiredCapabilities": required}) == (described.code, described.data)


def test_an_unsupported_revision_is_answered_with_those_that_are_newest_first() -> None:
    error = unsupported_revision("1900-01-01", [V2026_07_28, LATER])

    assert f"revision '1900-01-01' is not supported here; {LATER}, {V2026_07_28} is" == error.message
    described = server().describe(error, "tools/call")
    expected = {"code": error.code, "supported": [LATER, V2026_07_28], "requested": "1900-01-01"}
    assert (-32022, expected) == (described.code, described.data)


# Requests that come


def test_a_request_brings_its_params_its_token_and_its_caller() -> None:
    meta: JsonObject = {
        PROTOCOL_VERSION_KEY: V2026_07_28,
        CLIENT_CAPABILITIES_KEY: {"roots": {}},
        CLIENT_INFO_KEY: NAMED,
        LOG_LEVEL_KEY: "error",
        "progressToken": 0,
    }
    params, token, caller = server().admit_request(request(meta=meta, cursor="c"))

    assert (PaginatedRequestParams(cursor="c", meta=meta), 0) == (params, token)
    assert (V2026_07_28, NAME, ClientCapabilities(roots=RootsCapability()), "error") == (
        caller.revision,
        caller.info,
        caller.capabilities,
        caller.log_level,
    )


def test_nothing_of_one_request_is_kept_for_the_next() -> None:
    era = server()
    _, _, first = era.admit_request(request(meta={**WHO, CLIENT_INFO_KEY: NAMED, LOG_LEVEL_KEY: "debug"}))
    _, token, second = era.admit_request(request())

    assert first is not second
    assert (None, None, None) == (token, second.info, second.log_level)
    assert (None, None) == (era.caller.revision, era.caller.info)
    assert -32602 == refusal_of(era, Request(3, "tools/list")).jsonrpc_code


def test_typed_params_are_taken_as_they_are() -> None:
    params = PaginatedRequestParams(meta={**WHO})

    assert params is server().admit_request(Request(1, "tools/list", params))[0]


@pytest.mark.parametrize(
    ("meta", "path"),
    [
        ({}, f"_meta.{PROTOCOL_VERSION_KEY}"),
        (None, f"_meta.{PROTOCOL_VERSION_KEY}"),
        (without(PROTOCOL_VERSION_KEY), f"_meta.{PROTOCOL_VERSION_KEY}"),
        (without(CLIENT_CAPABILITIES_KEY), f"_meta.{CLIENT_CAPABILITIES_KEY}"),
        ({**WHO, PROTOCOL_VERSION_KEY: 5}, f"_meta.{PROTOCOL_VERSION_KEY}"),
        ({**WHO, CLIENT_CAPABILITIES_KEY: []}, f"_meta.{CLIENT_CAPABILITIES_KEY}"),
        ({**WHO, CLIENT_INFO_KEY: {"name": "n"}}, f"_meta.{CLIENT_INFO_KEY}.version"),
        ({**WHO, LOG_LEVEL_KEY: "loud"}, f"_meta.{LOG_LEVEL_KEY}"),
        ({**WHO, "progressToken": 1.0}, "_meta.progressToken"),
        ({**WHO, "progressToken": True}, "_meta.progressToken"),
        ("me", "_meta"),
    ],
)
def test_a_request_that_does_not_say_who_sends_it_is_malformed(meta: Any, path: str) -> None:
    error = refusal_of(server(), request(meta=meta))

    assert (MCP_CODES.INVALID_PARAMS, -32602) == (error.code, error.jsonrpc_code)
    assert str(error.context["path"]).startswith(path)


@pytest.mark.parametrize(
    "params", [UNSET, Raw(b"null"), Raw(b"{}"), Raw(b"[]"), Raw(b"5"), TOO_DEEP, {}, RequestParams()]
)
def test_a_request_without_what_belongs_to_it_is_malformed(params: Payload) -> None:
    error = refusal_of(server(), Request(1, "tools/list", params))

    assert (MCP_CODES.INVALID_PARAMS, -32602) == (error.code, error.jsonrpc_code)


def test_malformed_params_of_a_known_sender_are_refused_where_they_are_wrong() -> None:
    error = refusal_of(server(), request("tools/call", name=42))

    assert (-32602, "name") == (error.jsonrpc_code, error.context["path"])


@pytest.mark.parametrize(
    "asked",
    [
        request(meta={**WHO, PROTOCOL_VERSION_KEY: LATER}),
        request("tools/call", meta={**WHO, PROTOCOL_VERSION_KEY: LATER}, name=42),
        request("no/such", meta={**WHO, PROTOCOL_VERSION_KEY: LATER}),
        request(meta={PROTOCOL_VERSION_KEY: LATER}),
        request(meta={PROTOCOL_VERSION_KEY: LATER, CLIENT_CAPABILITIES_KEY: ["other"], "progressToken": {}}),
    ],
)
def test_a_sender_of_another_revision_hears_of_that_first(asked: Request) -> None:
    error = refusal_of(server(), asked)

    assert (MCP_CODES.PROTOCOL_VERSION_MISMATCH, -32022) == (error.code, error.jsonrpc_code)
    assert {"supported": [V2026_07_28], "requested": LATER} == error.context


def test_a_revision_of_the_other_era_is_not_supported_either() -> None:
    assert -32022 == refusal_of(server(), request(meta={**WHO, PROTOCOL_VERSION_KEY: LATEST_HANDSHAKE})).jsonrpc_code


def test_every_revision_that_is_accepted_is_served() -> None:
    era = server(accepted=(V2026_07_28, LATER))

    for revision in (V2026_07_28, LATER):
        assert revision == era.admit_request(request(meta={**WHO, PROTOCOL_VERSION_KEY: revision}))[2].revision


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("no/such", ""),
        ("tools/call", ""),
        ("notifications/cancelled", ""),
        ("sampling/createMessage", ""),
        ("ping", f" in revision {V2026_07_28}"),
        ("logging/setLevel", f" in revision {V2026_07_28}"),
        ("initialize", f" in revision {V2026_07_28}"),
    ],
)
def test_a_method_that_is_none_here_is_not_found(method: str, why: str) -> None:
    error = refusal_of(server("tools/list", "ping", "notifications/cancelled"), request(method))

    assert f"Method not found: {method}{why}" == error.message
    assert (MCP_CODES.METHOD_NOT_FOUND, -32601) == (error.code, error.jsonrpc_code)


def test_a_method_that_is_none_here_is_not_told_of_to_a_stranger() -> None:
    assert -32602 == refusal_of(server(), request("ping", meta={})).jsonrpc_code


@pytest.mark.parametrize(
    ("params", "requested"),
    [
        (Raw(encode({"protocolVersion": LATEST_HANDSHAKE, "capabilities": {}})), LATEST_HANDSHAKE),
        ({"protocolVersion": LATEST_HANDSHAKE}, LATEST_HANDSHAKE),
        (UNSET, "None"),
    ],
)
def test_who_opens_with_initialize_is_told_what_is_spoken_here(params: Payload, requested: str) -> None:
    error = refusal_of(server(), Request(0, "initialize", params))

    assert f"revision {requested!r} is not supported here; {V2026_07_28} is" == error.message
    assert -32022 == error.jsonrpc_code


# What the transport said of a request


def test_a_request_is_compared_with_what_the_transport_said() -> None:
    said = Said()
    params, _, _ = server(binding=said).admit_request(request())

    assert [V2026_07_28, "tools/list", "tools/list", params] == said.heard


@pytest.mark.parametrize("disputed", ["revision", "method", "params"])
def test_a_request_that_the_transport_disputes_is_refused(disputed: str) -> None:
    error = refusal_of(server(binding=Said(disputed)), request())

    assert (f"the {disputed} differs", -32020) == (error.message, error.jsonrpc_code)


@pytest.mark.parametrize(("disputed", "number"), [("revision", -32020), ("method", -32022)])
def test_the_transport_may_dispute_a_revision_before_it_is_refused(disputed: str, number: int) -> None:
    asked = request(meta={PROTOCOL_VERSION_KEY: LATER})

    assert number == refusal_of(server(binding=Said(disputed)), asked).jsonrpc_code


@pytest.mark.parametrize("disputed", ["revision", "method"])
def test_the_transport_may_dispute_a_request_that_is_not_served(disputed: str) -> None:
    assert -32020 == refusal_of(server(binding=Said(disputed)), request("no/such")).jsonrpc_code


def test_rules_are_bound_for_one_request_only() -> None:
    era, said = server(), Said("params")
    bound = era.bound_to(said)

    assert -32020 == refusal_of(bound, request()).jsonrpc_code
    assert (PaginatedRequestParams(meta={**WHO}), None) == era.admit_request(request())[:2]
    assert (era.revision, era.served) == (bound.revision, bound.served)


# Notifications that come


def test_notifications_are_typed_and_understood() -> None:
    progress = Notification("notifications/progress", {"progressToken": 0, "progress": 1})

    assert NotificationParams() == client().admit_notification(Notification("notifications/tools/list_changed"))
    assert isinstance(client().admit_notification(progress), ProgressNotice)
    for era in (client(), server()):
        cancelled = Notification("notifications/cancelled", {"requestId": 0})
        assert isinstance(era.admit_notification(cancelled), CancelNotice)


@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/progress", "tools/list", "notifications/message", "no/such"]
)
def test_a_notification_that_no_client_sends_is_dropped(method: str) -> None:
    with pytest.raises(MCPError, match=f"Method not found: {method} in revision {V2026_07_28}"):
        server().admit_notification(Notification(method, {}))


def test_a_malformed_notification_is_dropped() -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        server().admit_notification(Notification("notifications/cancelled", Raw(b'{"requestId":[]}')))


# Results that come


@pytest.mark.parametrize("kind", [{}, {"resultType": "complete"}, {"resultType": None}])
def test_a_result_that_does_not_say_otherwise_is_complete(kind: JsonObject) -> None:
    result, deviations = client().admit_result("tools/call", Raw(encode({"content": [], **kind})))

    assert (CallToolResult, ()) == (type(result), deviations)


def test_what_is_forgiven_in_a_result_is_told() -> None:
    result, deviations = client().admit_result("tools/call", Raw(b'{"isError":true}'))

    assert (CallToolResult(content=[], is_error=True), 1) == (result, len(deviations))


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("tools/call", {}),
        ("resources/read", {}),
        ("prompts/get", {}),
        ("resources/read", {"contents": []}),
        ("tools/call", {"content": 5}),
    ],
)
def test_a_result_that_asks_for_input_is_typed_as_that(method: str, more: JsonObject) -> None:
    result, deviations = client().admit_result(method, Raw(encode({**ASKING, **more})))

    assert (InputRequiredResult(request_state="s", result_type="input_required"), ()) == (result, deviations)


def test_a_typed_result_that_asks_for_input_is_taken_as_it_is() -> None:
    asking = InputRequiredResult(request_state="s")

    assert (asking, ()) == client().admit_result("tools/call", asking)
    with pytest.raises(MCPError, match="no answer to this method may ask for input"):
        client().admit_result("tools/list", asking)


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/list", {**ASKING, "tools": []}),
        ("tools/list", ASKING),
        ("tools/call", {"resultType": "input_required", "content": []}),
        ("resources/read", {"requestState": "s"}),
        ("resources/read", {"resultType": "complete", "requestState": "s"}),
        ("resources/read", {"resultType": 5, "contents": []}),
        ("resources/read", []),
    ],
)
def test_a_malformed_result_is_refused(method: str, result: Any) -> None:
    with pytest.raises(MCPError, match=f"the result of {method} is malformed") as caught:
        client().admit_result(method, Raw(encode(result)))

    assert MCP_CODES.PROTOCOL_INVALID == caught.value.code


def test_a_result_of_a_kind_that_is_not_known_is_invalid() -> None:
    result = Raw(b'{"content":[],"resultType":"later"}')

    with pytest.raises(MCPError, match="resultType: 'later' is of no kind that this client knows") as caught:
        client().admit_result("tools/call", result)
    assert (MCP_CODES.PROTOCOL_INVALID, {"method": "tools/call", "resultType": "later"}) == (
        caught.value.code,
        caught.value.context,
    )
    admitted, _ = client(result_types=["later"]).admit_result("tools/call", result)
    assert CallToolResult(content=[], result_type="later") == admitted


# Params that go out


@pytest.mark.parametrize("params", [UNSET, None, {}, {"_meta": None}, Raw(b"{}"), Raw(b"null"), RequestParams()])
def test_a_request_says_who_sends_it_whatever_it_is_made_of(params: Payload) -> None:
    sealed = client(info=NAME).seal_params("tools/list", params, None)

    assert {"_meta": {**WHO, CLIENT_INFO_KEY: NAMED}} == plain(sealed)


@pytest.mark.parametrize(
    "params",
    [
        CallToolRequestParams(name="t", meta={"a": 1, PROTOCOL_VERSION_KEY: "ours to say"}),
        {"name": "t", "_meta": {"a": 1, CLIENT_CAPABILITIES_KEY: "ours to say"}},
        Raw(b'{"name":"t","_meta":{"a":1}}'),
    ],
)
def test_what_a_request_says_beside_that_stays(params: Payload) -> None:
    sealed = client().seal_params("tools/call", params, "token")

    assert {"name": "t", "_meta": {"a": 1, "progressToken": "token", **WHO}} == plain(sealed)


def test_what_a_client_can_do_is_asked_anew_for_each_request() -> None:
    can = [ClientCapabilities(), ClientCapabilities(roots=RootsCapability())]
    era = client(capabilities=can.pop)

    said = [plain(era.seal_params("tools/list", None, None))["_meta"][CLIENT_CAPABILITIES_KEY] for _ in range(2)]

    assert [{"roots": {}}, {}] == said


@pytest.mark.parametrize("params", [None, {}, RequestParams(meta={"a": 1})])
def test_the_wanted_level_of_log_messages_is_said_with_each_request(params: Payload) -> None:
    era = client()
    era.log_level = "warning"

    assert "warning" == plain(era.seal_params("tools/list", params, None))["_meta"][LOG_LEVEL_KEY]
    era.log_level = None
    assert LOG_LEVEL_KEY not in plain(era.seal_params("tools/list", params, None))["_meta"]


def test_a_request_may_want_a_level_of_its_own() -> None:
    era = client()
    era.log_level = "warning"

    own: JsonObject = {LOG_LEVEL_KEY: "debug"}
    given: list[Payload] = [{"_meta": own}, RequestParams(meta=own)]
    for params in given:
        assert "debug" == plain(era.seal_params("tools/list", params, None))["_meta"][LOG_LEVEL_KEY]


@pytest.mark.parametrize("token", [None, 1])
@pytest.mark.parametrize(
    "params",
    [[], 5, Raw(b"[]"), Raw(b"{"), TOO_DEEP, {"_meta": 5}, {"cursor": 5}, {"cursor": object()}],
)
def test_params_that_are_none_of_the_method_are_refused_and_not_mended(params: Payload, token: int | None) -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        client().seal_params("tools/list", params, token)


@pytest.mark.parametrize("method", ["ping", "initialize", "sampling/createMessage", "no/such"])
def test_a_method_that_the_era_does_not_have_is_not_sent(method: str) -> None:
    with pytest.raises(MCPError, match=f"Method not found: {method} in revision {V2026_07_28}"):
        client().seal_params(method, None, None)


def test_a_notification_says_nothing_of_its_sender() -> None:
    assert UNSET is server(info=NAME).seal_params("notifications/tools/list_changed", None, None)
    assert {"requestId": 1} == plain(client(info=NAME).seal_params("notifications/cancelled", {"requestId": 1}, None))


# Results that go out


def test_a_typed_result_goes_out_with_all_that_belongs_to_it() -> None:
    sealed = server(info=NAME).seal_result(call_of("tools/list"), ListToolsResult(tools=[]))

    assert {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", **OURS} == plain(sealed)
    assert {"content": [], "resultType": "complete"} == plain(
        server().seal_result(call_of("tools/call"), CallToolResult(content=[]))
    )


@pytest.mark.parametrize("result", [{"tools": [], "a": 1}, Raw(b'{"tools":[],"a":1}')])
def test_json_goes_out_with_all_that_belongs_to_it(result: Payload) -> None:
    sealed = server(info=NAME).seal_result(call_of("tools/list"), result)

    expected = {"tools": [], "a": 1, "resultType": "complete", "ttlMs": 0, "cacheScope": "private", **OURS}
    assert expected == plain(sealed)


def test_the_result_of_a_server_further_on_goes_on_whole() -> None:
    theirs = CallToolResult(content=[])
    keep_raw(theirs, Raw(b'{"content":[],"a":1}'))

    assert {"content": [], "a": 1, "resultType": "complete"} == plain(
        server().seal_result(call_of("tools/call"), theirs)
    )


def test_what_is_sealed_already_goes_out_as_it_is() -> None:
    json = Raw(b'{"anything":1}')

    assert json is server(info=NAME).seal_result(call_of("tools/list"), SealedResult(json))


@pytest.mark.parametrize("result", [InputRequiredResult(request_state="s"), Raw(encode(ASKING))])
def test_a_question_goes_out_as_one(result: Payload) -> None:
    assert {**ASKING, **OURS} == plain(server(info=NAME).seal_result(call_of("resources/read"), result))


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {}),
        ("tools/call", 5),
        ("tools/list", InputRequiredResult(request_state="s")),
        ("tools/list", Raw(encode(ASKING))),
        ("tools/call", InputRequiredResult()),
        ("tools/call", CallToolResult(content=[], result_type="input_required")),
    ],
)
def test_what_is_no_answer_to_its_method_is_the_fault_of_the_handler(method: str, result: Payload) -> None:
    with pytest.raises(MCPError, match=f"the handler of {method} returned a wrong result") as caught:
        server().seal_result(call_of(method), result)

    assert MCP_CODES.HANDLER_FAILED == caught.value.code


def test_a_list_that_is_kept_is_completed_beforehand() -> None:
    completed = server(info=NAME).complete(ListToolsResult(tools=[], ttl_ms=9, cache_scope="public"))

    assert {"tools": [], "resultType": "complete", "ttlMs": 9, "cacheScope": "public", **OURS} == plain(completed)


# What holds for the connection as a whole


@pytest.mark.parametrize(("side", "revision"), [("server", None), ("client", V2026_07_28)])
def test_only_a_client_knows_beforehand_what_its_peer_speaks(side: Side, revision: str | None) -> None:
    era = StatelessEra(side, ())

    assert (revision, V2026_07_28) == (era.caller.revision, era.revision)
    assert (False, UNSET, STATELESS_NUMBERS) == (era.admits_batches, era.unknown_id, era.numbers_for(None))


def test_a_client_speaks_the_newest_revision_until_it_learns_of_another() -> None:
    era = client(accepted=(LATER, V2026_07_28))
    said = [plain(era.seal_params("tools/list", None, None))["_meta"][PROTOCOL_VERSION_KEY]]
    era.speak(V2026_07_28)
    said.append(plain(era.seal_params("tools/list", None, None))["_meta"][PROTOCOL_VERSION_KEY])

    assert [LATER, V2026_07_28] == said
    assert (V2026_07_28, V2026_07_28) == (era.revision, era.caller.revision)


def test_what_is_spoken_decides_which_methods_there_are() -> None:
    era = server(accepted=(V2026_07_28, LATEST_HANDSHAKE))
    era.speak(LATEST_HANDSHAKE)

    with pytest.raises(MCPError, match=f"in revision {LATEST_HANDSHAKE}"):
        era.seal_params("notifications/subscriptions/acknowledged", {}, None)
    assert (RequestParams(meta={**WHO}), None) == era.admit_request(request("ping"))[:2]
