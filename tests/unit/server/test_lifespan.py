"""What lives as long as the server runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from suaveplan_mcp.transport.in_memory import InMemoryTransport


class Log(list[str]):
    """Notes what a lifespan goes through, and in which task."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[object] = []

    @asynccontextmanager
    async def database(self) -> AsyncGenerator[str]:
        self.append("open")
        self.tasks.append(asyncio.current_task())
        await asyncio.sleep(0)
        try:
            yield "database"
        finally:
            await asyncio.sleep(0)
            self.tasks.append(asyncio.current_task())
            self.append("closed")


async def test_it_is_open_before_the_first_client_and_until_the_server_stops() -> None:
    log = Log()
    server = MCPServer("s", "1", lifespan=log.database)

    @server.tool
    def show(ctx: Context) -> str:
        return f"{ctx.lifespan}, {log}"

    (near, far), (other_near, other_far) = InMemoryTransport.pair(), InMemoryTransport.pair()
    assert "None, []" == (await server.invoke_tool("show")).content[0].text  # pyright: ignore[reportAttributeAccessIssue]
    await asyncio.gather(server.start(far), server.attach(other_far))
    async with connect(near) as client, connect(other_near) as other:
        for caller in (client, other):
            assert "database, ['open']" == (await caller.call_tool("show")).content[0].text  # pyright: ignore[reportAttributeAccessIssue]
    assert ["open"] == log
    await server.stop()

    assert ["open", "closed"] == log


async def test_it_is_entered_and_left_in_one_task_wherever_the_server_is_started_and_stopped() -> None:
    log = Log()
    server = MCPServer("s", "1", lifespan=log.database)
    await asyncio.create_task(server.start(InMemoryTransport.pair()[0]))
    await asyncio.create_task(server.stop())

    assert log.tasks[0] is log.tasks[1]


async def test_every_run_of_the_server_has_its_own() -> None:
    log = Log()
    server = MCPServer("s", "1", lifespan=log.database)
    for _ in range(2):
        await server.start(InMemoryTransport.pair()[0])
        await server.stop()
    await server.stop()

    assert ["open", "closed", "open", "closed"] == log


async def test_a_lifespan_that_cannot_be_opened_fails_the_start_with_its_own_error_and_may_be_tried_again() -> None:
    tries: list[int] = []

    @asynccontextmanager
    async def shy() -> AsyncGenerator[None]:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no database today")
        yield

    server = MCPServer("s", "1", lifespan=shy)
    with pytest.raises(OSError, match="today"):
        await server.start(InMemoryTransport.pair()[0])
    assert not server.get_info().running
    await server.start(InMemoryTransport.pair()[0])
    assert server.get_info().running
    await server.stop()

    assert [1, 1] == tries


async def test_what_closing_it_raises_reaches_whoever_stops_the_server() -> None:
    @asynccontextmanager
    async def clumsy() -> AsyncGenerator[None]:
        yield
        raise OSError("the database would not close")

    server = MCPServer("s", "1", lifespan=clumsy)
    await server.start(InMemoryTransport.pair()[0])

    with pytest.raises(OSError, match="would not close"):
        await server.stop()


async def test_it_is_closed_when_a_handler_stops_the_server() -> None:
    log = Log()
    server = MCPServer("s", "1", lifespan=log.database)

    @server.tool
    async def leave() -> None:
        await server.stop()

    near, far = InMemoryTransport.pair()
    await server.start(far)
    async with connect(near) as client:
        with pytest.raises(MCPTransportError):
            await client.call_tool("leave")
        while len(log) < 2:
            await asyncio.sleep(0)

    assert ["open", "closed"] == log


async def test_it_is_not_opened_for_a_transport_that_cannot_be_served() -> None:
    log = Log()
    server = MCPServer("s", "1", lifespan=log.database)
    near, _ = InMemoryTransport.pair()
    await near.close()

    with pytest.raises(MCPTransportError):
        await server.start(near)
    assert [] == log
