"""Content blocks as text for a terminal."""

from suaveplan_mcp.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)


def describe(block: ContentBlock) -> str:
    """Return the text of a block, or what it is in brackets where it has none."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, EmbeddedResource):
        text = block.resource.text
        return f"[resource {block.resource.uri}]" if text is None else text
    if isinstance(block, ImageContent | AudioContent):
        return f"[{block.type} {block.mime_type}]"
    if isinstance(block, ResourceLink):
        return f"[resource {block.uri}]"
    return f"[{block.type}]"
