"""Answering a server that asks for the client's model. Spec: client/sampling"""

from typing import Any, Final

from suaveplan_mcp.client.providers import Provider
from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.protocol.sampling import require_balance
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult

UNKNOWN_MODEL: Final = "unknown"
"""What the answer names as the model where a provider returned nothing but text."""


class SamplingService:
    """Answers `sampling/createMessage`.

    Args:
        provider: returns a `CreateMessageResult`, a dict of that shape, or the text of the answer as a string.
        tools: whether the client declared that its model may use tools.
    """

    __slots__ = ("_provider", "_tools")

    def __init__(self, provider: Provider, *, tools: bool) -> None:
        self._provider = provider
        self._tools = tools

    async def serve(self, params: CreateMessageRequestParams, call: InboundCall) -> Any:
        """Return the message of the model.

        Raises:
            MCPError: `INVALID_PARAMS`, the server asks for tools that were not declared, or leaves results of tools
                out.
        """
        if not self._tools and (params.tools is not None or params.tool_choice is not None):
            raise invalid_params("tools", "this client did not declare sampling.tools")
        require_balance(params.messages)
        answer = await self._provider.ask(params, call)
        if isinstance(answer, str):
            return CreateMessageResult(role="assistant", content=TextContent(text=answer), model=UNKNOWN_MODEL)
        return answer
