import json

import msgspec
import pytest
from msgspec import UNSET, Raw

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.jsonrpc.messages import JsonValue
from suaveplan_mcp.types import CallToolRequestParams, CallToolResult, Tool

HUGE = 123456789012345678901234567890


def test_arguments_stay_encoded() -> None:
    params = msgspec.json.decode(b'{"name":"wave","arguments": {"n": 1.0, "m": null} }', type=CallToolRequestParams)
    assert Raw(b'{"n": 1.0, "m": null}') == params.arguments
    assert b'{"name":"wave","arguments":{"n": 1.0, "m": null}}' == encode(params)


@pytest.mark.parametrize("wire", [b'{"name":"wave"}', b'{"name":"wave","arguments": null }'])
def test_arguments_that_are_null_or_absent_are_none(wire: bytes) -> None:
    params = msgspec.json.decode(wire, type=CallToolRequestParams)
    assert CallToolRequestParams(name="wave") == params
    assert UNSET is params.arguments
    assert b'{"name":"wave"}' == encode(params)


def test_null_arguments_given_in_python_are_none() -> None:
    assert UNSET is CallToolRequestParams(name="wave", arguments=Raw(b"null")).arguments


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, [[]], [None], HUGE, 0.5])
def test_structured_content_may_be_any_json(value: JsonValue) -> None:
    wire = json.dumps({"content": [], "structuredContent": value})
    result = msgspec.json.decode(wire, type=CallToolResult)
    assert (value, type(value)) == (result.structured_content, type(result.structured_content))
    assert json.loads(wire) == json.loads(encode(result))


def test_structured_content_that_is_absent_is_not_null() -> None:
    result = msgspec.json.decode(b'{"content":[]}', type=CallToolResult)
    assert UNSET is result.structured_content
    assert b'{"content":[]}' == encode(result)


def test_a_result_says_only_that_it_is_an_error_and_not_that_it_is_none() -> None:
    assert b'{"content":[]}' == encode(CallToolResult(content=[], is_error=False))
    assert False is msgspec.json.decode(b'{"content":[]}', type=CallToolResult).is_error


def test_schema_of_a_tool_keeps_every_keyword() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "x-unknown": {"maximum": HUGE}, "default": None}
    tool = msgspec.json.decode(json.dumps({"name": "wave", "inputSchema": schema}), type=Tool)
    assert schema == tool.input_schema
