"""The end of a transport that has tasks and handles to clean up."""

import asyncio

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.transport.base import TransportBase, logger


def transport_error(problem: str, cause: BaseException | None = None) -> MCPTransportError:
    """Return the error for a way to the peer that failed."""
    return MCPTransportError(MCP_CODES.TRANSPORT_ERROR, problem, cause=cause)


class ClosingTransport(TransportBase):
    """A transport whose close takes time, done once by a task of its own.

    That task belongs to no caller, so `close` may be called from any task, by several at once, and be cancelled:
    the clean-up still runs to its end.

    Args:
        close_timeout: seconds that each step of the clean-up may take before it is cancelled.
    """

    __slots__ = ("_close_timeout", "_closing")

    def __init__(self, close_timeout: float) -> None:
        super().__init__()
        self._close_timeout = close_timeout
        self._closing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Close the transport: nothing more is delivered; what is queued is still written, within the time allowed."""
        await asyncio.shield(self._begin_closing())

    def _begin_closing(self) -> asyncio.Task[None]:
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._clean_up())
            super()._finish()
        return self._closing

    def _finish(self) -> None:
        self._begin_closing()

    def _fail(self, error: MCPTransportError) -> MCPTransportError:
        """Close because of `error`, and return it."""
        if not self._closed:
            self.failure = error
        self._finish()
        return error

    async def _clean_up(self) -> None:
        """Write what is queued and let go of everything."""

    async def _within_timeout(self, task: asyncio.Task[None]) -> None:
        """Wait for one step of the clean-up; what it raises is of no use to anyone any more."""
        timer = asyncio.get_running_loop().call_later(self._close_timeout, task.cancel)
        try:
            await asyncio.wait((task,))
        finally:
            timer.cancel()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.debug("while closing the transport: %r", error)
