"""A server of this library with everything that it has; `stdio` or `sse` on the command line."""

import asyncio
import sys
from dataclasses import dataclass
from itertools import count as count_up
from typing import Any

from suaveplan_mcp import Context, MCPServer
from suaveplan_mcp.types import (
    AudioContent,
    Completion,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from tests.interop.servers.listening import serve_sse

# Small pages, so that every client has to turn them.
server = MCPServer("ours", "1.0", "Ask for anything.", title="Of this library", page_size=2)

cities = ["Berlin", "Bern", "Oslo"]
happened: list[str] = []
numbers = count_up()


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


@server.tool(title="Addition", annotations=ToolAnnotations(read_only_hint=True))
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


@server.tool
def show() -> list[ContentBlock]:
    """Return a block of every kind."""
    return [
        TextContent(text="≤ 🎉"),
        ImageContent(data="iVBORw==", mime_type="image/png"),
        AudioContent(data="UklGRg==", mime_type="audio/wav"),
        ResourceLink(uri="mem://greeting", name="greeting"),
        EmbeddedResource(resource=TextResourceContents(uri="mem://note", text="inside")),
    ]


@server.tool
def refuse(reason: str) -> str:
    """Fail."""
    raise ValueError(reason)


@server.tool
async def count(upto: int, ctx: Context) -> int:
    """Count, and report every step."""
    for number in range(1, upto + 1):
        ctx.progress(number, upto, f"at {number}")
    return upto


@server.tool
async def count_in_turn(upto: int, ctx: Context) -> int:
    """Count, and let the client answer a ping between one report and the next."""
    assert ctx.client is not None
    for number in range(1, upto + 1):
        ctx.progress(number, upto, f"at {number}")
        await ctx.client.dispatcher.request("ping")
    return upto


@server.tool
def speak(ctx: Context) -> str:
    """Log something at two levels."""
    ctx.log("debug", {"step": 1}, "speaker")
    ctx.log("warning", "louder", "speaker")
    return "spoken"


@server.tool
async def think(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    answer = await ctx.sample(question, max_tokens=10, system_prompt="Be brief.", temperature=0.5)
    assert isinstance(answer.content, TextContent)
    return f"{answer.model}: {answer.content.text}"


@server.tool
async def fill_in(ctx: Context) -> str:
    """Have the user fill in a form."""
    answer = await ctx.elicit("Who are you?", Form)
    return f"{answer.action} {'' if answer.content is None else sorted(answer.content.items())}".strip()


@server.tool
async def visit(ctx: Context) -> str:
    """Send the user to an address."""
    answer = await ctx.elicit("Have a look.", url="https://example.org/look", elicitation_id="look-1")
    assert ctx.client is not None
    await ctx.client.dispatcher.notify("notifications/elicitation/complete", {"elicitationId": "look-1"})
    return answer.action


@server.tool
async def call_back(ctx: Context) -> str:
    """Ping the client."""
    assert ctx.client is not None
    await ctx.client.dispatcher.request("ping")
    return "it is there"


@server.tool
def places(ctx: Context) -> list[str]:
    """Ask for the client's roots, from a thread."""
    return [f"{root.name} {root.uri}" for root in ctx.list_roots().wait()]


@server.tool
async def wait(ctx: Context) -> None:
    """Never end by itself; say when it runs."""
    ctx.progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        happened.append("wait ended")


@server.tool
def recall() -> list[str]:
    """Tell what has happened."""
    return happened


@server.tool
def grow() -> str:
    """Offer one more of everything."""
    name = f"grown-{next(numbers)}"
    server.register_tool(lambda: "new", name=name)
    server.register_resource(lambda: "new", uri=f"mem://{name}", name=name)
    server.register_prompt(lambda: "new", name=name)
    return name


@server.tool
def touch(uri: str) -> str:
    """Say that a resource has changed, to whoever subscribed to it."""
    server.mark_resource_updated(uri)
    return "touched"


@server.tool
def introduce(ctx: Context) -> dict[str, Any]:
    """Tell what is known of the client."""
    assert ctx.client is not None
    info, declared = ctx.client.client_info, ctx.client.client_capabilities
    assert info is not None
    names = [name for name in ("sampling", "elicitation", "roots") if getattr(declared, name) is not None]
    return {"name": info.name, "revision": ctx.client.revision, "declared": names}


@server.resource("mem://greeting", mime_type="text/plain")
def greeting() -> str:
    """Greet."""
    return "≤ hello 🎉"


@server.resource("mem://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    """Return what is no text."""
    return bytes(range(4))


@server.resource("mem://many")
def many() -> list[str]:
    """Return several contents at once."""
    return ["one", "two"]


@server.resource("mem://city/{name}")
async def city(name: str) -> str:
    """Describe a city."""
    return f"{name} is a city"


@server.prompt(title="Greeting")
def greet(name: str, tone: str = "warm") -> list[dict[str, Any]]:
    """Greet somebody."""
    return [
        {"role": "user", "content": {"type": "text", "text": f"Greet {name} in a {tone} way."}},
        {"role": "assistant", "content": {"type": "text", "text": "Hello!"}},
    ]


@server.completion("mem://city/{name}", "name")
def complete_city(typed: str) -> list[str]:
    """Complete cities."""
    return [city for city in cities if city.startswith(typed)]


@server.completion("greet", "tone")
def complete_tone(typed: str, settled: dict[str, str]) -> Completion:
    """Complete tones, which depend on the name."""
    return Completion(values=[f"{typed}{settled.get('name', '?')}"], total=1)


if __name__ == "__main__":
    if sys.argv[1] == "sse":
        serve_sse(server.sse_app())
    else:
        server.run()
