"""Case 43, again and again: opening and closing leaves nothing behind that can be counted."""

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import pytest

from suaveplan_mcp.targets import Connection, connect
from tests.cases.leftovers import Holdings, count_holdings, only_new_objects
from tests.cases.peers import READ, answer, played_command, welcome, write
from tests.cases.servers.field import make_server
from tests.transports.web_server import sse_server

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
if sys.platform != "win32":
    import uvloop

    LOOPS["uvloop"] = uvloop.new_event_loop

T = TypeVar("T")


class Notebook:
    """A loop that runs only while a cell does, as in a notebook; every cell is a task of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loop = loop = LOOPS[name]()
        self.complaints: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: self.complaints.append(context))

    def run(self, cell: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(cell)

    def use(self, connection: Connection) -> None:
        """Open, use and close a client, each in a cell of its own."""
        client = self.run(connection.__aenter__())
        self.run(client.ping())
        self.run(connection.__aexit__(None, None, None))

    def holdings(self) -> Holdings:
        """Count what is held when everything has come to rest."""

        async def settle() -> Holdings:
            for _ in range(20):
                await asyncio.sleep(0)
            return count_holdings()

        return self.run(settle())


@pytest.fixture(params=LOOPS)
def notebook(request: pytest.FixtureRequest) -> Generator[Notebook]:
    notebook = Notebook(request.param)
    try:
        with only_new_objects():
            yield notebook
    finally:
        notebook.run(notebook.loop.shutdown_asyncgens())
        notebook.loop.close()
    gc.collect()
    assert [] == notebook.complaints


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
def test_ten_thousand_times_in_memory(notebook: Notebook) -> None:
    # The second loop need not be as patient as the first.
    times = 10_000 if notebook.name == "asyncio" else 1_000
    server = make_server()
    for _ in range(100):
        notebook.use(connect(server))
    before, objects_before = notebook.holdings(), objects()
    for _ in range(times):
        notebook.use(connect(server))

    assert before == notebook.holdings()
    assert objects() - objects_before < 100
    assert (0, False) == (server.get_info().connections, server.get_info().running)


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
def test_fifty_times_with_a_process(notebook: Notebook) -> None:
    with played_command([*welcome(), READ, write(answer(1, {}))]) as command:
        notebook.use(connect(command, protocol="handshake"))
        before, objects_before = notebook.holdings(), objects()
        for _ in range(50):
            notebook.use(connect(command, protocol="handshake"))

        assert before == notebook.holdings()
        assert objects() - objects_before < 100


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
def test_fifty_times_over_http(notebook: Notebook) -> None:
    serving = sse_server(make_server())
    url, app = notebook.run(serving.__aenter__())
    try:
        notebook.use(connect(url))
        before, objects_before = notebook.holdings(), objects()
        for _ in range(50):
            notebook.use(connect(url))

        assert before == notebook.holdings()
        assert objects() - objects_before < 500
        assert 0 == len(app)
    finally:
        notebook.run(serving.__aexit__(None, None, None))


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
def test_twenty_processes_at_once(notebook: Notebook) -> None:
    async def use(command: list[str]) -> None:
        async with connect(command, protocol="handshake") as client:
            await client.ping()

    async def use_all(command: list[str]) -> None:
        await asyncio.gather(*(use(command) for _ in range(20)))

    with played_command([*welcome(), READ, write(answer(1, {}))]) as command:
        notebook.run(use(command))
        before = notebook.holdings()
        notebook.run(use_all(command))

        assert before == notebook.holdings()


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
def test_a_loop_that_ends_while_clients_are_open_takes_everything_along(notebook: Notebook) -> None:
    server = make_server()
    connections = [connect(server) for _ in range(10)]
    clients = [notebook.run(each.__aenter__()) for each in connections]
    calls = [notebook.loop.create_task(client.call_tool("wait")) for client in clients]
    notebook.run(clients[0].ping())
    for call in calls:
        call.cancel()
    notebook.run(_until_over(calls))
    notebook.run(server.stop())

    assert {True} == {call.cancelled() for call in calls}
    assert 0 == notebook.holdings().tasks


async def _until_over(calls: list[asyncio.Task[Any]]) -> None:
    await asyncio.wait(calls)
