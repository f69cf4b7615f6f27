"""Resources and resource templates: registering, listing, reading, watching. Spec: server/resources"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict, cast

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Payload
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
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.server.signatures.template_signature import TemplateSignature
from suaveplan_mcp.types.annotations import Annotations
from suaveplan_mcp.types.caching import CacheScope
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.ping import EmptyResult
from suaveplan_mcp.types.resources import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    SubscribeRequestParams,
    TextResourceContents,
    UnsubscribeRequestParams,
)

UPDATED: Final = "notifications/resources/updated"
LIST_CHANGED: Final = "notifications/resources/list_changed"

MAX_SUBSCRIPTIONS: Final = 10_000
"""How many resources one client may watch: what it asks for must not fill the server's memory."""

_BINARY: Final[tuple[type[Any], ...]] = (bytes, bytearray, memoryview)
_RESULT_MEMBERS: Final = frozenset({"contents", "ttlMs", "cacheScope", "_meta", "resultType"})
_result_decoder: Final = Decoder(ReadResourceResult)


class ResourceFields(TypedDict, total=False):
    """The fields of a `ResourceDefinition` beside its URI and its handler, as the decorator takes them."""

    name: str | None
    description: str | None
    title: str | None
    mime_type: str | None
    size: int | None
    annotations: Annotations | Mapping[str, object] | None
    icons: Sequence[Icon | Mapping[str, object]] | None
    meta: Mapping[str, object] | None
    guard: bool
    inline: bool


class ResourceMembers(ResourceFields, total=False):
    """All fields of a `ResourceDefinition`."""

    uri: str
    uri_template: str
    handler: Callable[..., object]


class ResourceDefinition(Struct, frozen=True, kw_only=True):
    """Everything about a resource, or about the family of resources that a template describes.

    Args:
        uri: the URI, or a URI template with variables in braces (RFC 6570); `uri_template` is another name of it.
        handler: returns the content: text, bytes, `ResourceContents`, a list that holds bytes or `ResourceContents`, a
            `ReadResourceResult` or a dict of its shape, and anything else as JSON. It takes the template's variables by
            name, the URI that is read if a parameter is called `uri`, and a `Context` if one is annotated so.
        name: None to take the handler's.
        description: None to take the handler's docstring.
        title: the name for people.
        mime_type: of the content.
        size: of the content, in bytes.
        annotations: hints for clients.
        icons: pictures of it.
        meta: `_meta` of the listed resource.
        guard: refuse values of variables that would lead out of a folder.
        inline: run a plain handler on the event loop instead of in a thread.
    """

    uri: str
    handler: Callable[..., object]
    name: str | None = None
    description: str | None = None
    title: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None
    meta: JsonObject | None = None
    guard: bool = True
    inline: bool = False


class RegisteredResource:
    """A resource or a template as it is kept.

    Args:
        definition: what it was registered with.

    Raises:
        RegistrationError: it cannot be a resource.
    """

    __slots__ = ("inline", "signature", "wire")

    def __init__(self, definition: ResourceDefinition) -> None:
        self.signature = TemplateSignature.from_callable(
            definition.handler,
            definition.uri,
            context_type=Context,
            name=definition.name,
            description=definition.description,
            guard=definition.guard,
        )
        self.inline = definition.inline
        describe = _template if self.signature.is_template else _resource
        self.wire: Resource | ResourceTemplate = wire_form(self.signature.name, describe(definition, self.signature))


class Resources:
    """The resources and templates of a server, and who watches them.

    Args:
        connections: who is told of changes.
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
        self._listing = listing
        self._pages: Pages[Resource] = Pages(lambda _: self.listed(), _page, listing)
        self._template_pages: Pages[ResourceTemplate] = Pages(
            lambda _: self.listed_templates(), _template_page, listing
        )
        self.registry: Registry[RegisteredResource] = Registry("resource", self._changed, key="uri")
        self.templates: Registry[RegisteredResource] = Registry("resource template", self._changed, key="uri")

    def register(self, definition: ResourceDefinition) -> Resource | ResourceTemplate:
        """Register a resource, or a template where the URI has variables.

        Returns:
            It as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, or the handler does not fit the URI.
        """
        registered = RegisteredResource(definition)
        registry = self.templates if registered.signature.is_template else self.registry
        registry.add(definition.uri, registered)
        return registered.wire

    def unregister(self, uri: str) -> None:
        """Take a resource or a template away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        registry = self.templates if self.templates.get(uri) is not None else self.registry
        registry.remove(uri)

    def listed(self) -> list[Resource]:
        """Return the resources in the order they were registered."""
        return [cast("Resource", registered.wire) for registered in self.registry]

    def listed_templates(self) -> list[ResourceTemplate]:
        """Return the templates in the order they were registered."""
        return [cast("ResourceTemplate", registered.wire) for registered in self.templates]

    async def handle_list(self, params: PaginatedRequestParams, call: InboundCall) -> Payload:
        """Answer `resources/list`."""
        return self._pages.answer(params.cursor, call.caller.revision)

    async def handle_list_templates(self, params: PaginatedRequestParams, call: InboundCall) -> Payload:
        """Answer `resources/templates/list`."""
        return self._template_pages.answer(params.cursor, call.caller.revision)

    async def handle_read(
        self, params: ReadResourceRequestParams, call: InboundCall
    ) -> ReadResourceResult | InputRequiredResult:
        """Answer `resources/read`."""
        try:
            return await self.read(params.uri, call)
        except InputNeededError as needed:
            return await needed.result()

    async def read(self, uri: str, call: InboundCall) -> ReadResourceResult:
        """Read a resource.

        Raises:
            MCPError: `NOT_FOUND`; `INVALID_PARAMS` for a URI that a template refuses; `HANDLER_FAILED` with the cause.
        """
        registered, values = self._find(uri)
        call.name_target(uri)
        shape, arguments = registered.signature.shape, registered.signature.decode(values, uri)
        value = await self._runner.run_reported(shape, arguments, call, inline=registered.inline)
        return look_over("resources/read", shape.label, value, self._to_result(uri, registered, value))

    def is_known(self, uri: str) -> bool:
        """Tell whether something is registered under a URI or template; true where nothing is registered at all."""
        if len(self.registry) + len(self.templates) == 0:
            return True
        return self.templates.get(uri) is not None or self.registry.get(uri) is not None

    async def handle_subscribe(self, params: SubscribeRequestParams, call: InboundCall) -> EmptyResult:
        """Answer `resources/subscribe`; what is watched need not be there yet.

        Raises:
            MCPError: `INTERNAL_ERROR`, the client watches as many as one connection may.
        """
        subscriptions = self._connections[call.peer].subscriptions
        if len(subscriptions) >= MAX_SUBSCRIPTIONS and params.uri not in subscriptions:
            text = f"too many subscriptions: one connection may have {MAX_SUBSCRIPTIONS} at once"
            raise MCPError(MCP_CODES.INTERNAL_ERROR, text, context={"limit": MAX_SUBSCRIPTIONS})
        subscriptions.add(params.uri)
        return EmptyResult()

    async def handle_unsubscribe(self, params: UnsubscribeRequestParams, call: InboundCall) -> EmptyResult:
        """Answer `resources/unsubscribe`; giving up what was never asked for is no error."""
        self._connections[call.peer].subscriptions.discard(params.uri)
        return EmptyResult()

    def mark_updated(self, uri: str) -> None:
        """Tell everyone who watches a resource that it has changed."""
        self._connections.tell_updated(uri)

    def _find(self, uri: str) -> tuple[RegisteredResource, dict[str, str]]:
        registered = self.registry.get(uri)
        if registered is not None:
            return registered, {}
        for template in self.templates:
            values = template.signature.match(uri)
            if values is not None:
                return template, values
        raise self.registry.missing(uri)

    def _to_result(self, uri: str, registered: RegisteredResource, value: object) -> ReadResourceResult:
        """Turn what a handler returned into the result."""
        if isinstance(value, ReadResourceResult):
            return value
        shape = registered.signature.shape
        try:
            if _has_result_shape(value):
                return _result_decoder.decode(encode_value(value))
            contents = [_to_contents(uri, registered.wire.mime_type, part) for part in _parts(value)]
        except (MismatchError, DecodeError) as error:
            raise InvalidResultError(shape.label, str(error), cause=error) from error
        # A handler that looks at the call may answer each caller differently.
        scope: CacheScope = "private" if shape.context_parameter is not None else self._listing.scope()
        return ReadResourceResult(contents=contents, ttl_ms=0, cache_scope=scope)

    def _changed(self) -> None:
        self._pages.forget()
        self._template_pages.forget()
        self._connections.tell_soon(LIST_CHANGED)


def _page(page: Page[Resource]) -> ListResourcesResult:
    return ListResourcesResult(
        resources=page.items, next_cursor=page.next_cursor, ttl_ms=page.ttl_ms, cache_scope=page.scope
    )


def _template_page(page: Page[ResourceTemplate]) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=page.items, next_cursor=page.next_cursor, ttl_ms=page.ttl_ms, cache_scope=page.scope
    )


def _resource(definition: ResourceDefinition, signature: TemplateSignature) -> Resource:
    return Resource(
        uri=definition.uri,
        name=signature.name,
        title=definition.title,
        description=signature.description,
        mime_type=definition.mime_type,
        size=definition.size,
        annotations=definition.annotations,
        icons=definition.icons,
        meta=definition.meta,
    )


def _template(definition: ResourceDefinition, signature: TemplateSignature) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=definition.uri,
        name=signature.name,
        title=definition.title,
        description=signature.description,
        mime_type=definition.mime_type,
        annotations=definition.annotations,
        icons=definition.icons,
        meta=definition.meta,
    )


def _has_result_shape(value: object) -> bool:
    """Tell whether a plain dictionary is a whole result and not data that looks like one."""
    if type(value) is not dict or not _RESULT_MEMBERS.issuperset(cast("dict[object, object]", value)):
        return False
    contents = cast("dict[str, object]", value).get("contents")
    return isinstance(contents, list) and all(
        isinstance(part, dict) and ("text" in part or "blob" in part) for part in cast("list[object]", contents)
    )


def _parts(value: object) -> Sequence[object]:
    """Return the parts of what was returned: a list that holds contents has several, one that is content is one."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        if any(isinstance(item, (ResourceContents, *_BINARY)) for item in items):
            return items
    return (cast("object", value),)


def _to_contents(uri: str, mime_type: str | None, value: object) -> ResourceContents:
    if isinstance(value, ResourceContents):
        return value
    if isinstance(value, _BINARY):
        blob = b64encode(cast("bytes", value)).decode("ascii")
        return BlobResourceContents(uri=uri, mime_type=mime_type or "application/octet-stream", blob=blob)
    if isinstance(value, str):
        return TextResourceContents(uri=uri, mime_type=mime_type or "text/plain", text=value)
    text = encode_value(value).decode()
    return TextResourceContents(uri=uri, mime_type=mime_type or "application/json", text=text)
