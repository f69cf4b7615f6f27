"""The walk in every revision of the handshake era; every message is held to the official schemas where they are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.jsonrpc.codec import encode_message
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, V2025_06_18, V2025_11_25, is_at_least
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import RecordingTransport
from suaveplan_mcp.types.content import AudioContent, ImageContent, ResourceLink
from tests.e2e.walk import be_asked, use_prompts, use_resources, use_tools, walked_server, walking_client
from tests.e2e.wires import connected, over_streams

pytestmark = [
    pytest.mark.requirement("one-walk-passes-the-whole-method-surface"),
    pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS),
]

RESULTS = {
    "initialize": "InitializeResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "sampling/createMessage": "CreateMessageResult",
    "elicitation/create": "ElicitResult",
    "roots/list": "ListRootsResult",
}


def _add_everything_new(server: MCPServer) -> None:
    """Register what is new in one revision or another."""
    media = [
        ImageContent(data="AA==", mime_type="image/png"),
        AudioContent(data="AA==", mime_type="audio/wav"),
        ResourceLink(uri="mem://fixed", name="fixed"),
    ]
    server.register_tool(lambda: media, name="media")
    server.register_prompt(lambda: media, name="media")

    @server.tool
    async def choose(ctx: Context, *, titled: bool) -> str:
        choice: Any = {"type": "string", "enum": ["red"]}
        several: Any = {"type": "array", "items": {"anyOf": [{"const": "red", "title": "Red"}]}}
        form = {"type": "object", "properties": {"colour": several if titled else choice}}
        return (await ctx.elicit("Which?", form)).action

    @server.tool
    async def talk(ctx: Context) -> str:
        blocks = [{"type": "text", "text": "hi"}, {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]
        return (await ctx.sample([{"role": "user", "content": blocks}])).model


async def _walk(revision: str) -> RecordingTransport:
    """Walk in a revision and return what crossed the wire."""
    server = walked_server()
    client = walking_client(prefetch=False, accepted_versions=[revision])
    client.set_elicitation_provider(lambda _: {"action": "decline"})
    async with connected(server, client, over_streams) as wire:
        (connection,) = server._connections
        assert revision == connection.revision
        await use_tools(client)
        await use_resources(server, client)
        await use_prompts(client)
        await be_asked(server, client)
        await client.set_log_level("warning")
        await client.ping()
        _add_everything_new(server)
        await client.call_tool("media")
        await client.get_prompt("media")
        refused = [(await client.call_tool("choose", {"titled": titled})).is_error is True for titled in (False, True)]
        assert [not is_at_least(revision, since) for since in (V2025_06_18, V2025_11_25)] == refused
        client.set_sampling_provider(lambda _: "hello")
        assert not (await client.call_tool("talk")).is_error
        if is_at_least(revision, V2025_11_25):
            assert (await client.call_tool("echo", {"text": 1})).is_error
        else:
            with pytest.raises(MCPError, match="Invalid request parameters"):
                await client.call_tool("echo", {"text": 1})
        with pytest.raises(MCPError):
            await client.read_resource("mem://nowhere")
    return wire


async def test_the_walk_passes_in_every_revision(revision: str) -> None:
    wire = await _walk(revision)

    assert wire.sent
    assert wire.received


async def test_every_message_of_the_walk_is_one_of_the_revision(revision: str, spec_dir: Path) -> None:
    wire = await _walk(revision)

    assert [] == list(_problems(wire, json.loads((spec_dir / revision / "schema.json").read_text("utf-8"))))


def _problems(wire: RecordingTransport, schema: Any) -> Iterator[str]:
    """Give what a revision's schema says against the messages of a wire, in both directions."""
    key = "definitions" if "definitions" in schema else "$defs"
    definitions = schema[key]
    names = {
        method: name
        for name, definition in definitions.items()
        if (method := definition.get("properties", {}).get("method", {}).get("const")) is not None
    }
    directions = [[json.loads(encode_message(message)) for message in each] for each in (wire.sent, wire.received)]
    for messages, answered in (directions, directions[::-1]):
        asked = {message["id"]: message["method"] for message in answered if "method" in message and "id" in message}
        for message in messages:
            name, value = _definition_of(message, names, asked)
            # The last revision renamed it.
            name = "JSONRPCErrorResponse" if name not in definitions and "error" in message else name
            if name not in definitions:
                yield f"{message} is unknown"
                continue
            validator = jsonschema_rs.validator_for(
                {"$schema": schema["$schema"], "$ref": f"#/{key}/{name}", key: definitions}
            )
            yield from (f"{name}: {error.message} at {error.instance_path}" for error in validator.iter_errors(value))


def _definition_of(message: Any, names: dict[str, str], asked: dict[Any, str]) -> tuple[str | None, Any]:
    """Return the name of the definition that a message has to fit, and the part of it that has to."""
    if "method" in message:
        return names.get(message["method"], message["method"]), message
    if "error" in message:
        return "JSONRPCError", message
    return RESULTS.get(asked[message["id"]], "Result"), message["result"]
