"""Content blocks on a terminal."""

import pytest
from msgspec import Raw

from suaveplan_mcp.cli.content import describe
from suaveplan_mcp.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    UnknownContent,
)
from suaveplan_mcp.types.resources import BlobResourceContents, TextResourceContents


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TextContent(text="said"), "said"),
        (ImageContent(data="", mime_type="image/png"), "[image image/png]"),
        (AudioContent(data="", mime_type="audio/ogg"), "[audio audio/ogg]"),
        (ResourceLink(uri="test://a", name="a"), "[resource test://a]"),
        (EmbeddedResource(resource=TextResourceContents(uri="test://a", text="inside")), "inside"),
        (EmbeddedResource(resource=BlobResourceContents(uri="test://a", blob="AA==")), "[resource test://a]"),
        (UnknownContent(Raw(b'{"type":"hologram"}')), "[hologram]"),
    ],
)
def test_a_block_is_its_text_or_what_it_is(block: ContentBlock, text: str) -> None:
    assert text == describe(block)
