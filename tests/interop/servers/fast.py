"""A server of FastMCP with everything that it has; `stdio` or `sse` on the command line."""

import asyncio
import json
import sys
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message
from fastmcp.utilities.types import Audio, Image

from tests.interop.servers.listening import serve_sse

# What the handshake era has is deprecated there, and tested here.
warnings.simplefilter("ignore")

server = FastMCP("fast", version="4.2", instructions="Ask for anything.")
lowlevel: Any = server._mcp_server

cities = ["Berlin", "Bern", "Oslo"]
happened: list[str] = []
watched: set[str] = set()


@dataclass
class Person:
    """Somebody."""

    name: str
    age: int = 36


@dataclass
class Form:
    """What the user fills in."""

    name: str
    count: int = 3
    sure: bool = False


@server.tool(title="Addition", annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool
def birthday(person: Person) -> Person:
    """Make somebody a year older."""
    return Person(person.name, person.age + 1)


@server.tool(output_schema=None)
def show() -> list[Any]:
    """Return a block of every kind."""
    return [
        "≤ 🎉",
        Image(data=b"\x89PNG", format="png"),
        Audio(data=b"RIFF", format="wav"),
        types.ResourceLink(type="resource_link", uri="mem://greeting", name="greeting"),
        types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri="mem://note", text="inside")),
    ]


@server.tool
def refuse(reason: str) -> str:
    """Fail."""
    raise ToolError(reason)


@server.tool
async def count(upto: int, ctx: Context) -> int:
    """Count, and report every step."""
    for number in range(1, upto + 1):
        await ctx.report_progress(number, upto, f"at {number}")
    return upto


@server.tool
async def speak(ctx: Context) -> str:
    """Log something at two levels."""
    await ctx.log("step 1", level="debug", logger_name="speaker")
    await ctx.warning("louder", logger_name="speaker")
    return "spoken"


@server.tool
async def think(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=question))
    answer = await ctx.session.create_message([message], max_tokens=10, system_prompt="Be brief.", temperature=0.5)
    assert isinstance(answer.content, types.TextContent)
    return f"{answer.model}: {answer.content.text}"


@server.tool
async def fill_in(ctx: Context) -> str:
    """Have the user fill in a form."""
    answer = await ctx.elicit("Who are you?", Form)
    filled = asdict(answer.data) if answer.action == "accept" else {}
    return json.dumps({"action": answer.action, **filled})


@server.tool
async def visit(ctx: Context) -> str:
    """Send the user to an address."""
    answer = await ctx.session.elicit_url("Have a look.", "https://example.org/look", "look-1")
    await ctx.session.send_elicit_complete("look-1")
    return answer.action


@server.tool
async def places(ctx: Context) -> list[str]:
    """Ask for the client's roots."""
    result = await ctx.session.list_roots()
    return [f"{root.name} {root.uri}" for root in result.roots]


@server.tool
async def call_back(ctx: Context) -> str:
    """Ping the client."""
    await ctx.session.send_ping()
    return "it is there"


@server.tool
async def wait(ctx: Context) -> None:
    """Never end by itself; say when it runs."""
    await ctx.report_progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        happened.append("wait ended")


@server.tool
def recall() -> list[str]:
    """Tell what has happened."""
    return happened


@server.tool
async def grow(ctx: Context) -> str:
    """Offer one more of everything, and tell."""
    server.tool(lambda: "new", name="grown")
    server.resource("mem://grown")(lambda: "new")
    server.prompt(lambda: "new", name="grown")
    await ctx.send_notification(types.ToolListChangedNotification())
    await ctx.send_notification(types.ResourceListChangedNotification())
    await ctx.send_notification(types.PromptListChangedNotification())
    return "grown"


@server.tool
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
    return [Message(f"Greet {name} in a {tone} way."), Message("Hello!", role="assistant")]


@server.completion
async def complete(
    ref: types.PromptReference | types.ResourceTemplateReference,
    argument: types.CompletionArgument,
    context: types.CompletionContext | None,
) -> types.Completion | list[str]:
    """Complete cities, and tones that depend on the name."""
    if isinstance(ref, types.ResourceTemplateReference):
        return [city for city in cities if city.startswith(argument.value)]
    settled = (context.arguments if context else None) or {}
    return types.Completion(values=[f"{argument.value}{settled.get('name', '?')}"], total=1)


# What the high-level server has no decorator for.


async def subscribe(_: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Remember who watches what."""
    watched.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(_: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Forget it again."""
    watched.discard(params.uri)
    return types.EmptyResult()


lowlevel.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
lowlevel.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)


if __name__ == "__main__":
    if sys.argv[1] == "sse":
        serve_sse(server.http_app(transport="sse", path="/sse"))
    else:
        server.run("stdio", show_banner=False)
