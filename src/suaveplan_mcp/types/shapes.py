"""Tables of where lists and content sit, for code that decodes them piece by piece.

A result with one bad item, or with content of an unknown type, is not lost as a whole: `protocol` decodes the pieces
one after the other. What it has to know about the types is written here, beside them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from suaveplan_mcp.types.base import Received, Result, WireStruct
from suaveplan_mcp.types.content import ContentBlock, SamplingMessageContentBlock, ToolResultContent
from suaveplan_mcp.types.prompts import GetPromptResult, ListPromptsResult, Prompt, PromptMessage
from suaveplan_mcp.types.resources import ListResourcesResult, ListResourceTemplatesResult, Resource, ResourceTemplate
from suaveplan_mcp.types.roots import ListRootsResult, Root
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from suaveplan_mcp.types.tasks import ListTasksResult, Task
from suaveplan_mcp.types.tools import CallToolResult, ListToolsResult, Tool

ContentArity: TypeAlias = Literal["one", "many", "either"]
"""Whether a field holds one block, a list of them, or may hold either."""


class ContentField(Struct, frozen=True):
    """Say which field of a struct holds content.

    Args:
        name: the attribute; the wire name is the same.
        arity: one block, a list, or either.
        blocks: the union msgspec decodes a block into.
    """

    name: str
    arity: ContentArity
    blocks: object


LIST_ITEMS: Final[Mapping[type[Result], tuple[str, type[Received]]]] = MappingProxyType(
    {
        ListToolsResult: ("tools", Tool),
        ListResourcesResult: ("resources", Resource),
        ListResourceTemplatesResult: ("resource_templates", ResourceTemplate),
        ListPromptsResult: ("prompts", Prompt),
        ListRootsResult: ("roots", Root),
        ListTasksResult: ("tasks", Task),
    }
)
"""The attribute of each list result that holds its items, and their type."""

CONTENT_FIELDS: Final[Mapping[type[WireStruct], ContentField]] = MappingProxyType(
    {
        CallToolResult: ContentField("content", "many", ContentBlock),
        ToolResultContent: ContentField("content", "many", ContentBlock),
        PromptMessage: ContentField("content", "one", ContentBlock),
        SamplingMessage: ContentField("content", "either", SamplingMessageContentBlock),
        CreateMessageResult: ContentField("content", "either", SamplingMessageContentBlock),
    }
)
"""The structs that hold content themselves."""

MESSAGE_LISTS: Final[Mapping[type[WireStruct], tuple[str, type[WireStruct]]]] = MappingProxyType(
    {
        GetPromptResult: ("messages", PromptMessage),
        CreateMessageRequestParams: ("messages", SamplingMessage),
    }
)
"""The structs that hold content in their messages: the attribute, and the type of a message."""
