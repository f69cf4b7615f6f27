"""How commands reach a server."""

import asyncio
import logging
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import Final

from suaveplan_mcp.cli.printing import write_stderr_line
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.targets import connect

_SILENCE: Final = logging.NullHandler()


class NoServerError(Exception):
    """What the command line names was started, but is no MCP server."""


def with_client(options: Namespace, use: Callable[[MCPClient], Awaitable[int]]) -> int:
    """Connect to the target of the command line, and return what `use` returns as the exit status.

    Raises:
        NoServerError: the target does not know the handshake.
    """
    if not options.debug:
        # What matters comes out as the error; a second line about the same would puzzle.
        logging.getLogger("suaveplan_mcp").addHandler(_SILENCE)

    async def main() -> int:
        on_stderr = write_stderr_line if options.stderr else None
        connected = False
        try:
            async with connect(
                options.target,
                on_stderr=on_stderr,
                transport=options.transport,
                max_frame_bytes=options.max_frame_bytes,
            ) as client:
                connected = True
                return await use(client)
        except MCPError as error:
            if connected or error.code != MCP_CODES.METHOD_NOT_FOUND:
                raise
            text = f"{options.target!r} is no MCP server: it answers the handshake with {error.message!r}"
            raise NoServerError(text) from error

    return asyncio.run(main())
