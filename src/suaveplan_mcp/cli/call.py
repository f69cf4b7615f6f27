"""`suaveplan-mcp call TARGET TOOL [NAME=VALUE …]`: call a tool."""

from argparse import Namespace

from msgspec import UNSET

from suaveplan_mcp.cli.content import describe
from suaveplan_mcp.cli.opening import with_client
from suaveplan_mcp.cli.printing import write_json, write_line
from suaveplan_mcp.cli.values import parse_values
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError


def main(options: Namespace) -> int:
    """Print the content of what the tool returns; the status is 1 where the tool says that it failed."""

    async def use(client: MCPClient) -> int:
        tools = {tool.name: tool for tool in await client.refresh_tools()}
        tool = tools.get(options.tool)
        if tool is None:
            raise MCPError(
                MCP_CODES.NOT_FOUND, f"there is no tool {options.tool!r}; there are {', '.join(tools) or 'none'}"
            )
        result = await client.call_tool(tool.name, parse_values(options.values, tool.input_schema))
        if options.json:
            write_json(result)
        elif result.content or result.structured_content is UNSET:
            for item in result.content:
                write_line(describe(item))
        else:
            write_json(result.structured_content)
        return 1 if result.is_error else 0

    return with_client(options, use)
