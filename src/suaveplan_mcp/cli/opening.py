"""How commands reach a server."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable

from suaveplan_mcp.cli.printing import write_stderr_line
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.targets import connect


def with_client(options: Namespace, use: Callable[[MCPClient], Awaitable[int]]) -> int:
    """Connect to the target of the command line, and return what `use` returns as the exit status."""

    async def main() -> int:
        on_stderr = write_stderr_line if options.stderr else None
        async with connect(options.target, on_stderr=on_stderr) as client:
            return await use(client)

    return asyncio.run(main())
