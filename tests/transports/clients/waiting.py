"""A client that waits for an answer that never comes, until it is killed; the URL is its argument."""

import asyncio
import sys

from suaveplan_mcp.targets import connect


async def main() -> None:
    async with connect(sys.argv[1]) as client:
        await client.call_tool("wait")


asyncio.run(main())
