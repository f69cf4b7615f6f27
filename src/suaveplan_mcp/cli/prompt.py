"""`suaveplan-mcp prompt TARGET NAME [NAME=VALUE …]`: fill in a prompt."""

from argparse import Namespace

from suaveplan_mcp.cli.content import describe
from suaveplan_mcp.cli.opening import with_client
from suaveplan_mcp.cli.printing import write_json, write_line
from suaveplan_mcp.cli.values import parse_texts
from suaveplan_mcp.client.mcp_client import MCPClient


def main(options: Namespace) -> int:
    """Print the messages of a prompt, each behind its role."""
    values = parse_texts(options.values)

    async def use(client: MCPClient) -> int:
        result = await client.get_prompt(options.name, values)
        if options.json:
            write_json(result)
            return 0
        for message in result.messages:
            write_line(f"{message.role}: {describe(message.content)}")
        return 0

    return with_client(options, use)
