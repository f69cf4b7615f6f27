"""A server that has one of everything: every kind of content, of question to the client and of notification.

Serve it, and look at it with any client:

    suaveplan-mcp run examples/everything.py --transport http --port 8000

The names are those that the official conformance suite asks for; `make conformance` runs it against this file.
"""

import asyncio
from base64 import b64encode
from typing import Annotated, Final

from msgspec import Meta, Struct

from suaveplan_mcp import Context, MCPServer
from suaveplan_mcp.server.asking import Ask, elicitation, roots, sampling
from suaveplan_mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

PAUSE: Final = 0.05
"""Seconds between two reports of one tool."""

RED_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE: Final = b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
).decode()

server = MCPServer(
    "everything",
    "1.0.0",
    "Call any tool, read any resource: it is all for trying out a client.",
    title="One of everything",
    list_ttl_ms=1_000,
)


# Tools: every kind of content


@server.tool
async def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> ImageContent:
    """Return an image."""
    return ImageContent(data=RED_PIXEL, mime_type="image/png")


@server.tool
async def test_audio_content() -> AudioContent:
    """Return a sound."""
    return AudioContent(data=SILENCE, mime_type="audio/wav")


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """Return a resource inside the result."""
    text = "This is an embedded resource content."
    return EmbeddedResource(
        resource=TextResourceContents(uri="test://embedded-resource", mime_type="text/plain", text=text)
    )


@server.tool
async def test_multiple_content_types() -> list[ContentBlock]:
    """Return a text, an image and a resource."""
    text = '{"test":"data","value":123}'
    resource = TextResourceContents(uri="test://mixed-content-resource", mime_type="application/json", text=text)
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=RED_PIXEL, mime_type="image/png"),
        EmbeddedResource(resource=resource),
    ]


@server.tool
async def test_error_handling() -> str:
    """Fail, always."""
    raise RuntimeError("This tool intentionally returns an error for testing")


# Tools: what is sent while they run


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", text)
        await asyncio.sleep(PAUSE)
    return "Logged three messages."


@server.tool
async def test_logging_tool(ctx: Context) -> str:
    """Log a message; only a client that asks for it gets it."""
    ctx.log("info", "The tool runs")
    return "Logged, for whoever listens."


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress, where the client asked for it."""
    for percent in (0, 50, 100):
        ctx.progress(percent, 100, f"Completed step {percent} of 100")
        await asyncio.sleep(PAUSE)
    return "Reported progress."


# Tools: asking the client


class _Login(Struct):
    username: Annotated[str, Meta(description="Your name here")]
    email: Annotated[str, Meta(description="Where to write to")]


def _text_of(form: ElicitResult) -> str:
    return f"action={form.action}, content={form.content}"


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    reply = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {_said(reply.content)}"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the client's user for a name and an address."""
    return f"User response: {_text_of(await ctx.elicit(message, _Login))}"


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a form that is filled in already."""
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
    }
    return f"Elicitation completed: {_text_of(await ctx.elicit('Is this right?', form))}"


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask for one or several of a few choices, written in every way there is."""
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    names = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", **names},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    }
    return f"Elicitation completed: {_text_of(await ctx.elicit('Which ones?', form))}"


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Ask the client's model, whether or not the client has one."""
    return _said((await ctx.sample("Are you there?")).content)


@server.tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Report progress, then ask the client's user."""
    ctx.progress(1, 2, "About to ask")
    return _text_of(await ctx.elicit("Shall I go on?", _form("ok", "boolean")))


# Tools: asking in several rounds


def _form(name: str, kind: str = "string") -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}


def _field(form: object, name: str) -> object:
    """Return what a user filled in, None where the form was not accepted."""
    return (form.content or {}).get(name) if isinstance(form, ElicitResult) else None


def _said(content: object) -> str:
    return content.text if isinstance(content, TextContent) else str(content)


@server.tool
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    form = await ctx.elicit("What is your name?", _form("name"), key="user_name")
    return f"Hello, {_field(form, 'name')}!"


@server.tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model for a capital."""
    reply = await ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return _said(reply.content)


@server.tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    found = await ctx.list_roots(key="client_roots")
    return ", ".join(root.uri for root in found)


@server.tool
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation; what is known so far travels with the question."""
    await ctx.elicit("Please confirm", _form("ok", "boolean"), key="confirm")
    return "state-ok"


@server.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation; what comes back altered is refused before this runs."""
    await ctx.elicit("Please confirm", _form("ok", "boolean"), key="confirm")
    return "state-ok"


@server.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things at once."""
    answers = await ctx.ask(
        {
            "user_name": elicitation("What is your name?", _form("name")),
            "greeting": sampling("Generate a greeting", max_tokens=50),
            "client_roots": roots(),
        }
    )
    return f"{_field(answers['user_name'], 'name')}: {len(answers)} answers"


@server.tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after the other."""
    name = await ctx.elicit("Step 1: What is your name?", _form("name"), key="step1")
    color = await ctx.elicit("Step 2: What is your favorite color?", _form("color"), key="step2")
    return f"{_field(name, 'name')} likes {_field(color, 'color')}"


@server.tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask what the client can answer, and nothing else."""
    client, asks = ctx.client, dict[str, Ask]()
    if client is not None and client.capabilities.elicitation is not None:
        asks["user_name"] = elicitation("What is your name?", _form("name"))
    if client is not None and client.capabilities.sampling is not None:
        asks["capital_question"] = sampling("What is the capital of France?", max_tokens=100)
    if client is not None and client.capabilities.roots is not None:
        asks["client_roots"] = roots()
    answers = await ctx.ask(asks)
    return f"{len(answers)} answers"


# Tools: what changes, and what travels in headers


@server.tool
async def test_trigger_tool_change() -> str:
    """Change the list of tools for a moment."""
    server.register_tool(test_simple_text, name="test_short_lived")
    server.unregister_tool("test_short_lived")
    return "The list of tools has changed."


@server.tool
async def test_trigger_prompt_change() -> str:
    """Change the list of prompts for a moment."""
    server.register_prompt(test_simple_prompt, name="test_short_lived")
    server.unregister_prompt("test_short_lived")
    return "The list of prompts has changed."


@server.tool
async def test_header_parameter(
    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})],
) -> str:
    """Say where; over HTTP the region stands in a header as well, where a proxy can read it."""
    return f"Served for {region}."


async def _accept_anything() -> CallToolResult:
    return CallToolResult(content=[TextContent(text="The arguments fit.")])


server.register_tool(
    _accept_anything,
    name="json_schema_2020_12_tool",
    description="Take arguments whose schema uses most of what JSON Schema 2020-12 has.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)


# Resources


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """Read a text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """Read an image that never changes."""
    return b"\x89PNG\r\n\x1a\n"


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> dict[str, object]:  # the name of the variable is given
    """Read the data of any id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """Read what clients may watch."""
    return "This resource can be subscribed to."


# Prompts


@server.prompt
async def test_simple_prompt() -> str:
    """Get a prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Get a prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
async def complete_arg1(value: str) -> list[str]:
    """Suggest values that begin like what was typed."""
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


@server.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:  # noqa: N803  given by the suite
    """Get a prompt with a resource inside."""
    text = "Embedded resource content for testing."
    resource = TextResourceContents(uri=resourceUri, mime_type="text/plain", text=text)
    return [
        PromptMessage(role="user", content=EmbeddedResource(resource=resource)),
        PromptMessage(role="user", content=TextContent(text="Please process the embedded resource above.")),
    ]


@server.prompt
async def test_prompt_with_image() -> list[PromptMessage]:
    """Get a prompt with an image inside."""
    return [
        PromptMessage(role="user", content=ImageContent(data=RED_PIXEL, mime_type="image/png")),
        PromptMessage(role="user", content=TextContent(text="Please analyze the image above.")),
    ]


@server.prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """Ask the client's user first, then give the prompt."""
    form = await ctx.elicit("What context should the prompt use?", _form("context"), key="user_context")
    return f"Use this context: {_field(form, 'context')}"
