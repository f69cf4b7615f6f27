"""Arguments of tools that travel as HTTP headers too."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from suaveplan_mcp.errors import HEADER_MISMATCH, MCPError
from suaveplan_mcp.protocol.header_values import decode_header_value
from suaveplan_mcp.protocol.param_headers import (
    MAX_DEPTH,
    SAFE_INTEGER,
    ParamHeader,
    ParamHeaderError,
    check_param_headers,
    find_param_headers,
    headers_of,
    read_arguments,
)

REGION = {"type": "string", "x-mcp-header": "Region"}
FOUND = (
    ParamHeader("Mcp-Param-Region", ("region",), "string"),
    ParamHeader("Mcp-Param-Count", ("limits", "count"), "integer"),
    ParamHeader("Mcp-Param-Dry", ("dry",), "boolean"),
)


def schema_of(**properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def refusal_of(schema: dict[str, Any]) -> str:
    with pytest.raises(ParamHeaderError) as caught:
        find_param_headers(schema)
    return str(caught.value)


def mismatch_of(headers: dict[str, str], arguments: dict[str, Any]) -> str:
    with pytest.raises(MCPError) as caught:
        check_param_headers(FOUND, headers, arguments)
    assert HEADER_MISMATCH == caught.value.jsonrpc_code
    return caught.value.message.removeprefix("Header mismatch: ")


# Which parameters


def test_parameters_are_found_in_the_order_of_the_schema_however_deep_in_properties() -> None:
    schema = schema_of(
        region=REGION,
        limits=schema_of(count={"type": "integer", "x-mcp-header": "Count"}),
        query={"type": "string"},
        dry={"type": "boolean", "x-mcp-header": "Dry"},
    )

    assert FOUND == find_param_headers(schema)


def test_a_schema_without_annotations_has_no_headers() -> None:
    assert () == find_param_headers({})
    assert () == find_param_headers(schema_of(a={"type": "array", "items": {"anyOf": [{"type": "string"}, True]}}))


def test_a_name_that_looks_like_a_standard_header_is_like_any_other() -> None:
    (found,) = find_param_headers(schema_of(m={"type": "string", "x-mcp-header": "Method"}))

    assert "Mcp-Param-Method" == found.header


def test_a_parameter_may_be_called_like_the_annotation() -> None:
    (found,) = find_param_headers(schema_of(**{"x-mcp-header": REGION}))

    assert ("x-mcp-header",) == found.path


@pytest.mark.parametrize(
    "data",
    [
        {"default": {"x-mcp-header": "A"}},
        {"const": {"x-mcp-header": "A"}},
        {"examples": [{"x-mcp-header": "A"}]},
        {"enum": [{"x-mcp-header": "A"}]},
        {"x-vendor": {"x-mcp-header": "A"}},
    ],
)
def test_what_is_no_schema_holds_no_annotations(data: dict[str, object]) -> None:
    assert () == find_param_headers(schema_of(a={"type": "object", **data}))


def test_malformed_schemas_inside_are_passed_over() -> None:
    schema: dict[str, Any] = {
        "properties": [1],
        "$defs": None,
        "anyOf": "x",
        "items": 5,
        "allOf": [None, True, []],
        "not": True,
    }

    assert () == find_param_headers({**schema, "dependencies": {"a": ["b"]}})


@pytest.mark.parametrize("name", ["", "A B", "A:B", "Région", "Region\t1", "a\r\nX-Evil: 1", "A\x00", "Region\n"])
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    assert "cannot be a part of the name of a header" in refusal_of(
        schema_of(a={"type": "string", "x-mcp-header": name})
    )


@pytest.mark.parametrize("name", [None, 5, True, ["A"], {"a": 1}])
def test_a_name_that_is_no_string_is_refused(name: object) -> None:
    assert "x-mcp-header at 'inputSchema.properties.a': the name of a header is a string" == refusal_of(
        schema_of(a={"type": "string", "x-mcp-header": name})
    )


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", "STRING", None, ["string", "null"], {}, 7])
def test_a_parameter_of_another_type_is_refused(kind: object) -> None:
    expected = (
        "x-mcp-header at 'inputSchema.properties.a': only a parameter whose type is string, integer or boolean may "
        "have a header"
    )

    assert expected == refusal_of(schema_of(a={"type": kind, "x-mcp-header": "A"}))
    assert expected == refusal_of(schema_of(a={"x-mcp-header": "A"}))


def test_names_that_differ_in_case_alone_are_the_same() -> None:
    schema = schema_of(a=REGION, b=schema_of(c={"type": "string", "x-mcp-header": "REGION"}))

    assert (
        "x-mcp-header at 'inputSchema.properties.b.properties.c': Mcp-Param-REGION is the header of 'a' already"
        == refusal_of(schema)
    )


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        (REGION, "inputSchema"),
        (schema_of(a={"items": REGION}), "inputSchema.properties.a.items"),
        (schema_of(a={"items": [REGION]}), "inputSchema.properties.a.items"),
        (schema_of(a={"prefixItems": [True, REGION]}), "inputSchema.properties.a.prefixItems"),
        (schema_of(a={"contains": schema_of(b=REGION)}), "inputSchema.properties.a.contains.properties.b"),
        (schema_of(a={"anyOf": [REGION, {"type": "null"}]}), "inputSchema.properties.a.anyOf"),
        ({"allOf": [schema_of(a=REGION)]}, "inputSchema.allOf.properties.a"),
        ({"oneOf": [schema_of(a=REGION)]}, "inputSchema.oneOf.properties.a"),
        ({"not": schema_of(a=REGION)}, "inputSchema.not.properties.a"),
        ({"if": schema_of(a=REGION)}, "inputSchema.if.properties.a"),
        ({"then": schema_of(a=REGION)}, "inputSchema.then.properties.a"),
        ({"else": schema_of(a=REGION)}, "inputSchema.else.properties.a"),
        ({"$defs": {"r": REGION}}, "inputSchema.$defs.r"),
        ({"definitions": {"r": REGION}}, "inputSchema.definitions.r"),
        ({"patternProperties": {"^a": REGION}}, "inputSchema.patternProperties.^a"),
        ({"additionalProperties": REGION}, "inputSchema.additionalProperties"),
        ({"unevaluatedProperties": REGION}, "inputSchema.unevaluatedProperties"),
        ({"unevaluatedItems": REGION}, "inputSchema.unevaluatedItems"),
        ({"additionalItems": REGION}, "inputSchema.additionalItems"),
        ({"propertyNames": REGION}, "inputSchema.propertyNames"),
        ({"contentSchema": REGION}, "inputSchema.contentSchema"),
        ({"dependentSchemas": {"a": schema_of(a=REGION)}}, "inputSchema.dependentSchemas.a.properties.a"),
        ({"dependencies": {"a": schema_of(a=REGION)}}, "inputSchema.dependencies.a.properties.a"),
    ],
)
def test_an_annotation_out_of_reach_is_refused_wherever_it_is(schema: dict[str, Any], where: str) -> None:
    expected = (
        f"x-mcp-header at {where!r}: only a property that is reached through `properties` alone may have a header"
    )

    assert expected == refusal_of(schema)


def test_a_reference_is_not_followed_not_even_in_a_circle() -> None:
    schema = schema_of(a={"$ref": "#"}, b={"$ref": "#/properties/b"}, c={"$ref": "http://127.0.0.1:9/x", **REGION})

    assert (ParamHeader("Mcp-Param-Region", ("c",), "string"),) == find_param_headers(schema)


@pytest.mark.parametrize("keyword", ["properties", "not", "items"])
def test_a_schema_is_looked_through_to_the_last_depth_and_refused_below(keyword: str) -> None:
    def nest(depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(depth):
            schema = {keyword: {"a": schema} if keyword == "properties" else schema}
        return schema

    assert () == find_param_headers(nest(MAX_DEPTH))
    assert "more than 256 schemas stand inside one another" in refusal_of(nest(MAX_DEPTH + 1))


def test_a_schema_that_holds_itself_ends_in_a_refusal() -> None:
    schema = schema_of(a=REGION)
    schema["properties"]["b"] = schema

    assert refusal_of(schema)


def test_a_wide_and_deep_schema_is_looked_through_once() -> None:
    looked: list[str] = []

    class Counting(dict[str, Any]):
        def items(self) -> Any:
            looked.append("")
            return super().items()

    inner = [Counting(type="string") for _ in range(20_000)]
    schema: dict[str, Any] = {"anyOf": inner}
    for _ in range(200):
        schema = {"not": schema}

    assert () == find_param_headers(schema)
    assert 20_000 == len(looked)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["properties", "type"]), inner),
)


@given(st.dictionaries(st.sampled_from(["properties", "items", "x-mcp-header", "type", "anyOf", "$ref"]), JSON))
def test_any_schema_has_headers_or_a_reason_why_not(schema: dict[str, Any]) -> None:
    try:
        found = find_param_headers(schema)
    except ParamHeaderError:
        return

    assert len(found) == len({parameter.header.lower() for parameter in found})


# What they say


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1", "query": "SELECT 1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": " pad "}, {"Mcp-Param-Region": "=?base64?IHBhZCA=?="}),
        ({"region": "a\r\nX-Evil: 1"}, {"Mcp-Param-Region": "=?base64?YQ0KWC1FdmlsOiAx?="}),
        ({"limits": {"count": 42}, "dry": False}, {"Mcp-Param-Count": "42", "Mcp-Param-Dry": "false"}),
        ({"limits": {"count": -7.0}, "dry": True}, {"Mcp-Param-Count": "-7", "Mcp-Param-Dry": "true"}),
        ({"limits": {"count": SAFE_INTEGER}}, {"Mcp-Param-Count": "9007199254740991"}),
        ({"region": None, "limits": None, "dry": None}, {}),
        ({}, {}),
        ({"region": 5, "dry": "true"}, {"Mcp-Param-Region": "5", "Mcp-Param-Dry": "true"}),
    ],
)
def test_arguments_go_out_as_headers(arguments: dict[str, Any], headers: dict[str, str]) -> None:
    assert headers == headers_of(FOUND, arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"limits": {"count": SAFE_INTEGER + 1}},
        {"limits": {"count": -SAFE_INTEGER - 1}},
        {"limits": {"count": 10**5000}},
        {"limits": {"count": 1.5}},
        {"limits": {"count": float("nan")}},
        {"limits": {"count": float("inf")}},
        {"limits": {"count": [1]}},
        {"limits": "count"},
        {"limits": [{"count": 1}]},
        {"region": {"a": 1}},
        {"region": "\ud800"},
    ],
)
def test_what_no_header_can_carry_is_left_out(arguments: dict[str, Any]) -> None:
    assert {} == headers_of(FOUND, arguments)


# Whether they agree

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]))


@given(st.fixed_dictionaries({"region": SCALARS, "limits": st.fixed_dictionaries({"count": SCALARS}), "dry": SCALARS}))
def test_the_headers_of_a_call_always_agree_with_it(arguments: dict[str, Any]) -> None:
    values = [arguments["region"], arguments["limits"]["count"], arguments["dry"]]
    headers = {name.lower(): value for name, value in headers_of(FOUND, arguments).items()}

    if any(isinstance(value, int) and abs(value) > SAFE_INTEGER for value in values):
        assert "is beyond" in mismatch_of(headers, arguments)
    else:
        check_param_headers(FOUND, headers, arguments)


@pytest.mark.parametrize("value", ["42", "42.0", "042", "42.", " 42 ", "=?base64?NDI=?=", "42.000"])
def test_an_integer_is_compared_as_a_number(value: str) -> None:
    for count in (42, 42.0):
        check_param_headers(FOUND, {"mcp-param-count": value}, {"limits": {"count": count}})


@pytest.mark.parametrize("value", ["43", "-42", "42.5", "4.2e1", "+42", "0x2a", "", "42, 42", "1" * 5000, "٤٢"])
def test_another_number_or_none_is_a_mismatch(value: str) -> None:
    assert "Mcp-Param-Count is " in mismatch_of({"mcp-param-count": value}, {"limits": {"count": 42}})


def test_zero_has_one_value_with_either_sign() -> None:
    check_param_headers(FOUND, {"mcp-param-count": "-0"}, {"limits": {"count": 0}})


@pytest.mark.parametrize("value", ["fast", " fast ", "=?base64?ZmFzdA==?="])
def test_a_text_may_be_wrapped_without_need_and_have_space_around_it(value: str) -> None:
    check_param_headers(FOUND, {"mcp-param-region": value}, {"region": "fast"})


def test_a_header_of_no_parameter_says_nothing() -> None:
    check_param_headers(FOUND, {"mcp-param-other": "\xff", "mcp-name": "x"}, {})


@pytest.mark.parametrize(
    ("headers", "arguments", "text"),
    [
        ({"region": "fast"}, {"region": "Fast"}, "Mcp-Param-Region is 'fast', but the argument region is 'Fast'"),
        ({"region": "a, a"}, {"region": "a"}, "Mcp-Param-Region is 'a, a', but the argument region is 'a'"),
        (
            {"region": "=?BASE64?ZmFzdA==?="},
            {"region": "fast"},
            "Mcp-Param-Region is '=?BASE64?ZmFzdA==?=', but the argument region is 'fast'",
        ),
        ({"dry": "True"}, {"dry": True}, "Mcp-Param-Dry is 'True', but the argument dry is 'true'"),
        ({"dry": "1"}, {"dry": True}, "Mcp-Param-Dry is '1', but the argument dry is 'true'"),
        ({}, {"region": ""}, "Mcp-Param-Region is missing, but the argument region is there"),
        ({}, {"limits": {"count": 0}}, "Mcp-Param-Count is missing, but the argument limits.count is there"),
        ({}, {"limits": {"count": "42"}}, "Mcp-Param-Count is missing, but the argument limits.count is there"),
        (
            {"region": ""},
            {"region": None},
            "Mcp-Param-Region is there, but the argument region has no value that a header can carry",
        ),
        (
            {"count": "1.5"},
            {"limits": {"count": 1.5}},
            "Mcp-Param-Count is there, but the argument limits.count has no value that a header can carry",
        ),
        (
            {},
            {"limits": {"count": 2**53}},
            "Mcp-Param-Count is missing: the argument limits.count is beyond ±9007199254740991",
        ),
        (
            {},
            {"limits": {"count": 1e300}},
            "Mcp-Param-Count is missing: the argument limits.count is beyond ±9007199254740991",
        ),
        (
            {"region": "b\xfcro"},
            {"region": "büro"},
            "Mcp-Param-Region is malformed: it holds a character that is neither visible ASCII nor a space",
        ),
        (
            {"region": "=?base64?SGVsbG8?="},
            {"region": "Hello"},
            "Mcp-Param-Region is malformed: it is marked as base64, but holds none of any text in UTF-8",
        ),
    ],
)
def test_a_mismatch_names_the_header_and_the_argument(
    headers: dict[str, str], arguments: dict[str, Any], text: str
) -> None:
    assert text == mismatch_of({f"mcp-param-{name}": value for name, value in headers.items()}, arguments)


@pytest.mark.parametrize("arguments", [{"region": ["a"]}, {"limits": {"count": 1.5}}, {"dry": {}}, {"limits": 5}])
def test_a_value_of_an_impossible_type_is_left_to_the_tool_to_refuse(arguments: dict[str, Any]) -> None:
    check_param_headers(FOUND, {}, arguments)


def test_arguments_are_read_from_json_and_what_is_no_object_has_none() -> None:
    assert {"a": 1} == read_arguments(Raw(b'{"a":1}'))
    assert {} == read_arguments(UNSET)
    assert {} == read_arguments(Raw(b"[1]"))
    assert {} == read_arguments(Raw(b'{"a":' + b"[" * 100_000))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_can_be_read_back_from_its_header(text: str) -> None:
    assert text == decode_header_value(headers_of(FOUND, {"region": text})["Mcp-Param-Region"])
