"""Tools: registering, listing and calling them. Spec: server/tools"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
from suaveplan_mcp.protocol.admission import INVALID_PARAMS_MESSAGE
from suaveplan_mcp.protocol.features import known_content, later_content
from suaveplan_mcp.protocol.param_headers import ParamHeader, ParamHeaderError, find_param_headers
from suaveplan_mcp.protocol.revisions import V2025_11_25, is_at_least
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.observation import logger
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.input_rounds import InputNeededError
from suaveplan_mcp.server.paging import Form, Listing, Page, Pages, form_of
from suaveplan_mcp.server.refusals import InvalidArgumentsError, RegistrationError
from suaveplan_mcp.server.registering import wire_form
from suaveplan_mcp.server.registry import Registry
from suaveplan_mcp.server.results import look_over
from suaveplan_mcp.server.running import PASSING, Runner, is_answer
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.server.signatures.tool_signature import ToolSignature
from suaveplan_mcp.server.tool_results import (
    error_result,
    is_wrapped,
    to_result,
    wrap_output_schema,
    wrap_structured_content,
)
from suaveplan_mcp.types.base import keep_raw
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations

LIST_CHANGED: Final = "notifications/tools/list_changed"

# What is agreed on since the last handshake revision. Spec: server/tools, Tool Names
_USUAL_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_members: Final = Decoder(dict[str, Raw])
_WIRE_NAMES: Final = {"content": "content", "structured_content": "structuredContent"}


class ToolFields(TypedDict, total=False):
    """The fields of a `ToolDefinition` beside its handler, as a decorator takes them."""

    name: str | None
    description: str | None
    input_schema: object
    output_schema: object
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
        output_schema: None to derive it from the handler's return annotation; the type of what is returned; or a JSON
            Schema. What the handler returns is checked against it.
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
    output_schema: object = None
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

    __slots__ = ("inline", "label", "param_headers", "signature", "wire")

    def __init__(self, definition: ToolDefinition) -> None:
        name, description = definition.name, definition.description
        if name == "":
            raise RegistrationError(name, "a tool must have a name")
        self.signature = (
            ToolSignature.from_callable(
                definition.handler,
                context_type=Context,
                name=name,
                description=description,
                output_schema=definition.output_schema,
            )
            if definition.input_schema is None
            else ToolSignature.from_schema(
                definition.handler,
                definition.input_schema,
                context_type=Context,
                name=name,
                description=description,
                output_schema=definition.output_schema,
            )
        )
        if _USUAL_NAME.fullmatch(self.signature.name) is None:
            text = "the name of the tool %r is one that some clients refuse: use 1 to 128 of A-Z a-z 0-9 _ - . /"
            logger.warning(text, self.signature.name)
        self.inline = definition.inline
        # What errors call it; put together here and not for every call.
        self.label = self.signature.shape.label
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
        try:
            self.param_headers = find_param_headers(self.wire.input_schema)
        except ParamHeaderError as error:
            raise RegistrationError(self.wire.name, str(error), cause=error) from error

    def wire_in(self, form: Form) -> Tool:
        """Return what peers are told. Those of the handshake era know structured content only as an object."""
        schema = self.wire.output_schema
        if form == "stateless" or schema is None or not is_wrapped(schema):
            return self.wire
        return replace(self.wire, output_schema=wrap_output_schema(schema))


class Tools:
    """The tools of a server.

    Args:
        connections: who is told when the list changes.
        runner: runs the handlers.
        listing: how lists are answered.
        reveal_errors: whether a failing tool's own text reaches the caller.
    """

    def __init__(
        self,
        connections: Connections,
        runner: Runner,
        listing: Listing,
        *,
        reveal_errors: bool,
    ) -> None:
        self._connections = connections
        self._runner = runner
        self._reveal_errors = reveal_errors
        self._pages: Pages[Tool] = Pages(self._listed_in, _page, listing)
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

    def param_headers_of(self, name: str) -> tuple[ParamHeader, ...]:
        """Return the parameters of a tool that travel as HTTP headers too; none where there is no such tool."""
        tool = self.registry.get(name)
        return () if tool is None else tool.param_headers

    def listed(self) -> list[Tool]:
        """Return the tools in the order they were registered."""
        return [tool.wire for tool in self.registry]

    async def handle_list(self, params: PaginatedRequestParams, call: InboundCall) -> Payload:
        """Answer `tools/list`."""
        return self._pages.answer(params.cursor, call.caller.revision)

    async def handle_call(
        self, params: CallToolRequestParams, call: InboundCall
    ) -> CallToolResult | InputRequiredResult:
        """Answer `tools/call`."""
        tool = self.registry.find(params.name)
        call.name_target(params.name)
        try:
            arguments = tool.signature.decode(params.arguments)
        except InvalidArgumentsError as error:
            # Arguments that are no object are malformed params, and those are an error in every revision.
            if not self._reports_in_result(call) or not _are_members(params.arguments):
                data = error.data
                raise MCPError(MCP_CODES.INVALID_PARAMS, INVALID_PARAMS_MESSAGE, data=data) from error
            return error_result(error)
        try:
            result = await self.run(tool, arguments, call)
        except InputNeededError as needed:
            return await needed.result()
        return _in_revision(tool, result, str(call.caller.revision))

    async def run(self, tool: RegisteredTool, arguments: dict[str, object], call: InboundCall) -> CallToolResult:
        """Run a tool; what its handler raises becomes an error result.

        Raises:
            MCPError: the handler raised it as the answer, or returned what cannot be sent.
        """
        try:
            value = await self._runner.run(tool.signature.shape, arguments, call, inline=tool.inline)
        except PASSING:
            raise
        except BaseException as error:
            if is_answer(error):
                raise
            return self._failed(tool, error)
        return look_over("tools/call", tool.label, value, to_result(value, tool.signature))

    def decode(self, tool: RegisteredTool, arguments: Mapping[str, object] | Raw | None) -> dict[str, object]:
        """Read the arguments of a call made in this process.

        Raises:
            InvalidArgumentsError: they do not fit.
        """
        return tool.signature.decode(UNSET if arguments is None else arguments)

    def _failed(self, tool: RegisteredTool, error: BaseException) -> CallToolResult:
        name = tool.wire.name
        if isinstance(error, Exception):
            # One line: what a tool raises is often its answer, and a model reads it.
            logger.warning("the tool %s raised %s: %s", name, type(error).__name__, error)
            logger.debug("the traceback of the tool %s", name, exc_info=error)
            if isinstance(error, MCPError) and error.received:
                # What another peer said may be none of the caller's business.
                error = RuntimeError(f"a request that the tool made failed: {error.code} ({error.jsonrpc_code})")
        else:
            logger.error("the tool %s raised %s", name, type(error).__name__, exc_info=error)
            # Such as the status of a `SystemExit`: its text alone would tell the caller nothing.
            error = RuntimeError(f"the tool raised {type(error).__name__}")
        return error_result(error if self._reveal_errors else RuntimeError("the tool failed"))

    def _reports_in_result(self, call: InboundCall) -> bool:
        return is_at_least(str(call.caller.revision), V2025_11_25)

    def _changed(self) -> None:
        self._pages.forget()
        self._connections.tell_soon(LIST_CHANGED)

    def _listed_in(self, form: Form) -> list[Tool]:
        return [tool.wire_in(form) for tool in self.registry]


def _are_members(arguments: Raw | UnsetType) -> bool:
    return arguments is UNSET or bytes(arguments).lstrip().startswith(b"{")


def _page(page: Page[Tool]) -> ListToolsResult:
    return ListToolsResult(tools=page.items, next_cursor=page.next_cursor, ttl_ms=page.ttl_ms, cache_scope=page.scope)


def _in_revision(tool: RegisteredTool, result: CallToolResult, revision: str) -> CallToolResult:
    """Return a result as a revision takes it, and as JSON that is written."""
    later = later_content(revision)
    if result.structured_content is UNSET and not later:
        return result
    changes: dict[str, Any] = {}
    if result.structured_content is not UNSET:
        changes["structured_content"] = _structured_in(form_of(revision), tool, result.structured_content)
    if any(type(block) in later for block in result.content):
        changes["content"] = [known_content(block, revision) for block in result.content]
    if not changes:
        return result
    changed = replace(result, **changes)
    if result.raw is not None:
        members = _members.decode(result.raw)
        members |= {_WIRE_NAMES[name]: Raw(encode_value(value)) for name, value in changes.items()}
        keep_raw(changed, Raw(encode_value(members)))
    return changed


def _structured_in(form: Form, tool: RegisteredTool, content: object) -> Raw:
    """Return structured content as JSON; peers of the handshake era know it only as an object.

    What was listed decides whether it is wrapped; without a schema nothing was, and the value itself decides.
    """
    data = encode_value(content)
    schema = tool.wire.output_schema
    wrapped = not data.startswith(b"{") if schema is None else is_wrapped(schema)
    return wrap_structured_content(Raw(data)) if wrapped and form == "handshake" else Raw(data)
