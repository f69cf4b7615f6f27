"""Calling the server's tools. Spec: server/tools"""

from typing import cast

from msgspec import Raw
from msgspec.json import decode
from msgspec.structs import replace

from suaveplan_mcp.client.arguments import Meta, copy_meta, encode_object, require_text
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult


def call_params(name: str, arguments: object, meta: Meta) -> CallToolRequestParams:
    """Return the params of a call; the arguments are encoded here and nowhere else.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the argument of the call that is at fault.
    """
    return CallToolRequestParams(
        name=require_text("name", name), arguments=encode_object("arguments", arguments), meta=copy_meta(meta)
    )


def take_result(result: CallToolResult) -> CallToolResult:
    """Return a result whose structured content is plain JSON; in memory it comes encoded, so that nothing is shared."""
    structured = cast("object", result.structured_content)
    return replace(result, structured_content=decode(structured)) if isinstance(structured, Raw) else result
