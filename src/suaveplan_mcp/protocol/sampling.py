"""What a request for the client's model must be like, whichever side looks. Spec: client/sampling"""

from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.protocol.revisions import V2025_11_25, is_at_least
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.content import ToolResultContent, ToolUseContent
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, SamplingMessage


def lacking_for_sampling(
    params: CreateMessageRequestParams, declared: ClientCapabilities, revision: str | None
) -> str | None:
    """Return the capability that a client would have to declare for a request and has not, or None.

    Before there was `sampling.context`, any client could be asked to include context, and was free not to.
    Spec: client/sampling, Capabilities

    Args:
        params: the request.
        declared: what the client can do.
        revision: what it speaks.
    """
    if declared.sampling is None:
        return "sampling"
    if (params.tools is not None or params.tool_choice is not None) and declared.sampling.tools is None:
        return "sampling.tools"
    wants_context = params.include_context is not None and params.include_context != "none"
    declarable = revision is not None and is_at_least(revision, V2025_11_25)
    return "sampling.context" if wants_context and declarable and declared.sampling.context is None else None


def require_balance(messages: list[SamplingMessage]) -> None:
    """Make sure that every use of a tool is followed by its result, and nothing stands beside results.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the message. Spec: client/sampling, Message Content Constraints
    """
    asked: set[str] = set()
    for position, message in enumerate(messages):
        blocks = message.content if isinstance(message.content, list) else [message.content]
        answered = {block.tool_use_id for block in blocks if isinstance(block, ToolResultContent)}
        if answered and not all(isinstance(block, ToolResultContent) for block in blocks):
            raise invalid_params(f"messages[{position}].content", "tool results stand beside other content")
        if answered != asked:
            raise invalid_params(f"messages[{position}].content", "the tool results do not match the tool uses")
        asked = {block.id for block in blocks if isinstance(block, ToolUseContent)}
    if asked:
        raise invalid_params("messages", "the results of the last tool uses are missing")
