"""Tools: registering, listing and calling them. Spec: server/tools"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict

from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.protocol.admission import INVALID_PARAMS_MESSAGE
from suaveplan_mcp.protocol.revisions import V2025_11_25, is_at_least
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.observation import logger
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.paging import Pages
from suaveplan_mcp.server.refusals import InvalidArgumentsError
from suaveplan_mcp.server.registering import wire_form
from suaveplan_mcp.server.registry import Registry
from suaveplan_mcp.server.results import look_over
from suaveplan_mcp.server.running import Runner, is_answer
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.server.signatures.tool_signature import ToolSignature
from suaveplan_mcp.server.tool_results import (
    error_result,
    is_wrapped,
    to_result,
    wrap_output_schema,
    wrap_structured_content,
)
from suaveplan_mcp.types.caching import CacheScope
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations

LIST_CHANGED: Final = "notifications/tools/list_changed"


class ToolFields(TypedDict, total=False):
    """The fields of a `ToolDefinition` beside its handler, as a decorator takes them."""

    name: str | None
    description: str | None
    input_schema: object
    title: str | None
    annotations: ToolAnnotations | Mapping[str, object] | None
    icons: Sequence[Icon | Mapping[str, object]] | None
    meta: Mapping[str, object] | None
    inline: bool


class ToolMembers(ToolFields, total=False):
    """All fields of a `ToolDefinition`."""

    handler: Callable[..., object]


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """Everything about a tool.

    Args:
        handler: takes the arguments by name, and a `Context` if a parameter is annotated so.
        name: None to take the handler's.
        description: None to take the handler's docstring.
        input_schema: None to derive it from the handler; a class whose fields are the arguments; or a JSON Schema.
        title: the name for people.
        annotations: hints for clients.
        icons: pictures of it.
        meta: `_meta` of the listed tool.
        inline: run a plain handler on the event loop instead of in a thread.
    """

    handler: Callable[..., object]
    name: str | None = None
    description: str | None = None
    input_schema: object = None
    title: str | None = None
    annotations: ToolAnnotations | None = None
    icons: list[Icon] | None = None
    meta: JsonObject | None = None
    inline: bool = False


class RegisteredTool:
    """A tool as it is kept.

    Args:
        definition: what it was registered with.

    Raises:
        RegistrationError: it cannot be a tool.
    """

    __slots__ = ("inline", "signature", "wire")

    def __init__(self, definition: ToolDefinition) -> None:
        name, description = definition.name, definition.description
        self.signature = (
            ToolSignature.from_callable(definition.handler, context_type=Context, name=name, description=description)
            if definition.input_schema is None
            else ToolSignature.from_schema(
                definition.handler,
                definition.input_schema,
                context_type=Context,
                name=name,
                description=description,
            )
        )
        self.inline = definition.inline
        self.wire = wire_form(
            self.signature.name,
            Tool(
                name=self.signature.name,
                title=definition.title,
                description=self.signature.description,
                input_schema=self.signature.input_schema,
                output_schema=self.signature.output_schema,
                annotations=definition.annotations,
                icons=definition.icons,
                meta=definition.meta,
            ),
        )

    def wire_for_handshake(self) -> Tool:
        """Return what peers are told who know structured content only as an object."""
        schema = self.wire.output_schema
        if schema is None or not is_wrapped(schema):
            return self.wire
        return replace(self.wire, output_schema=wrap_output_schema(schema))


class Tools:
    """The tools of a server.

    Args:
        connections: who is told when the list changes.
        runner: runs the handlers.
        cache_scope: tells whether lists may be shared between callers.
        page_size: how many tools a page of the list has; None for all.
        reveal_errors: whether a failing tool's own text reaches the caller.
    """

    def __init__(
        self,
        connections: Connections,
        runner: Runner,
        cache_scope: Callable[[], CacheScope],
        *,
        page_size: int | None,
        reveal_errors: bool,
    ) -> None:
        self._connections = connections
        self._runner = runner
        self._reveal_errors = reveal_errors
        self._pages: Pages[Tool] = Pages(self._listed_for_handshake, _page, cache_scope, page_size)
        self.registry: Registry[RegisteredTool] = Registry("tool", self._changed)

    def register(self, definition: ToolDefinition) -> Tool:
        """Register a tool.

        Returns:
            The tool as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, or the handler cannot be a tool.
        """
        tool = RegisteredTool(definition)
        self.registry.add(tool.wire.name, tool)
        return tool.wire

    def listed(self) -> list[Tool]:
        """Return the tools in the order they were registered."""
        return [tool.wire for tool in self.registry]

    async def handle_list(self, params: PaginatedRequestParams, call: InboundCall) -> Raw:
        """Answer `tools/list`."""
        return self._pages.answer(params.cursor)

    async def handle_call(self, params: CallToolRequestParams, call: InboundCall) -> CallToolResult:
        """Answer `tools/call`."""
        tool = self.registry.find(params.name)
        call.name_target(params.name)
        try:
            arguments = tool.signature.decode(params.arguments)
        except InvalidArgumentsError as error:
            if not self._reports_in_result(call):
                data = error.data
                raise MCPError(MCP_CODES.INVALID_PARAMS, INVALID_PARAMS_MESSAGE, data=data) from error
            return error_result(error)
        result = await self.run(tool, arguments, call)
        return result if result.structured_content is UNSET else _for_handshake(tool, result)

    async def run(self, tool: RegisteredTool, arguments: dict[str, object], call: InboundCall) -> CallToolResult:
        """Run a tool; what its handler raises becomes an error result.

        Raises:
            MCPError: the handler raised it as the answer, or returned what cannot be sent.
        """
        try:
            value = await self._runner.run(tool.signature.shape, arguments, call, inline=tool.inline)
        except Exception as error:
            if is_answer(error):
                raise
            return self._failed(tool, error)
        return look_over("tools/call", tool.signature.shape.label, value, to_result(value, tool.signature))

    def decode(self, tool: RegisteredTool, arguments: Mapping[str, object] | Raw | None) -> dict[str, object]:
        """Read the arguments of a call made in this process.

        Raises:
            InvalidArgumentsError: they do not fit.
        """
        return tool.signature.decode(UNSET if arguments is None else arguments)

    def _failed(self, tool: RegisteredTool, error: Exception) -> CallToolResult:
        # One line: what a tool raises is often its answer, and a model reads it. Whoever looks finds the traceback.
        logger.warning("the tool %s raised %s: %s", tool.wire.name, type(error).__name__, error)
        logger.debug("the traceback of the tool %s", tool.wire.name, exc_info=error)
        return error_result(error if self._reveal_errors else RuntimeError("the tool failed"))

    def _reports_in_result(self, call: InboundCall) -> bool:
        return is_at_least(str(self._connections[call.peer].revision), V2025_11_25)

    def _changed(self) -> None:
        self._pages.forget()
        self._connections.tell_soon(LIST_CHANGED)

    def _listed_for_handshake(self) -> list[Tool]:
        return [tool.wire_for_handshake() for tool in self.registry]


def _page(tools: list[Tool], next_cursor: str | None, scope: CacheScope) -> ListToolsResult:
    return ListToolsResult(tools=tools, next_cursor=next_cursor, ttl_ms=0, cache_scope=scope)


def _for_handshake(tool: RegisteredTool, result: CallToolResult) -> CallToolResult:
    """Return a result as peers take it that know structured content only as an object, and as JSON that is written.

    What was listed decides whether it is wrapped; without a schema nothing was, and the value itself decides.
    """
    data = encode_value(result.structured_content)
    schema = tool.wire.output_schema
    wrapped = not data.startswith(b"{") if schema is None else is_wrapped(schema)
    content = wrap_structured_content(Raw(data)) if wrapped else Raw(data)
    return replace(result, structured_content=content)
