"""`suaveplan-mcp read TARGET URI`: read a resource."""

import base64
from argparse import Namespace

from suaveplan_mcp.cli.opening import with_client
from suaveplan_mcp.cli.printing import write_bytes, write_json, write_line
from suaveplan_mcp.client.mcp_client import MCPClient


def main(options: Namespace) -> int:
    """Print the text of a resource, or write its bytes."""

    async def use(client: MCPClient) -> int:
        result = await client.read_resource(options.uri)
        if options.json:
            write_json(result)
            return 0
        for contents in result.contents:
            if contents.text is not None:
                write_line(contents.text)
            else:
                write_bytes(base64.b64decode(contents.blob or ""))
        return 0

    return with_client(options, use)
