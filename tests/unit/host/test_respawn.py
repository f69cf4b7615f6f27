"""How often, and after how long a wait, a server is started again."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.respawn import Respawn, RespawnedServer
from suaveplan_mcp.testing import FakeClock
from suaveplan_mcp.transport.in_memory import InMemoryTransport


class Process:
    def __init__(self) -> None:
        self.transport, _ = InMemoryTransport.pair()

    async def close(self) -> None:
        await self.transport.close()


class Machine:
    """Starts processes, or fails to."""

    def __init__(self, policy: Respawn) -> None:
        self.clock = FakeClock(100.0)
        self.started: list[float] = []
        self.broken = False
        self.servers = RespawnedServer(self.spawn, policy, self.clock, self.clock)

    async def spawn(self) -> Any:
        self.started.append(self.clock.now)
        if self.broken:
            raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "no such command")
        return Process()

    async def again(self) -> Any:
        """Start a successor, however long that takes."""
        starting = asyncio.create_task(self.servers.start_again())
        await asyncio.sleep(0)
        while not starting.done():
            await self.clock.advance_async(self.clock.pending[0].due - self.clock.now)
        return await starting


def test_delays_double_up_to_a_limit_and_are_shortened_by_up_to_a_half() -> None:
    steady = Respawn(delay=1, max_delay=5, jitter=lambda: 0)
    hasty = Respawn(delay=1, max_delay=5, jitter=lambda: 1)

    assert [1, 2, 4, 5, 5] == [steady.delay_before(attempt) for attempt in range(5)]
    assert [0.5, 1, 2, 2.5, 2.5] == [hasty.delay_before(attempt) for attempt in range(5)]
    assert 5 == steady.delay_before(1000)


def test_the_jitter_differs_from_time_to_time() -> None:
    delays = {Respawn().delay_before(0) for _ in range(100)}

    assert len(delays) > 1
    assert 0.25 <= min(delays) <= max(delays) <= 0.5


@pytest.mark.requirement("case-8-a-server-that-dies-fails-its-calls-at-once")
async def test_a_server_is_started_again_after_growing_delays_until_the_limit() -> None:
    machine = Machine(Respawn(limit=3, delay=1, jitter=lambda: 0))
    await machine.servers.start()
    for _ in range(3):
        await machine.again()

    with pytest.raises(MCPTransportError, match=r"started again 3 times in a row \(limit\)") as raised:
        await machine.again()

    assert MCP_CODES.TRANSPORT_ERROR == raised.value.code
    assert [100, 101, 103, 107] == machine.started


async def test_one_that_has_run_for_long_begins_a_new_row() -> None:
    machine = Machine(Respawn(limit=2, delay=1, steady_after=60, jitter=lambda: 0))
    await machine.servers.start()
    for _ in range(2):
        await machine.again()
    machine.clock.advance(60)

    await machine.again()

    assert [100, 101, 103, 164] == machine.started


async def test_one_that_cannot_be_started_is_tried_again_and_named_in_the_end() -> None:
    machine = Machine(Respawn(limit=3, delay=1, jitter=lambda: 0))
    await machine.servers.start()
    machine.broken = True

    with pytest.raises(MCPTransportError, match="3 times in a row") as raised:
        await machine.again()

    assert "no such command" == str(raised.value.cause)
    assert [100, 101, 103, 107] == machine.started


async def test_a_wait_that_is_given_up_starts_nothing() -> None:
    machine = Machine(Respawn(delay=1))
    await machine.servers.start()
    starting = asyncio.create_task(machine.servers.start_again())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert ([100], []) == (machine.started, machine.clock.pending)


async def test_closing_ends_the_last_one() -> None:
    machine = Machine(Respawn(delay=1))
    transport = await machine.servers.start()
    last = await machine.again()

    await machine.servers.close()

    assert (False, True) == (transport.closed, last.closed)
