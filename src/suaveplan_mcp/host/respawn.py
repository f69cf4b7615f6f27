"""Starting a server again that has ended by itself: how often, and after how long a wait."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from msgspec import Struct

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.runtime.timers import Clock, Timers
from suaveplan_mcp.transport.base import Transport


def _random() -> float:
    # The module `random` takes longer to load than it would be of use.
    return os.urandom(1)[0] / 255


class Respawn(Struct, frozen=True):
    """Start a server again when it has ended by itself.

    Args:
        limit: how many times in a row that is done.
        delay: seconds before the first of them. Before each further one it is twice as long.
        max_delay: seconds that no delay exceeds.
        steady_after: seconds that a server must have run for the row to begin anew.
        jitter: gives a number from 0 to 1. A delay is shortened by up to a half with it, so that many clients of a
            resource that failed do not all come back at the same moment.
    """

    limit: int = 5
    delay: float = 0.5
    max_delay: float = 30.0
    steady_after: float = 60.0
    jitter: Callable[[], float] = _random

    def delay_before(self, attempt: int) -> float:
        """Return the seconds to wait before an attempt; the first is number 0."""
        return min(self.delay * 2.0**attempt, self.max_delay) * (1 - self.jitter() / 2)


class RespawnedServer:
    """A server process, and its successors.

    Args:
        spawn: starts one.
        policy: how often, and when.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
    """

    __slots__ = ("_attempts", "_clock", "_policy", "_server", "_spawn", "_started", "_timers")

    def __init__(
        self, spawn: Callable[[], Awaitable[ServerProcess]], policy: Respawn, clock: Clock, timers: Timers
    ) -> None:
        self._spawn = spawn
        self._policy = policy
        self._clock = clock
        self._timers = timers
        self._attempts = 0

    async def start(self) -> Transport:
        """Start the server and return the way to it.

        Raises:
            MCPTransportError: it cannot be started.
        """
        self._server = await self._spawn()
        self._started = self._clock()
        return self._server.transport

    async def start_again(self) -> Transport:
        """Wait, start a successor and return the way to it.

        Raises:
            MCPTransportError: that was done as often as it may be.
        """
        policy = self._policy
        if self._clock() - self._started >= policy.steady_after:
            self._attempts = 0
        cause: MCPTransportError | None = self._server.transport.failure
        while self._attempts < policy.limit:
            await self._wait(policy.delay_before(self._attempts))
            self._attempts += 1
            try:
                return await self.start()
            except MCPTransportError as error:
                cause = error
        text = f"the server was started again {self._attempts} times in a row (limit); it does not stay"
        raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, text, cause=cause)

    async def close(self) -> None:
        """End the server that was started last."""
        await self._server.close()

    async def _wait(self, seconds: float) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._timers.call_later(seconds, lambda: over.done() or over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()
