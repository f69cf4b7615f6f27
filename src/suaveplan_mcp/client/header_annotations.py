"""Telling tools whose arguments may travel as HTTP headers from those that a client must not show.

Only a transport that has headers needs it; elsewhere the annotations mean nothing, and no tool is left out for them.
Spec: basic/transports/streamable-http, Custom Headers from Tool Parameters
"""

from collections.abc import Iterable
from typing import NamedTuple

from suaveplan_mcp.protocol.header_values import show
from suaveplan_mcp.protocol.param_headers import ParamHeader, ParamHeaderError, find_param_headers
from suaveplan_mcp.types.tools import Tool


class SortedTools(NamedTuple):
    """The tools of a list, one kind beside the other.

    Args:
        kept: those that may be shown and called, in their order.
        headers: what of a call of each of them goes out as headers, by the tool's name.
        refused: those that may not, each with the reason.
    """

    kept: list[Tool]
    headers: dict[str, tuple[ParamHeader, ...]]
    refused: list[tuple[Tool, str]]


def sort_out(tools: Iterable[Tool]) -> SortedTools:
    """Tell the tools whose annotations are legal from those that must be left out of the list.

    Args:
        tools: as the server listed them; one whose schema annotates nothing is legal.

    Spec: basic/transports/streamable-http, Schema Extension
    """
    result = SortedTools([], {}, [])
    for tool in tools:
        try:
            result.headers[tool.name] = find_param_headers(tool.input_schema)
            result.kept.append(tool)
        except ParamHeaderError as error:
            result.refused.append((tool, str(error)))
    return result


def describe_refusal(tool: Tool, reason: str) -> str:
    """Return what is reported of a tool that is left out."""
    return f"tools/list: the tool {show(tool.name)} is left out, since its schema is illegal over HTTP: {reason}"
