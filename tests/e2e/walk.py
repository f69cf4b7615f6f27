"""One walk along the whole method surface, for every wire and every revision."""

import asyncio
from typing import Any

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.completion import PromptReference
from suaveplan_mcp.types.progress import ProgressNotificationParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams


def walked_server() -> MCPServer:
    """Return a server that has something of everything."""
    server = MCPServer("walked", "1")
    server.register_root("file:///srv", name="The server's own")

    @server.tool
    def echo(text: str) -> dict[str, str]:
        return {"said": text}

    @server.tool
    async def count(upto: int, ctx: Context) -> int:
        for number in range(1, upto + 1):
            await ctx.progress(number, upto)
        return upto

    @server.tool
    async def wait(ctx: Context) -> None:
        ctx.progress(1)
        await asyncio.Event().wait()

    @server.tool
    async def think(question: str, ctx: Context) -> str:
        places = await ctx.list_roots()
        answer: Any = await ctx.sample(f"{question} in {places[0].uri}")
        ctx.log("info", "thought about it", "thinker")
        return answer.content.text

    @server.resource("mem://fixed", mime_type="text/plain")
    async def fixed() -> str:
        return "≤ 🎉"

    @server.resource("mem://item/{id}")
    def item(id: int) -> bytes:
        return bytes([id])

    @server.prompt
    def greet(who: str) -> str:
        """Greet somebody."""
        return f"Say hello to {who}."

    @server.completion("greet", "who")
    def people(typed: str) -> list[str]:
        return [name for name in ("Ada", "Alan", "Grace") if name.startswith(typed)]

    return server


def _answer(params: CreateMessageRequestParams) -> str:
    content: Any = params.messages[0].content
    return f"about {content.text}"


def walking_client(**options: Any) -> MCPClient:
    """Return a client that can be asked everything."""
    client = MCPClient("walker", "1", **options)
    client.set_sampling_provider(_answer)
    client.set_roots_provider(lambda: ["file:///home"])
    return client


async def use_tools(client: MCPClient) -> None:
    """List and call tools."""
    assert ["echo", "count", "wait", "think"] == [tool.name for tool in await client.refresh_tools()]
    assert {"said": "a≤b🎉"} == (await client.call_tool("echo", {"text": "a≤b🎉"})).structured_content
    reports: list[tuple[float, float | None]] = []

    def note(report: ProgressNotificationParams) -> None:
        reports.append((report.progress, report.total))

    assert {"result": 3} == (await client.call_tool("count", {"upto": 3}, on_progress=note)).structured_content
    assert [(1, 3), (2, 3), (3, 3)] == reports


async def use_resources(server: MCPServer, client: MCPClient) -> None:
    """List, read and watch resources."""
    assert ["mem://fixed"] == [resource.uri for resource in await client.refresh_resources()]
    assert ["mem://item/{id}"] == [each.uri_template for each in await client.refresh_resource_templates()]
    assert "≤ 🎉" == (await client.read_resource("mem://fixed")).contents[0].text
    assert "+w==" == (await client.read_resource("mem://item/251")).contents[0].blob
    updated = asyncio.Event()
    client.events.once("resource:updated", lambda _: updated.set())
    await client.subscribe_resource("mem://fixed")
    server.mark_resource_updated("mem://fixed")
    await updated.wait()
    await client.unsubscribe_resource("mem://fixed")


async def use_prompts(client: MCPClient) -> None:
    """List, fill in and complete prompts."""
    assert ["greet"] == [prompt.name for prompt in await client.refresh_prompts()]
    content: Any = (await client.get_prompt("greet", {"who": "Ada"})).messages[0].content
    assert "Say hello to Ada." == content.text
    completed = await client.complete(PromptReference(name="greet"), {"name": "who", "value": "A"})
    assert ["Ada", "Alan"] == completed.completion.values


async def be_asked(server: MCPServer, client: MCPClient) -> None:
    """Let the server ask the client, and the client ask for the roots of the server."""
    thought: Any = await client.call_tool("think", {"question": "what"})
    assert "about what in file:///home" == thought.content[0].text
    message: Any = await server.create_sampling_message(
        {"messages": [{"role": "user", "content": {"type": "text", "text": "it"}}], "maxTokens": 9}
    )
    assert "about it" == message.content.text
    assert ["file:///home"] == [root.uri for root in await server.list_client_roots()]
    assert ["file:///srv"] == [root.uri for root in await client.refresh_roots()]
