"""Case 43: a client is opened in one task and closed in another, in any order, and nothing is left of it."""

import asyncio
import gc
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.targets import Connection, connect
from suaveplan_mcp.transport.base import Delivery, TransportBase
from tests.cases.leftovers import nothing_left_behind
from tests.cases.peers import FIELD, PLAYED, TRANSPORTS
from tests.cases.servers.field import make_server
from tests.transports.web_server import sse_server

transports = pytest.mark.parametrize("transport", TRANSPORTS)

SILENT = [*PLAYED, "/dev/stdin"]
"""A server that never answers: it waits for the acts it should play."""


@asynccontextmanager
async def reached(transport: str) -> AsyncGenerator[Callable[[], Connection]]:
    """Give a function that makes connections to a server; then look for what is left of them."""
    if transport == "stdio":
        async with nothing_left_behind():
            yield lambda: connect(FIELD, env=os.environ)
    elif transport == "in memory":
        server = make_server()
        async with nothing_left_behind():
            yield lambda: connect(server)
        assert (0, False) == (server.get_info().connections, server.get_info().running)
    else:
        async with sse_server(make_server()) as (url, _):
            # The web server has tasks of its own as soon as it serves.
            async with connect(url):
                pass
            async with nothing_left_behind():
                yield lambda: connect(url)


async def in_another_task(work: Any) -> Any:
    return await asyncio.create_task(work)


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_a_client_is_opened_in_one_task_and_closed_in_another(transport: str) -> None:
    async with reached(transport) as make:
        connection = make()
        client = await in_another_task(connection.__aenter__())
        await client.ping()
        await in_another_task(client.ping())
        await in_another_task(connection.__aexit__(None, None, None))


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_a_fixture_opens_it_a_test_uses_it_and_the_fixture_closes_it(transport: str) -> None:
    async def fixture(make: Callable[[], Connection]) -> AsyncIterator[MCPClient]:
        async with make() as client:
            yield client

    async with reached(transport) as make:
        generator = fixture(make)
        client = await in_another_task(anext(generator))
        await in_another_task(client.ping())
        with pytest.raises(StopAsyncIteration):
            await in_another_task(anext(generator))


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_two_clients_are_closed_in_the_order_they_were_opened(transport: str) -> None:
    async with reached(transport) as make:
        stack, later = AsyncExitStack(), AsyncExitStack()
        first = await stack.enter_async_context(make())
        second = await later.enter_async_context(make())
        await stack.aclose()
        await second.ping()
        await later.aclose()

        assert (False, False) == (first.initialized, second.initialized)


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_two_clients_of_one_stack_are_closed_together(transport: str) -> None:
    async with reached(transport) as make:
        stack = AsyncExitStack()
        for _ in range(2):
            await (await stack.enter_async_context(make())).ping()
        await in_another_task(stack.aclose())


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_an_abandoned_generator_that_is_collected_closes_its_client(transport: str) -> None:
    async def names(make: Callable[[], Connection]) -> AsyncIterator[str]:
        async with make() as client:
            for tool in (await client.list_tools()).tools:
                yield tool.name

    async def take_one(make: Callable[[], Connection]) -> str:
        async for name in names(make):
            return name
        raise AssertionError("no tools")

    async with reached(transport) as make:
        assert "echo" == await in_another_task(take_one(make))
        gc.collect()


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@pytest.mark.parametrize("how", ["wait_for", "timeout", "anyio", "cancel"])
async def test_opening_that_is_given_up_leaves_nothing(how: str) -> None:
    async with nothing_left_behind():
        if how == "wait_for":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connect(SILENT).__aenter__(), 0.05)
        elif how == "timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05), connect(SILENT):
                    raise AssertionError("it is silent")
        elif how == "anyio":
            with anyio.move_on_after(0.05) as scope:
                async with connect(SILENT):
                    raise AssertionError("it is silent")
            assert scope.cancelled_caught
        else:
            opening = asyncio.create_task(connect(SILENT).__aenter__())
            await asyncio.sleep(0.05)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
async def test_a_server_that_dies_while_it_is_used_is_the_error_that_is_seen() -> None:
    async with nothing_left_behind():
        with pytest.raises(MCPTransportError, match="ended by signal SIGKILL"):
            async with connect(FIELD, env=os.environ) as client:
                await client.call_tool("die", {"how": "signal"})
        connection = connect(FIELD, env=os.environ)
        client = await connection.__aenter__()
        with pytest.raises(MCPTransportError):
            await client.call_tool("die", {"how": "exit"})
        # Leaving it is no error: whoever used it has heard.
        await in_another_task(connection.__aexit__(None, None, None))


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_an_error_of_the_block_passes_unwrapped(transport: str) -> None:
    async with reached(transport) as make:
        with pytest.raises(LookupError, match="of the block"):
            async with make():
                raise LookupError("of the block")
        with pytest.raises(BaseExceptionGroup) as raised:
            async with make(), asyncio.TaskGroup() as group:
                group.create_task(_fail())
        assert [LookupError] == [type(each) for each in raised.value.exceptions]


async def _fail() -> None:
    raise LookupError("of the block")


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_one_that_fails_among_several_leaves_nothing_of_the_others(transport: str) -> None:
    async def use(make: Callable[[], Connection], *, fail: bool) -> str:
        async with make() as client:
            if fail:
                raise LookupError("of the block")
            await client.call_tool("wait", timeout=0.3)
        return "not reached"

    async with reached(transport) as make:
        outcomes = await asyncio.gather(*(use(make, fail=number == 1) for number in range(3)), return_exceptions=True)
        assert ["MCPError", "LookupError", "MCPError"] == [type(each).__name__ for each in outcomes]
        with pytest.raises(LookupError):
            await asyncio.gather(*(use(make, fail=number == 1) for number in range(3)))


# anyio


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_tasks_of_an_anyio_group_open_use_and_close_one_client(transport: str) -> None:
    async def open_it(connection: Connection, clients: list[MCPClient]) -> None:
        clients.append(await connection.__aenter__())

    async def close_it(connection: Connection) -> None:
        await connection.__aexit__(None, None, None)

    async with reached(transport) as make:
        connection, clients = make(), list[MCPClient]()
        async with anyio.create_task_group() as group:
            group.start_soon(open_it, connection, clients)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(clients[0].ping)
        async with anyio.create_task_group() as group:
            group.start_soon(close_it, connection)


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_a_client_opened_in_a_scope_lives_on_when_the_scope_is_cancelled(transport: str) -> None:
    async with reached(transport) as make:
        connection = make()
        with anyio.CancelScope() as scope:
            await connection.__aenter__()
            scope.cancel()
            await anyio.sleep(10)
        assert scope.cancelled_caught
        await connection.client.ping()
        await connection.__aexit__(None, None, None)


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in a call"])
async def test_a_block_that_is_cancelled_again_and_again_still_closes_its_client(
    transport: str,
    busy: bool,  # noqa: FBT001
) -> None:
    # A scope of anyio cancels every single await of whoever is inside, those of the way out as well.
    async with reached(transport) as make:
        connection = make()
        with anyio.CancelScope() as scope:
            async with connection as client:
                scope.cancel()
                await (client.call_tool("wait") if busy else anyio.sleep(10))
        assert scope.cancelled_caught
        assert not connection.client.initialized


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_an_anyio_deadline_ends_a_call_and_not_the_connection(transport: str) -> None:
    async with reached(transport) as make, make() as client:
        with anyio.move_on_after(0.05) as scope:
            await client.call_tool("wait")
        assert scope.cancelled_caught
        await client.ping()


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
@transports
async def test_an_anyio_group_that_fails_takes_its_calls_along_and_not_the_connection(transport: str) -> None:
    async def call_tool(client: MCPClient) -> None:
        await client.call_tool("wait")

    async def call_and_fail(client: MCPClient) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call_tool, client)
            await client.ping()
            group.start_soon(_fail)

    async with reached(transport) as make, make() as client:
        with pytest.raises(BaseExceptionGroup) as raised:
            await call_and_fail(client)
        assert [LookupError] == [type(each) for each in raised.value.exceptions]
        await client.ping()


class SlowTransport(TransportBase):
    """A transport of somebody's own, which can only send, and whose messages take for ever."""

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        self._finish()


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
async def test_a_transport_is_closed_although_the_close_is_cancelled() -> None:
    async with nothing_left_behind():
        transport = SlowTransport()
        dispatcher = JsonRpcDispatcher(transport)
        dispatcher.post_notification("slow")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await dispatcher.close()

        assert (True, True) == (scope.cancelled_caught, transport.closed)
        await dispatcher.close()
