"""What a request says in HTTP headers beside its body, and whether the two agree."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import encode

from suaveplan_mcp.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MCP_CODES,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_REVISION,
    MCPError,
)
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Message, Notification, Payload, Request, Response
from suaveplan_mcp.protocol.http_binding import (
    HttpBinding,
    find_repeated,
    is_modern,
    request_headers,
    revision_of,
    status_of,
)
from suaveplan_mcp.protocol.param_headers import ParamHeader
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.protocol.stateless import Binding, StatelessEra
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.prompts import GetPromptRequestParams
from suaveplan_mcp.types.resources import ReadResourceRequestParams
from suaveplan_mcp.types.tasks import CancelTaskRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams

META: dict[str, Any] = {PROTOCOL_VERSION_KEY: LATEST, CLIENT_CAPABILITIES_KEY: {}}
REGION = ParamHeader("Mcp-Param-Region", ("region",), "string")
CALL = CallToolRequestParams(name="sql", arguments=Raw(b'{"region":"us-west1"}'))


def forms_of(params: dict[str, Any], struct: Payload) -> list[Payload]:
    return [params, Raw(encode(params)), struct]


def binding_of(**headers: str) -> Binding:
    return HttpBinding(
        {name.replace("_", "-"): value for name, value in headers.items()},
        lambda tool: (REGION,) if tool == "sql" else (),
    )


def refusal_of(check: Any, *arguments: object) -> str:
    with pytest.raises(MCPError) as caught:
        check(*arguments)
    assert HEADER_MISMATCH == caught.value.jsonrpc_code
    return caught.value.message.removeprefix("Header mismatch: ")


# Which revision


@pytest.mark.parametrize("params", forms_of({"cursor": "c", "_meta": META}, PaginatedRequestParams(meta=META)))
def test_a_message_names_its_revision_whatever_form_its_params_have(params: Payload) -> None:
    assert LATEST == revision_of(Request(1, "tools/list", params))
    assert LATEST == revision_of(Notification("notifications/cancelled", params))
    assert is_modern(params)


@pytest.mark.parametrize(
    "params",
    [
        UNSET,
        None,
        {},
        [1],
        Raw(b"null"),
        Raw(b"[]"),
        Raw(b"{"),
        Raw(b'{"_meta":null}'),
        Raw(b'{"_meta":5}'),
        Raw(b'{"a":' + b"[" * 100_000),
        *forms_of({"_meta": {}}, RequestParams(meta={})),
        *forms_of({"_meta": {PROTOCOL_VERSION_KEY: 5}}, RequestParams(meta={PROTOCOL_VERSION_KEY: 5})),
        {"_meta": LATEST},
        RequestParams(),
    ],
)
def test_a_message_that_names_no_revision_has_none(params: Payload) -> None:
    assert None is revision_of(Request(1, "tools/list", params))


@pytest.mark.parametrize("message", [Response(1, {"_meta": META}), InvalidMessage(-32700, "broken")])
def test_what_is_no_request_has_no_revision(message: Message) -> None:
    assert None is revision_of(message)


# What goes out


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        *(("tools/call", params, "sql") for params in forms_of({"name": "sql", "arguments": {}}, CALL)),
        *(("prompts/get", params, "p") for params in forms_of({"name": "p"}, GetPromptRequestParams(name="p"))),
        *(
            ("resources/read", params, "file:///a")
            for params in forms_of({"uri": "file:///a"}, ReadResourceRequestParams(uri="file:///a"))
        ),
        *(
            ("tasks/cancel", params, "t-1")
            for params in forms_of({"taskId": "t-1"}, CancelTaskRequestParams(task_id="t-1"))
        ),
        ("tasks/get", {"taskId": "t-1"}, "t-1"),
        ("tasks/update", {"taskId": "t-1"}, "t-1"),
        ("tools/call", {"name": "büro"}, "=?base64?YsO8cm8=?="),
        ("tools/call", {"name": "a\r\nX-Evil: 1"}, "=?base64?YQ0KWC1FdmlsOiAx?="),
        ("tools/call", {"name": ""}, ""),
    ],
)
def test_a_request_goes_out_with_what_it_is_about(method: str, params: Payload, name: str) -> None:
    expected = {"mcp-protocol-version": LATEST, "mcp-method": method, "mcp-name": name}

    assert expected == request_headers(Request(1, method, params), LATEST)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {"name": "x"}),
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", UNSET),
        ("tools/call", None),
        ("tools/call", Raw(b"[]")),
        ("tools/call", RequestParams()),
    ],
)
def test_other_requests_go_out_with_their_method_alone(method: str, params: Payload) -> None:
    expected = {"mcp-protocol-version": LATEST, "mcp-method": method}

    assert expected == request_headers(Request(1, method, params), LATEST)


@pytest.mark.parametrize("method", ["", "a b", "a\r\nX-Evil: 1", "bü", "a\x7f"])
def test_a_method_that_no_header_can_carry_is_not_sent(method: str) -> None:
    with pytest.raises(MCPError, match="the method .* cannot be sent in a header") as caught:
        request_headers(Notification(method), LATEST)
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


def test_a_revision_that_no_header_can_carry_is_not_sent() -> None:
    with pytest.raises(MCPError, match="the revision .* cannot be sent in a header"):
        request_headers(Request(1, "tools/list"), "1\r\n2")


def test_a_name_that_is_no_text_is_not_sent() -> None:
    with pytest.raises(MCPError, match=r"the name of tools/call 'a\\ud800' cannot be sent in a header") as caught:
        request_headers(Request(1, "tools/call", {"name": "a\ud800"}), LATEST)
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


# What comes in


def test_headers_that_agree_with_the_body_pass() -> None:
    binding = binding_of(
        mcp_protocol_version=f" {LATEST}", mcp_method="tools/call\t", mcp_name=" sql ", mcp_param_region="us-west1"
    )

    binding.check_revision(LATEST)
    binding.check_method("tools/call")
    binding.check_params("tools/call", CALL)


def test_what_a_client_sends_passes_at_a_server() -> None:
    for method, params in [
        ("tools/call", CallToolRequestParams(name="büro")),
        ("resources/read", ReadResourceRequestParams(uri="file:///notes/résumé.txt")),
        ("prompts/get", GetPromptRequestParams(name=" pad ")),
        ("tasks/cancel", CancelTaskRequestParams(task_id="=?base64?ZmFzdA==?=")),
        ("tools/list", PaginatedRequestParams()),
    ]:
        binding = HttpBinding(request_headers(Request(1, method, params), LATEST), lambda _: ())

        binding.check_revision(LATEST)
        binding.check_method(method)
        binding.check_params(method, params)


@pytest.mark.parametrize(
    "params", [CallToolRequestParams(name="fast"), CallToolRequestParams(name="fast", arguments=Raw(b"[1]"))]
)
def test_a_plain_name_may_come_wrapped(params: CallToolRequestParams) -> None:
    binding_of(mcp_name="=?base64?ZmFzdA==?=").check_params("tools/call", params)


def test_an_extension_may_have_params_without_the_member_that_others_have() -> None:
    binding_of().check_params("tasks/get", RequestParams())


def test_a_missing_header_is_named() -> None:
    binding = binding_of()

    assert "MCP-Protocol-Version is missing" == refusal_of(binding.check_revision, LATEST)
    assert "Mcp-Method is missing" == refusal_of(binding.check_method, "tools/list")
    assert "Mcp-Name is missing" == refusal_of(binding.check_params, "tools/call", CALL)
    assert "Mcp-Param-Region is missing, but the argument region is there" == refusal_of(
        binding_of(mcp_name="sql").check_params, "tools/call", CALL
    )


def test_a_header_that_says_something_else_is_named_with_both_values() -> None:
    binding = binding_of(mcp_protocol_version=LATEST_HANDSHAKE, mcp_method="Tools/Call", mcp_name="SQL")

    assert f"MCP-Protocol-Version is '{LATEST_HANDSHAKE}', but the body says '{LATEST}'" == refusal_of(
        binding.check_revision, LATEST
    )
    assert "Mcp-Method is 'Tools/Call', but the body says 'tools/call'" == refusal_of(
        binding.check_method, "tools/call"
    )
    assert "Mcp-Name is 'SQL', but the body says 'sql'" == refusal_of(binding.check_params, "tools/call", CALL)


def test_the_method_and_the_revision_are_never_wrapped() -> None:
    binding = binding_of(mcp_method="=?base64?dG9vbHMvbGlzdA==?=")

    assert "but the body says 'tools/list'" in refusal_of(binding.check_method, "tools/list")


def test_a_header_that_came_twice_agrees_with_nothing() -> None:
    binding = binding_of(mcp_protocol_version=f"{LATEST}, {LATEST}", mcp_method="tools/call, tools/call")

    assert refusal_of(binding.check_revision, LATEST)
    assert refusal_of(binding.check_method, "tools/call")


@pytest.mark.parametrize("value", ["b\xfcro", "=?base64?/w==?=", "=?base64?YsO8cm8?="])
def test_a_malformed_name_is_refused(value: str) -> None:
    assert "Mcp-Name is malformed: it" in refusal_of(
        binding_of(mcp_name=value).check_params, "tools/call", CallToolRequestParams(name="büro")
    )


def test_a_tool_without_parameter_headers_is_not_read_into() -> None:
    params = CallToolRequestParams(name="other", arguments=Raw(b"not even JSON"))

    binding_of(mcp_name="other", mcp_param_region="x").check_params("tools/call", params)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"MCP-Protocol-Version", "mcp-protocol-version"),
        (b"Mcp-Method", "mcp-method"),
        (b"mcp-name", "mcp-name"),
        (b"Mcp-Param-Region", "mcp-param-region"),
        (b"Accept", None),
        (b"\xff", None),
    ],
)
def test_a_header_that_may_come_once_is_found_when_it_comes_twice(name: bytes, expected: str | None) -> None:
    headers = [(name, b"a"), (b"mcp-session-id", b"s"), (name.lower(), b"b")]

    assert expected == find_repeated(headers)
    assert None is find_repeated(headers[:2])


# What the answer's status is


@pytest.mark.parametrize(
    ("status", "numbers"),
    [
        (404, [METHOD_NOT_FOUND]),
        (
            400,
            [PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_REVISION],
        ),
        (200, [INTERNAL_ERROR, -31001, 4001, 0]),
    ],
)
def test_an_error_has_the_status_that_the_specification_gives_it(status: int, numbers: list[int]) -> None:
    assert [status] * len(numbers) == [status_of(number) for number in numbers]


# With the rules of the era

OLD = "no revision"
GOOD: dict[str, Any] = {"name": "sql", "arguments": {"region": "us-west1"}, "_meta": META}
HEADERS = {
    "mcp-protocol-version": LATEST,
    "mcp-method": "tools/call",
    "mcp-name": "sql",
    "mcp-param-region": "us-west1",
}


def number_of(method: str, params: object, headers: dict[str, str | None]) -> int | None:
    """Return the number that a server answers with, None where it serves the request."""
    sent = {name: value for name, value in {**HEADERS, **headers}.items() if value is not None}
    era = StatelessEra("server", {"tools/call"}, binding=HttpBinding(sent, lambda _: (REGION,)))
    try:
        era.admit_request(Request(1, method, Raw(encode(params))))
    except MCPError as error:
        return error.jsonrpc_code
    return None


@pytest.mark.parametrize(
    ("params", "headers", "number"),
    [
        ({}, {}, None),
        ({}, {"mcp-name": "=?base64?c3Fs?="}, None),
        ({}, {"mcp-protocol-version": None}, HEADER_MISMATCH),
        ({}, {"mcp-protocol-version": LATEST_HANDSHAKE}, HEADER_MISMATCH),
        ({}, {"mcp-method": None}, HEADER_MISMATCH),
        ({}, {"mcp-method": "Tools/Call"}, HEADER_MISMATCH),
        ({}, {"mcp-name": None}, HEADER_MISMATCH),
        ({}, {"mcp-name": "=?base64?c3F?="}, HEADER_MISMATCH),
        ({}, {"mcp-param-region": None}, HEADER_MISMATCH),
        ({"arguments": {}}, {}, HEADER_MISMATCH),
        ({"arguments": {}}, {"mcp-param-region": None}, None),
        ({"_meta": {}}, {"mcp-protocol-version": None}, INVALID_PARAMS),
        ({"_meta": {**META, PROTOCOL_VERSION_KEY: 5}}, {}, INVALID_PARAMS),
        ({"_meta": {**META, PROTOCOL_VERSION_KEY: OLD}}, {}, HEADER_MISMATCH),
        ({"_meta": {**META, PROTOCOL_VERSION_KEY: OLD}}, {"mcp-protocol-version": OLD}, UNSUPPORTED_REVISION),
        (
            {"_meta": {**META, PROTOCOL_VERSION_KEY: OLD}},
            {"mcp-protocol-version": OLD, "mcp-method": None},
            UNSUPPORTED_REVISION,
        ),
        ({"name": 5}, {"mcp-name": None}, INVALID_PARAMS),
    ],
)
def test_the_first_thing_that_is_wrong_decides_the_answer(
    params: dict[str, Any], headers: dict[str, str | None], number: int | None
) -> None:
    assert number == number_of("tools/call", {**GOOD, **params}, headers)


@pytest.mark.parametrize(
    ("headers", "number"),
    [
        ({"mcp-method": "tools/nonsense"}, METHOD_NOT_FOUND),
        ({"mcp-method": "tools/nonsense", "mcp-name": None}, METHOD_NOT_FOUND),
        ({}, HEADER_MISMATCH),
        ({"mcp-method": "tools/nonsense", "mcp-protocol-version": None}, HEADER_MISMATCH),
    ],
)
def test_a_method_that_is_not_served_is_told_where_the_headers_agree(
    headers: dict[str, str | None], number: int
) -> None:
    assert number == number_of("tools/nonsense", GOOD, headers)
