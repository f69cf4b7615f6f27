"""Telling tools whose arguments may travel as HTTP headers from those that a client must not show."""

from typing import Any

from msgspec import Raw
from msgspec.json import Decoder, encode

from suaveplan_mcp.client.header_annotations import describe_refusal, sort_out
from suaveplan_mcp.protocol.param_headers import ParamHeader
from suaveplan_mcp.protocol.tolerance import decode_leniently
from suaveplan_mcp.types.tools import ListToolsResult, Tool


def tool_of(name: str, **properties: object) -> Tool:
    return Tool(name=name, input_schema={"type": "object", "properties": dict[str, Any](properties)})


VALID = tool_of("valid", region={"type": "string", "x-mcp-header": "Region"})
INVALID = [
    tool_of("empty", a={"type": "string", "x-mcp-header": ""}),
    tool_of("object", a={"type": "object", "x-mcp-header": "A"}),
    tool_of("array", a={"type": "array", "x-mcp-header": "A"}),
    tool_of("null", a={"type": "null", "x-mcp-header": "A"}),
    tool_of("number", a={"type": "number", "x-mcp-header": "A"}),
    tool_of("same", a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "A"}),
    tool_of("case", a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"}),
    tool_of("space", a={"type": "string", "x-mcp-header": "A B"}),
    tool_of("colon", a={"type": "string", "x-mcp-header": "A:B"}),
    tool_of("letter", a={"type": "string", "x-mcp-header": "Région"}),
    tool_of("control", a={"type": "string", "x-mcp-header": "A\tB"}),
    tool_of("items", a={"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}),
]


def test_illegal_tools_are_refused_each_for_itself_and_the_others_stay_in_order() -> None:
    plain = tool_of("plain", a={"type": "string"})

    result = sort_out([plain, *INVALID, VALID])

    assert [plain, VALID] == result.kept
    assert {"plain": (), "valid": (ParamHeader("Mcp-Param-Region", ("region",), "string"),)} == result.headers
    assert INVALID == [tool for tool, _ in result.refused]
    assert all(reason.startswith("x-mcp-header at 'inputSchema.properties.") for _, reason in result.refused)


def test_a_tool_that_is_refused_takes_no_other_of_its_name_with_it() -> None:
    twin = tool_of("valid", region={"type": "number", "x-mcp-header": "Region"})

    for tools in ([VALID, twin], [twin, VALID]):
        result = sort_out(tools)

        assert ([VALID], [twin]) == (result.kept, [tool for tool, _ in result.refused])
        assert "Mcp-Param-Region" == result.headers["valid"][0].header


def test_a_tool_keeps_the_json_it_came_as() -> None:
    raw = Raw(encode({"tools": [{"name": "t", "inputSchema": {}, "x-vendor": 7}]}))
    page: Any
    page, _ = decode_leniently(ListToolsResult, Decoder(ListToolsResult), raw)

    (kept,) = sort_out(page.tools).kept

    assert Raw(b'{"name":"t","inputSchema":{},"x-vendor":7}') == kept.raw


def test_what_is_reported_names_the_tool_and_the_reason() -> None:
    ((tool, reason),) = sort_out([INVALID[0]]).refused

    assert (
        "tools/list: the tool 'empty' is left out, since its schema is illegal over HTTP: "
        "x-mcp-header at 'inputSchema.properties.a': '' cannot be a part of the name of a header"
        == describe_refusal(tool, reason)
    )


def test_a_hostile_name_cannot_write_lines_of_its_own() -> None:
    assert "\n" not in describe_refusal(tool_of("a\nb"), "x")
