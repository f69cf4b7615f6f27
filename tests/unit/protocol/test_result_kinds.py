"""What each kind of result says of itself, on the way in and on the way out."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import decode, encode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
from suaveplan_mcp.protocol.methods import ROWS, find, lives_in
from suaveplan_mcp.protocol.result_kinds import (
    admit_input_required,
    complete,
    complete_json,
    identify,
    kind_of,
    may_ask,
    require_complete,
    seal_input_required,
)
from suaveplan_mcp.protocol.revisions import V2026_07_28
from suaveplan_mcp.types.elicitation import ElicitRequest
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.meta import SERVER_INFO_KEY
from suaveplan_mcp.types.ping import EmptyResult
from suaveplan_mcp.types.prompts import ListPromptsResult
from suaveplan_mcp.types.resources import ReadResourceResult
from suaveplan_mcp.types.tools import CallToolResult, ListToolsResult

INFO: JsonObject = {"name": "s", "version": "1"}
OURS: JsonObject = {SERVER_INFO_KEY: INFO}
ASKING: JsonObject = {"resultType": "input_required", "requestState": "s"}
NAME: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}},
}
TOO_DEEP = b'{"resultType":"input_required","requestState":"s","_meta":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}"


def method(name: str) -> Any:
    return find(name, "client")


CALL, LIST, READ = method("tools/call"), method("tools/list"), method("resources/read")


def raw(value: object) -> Raw:
    return Raw(encode(value))


def plain(value: Payload) -> Any:
    assert isinstance(value, Raw)
    return decode(value)


def proxied(value: JsonObject) -> InputRequiredResult:
    """Return a result as it comes from a server further on."""
    return admit_input_required(CALL, raw(value))


# Which kind it is


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("input_required", raw(ASKING)),
        ("input_required", ASKING),
        ("task", CallToolResult(content=[], result_type="task")),
        (5, {"resultType": 5}),
        (None, {}),
        (None, {"resultType": None}),
        (None, [1]),
        (None, {"resultType": object()}),
        (None, UNSET),
        (None, Raw(b"{")),
        (None, Raw(b'{"resultType":' + b"[" * 5000 + b"]" * 5000 + b"}")),
    ],
)
def test_the_kind_of_a_result_is_read_whatever_else_it_is(kind: object, result: Payload) -> None:
    assert kind == kind_of(result)


def test_three_methods_may_be_answered_with_a_question() -> None:
    asking = {row.name for row in ROWS if may_ask(row) and lives_in(row, V2026_07_28)}

    assert {"prompts/get", "resources/read", "tools/call"} == asking


# Asking for input, as it comes


@pytest.mark.parametrize("name", ["prompts/get", "resources/read", "tools/call"])
@pytest.mark.parametrize("more", [{}, {"inputRequests": {"name": NAME}}, {"unknown": 1}])
def test_a_result_that_asks_is_typed_and_remembers_how_it_came(name: str, more: JsonObject) -> None:
    came = raw({**ASKING, **more})
    required = admit_input_required(method(name), came)

    assert ("s", came) == (required.request_state, required.raw)
    assert ("inputRequests" in more) == (required.input_requests is not None)


def test_what_is_asked_is_typed() -> None:
    required = admit_input_required(CALL, {"inputRequests": {"name": NAME}})

    assert isinstance((required.input_requests or {})["name"], ElicitRequest)


def test_a_typed_result_that_asks_is_taken_as_it_is() -> None:
    required = InputRequiredResult(input_requests={})

    assert required is admit_input_required(CALL, required)


@pytest.mark.parametrize(
    ("name", "result", "path"),
    [
        ("tools/list", raw(ASKING), "resultType"),
        ("server/discover", InputRequiredResult(request_state="s"), "resultType"),
        ("tools/call", raw({"resultType": "input_required"}), "(root)"),
        ("tools/call", InputRequiredResult(), "(root)"),
        ("tools/call", raw({"requestState": 5}), "requestState"),
        ("tools/call", raw({"inputRequests": {"a": {"method": "tools/call"}}}), "inputRequests"),
        ("tools/call", raw([]), "(root)"),
        ("tools/call", Raw(TOO_DEEP), "(root)"),
        ("tools/call", {"requestState": object()}, "(root)"),
    ],
)
def test_a_malformed_question_is_refused_where_it_is_wrong(name: str, result: Payload, path: str) -> None:
    with pytest.raises(MCPError, match=f"the result of {name} is malformed at ") as caught:
        admit_input_required(method(name), result)

    assert (MCP_CODES.PROTOCOL_INVALID, name) == (caught.value.code, caught.value.context["method"])
    assert str(caught.value.context["path"]).startswith(path)


# Asking for input, as it goes out


def test_a_question_says_that_it_is_one_and_who_asks() -> None:
    sealed = seal_input_required(CALL, InputRequiredResult(request_state="s", meta={"a": 1}), INFO)

    assert {**ASKING, "_meta": {"a": 1, **OURS}} == plain(raw(sealed))


def test_a_server_may_ask_without_its_name() -> None:
    assert ASKING == plain(raw(seal_input_required(CALL, InputRequiredResult(request_state="s"), None)))


def test_a_question_from_a_server_further_on_goes_on_whole_but_for_hints_and_the_name() -> None:
    theirs = proxied(
        {
            "requestState": "s",
            "extra": 1,
            "ttlMs": 5,
            "cacheScope": "public",
            "_meta": {SERVER_INFO_KEY: {"name": "other", "version": "2"}, "kept": True},
        }
    )

    assert {**ASKING, "extra": 1, "_meta": {"kept": True, **OURS}} == plain(seal_input_required(CALL, theirs, INFO))


@pytest.mark.parametrize(
    ("name", "result", "reason"),
    [
        ("tools/list", InputRequiredResult(request_state="s"), "no answer to that method may"),
        ("resources/read", InputRequiredResult(), "neither `inputRequests` nor `requestState`"),
    ],
)
def test_a_question_that_may_not_be_asked_is_the_fault_of_the_handler(
    name: str, result: InputRequiredResult, reason: str
) -> None:
    with pytest.raises(MCPError, match=f"the handler of {name} returned a wrong result at .*{reason}") as caught:
        seal_input_required(method(name), result, INFO)

    assert MCP_CODES.HANDLER_FAILED == caught.value.code


def test_only_its_own_type_asks_for_input() -> None:
    done = CallToolResult(content=[])

    assert done is require_complete(CALL, done)
    with pytest.raises(MCPError, match="resultType: only an `InputRequiredResult` can ask") as caught:
        require_complete(CALL, CallToolResult(content=[], result_type="input_required"))
    assert MCP_CODES.HANDLER_FAILED == caught.value.code


# Complete results that are typed


@pytest.mark.parametrize(("said", "kind"), [(None, "complete"), ("", "complete"), ("task", "task")])
def test_a_result_is_complete_unless_it_says_something_else(said: str | None, kind: str) -> None:
    assert EmptyResult(result_type=kind, meta=OURS) == complete(EmptyResult(result_type=said), INFO)
    assert kind == complete(ListToolsResult(tools=[], result_type=said), None).result_type


@pytest.mark.parametrize(
    ("said", "ttl"),
    [(None, 0), (0, 0), (60_000, 60_000), (5.7, 5), (-1, 0), (-0.5, 0), (float("inf"), 0), (float("nan"), 0)],
)
def test_a_cacheable_result_says_how_long_it_is_fresh_in_whole_milliseconds(said: float | None, ttl: int) -> None:
    sealed = complete(ListPromptsResult(prompts=[], ttl_ms=said), None)

    expected = b'{"resultType":"complete","ttlMs":%d,"cacheScope":"private","prompts":[]}' % ttl
    assert expected == encode(sealed)


def test_a_scope_that_is_said_stays() -> None:
    sealed = complete(ReadResourceResult(contents=[], ttl_ms=1, cache_scope="public"), None)

    assert {"contents": [], "resultType": "complete", "ttlMs": 1, "cacheScope": "public"} == plain(raw(sealed))


# Complete results that are JSON already


@pytest.mark.parametrize(
    ("said", "kind"), [({}, "complete"), ({"resultType": None}, "complete"), ({"resultType": ""}, "complete")]
)
def test_json_without_a_kind_is_complete(said: JsonObject, kind: str) -> None:
    assert {"content": [], "resultType": kind} == plain(complete_json(CALL, raw({"content": [], **said}), None))


def test_json_of_another_kind_stays_of_it_and_whole() -> None:
    said = {"content": [], "resultType": "task", "taskId": "t", "ttlMs": "forever"}

    assert said == plain(complete_json(CALL, raw(said), None))
    assert "complete" == plain(complete_json(CALL, raw({"resultType": 5}), None))["resultType"]


@pytest.mark.parametrize(
    ("said", "ttl"),
    [
        (b"7", b"7"),
        (b"7.0", b"7"),
        (b"7.9", b"7"),
        *((none, b"0") for none in (b"0", b"-1", b"-0.0", b"null", b"true", b"false", b'"7"', b"{}")),
    ],
)
def test_the_freshness_of_json_is_written_in_whole_milliseconds(said: bytes, ttl: bytes) -> None:
    sealed = complete_json(LIST, Raw(b'{"tools":[],"ttlMs":' + said + b"}"), None)

    expected = b'{"tools":[],"ttlMs":' + ttl + b',"resultType":"complete","cacheScope":"private"}'
    assert isinstance(sealed, Raw)
    assert expected == bytes(sealed)


@pytest.mark.parametrize(
    ("said", "scope"),
    [("public", "public"), ("private", "private"), ("everyone", "private"), (None, "private"), ([], "private")],
)
def test_json_with_no_scope_that_exists_is_private(said: Any, scope: str) -> None:
    sealed = plain(complete_json(LIST, raw({"tools": [], "cacheScope": said}), None))

    assert {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": scope} == sealed


def test_json_of_a_method_that_is_not_cacheable_gets_no_hints() -> None:
    assert {"content": [], "resultType": "complete"} == plain(complete_json(CALL, raw({"content": []}), None))


@pytest.mark.parametrize(
    ("meta", "sealed"),
    [(None, OURS), ({}, OURS), ({"kept": [1]}, {"kept": [1], **OURS}), ({SERVER_INFO_KEY: {"name": "other"}}, OURS)],
)
def test_json_says_who_made_it(meta: JsonObject | None, sealed: JsonObject) -> None:
    assert sealed == plain(complete_json(CALL, raw({"content": [], "_meta": meta}), INFO))["_meta"]
    assert OURS == plain(complete_json(CALL, raw({"content": []}), INFO))["_meta"]


def test_json_that_asks_for_input_is_sealed_as_that() -> None:
    asking = raw({**ASKING, "ttlMs": 5, "cacheScope": "public", "extra": 1})

    assert {**ASKING, "extra": 1, "_meta": OURS} == plain(complete_json(READ, asking, INFO))


@pytest.mark.parametrize(
    ("name", "result", "path"),
    [
        ("tools/call", raw([]), "(root)"),
        ("tools/call", Raw(b"{"), "(root)"),
        ("tools/call", Raw(b'{"resultType":' + b"[" * 5000 + b"]" * 5000 + b"}"), "(root)"),
        ("tools/call", raw({"_meta": 5}), "(root)"),
        ("tools/list", raw(ASKING), "resultType"),
        ("tools/call", raw({"resultType": "input_required"}), "(root)"),
        ("tools/call", raw({**ASKING, "inputRequests": []}), "inputRequests"),
    ],
)
def test_json_that_is_no_result_is_the_fault_of_the_handler(name: str, result: Raw, path: str) -> None:
    with pytest.raises(MCPError) as caught:
        complete_json(method(name), result, INFO)

    assert (MCP_CODES.HANDLER_FAILED, {"method": name}) == (caught.value.code, caught.value.context)
    assert caught.value.message.startswith(f"the handler of {name} returned a wrong result at {path}: ")


def test_what_came_from_elsewhere_is_ours_to_answer_unless_we_have_no_name() -> None:
    theirs: JsonObject = {SERVER_INFO_KEY: {"name": "other"}, "kept": 1}

    assert {**theirs, **OURS} == identify(theirs, INFO)
    assert theirs is identify(theirs, None)
    assert OURS == identify(None, INFO)
