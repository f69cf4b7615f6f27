"""Calling the server's tools. Spec: server/tools"""

from typing import cast

from msgspec import Raw
from msgspec.json import decode
from msgspec.structs import replace

from suaveplan_mcp.client.arguments import Meta, copy_meta, encode_object, require_text
from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError
from suaveplan_mcp.types.tasks import CreateTaskResult
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult


def call_params(name: str, arguments: object, meta: Meta) -> CallToolRequestParams:
    """Return the params of a call; the arguments are encoded here and nowhere else.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the argument of the call that is at fault.
    """
    return CallToolRequestParams(
        name=require_text("name", name), arguments=encode_object("arguments", arguments), meta=copy_meta(meta)
    )


def take_result(result: CallToolResult | CreateTaskResult) -> CallToolResult:
    """Return a result whose structured content is plain JSON; in memory it comes encoded, so that nothing is shared.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, the server made a task of a call that was not asked for as one.
    """
    if isinstance(result, CreateTaskResult):
        text = f"tools/call: the server answered with the task {result.task.task_id!r}, which it was not asked for"
        raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, text, context={"task": result.task.task_id})
    structured = cast("object", result.structured_content)
    return replace(result, structured_content=decode(structured)) if isinstance(structured, Raw) else result
