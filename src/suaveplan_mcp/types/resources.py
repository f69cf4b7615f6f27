"""Data that a server offers by URI. Spec: server/resources"""

from msgspec import field

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types.annotations import Annotations
from suaveplan_mcp.types.base import NotificationParams, Received, RequestParams, WireStruct
from suaveplan_mcp.types.caching import CacheableResult
from suaveplan_mcp.types.icons import Icon
from suaveplan_mcp.types.input_responses import InputResponseRequestParams
from suaveplan_mcp.types.pagination import PaginatedResult


class Resource(Received, frozen=True, kw_only=True):
    """Describe a resource that can be read.

    Args:
        name: for programs; `title` is for people.
        size: the bytes of its raw content, before any base64.

    Spec: server/resources
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ResourceTemplate(Received, frozen=True, kw_only=True):
    """Describe a family of resources.

    Args:
        uri_template: as RFC 6570 defines it.
        mime_type: given only where all members have it.

    Spec: server/resources
    """

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ResourceContents(WireStruct, frozen=True, kw_only=True):
    """Hold what a resource, or a part of it, contains: either `text` or `blob` is there.

    This is what decoding gives. Build `TextResourceContents` or `BlobResourceContents`.

    Args:
        text: the content, where it is text; the empty string is content too.
        blob: the content in base64, where it is not.

    Raises:
        ValueError: neither is there.

    Spec: server/resources
    """

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: JsonObject | None = field(name="_meta", default=None)

    def __post_init__(self) -> None:
        """Refuse contents without content."""
        if self.text is None and self.blob is None:
            raise ValueError("Object missing required field `text` or `blob`")


class TextResourceContents(ResourceContents, frozen=True, kw_only=True):
    """Hold the text of a resource.

    Spec: server/resources
    """

    text: str = field()


class BlobResourceContents(ResourceContents, frozen=True, kw_only=True):
    """Hold the bytes of a resource, in base64.

    Spec: server/resources
    """

    blob: str = field()


class ListResourcesResult(PaginatedResult, frozen=True, kw_only=True):
    """Give a page of the resources.

    Spec: server/resources
    """

    resources: list[Resource]


class ListResourceTemplatesResult(PaginatedResult, frozen=True, kw_only=True):
    """Give a page of the resource templates.

    Spec: server/resources
    """

    resource_templates: list[ResourceTemplate]


class ResourceRequestParams(RequestParams, frozen=True, kw_only=True):
    """Base the params that name one resource and no more.

    Spec: server/resources
    """

    uri: str


class ReadResourceRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Ask for what a resource contains.

    Spec: server/resources
    """

    uri: str


class ReadResourceResult(CacheableResult, frozen=True, kw_only=True):
    """Give what a resource contains, in one part or several.

    Spec: server/resources
    """

    contents: list[ResourceContents]


class SubscribeRequestParams(ResourceRequestParams, frozen=True, kw_only=True):
    """Ask to be told when a resource changes. Handshake era.

    Spec: server/resources
    """


class UnsubscribeRequestParams(ResourceRequestParams, frozen=True, kw_only=True):
    """Ask to be told no longer. Handshake era.

    Spec: server/resources
    """


class ResourceUpdatedNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Tell that a resource changed.

    Args:
        uri: it, or a resource below the one that was subscribed to.

    Spec: server/resources
    """

    uri: str
