"""Prompts: registering, listing and filling them in. Spec: server/prompts"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict, cast

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
from suaveplan_mcp.protocol.features import known_content, later_content
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.input_rounds import InputNeededError
from suaveplan_mcp.server.paging import Listing, Page, Pages
from suaveplan_mcp.server.refusals import InvalidResultError, MismatchError
from suaveplan_mcp.server.registering import wire_form
from suaveplan_mcp.server.registry import Registry
from suaveplan_mcp.server.results import look_over
from suaveplan_mcp.server.running import Runner
from suaveplan_mcp.server.signatures.prompt_signature import PromptSignature
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.server.signatures.tool_signature import CONTENT_TYPES
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.prompts import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
)

LIST_CHANGED: Final = "notifications/prompts/list_changed"

_result_decoder: Final = Decoder(GetPromptResult)
_message_decoder: Final = Decoder(PromptMessage)


class PromptFields(TypedDict, total=False):
    """The fields of a `PromptDefinition` beside its handler, as the decorator takes them."""

    name: str | None
    description: str | None
    title: str | None
    arguments: Sequence[PromptArgument | Mapping[str, object]] | None
    icons: Sequence[Icon | Mapping[str, object]] | None
    meta: Mapping[str, object] | None
    inline: bool


class PromptMembers(PromptFields, total=False):
    """All fields of a `PromptDefinition`."""

    handler: Callable[..., object]


class PromptDefinition(Struct, frozen=True, kw_only=True):
    """Everything about a prompt.

    Args:
        handler: returns the messages: text, which becomes a message of the user's, content, `PromptMessage`, a dict of
            its shape, a list of those, or a `GetPromptResult`. It takes the arguments by name, and a `Context` if a
            parameter is annotated so.
        name: None to take the handler's.
        description: None to take the handler's docstring.
        title: the name for people.
        arguments: what clients are told of its arguments; None to tell of the handler's parameters. It may have others
            only where the handler has a `**` parameter.
        icons: pictures of it.
        meta: `_meta` of the listed prompt.
        inline: run a plain handler on the event loop instead of in a thread.
    """

    handler: Callable[..., object]
    name: str | None = None
    description: str | None = None
    title: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: JsonObject | None = None
    inline: bool = False


class RegisteredPrompt:
    """A prompt as it is kept.

    Args:
        definition: what it was registered with.

    Raises:
        RegistrationError: it cannot be a prompt.
    """

    __slots__ = ("inline", "signature", "wire")

    def __init__(self, definition: PromptDefinition) -> None:
        self.signature = PromptSignature.from_callable(
            definition.handler,
            context_type=Context,
            name=definition.name,
            description=definition.description,
            accepts_any=definition.arguments is not None,
        )
        self.inline = definition.inline
        arguments = self.signature.arguments if definition.arguments is None else definition.arguments
        self.wire = wire_form(
            self.signature.name,
            Prompt(
                name=self.signature.name,
                title=definition.title,
                description=self.signature.description,
                arguments=arguments or None,
                icons=definition.icons,
                meta=definition.meta,
            ),
        )
        if definition.arguments is not None:
            self.signature.advertise(self.wire.arguments or [])
            self.wire = replace(self.wire, arguments=self.signature.arguments or None)


class Prompts:
    """The prompts of a server.

    Args:
        connections: who is told when the list changes.
        runner: runs the handlers.
        listing: how lists are answered.
    """

    def __init__(
        self,
        connections: Connections,
        runner: Runner,
        listing: Listing,
    ) -> None:
        self._connections = connections
        self._runner = runner
        self._pages: Pages[Prompt] = Pages(lambda _: self.listed(), _page, listing)
        self.registry: Registry[RegisteredPrompt] = Registry("prompt", self._changed)

    def register(self, definition: PromptDefinition) -> Prompt:
        """Register a prompt.

        Returns:
            The prompt as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, or the handler cannot be a prompt.
        """
        prompt = RegisteredPrompt(definition)
        self.registry.add(prompt.wire.name, prompt)
        return prompt.wire

    def listed(self) -> list[Prompt]:
        """Return the prompts in the order they were registered."""
        return [prompt.wire for prompt in self.registry]

    async def handle_list(self, params: PaginatedRequestParams, call: InboundCall) -> Payload:
        """Answer `prompts/list`."""
        return self._pages.answer(params.cursor, call.caller.revision)

    async def handle_get(
        self, params: GetPromptRequestParams, call: InboundCall
    ) -> GetPromptResult | InputRequiredResult:
        """Answer `prompts/get`."""
        try:
            result = await self.get(params.name, params.arguments, call)
        except InputNeededError as needed:
            return await needed.result()
        return _in_revision(result, str(call.caller.revision))

    async def get(self, name: str, arguments: Mapping[str, str] | None, call: InboundCall) -> GetPromptResult:
        """Fill in a prompt.

        Raises:
            MCPError: `NOT_FOUND`; `INVALID_PARAMS` naming the argument; `HANDLER_FAILED` with the cause.
        """
        prompt = self.registry.find(name)
        call.name_target(name)
        values = prompt.signature.decode(arguments)
        value = await self._runner.run_reported(prompt.signature.shape, values, call, inline=prompt.inline)
        return look_over("prompts/get", prompt.signature.shape.label, value, _to_result(prompt, value))

    def _changed(self) -> None:
        self._pages.forget()
        self._connections.tell_soon(LIST_CHANGED)


def _page(page: Page[Prompt]) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=page.items, next_cursor=page.next_cursor, ttl_ms=page.ttl_ms, cache_scope=page.scope
    )


def _to_result(prompt: RegisteredPrompt, value: object) -> GetPromptResult:
    """Turn what a handler returned into the result."""
    if isinstance(value, GetPromptResult):
        return value
    try:
        if isinstance(value, dict) and isinstance(cast("dict[str, object]", value).get("messages"), list):
            return _result_decoder.decode(encode_value(cast("object", value)))
        parts = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [cast("object", value)]
        messages = [_to_message(part) for part in parts]
    except (MismatchError, DecodeError) as error:
        raise InvalidResultError(prompt.signature.shape.label, str(error), cause=error) from error
    return GetPromptResult(description=prompt.wire.description, messages=messages)


def _in_revision(result: GetPromptResult, revision: str) -> GetPromptResult:
    """Return a result whose content the revision knows."""
    later = later_content(revision)
    if not any(type(message.content) in later for message in result.messages):
        return result
    messages = [replace(message, content=known_content(message.content, revision)) for message in result.messages]
    return replace(result, messages=messages)


def _to_message(value: object) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, str):
        return PromptMessage(role="user", content=TextContent(text=value))
    if isinstance(value, CONTENT_TYPES):
        return PromptMessage(role="user", content=value)
    return _message_decoder.decode(encode_value(value))
