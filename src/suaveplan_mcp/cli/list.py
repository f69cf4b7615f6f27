"""`suaveplan-mcp list TARGET`: list what a server offers."""

from argparse import Namespace
from collections.abc import Iterable

from suaveplan_mcp.cli.opening import with_client
from suaveplan_mcp.cli.printing import write_json, write_line
from suaveplan_mcp.client.mcp_client import MCPClient


def main(options: Namespace) -> int:
    """List tools, resources, resource templates and prompts, each with its description."""

    async def use(client: MCPClient) -> int:
        tools = await client.refresh_tools()
        resources = await client.refresh_resources()
        templates = await client.refresh_resource_templates()
        prompts = await client.refresh_prompts()
        if options.json:
            write_json({"tools": tools, "resources": resources, "resourceTemplates": templates, "prompts": prompts})
            return 0
        _write_section("tools", [(tool.name, tool.description) for tool in tools])
        _write_section("resources", [(item.uri, item.description or item.name) for item in resources])
        _write_section("resource templates", [(item.uri_template, item.description or item.name) for item in templates])
        _write_section("prompts", [(prompt.name, prompt.description) for prompt in prompts])
        return 0

    return with_client(options, use)


def _write_section(title: str, items: Iterable[tuple[str, str | None]]) -> None:
    lines = [f"  {name}{_first_line(description)}" for name, description in items]
    if lines:
        write_line("\n".join([f"{title}:", *lines]))


def _first_line(description: str | None) -> str:
    text = (description or "").strip().partition("\n")[0]
    return f"  {text}" if text else ""
