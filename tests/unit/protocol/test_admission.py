"""Params and results are checked once on the way in and once on the way out."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Payload, RequestId
from suaveplan_mcp.protocol.admission import (
    SealedResult,
    admit_params,
    admit_result,
    invalid_params,
    meta_of,
    progress_token,
    raw_json,
    seal_params,
    seal_result,
    with_progress_token,
)
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.types.base import RequestParams, keep_raw
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.ping import EmptyResult
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult

LIST = METHODS["tools/list"]["client"]
CALL = METHODS["tools/call"]["client"]
PING = METHODS["ping"]["client"]


def plain(value: Payload) -> JsonValue:
    assert isinstance(value, Raw)
    return decode(value)


def a_list_in_itself() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


NOT_JSON: list[Any] = [object(), {"x": {1j}}, {"bad": "\ud800"}, a_list_in_itself()]


# Params that came


def test_a_struct_of_the_right_type_passes_as_it_is() -> None:
    params = PaginatedRequestParams(cursor="x")

    assert params is admit_params(LIST, params)


@pytest.mark.parametrize("params", [UNSET, None, Raw(b"null"), Raw(b"{}"), {}, RequestParams()])
def test_params_that_are_missing_or_empty_are_the_empty_params(params: Payload) -> None:
    assert PaginatedRequestParams() == admit_params(LIST, params)


@pytest.mark.parametrize("params", [Raw(b'{"cursor":"x"}'), {"cursor": "x"}, {"cursor": "x", "unknown": 1}])
def test_raw_and_plain_json_become_the_type_of_the_method(params: Payload) -> None:
    assert PaginatedRequestParams(cursor="x") == admit_params(LIST, params)


@pytest.mark.parametrize(
    ("params", "path", "reason"),
    [
        (Raw(b'{"name":42}'), "name", "Expected `str`, got `int`"),
        ({"name": 42}, "name", "Expected `str`, got `int`"),
        (UNSET, "name", "Object missing required field `name`"),
        (None, "name", "Object missing required field `name`"),
        ([1], "(root)", "Expected `object`, got `array`"),
        ({"name": "x", "_meta": 5}, "_meta", "Expected `object | null`, got `int`"),
        ({"name": "x", "task": {"ttl": "soon"}}, "task.ttl", "Expected `int | null`, got `str`"),
    ],
)
def test_malformed_params_are_refused_with_the_path_and_the_reason(params: Payload, path: str, reason: str) -> None:
    with pytest.raises(MCPError) as caught:
        admit_params(CALL, params)

    error = caught.value
    assert (MCP_CODES.INVALID_PARAMS, "Invalid request parameters") == (error.code, error.message)
    assert {"code": MCP_CODES.INVALID_PARAMS, "path": path, "reason": reason} == error.data
    assert {"path": path, "reason": reason} == error.context


@pytest.mark.parametrize("params", NOT_JSON)
def test_params_that_are_no_json_are_refused(params: Any) -> None:
    with pytest.raises(MCPError) as caught:
        admit_params(LIST, params)

    assert MCP_CODES.INVALID_PARAMS == caught.value.code


def test_params_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        admit_params(LIST, Raw(b'{"_meta":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"))


def test_arguments_are_not_shared_with_the_caller() -> None:
    numbers: list[JsonValue] = [1]
    params = admit_params(CALL, {"name": "x", "arguments": {"n": numbers}})
    numbers.append(2)

    assert isinstance(params, CallToolRequestParams)
    assert {"n": [1]} == plain(params.arguments)


def test_an_error_of_params_carries_where_and_what() -> None:
    error = invalid_params("a.b", "too big")

    assert {"code": "MCP.INVALID_PARAMS", "path": "a.b", "reason": "too big"} == error.data


# `_meta` and progress tokens


@pytest.mark.parametrize(
    ("params", "meta"),
    [
        (RequestParams(meta={"a": 1}), {"a": 1}),
        ({"_meta": {"a": 1}}, {"a": 1}),
        ({"_meta": 5}, None),
        ({}, None),
        (RequestParams(), None),
        ([1], None),
        (None, None),
        (UNSET, None),
        (Raw(b'{"_meta":{"a":1}}'), None),
    ],
)
def test_meta_is_found_in_structs_and_in_plain_json(params: Payload, meta: JsonValue) -> None:
    assert meta == meta_of(params)


@pytest.mark.parametrize("token", [0, "", 1, "1", -5, 2**70])
def test_a_progress_token_keeps_its_value_and_type(token: RequestId) -> None:
    found = progress_token({"progressToken": token})

    assert (type(token), token) == (type(found), found)


@pytest.mark.parametrize("meta", [None, {}, {"other": 1}, {"progressToken": None}])
def test_no_token_asks_for_no_progress(meta: dict[str, JsonValue] | None) -> None:
    assert progress_token(meta) is None


@pytest.mark.parametrize("token", [1.5, True, [1], {"a": 1}])
def test_a_token_that_is_neither_string_nor_integer_is_refused(token: JsonValue) -> None:
    with pytest.raises(MCPError) as caught:
        progress_token({"progressToken": token})

    assert "_meta.progressToken" == caught.value.context["path"]


@pytest.mark.parametrize("token", [0, "", "x"])
def test_a_token_is_added_and_everything_else_stays(token: RequestId) -> None:
    plain_params: JsonObject = {"a": 1, "_meta": {"b": 2}}

    assert {"a": 1, "_meta": {"b": 2, "progressToken": token}} == with_progress_token(plain_params, token)
    assert {"a": 1, "_meta": {"b": 2}} == plain_params
    assert PaginatedRequestParams(cursor="c", meta={"progressToken": token}) == with_progress_token(
        PaginatedRequestParams(cursor="c"), token
    )


@pytest.mark.parametrize("params", [None, UNSET, {}, Raw(b"{}"), {"_meta": None}])
def test_a_token_alone_makes_params(params: Payload) -> None:
    assert {"_meta": {"progressToken": 7}} == with_progress_token(params, 7)


@pytest.mark.parametrize("params", [[1, 2], "text", {"_meta": 5}, Raw(b"[1]")])
def test_params_that_cannot_carry_a_token_are_not_replaced(params: Payload) -> None:
    assert params is with_progress_token(params, 7)


def test_broken_raw_params_cannot_carry_a_token() -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        with_progress_token(Raw(b"{"), 7)


# Params to send


def test_a_struct_of_the_right_type_is_sent_as_it_is() -> None:
    params = PaginatedRequestParams(cursor="x")

    assert params is seal_params(LIST, params, None)


@pytest.mark.parametrize("params", [None, UNSET])
def test_no_params_are_sent_as_none(params: Payload) -> None:
    assert UNSET is seal_params(LIST, params, None)


def test_plain_params_are_sent_with_all_that_is_in_them() -> None:
    assert {"cursor": "x", "vendor": [1]} == plain(seal_params(LIST, {"cursor": "x", "vendor": [1]}, None))


def test_a_progress_token_is_sent_in_meta() -> None:
    assert PaginatedRequestParams(cursor="x", meta={"a": 1, "progressToken": 0}) == seal_params(
        LIST, PaginatedRequestParams(cursor="x", meta={"a": 1}), 0
    )
    assert {"cursor": "x", "_meta": {"progressToken": 0}} == plain(seal_params(LIST, {"cursor": "x"}, 0))


@pytest.mark.parametrize("token", [None, 0])
@pytest.mark.parametrize("params", [{"name": 1}, None, [1], {"name": "x", "_meta": 5}])
def test_params_that_do_not_fit_are_not_sent(params: Payload, token: RequestId | None) -> None:
    with pytest.raises(MCPError) as caught:
        seal_params(CALL, params, token)

    assert MCP_CODES.INVALID_PARAMS == caught.value.code


# Results that came


def test_a_result_struct_of_the_right_type_passes_as_it_is() -> None:
    result = ListToolsResult(tools=[])

    assert (result, ()) == admit_result(LIST, result)
    assert result is admit_result(LIST, result)[0]


@pytest.mark.parametrize("result", [Raw(b'{"content":[]}'), {"content": []}])
def test_a_raw_or_plain_result_becomes_the_type_of_the_method(result: Payload) -> None:
    assert (CallToolResult(content=[]), ()) == admit_result(CALL, result)


@pytest.mark.parametrize(
    ("result", "path"), [({"content": 5}, "content"), ([], "(root)"), (None, "(root)"), (Raw(b"{"), "(root)")]
)
def test_a_malformed_result_names_the_method_and_the_path(result: Payload, path: str) -> None:
    with pytest.raises(MCPProtocolError) as caught:
        admit_result(CALL, result)

    error = caught.value
    assert MCP_CODES.PROTOCOL_INVALID == error.code
    assert error.message.startswith(f"the result of tools/call is malformed at {path}: ")
    assert ("tools/call", path) == (error.context["method"], error.context["path"])
    assert error.cause is not None


@pytest.mark.parametrize("result", NOT_JSON)
def test_a_result_that_is_no_json_is_the_fault_of_the_peer(result: Any) -> None:
    with pytest.raises(MCPProtocolError) as caught:
        admit_result(CALL, result)

    assert MCP_CODES.PROTOCOL_INVALID == caught.value.code


# Results to send


def test_a_result_struct_of_the_right_type_is_sent_as_it_is() -> None:
    result = CallToolResult(content=[TextContent(text="x")])

    assert result is seal_result(CALL, result)


def test_raw_json_is_sent_as_it_is() -> None:
    result = Raw(b'{"anything":1}')

    assert result is seal_result(CALL, result)


def test_a_received_result_of_another_type_is_sent_in_its_raw_form() -> None:
    class Foreign(CallToolResult, frozen=True, kw_only=True):
        pass

    result, raw = Foreign(content=[]), Raw(b'{"content":[],"vendor":1}')
    keep_raw(result, raw)

    assert raw is seal_result(CALL, result)


def test_a_plain_result_is_checked_and_sent_with_all_that_is_in_it() -> None:
    assert {"content": [], "vendor": 1} == plain(seal_result(CALL, {"content": [], "vendor": 1}))


def test_a_struct_of_another_type_but_the_same_shape_is_sent() -> None:
    assert {} == plain(seal_result(PING, RequestParams()))


def test_no_result_is_the_empty_result() -> None:
    assert {} == plain(seal_result(PING, None))
    assert EmptyResult() == admit_result(PING, seal_result(PING, None))[0]


@pytest.mark.parametrize("result", [*NOT_JSON, None, [], {"content": 5}, UNSET])
def test_a_wrong_result_is_the_fault_of_the_handler(result: Any) -> None:
    with pytest.raises(MCPError, match=r"^the handler of tools/call returned a wrong result at ") as caught:
        seal_result(CALL, result)

    assert MCP_CODES.HANDLER_FAILED == caught.value.code
    assert {"method": "tools/call"} == caught.value.context


def test_json_is_written_without_being_shared() -> None:
    inner: list[JsonValue] = [1]
    raw = raw_json({"a": inner})
    inner.append(2)

    assert {"a": [1]} == plain(raw)


def test_a_result_that_is_sealed_already_is_neither_read_nor_written_again() -> None:
    json = Raw(b'{"content":"whatever its maker wrote"}')

    assert json is seal_result(CALL, SealedResult(json))
