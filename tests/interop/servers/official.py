"""A server of the official SDK with everything that it has; `stdio` or `sse` on the command line."""

import json
import sys
import warnings
from typing import Any

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import AssistantMessage, Audio, Context, Image, MCPServer, Message, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from tests.interop.servers.listening import serve_sse

# What the handshake era has is deprecated there, and tested here.
warnings.simplefilter("ignore")

server = MCPServer("official", title="Of the SDK", version="2.3", instructions="Ask for anything.", log_level="ERROR")
lowlevel: Any = server._lowlevel_server

cities = ["Berlin", "Bern", "Oslo"]
happened: list[str] = []


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = 36


class Form(BaseModel):
    """What the user fills in."""

    name: str
    count: int = 3
    sure: bool = False


@server.tool(title="Addition", annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool()
def birthday(person: Person) -> Person:
    """Make somebody a year older."""
    return Person(name=person.name, age=person.age + 1)


@server.tool(structured_output=False)
def show() -> list[Any]:
    """Return a block of every kind."""
    blocks: list[ContentBlock] = [
        TextContent(type="text", text="≤ 🎉"),
        Image(data=b"\x89PNG", format="png").to_image_content(),
        Audio(data=b"RIFF", format="wav").to_audio_content(),
        ResourceLink(type="resource_link", uri="mem://greeting", name="greeting"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="mem://note", text="inside")),
    ]
    return blocks


@server.tool()
def refuse(reason: str) -> str:
    """Fail."""
    raise ToolError(reason)


@server.tool()
async def count(upto: int, ctx: Context) -> int:
    """Count, and report every step."""
    for number in range(1, upto + 1):
        await ctx.report_progress(number, upto, f"at {number}")
    return upto


@server.tool()
async def speak(ctx: Context) -> str:
    """Log something at two levels."""
    await ctx.debug({"step": 1}, logger_name="speaker")
    await ctx.warning("louder", logger_name="speaker")
    return "spoken"


@server.tool()
async def think(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    answer = await ctx.session.create_message([message], max_tokens=10, system_prompt="Be brief.", temperature=0.5)
    assert isinstance(answer.content, TextContent)
    return f"{answer.model}: {answer.content.text}"


@server.tool()
async def fill_in(ctx: Context) -> str:
    """Have the user fill in a form."""
    answer = await ctx.elicit("Who are you?", Form)
    filled = answer.data.model_dump() if answer.action == "accept" else {}
    return json.dumps({"action": answer.action, **filled})


@server.tool()
async def visit(ctx: Context) -> str:
    """Send the user to an address."""
    answer = await ctx.elicit_url("Have a look.", "https://example.org/look", "look-1")
    await ctx.session.send_elicit_complete("look-1")
    return answer.action


@server.tool()
async def places(ctx: Context) -> list[str]:
    """Ask for the client's roots."""
    result = await ctx.session.list_roots()
    return [f"{root.name} {root.uri}" for root in result.roots]


@server.tool()
async def call_back(ctx: Context) -> str:
    """Ping the client."""
    await ctx.session.send_ping()
    return "it is there"


@server.tool()
async def wait(ctx: Context) -> None:
    """Never end by itself; say when it runs."""
    await ctx.report_progress(1)
    try:
        await anyio.sleep_forever()
    finally:
        happened.append("wait ended")


@server.tool()
def recall() -> list[str]:
    """Tell what has happened."""
    return happened


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one more of everything, and tell."""
    server.add_tool(lambda: "new", name="grown", description="Was added.")
    server.resource("mem://grown", name="grown")(lambda: "new")
    server.prompt("grown")(lambda: "new")
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_resource_list_changed()
    await ctx.session.send_prompt_list_changed()
    return "grown"


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Say that a resource has changed, to whoever subscribed to it."""
    if uri in watched:
        await ctx.session.send_resource_updated(uri)
    return f"{len(watched)} watched"


@server.resource("mem://greeting", mime_type="text/plain")
def greeting() -> str:
    """Greet."""
    return "≤ hello 🎉"


@server.resource("mem://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    """Return what is no text."""
    return bytes(range(4))


@server.resource("mem://city/{name}")
async def city(name: str) -> str:
    """Describe a city."""
    return f"{name} is a city"


@server.prompt(title="Greeting")
def greet(name: str, tone: str = "warm") -> list[Message]:
    """Greet somebody."""
    return [UserMessage(f"Greet {name} in a {tone} way."), AssistantMessage("Hello!")]


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion | None:
    """Complete cities, and tones that depend on the name."""
    if isinstance(ref, ResourceTemplateReference):
        return Completion(values=[city for city in cities if city.startswith(argument.value)], has_more=False)
    settled = (context.arguments if context else None) or {}
    return Completion(values=[f"{argument.value}{settled.get('name', '?')}"], total=1)


# What the high-level server has no decorator for.

watched: set[str] = set()


async def subscribe(_: Any, params: SubscribeRequestParams) -> EmptyResult:
    """Remember who watches what."""
    watched.add(params.uri)
    return EmptyResult()


async def unsubscribe(_: Any, params: UnsubscribeRequestParams) -> EmptyResult:
    """Forget it again."""
    watched.discard(params.uri)
    return EmptyResult()


async def set_level(_: Any, params: SetLevelRequestParams) -> EmptyResult:
    """Take the level; this server sends everything all the same."""
    del params
    return EmptyResult()


lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
lowlevel.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)


async def serve_stdio() -> None:
    """Serve over standard streams, and declare that lists change."""
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    async with stdio_server() as (read, write):
        await lowlevel.run(read, write, lowlevel.create_initialization_options(changes))


if __name__ == "__main__":
    if sys.argv[1] == "sse":
        serve_sse(server.sse_app())
    else:
        anyio.run(serve_stdio)
