"""What a revision knows, and what is sent instead of the rest."""

from typing import Any

import pytest
from msgspec import Raw, convert

from suaveplan_mcp.protocol.features import (
    known_content,
    known_sampling,
    later_content,
    sampling_unknown_to,
    unknown_to,
)
from suaveplan_mcp.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    LATEST_HANDSHAKE,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
)
from suaveplan_mcp.types.content import (
    AudioContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
    UnknownContent,
)
from suaveplan_mcp.types.elicitation import ElicitRequestParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams

AUDIO = AudioContent(data="AA==", mime_type="audio/wav")
LINK = ResourceLink(uri="mem://a", name="a", title="An A", description="the first letter")


@pytest.mark.parametrize(
    ("revision", "names"),
    [
        (V2024_11_05, {AudioContent, ResourceLink, ToolUseContent, ToolResultContent}),
        (V2025_03_26, {ResourceLink, ToolUseContent, ToolResultContent}),
        (V2025_06_18, {ToolUseContent, ToolResultContent}),
        (LATEST_HANDSHAKE, set[type]()),
    ],
)
def test_each_revision_adds_kinds_of_content(revision: str, names: set[type]) -> None:
    assert names == later_content(revision)


@pytest.mark.parametrize("content", [AUDIO, LINK, TextContent(text="x"), UnknownContent(Raw(b'{"type":"odour"}'))])
def test_what_a_revision_knows_stays_as_it_is(content: Any) -> None:
    assert content is known_content(content, LATEST_HANDSHAKE)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (AUDIO, "[audio/wav, which cannot be sent in this revision of the protocol]"),
        (LINK, "An A: mem://a (the first letter)"),
        (ResourceLink(uri="mem://a", name="a"), "a: mem://a"),
        (
            ToolUseContent(id="1", name="a", input={}),
            "[ToolUseContent, which cannot be sent in this revision of the protocol]",
        ),
    ],
)
def test_what_a_revision_does_not_know_becomes_text(content: Any, text: str) -> None:
    assert TextContent(text=text) == known_content(content, V2024_11_05)


def _question(**fields: Any) -> ElicitRequestParams:
    return convert({"message": "?", **fields}, ElicitRequestParams)


def _form(**properties: Any) -> ElicitRequestParams:
    return _question(requestedSchema={"type": "object", "properties": properties})


SEVERAL: Any = {"type": "array", "items": {"type": "string", "enum": ["a"]}}
TITLED: Any = {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}


@pytest.mark.parametrize(
    ("question", "path", "what"),
    [
        (_question(mode="url", url="https://a.example"), "url", "addresses to visit"),
        (_form(ok={"type": "boolean"}, n=SEVERAL), "requestedSchema.properties.n", "choices of several"),
        (_form(n=TITLED), "requestedSchema.properties.n", "choices with titles"),
    ],
)
def test_a_question_may_have_what_an_older_revision_lacks(question: ElicitRequestParams, path: str, what: str) -> None:
    assert (path, f"revision {V2025_06_18} has no {what}") == unknown_to(V2025_06_18, question)
    assert unknown_to(LATEST_HANDSHAKE, question) is None


def test_a_plain_form_is_known_since_there_are_forms() -> None:
    form = _form(a={"type": "string", "enum": ["x"], "enumNames": ["X"]}, b={"type": "integer", "minimum": 1})

    assert unknown_to(V2025_06_18, form) is None


def _sampling(*contents: Any, **fields: Any) -> CreateMessageRequestParams:
    messages = [{"role": "user", "content": content} for content in contents]
    return convert({"messages": messages, "maxTokens": 1, **fields}, CreateMessageRequestParams)


USE: Any = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
TEXT: Any = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        (_sampling(TEXT, tools=[]), "tools"),
        (_sampling(TEXT, toolChoice={"mode": "auto"}), "toolChoice"),
        (_sampling(TEXT, USE), "messages[1]"),
        (_sampling([TEXT, USE]), "messages[0]"),
    ],
)
def test_tools_in_sampling_are_for_the_last_handshake_revision(question: CreateMessageRequestParams, path: str) -> None:
    expected = (path, f"revision {V2025_06_18} has no tools in sampling")
    assert expected == sampling_unknown_to(V2025_06_18, question)
    assert sampling_unknown_to(LATEST_HANDSHAKE, question) is None
    assert question is known_sampling(LATEST_HANDSHAKE, question)


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS[:-1])
def test_several_blocks_become_several_messages_where_a_message_has_but_one(revision: str) -> None:
    question = _sampling([TEXT, {"type": "text", "text": "there"}], TEXT)

    assert sampling_unknown_to(revision, question) is None
    assert ["hi", "there", "hi"] == [
        message.content.text
        for message in known_sampling(revision, question).messages
        if isinstance(message.content, TextContent)
    ]
