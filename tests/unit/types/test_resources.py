import msgspec
import pytest

from suaveplan_mcp.jsonrpc.codec import encode
from suaveplan_mcp.types import (
    BlobResourceContents,
    ReadResourceResult,
    Resource,
    ResourceContents,
    TextResourceContents,
)


def test_contents_are_text_or_blob() -> None:
    wire = b'{"contents":[{"uri":"a","text":""},{"uri":"b","blob":""}]}'
    result = msgspec.json.decode(wire, type=ReadResourceResult)
    assert [("", None), (None, "")] == [(part.text, part.blob) for part in result.contents]
    assert wire == encode(result)


def test_contents_without_content_are_refused_with_their_place() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`text` or `blob` - at `\$\.contents\[1\]`"):
        msgspec.json.decode(b'{"contents":[{"uri":"a","text":""},{"uri":"b"}]}', type=ReadResourceResult)


def test_contents_without_content_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="`text` or `blob`"):
        ResourceContents(uri="a")


def test_contents_made_by_their_name_read_like_received_ones() -> None:
    parts: list[ResourceContents] = [
        TextResourceContents(uri="a", text=""),
        BlobResourceContents(uri="b", blob="AA=="),
    ]
    wire = encode(ReadResourceResult(contents=parts))
    assert b'{"contents":[{"uri":"a","text":""},{"uri":"b","blob":"AA=="}]}' == wire
    assert [None, "AA=="] == [part.blob for part in msgspec.json.decode(wire, type=ReadResourceResult).contents]


def test_size_may_be_larger_than_any_machine_integer() -> None:
    assert 2**70 == msgspec.json.decode(b'{"uri":"a","name":"b","size":%d}' % 2**70, type=Resource).size
