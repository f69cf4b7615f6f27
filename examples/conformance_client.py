"""A client that does what a scenario of the official conformance suite asks of it: `conformance_client.py URL`.

The suite says by environment variables which scenario it plays and which revision is to be spoken. `make conformance`
runs it; by hand any server over Streamable HTTP will do:

    MCP_CONFORMANCE_SCENARIO=tools_call python examples/conformance_client.py http://localhost:8000/mcp
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

from suaveplan_mcp import MCPClient, connect
from suaveplan_mcp.types import CreateMessageRequestParams, ElicitRequestParams, ElicitResult

Play = Callable[[MCPClient, dict[str, Any]], Awaitable[None]]
"""Does what a scenario asks of a client that is connected; takes what the suite gives along."""


async def call_every_tool(client: MCPClient, _: dict[str, Any]) -> None:
    """Call every tool that is listed, with simple arguments."""
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, _arguments_for(tool.input_schema))


async def use_everything(client: MCPClient, given: dict[str, Any]) -> None:
    """Call every tool, read every resource and get every prompt."""
    await call_every_tool(client, given)
    for resource in (await client.list_resources()).resources:
        await client.read_resource(resource.uri)
    for prompt in (await client.list_prompts()).prompts:
        await client.get_prompt(prompt.name)


async def make_the_calls(client: MCPClient, given: dict[str, Any]) -> None:
    """List the tools, then make the calls that the suite gives."""
    await client.list_tools()
    for call in given["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def call_at_once(client: MCPClient, _: dict[str, Any]) -> None:
    """Call all tools at the same time, so that answers to one could get into another."""
    tools = (await client.list_tools()).tools
    await asyncio.gather(*(client.call_tool(tool.name) for tool in tools))


async def list_tools(client: MCPClient, _: dict[str, Any]) -> None:
    """List the tools and do nothing with them."""
    await client.list_tools()


async def ask_who_it_is(client: MCPClient, _: dict[str, Any]) -> None:
    """Ask the server what it is, once more than connecting does."""
    await client.ping()


async def echo_schema(client: MCPClient, _: dict[str, Any]) -> None:
    """Give the schema of one tool back through another."""
    schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    await client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


def accept(_: ElicitRequestParams) -> ElicitResult:
    """Answer for the user."""
    return ElicitResult(action="accept", content={})


def answer(_: CreateMessageRequestParams) -> str:
    """Answer for the model."""
    return "Paris"


PLAYS: Final[dict[str, Play]] = {
    "http-custom-headers": make_the_calls,
    "http-invalid-tool-headers": call_every_tool,
    "http-standard-headers": use_everything,
    "json-schema-2020-12-preservation": echo_schema,
    "json-schema-ref-no-deref": list_tools,
    "request-metadata": ask_who_it_is,
    "sep-2322-client-request-state": call_at_once,
    "tools_call": call_every_tool,
}


def _arguments_for(schema: dict[str, Any]) -> dict[str, object]:
    """Return arguments that a simple schema takes."""
    examples = {"string": "text", "number": 5, "integer": 3, "boolean": True}
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {name: examples.get(str(each.get("type")), "text") for name, each in properties.items()}


async def main(url: str) -> None:
    """Connect to the server of a scenario and play it."""
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    protocol = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "auto")
    connection = connect(url, protocol=protocol)
    client = connection.client
    client.set_elicitation_provider(accept)
    client.set_sampling_provider(answer)
    client.set_roots_provider(list)
    async with connection:
        await PLAYS[scenario](client, given)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
