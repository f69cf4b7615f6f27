"""The pieces that tool results, prompts and sampling messages are made of. Spec: server/tools, client/sampling"""

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.json import Decoder

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue
from suaveplan_mcp.types.annotations import Annotations
from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.resources import Resource, ResourceContents


class TextContent(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Carry text.

    Spec: server/tools
    """

    type: ClassVar[Literal["text"]] = "text"
    text: str
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ImageContent(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """Carry a picture.

    Args:
        data: its bytes in base64.

    Spec: server/tools
    """

    type: ClassVar[Literal["image"]] = "image"
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class AudioContent(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="audio"):
    """Carry sound.

    Args:
        data: its bytes in base64.

    Spec: server/tools
    """

    type: ClassVar[Literal["audio"]] = "audio"
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ResourceLink(Resource, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """Point to a resource that can be read.

    Spec: server/tools
    """

    type: ClassVar[Literal["resource_link"]] = "resource_link"


class EmbeddedResource(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """Carry what a resource contains.

    Spec: server/tools
    """

    type: ClassVar[Literal["resource"]] = "resource"
    resource: ResourceContents
    annotations: Annotations | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ToolUseContent(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="tool_use"):
    """Carry a model's wish to call a tool.

    Args:
        id: what the `ToolResultContent` will name.
        input: the arguments.

    Spec: client/sampling
    """

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    input: JsonObject
    meta: JsonObject | None = field(name="_meta", default=None)


class _Tagged(Struct, frozen=True):
    """Read the one member that every content has."""

    type: str


_tagged_decoder = Decoder(_Tagged)


class UnknownContent:
    """Carry content of a type that this library does not know, exactly as it came.

    It is no dataclass, because msgspec would then write its attributes instead of what it carries.

    Args:
        raw: the JSON object, `type` included.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: Raw) -> None:
        """Keep `raw`."""
        self._raw = raw

    @property
    def raw(self) -> Raw:
        """The JSON object as it came."""
        return self._raw

    @property
    def type(self) -> str:
        """What the content says it is.

        Raises:
            msgspec.ValidationError: it says nothing.
        """
        return _tagged_decoder.decode(self._raw).type

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` carries the same bytes."""
        return isinstance(other, UnknownContent) and self._raw == other._raw

    def __hash__(self) -> int:
        """Hash the bytes it carries."""
        return hash(bytes(self._raw))

    def __repr__(self) -> str:
        """Show the bytes it carries."""
        return f"UnknownContent({bytes(self._raw)!r})"


# A reader of content must expect `UnknownContent`, so checkers see it in the unions. msgspec must not: it can decode
# only the types it knows, and the rules of the protocol put an `UnknownContent` in the place of the rest.
if TYPE_CHECKING:
    ContentBlock: TypeAlias = (
        TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent
    )
else:
    ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ToolResultContent(WireStruct, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """Carry back to a model what a tool said.

    Args:
        tool_use_id: the `id` of the `ToolUseContent` it answers.
        structured_content: as in `CallToolResult`, where `null` is a value and `UNSET` is none.

    Spec: client/sampling
    """

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: list[ContentBlock]
    structured_content: JsonValue | UnsetType = UNSET
    is_error: bool = False
    meta: JsonObject | None = field(name="_meta", default=None)


if TYPE_CHECKING:
    SamplingMessageContentBlock: TypeAlias = (
        TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent | UnknownContent
    )
else:
    SamplingMessageContentBlock = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
