"""Which kinds of content and which parts of a question a revision knows, and what can be sent instead of the others.

Spec: server/tools, server/prompts, client/elicitation, client/sampling
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar, cast

from msgspec.structs import replace

from suaveplan_mcp.protocol.revisions import V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, is_at_least
from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from suaveplan_mcp.types.elicitation import ElicitRequestParams, PrimitiveSchemaDefinition
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, SamplingMessage

Block = TypeVar("Block")

CONTENT: Final[Mapping[type, str]] = MappingProxyType(
    {
        TextContent: V2024_11_05,
        ImageContent: V2024_11_05,
        EmbeddedResource: V2024_11_05,
        AudioContent: V2025_03_26,
        ResourceLink: V2025_06_18,
        ToolUseContent: V2025_11_25,
        ToolResultContent: V2025_11_25,
    }
)
"""The first revision that knows each kind of content."""

ELICITATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        "addresses to visit": V2025_11_25,
        "choices of several": V2025_11_25,
        "choices with titles": V2025_11_25,
    }
)
"""The first revision that knows each part of a question to the user."""

SAMPLING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tools": V2025_11_25,
        "several blocks in one message": V2025_11_25,
    }
)
"""The first revision that knows each part of a question to the model."""


@cache
def later_content(revision: str) -> frozenset[type]:
    """Return the kinds of content that a revision does not know; for the newest ones that is none."""
    return frozenset(kind for kind, since in CONTENT.items() if not is_at_least(revision, since))


def known_content(block: Block, revision: str) -> Block | TextContent:
    """Return content as it is, or as text where the revision does not know its kind."""
    return _as_text(cast("WireStruct", block)) if type(block) in later_content(revision) else block


def unknown_to(revision: str, params: ElicitRequestParams) -> tuple[str, str] | None:
    """Return where a question to the user has what a revision does not know, and what that is; None for nothing."""
    for path, feature in _features(params):
        if not is_at_least(revision, ELICITATION[feature]):
            return path, f"revision {revision} has no {feature}"
    return None


def sampling_unknown_to(revision: str, params: CreateMessageRequestParams) -> tuple[str, str] | None:
    """Return where a question to the model has what a revision does not know and nothing can stand for, or None."""
    if is_at_least(revision, SAMPLING["tools"]):
        return None
    for path, value in (("tools", params.tools), ("toolChoice", params.tool_choice)):
        if value is not None:
            return path, f"revision {revision} has no tools in sampling"
    for index, message in enumerate(params.messages):
        if any(isinstance(block, ToolUseContent | ToolResultContent) for block in _blocks(message)):
            return f"messages[{index}]", f"revision {revision} has no tools in sampling"
    return None


def known_sampling(revision: str, params: CreateMessageRequestParams) -> CreateMessageRequestParams:
    """Return a question to the model as a revision can carry it.

    Where a message may hold but one block, one that holds several becomes as many messages of the same role.
    """
    if is_at_least(revision, SAMPLING["several blocks in one message"]):
        return params
    messages = [
        replace(message, content=known_content(block, revision))
        for message in params.messages
        for block in _blocks(message)
    ]
    return replace(params, messages=messages)


def _features(params: ElicitRequestParams) -> Iterator[tuple[str, str]]:
    """Give the place and the name of every part of a question that not all revisions have."""
    if params.mode == "url":
        yield "url", "addresses to visit"
    if params.requested_schema is not None:
        for name, field in params.requested_schema.properties.items():
            for feature in _field_features(field):
                yield f"requestedSchema.properties.{name}", feature


def _field_features(field: PrimitiveSchemaDefinition) -> Iterator[str]:
    if field.type == "array":
        yield "choices of several"
    if field.one_of is not None:
        yield "choices with titles"


def _blocks(message: SamplingMessage) -> list[object]:
    return list[object](message.content) if isinstance(message.content, list) else [message.content]


def _as_text(block: WireStruct) -> TextContent:
    """Say in words what cannot be sent."""
    if isinstance(block, ResourceLink):
        words = f"{block.title or block.name}: {block.uri}"
        return TextContent(text=words if block.description is None else f"{words} ({block.description})")
    kind = getattr(block, "mime_type", type(block).__name__)
    return TextContent(text=f"[{kind}, which cannot be sent in this revision of the protocol]")
