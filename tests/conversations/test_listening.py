"""A client of the stateless era hears what its server publishes, by every way there is between them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.host.streamable_http import connect_streamable_http
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.resources import ReadResourceResult, ResourceContents, TextResourceContents
from tests.e2e.wires import Wire, connected, in_memory, over_streams
from tests.transports.web_server import DEADLINE, until, web_server


class Pair:
    """A server with one tool and two resources, and a client that notes what it hears of."""

    def __init__(self, way: "Way", *, prefetch: bool = False) -> None:
        self.way = way
        self.server = MCPServer("pair")
        self.client = MCPClient(protocol="stateless", prefetch=prefetch)
        self.heard: list[str] = []
        self.faults: list[str] = []
        self.contents = "old"
        self.client.events.on("resource:updated", lambda event: self.heard.append(event.uri))
        self.client.events.on("list:changed", lambda event: self.heard.append(event.kind))
        self.client.events.on("fault:reported", lambda event: self.faults.append(event.fault))
        self.server.register_tool(first)

        @self.server.resource("note://one")
        async def one() -> str:
            return self.contents

        @self.server.resource("note://two")
        async def two() -> str:
            return self.contents

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[MCPClient]:
        async with asyncio.timeout(DEADLINE), self.way(self):
            yield self.client

    async def hears(self, *expected: str) -> None:
        """Wait until exactly this was heard."""
        await until(lambda: len(self.heard) >= len(expected))
        assert list(expected) == self.heard


Way = Callable[[Pair], AbstractAsyncContextManager[Any]]


def by_wire(make_wire: Callable[[], Wire]) -> Way:
    return lambda pair: connected(pair.server, pair.client, make_wire)


@asynccontextmanager
async def over_http(pair: Pair) -> AsyncGenerator[None]:
    async with web_server(pair.server.asgi_app(), pair.server.stop) as url:
        await pair.client.connect(connect_streamable_http(f"{url}/mcp"))
        try:
            yield
        finally:
            await pair.client.disconnect()


WAYS = {"in_memory": by_wire(in_memory), "over_streams": by_wire(over_streams), "over_http": over_http}


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


async def first() -> str:
    return "first"


async def second() -> str:
    return "second"


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_stream_brings_what_was_asked_for(way: Way) -> None:
    pair = Pair(way)
    async with pair.opened() as client, client.listen(tools=True, uris=["note://one", "note://none"]) as stream:
        pair.server.mark_resource_updated("note://two")
        pair.server.mark_resource_updated("note://one")
        one = await anext(stream)
        pair.server.register_tool(second)
        tools = await anext(stream)

        assert ("note://one", "notifications/tools/list_changed") == (one.uri, tools.method)
        assert [] == pair.faults


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_many_streams_each_bring_their_own(way: Way) -> None:
    pair = Pair(way)
    async with pair.opened() as client:
        streams = [client.listen(uris=[uri]) for uri in ("note://one", "note://two") * 5]
        await asyncio.gather(*(stream.open() for stream in streams))
        pair.server.mark_resource_updated("note://one")
        pair.server.mark_resource_updated("note://two")
        heard = [(await anext(stream)).uri for stream in streams]
        await asyncio.gather(*(stream.close() for stream in streams))

        assert ["note://one", "note://two"] * 5 == heard
        assert 10 == len({stream.id for stream in streams})


@pytest.mark.requirement("a-client-tells-the-end-of-a-stream-from-its-loss")
async def test_a_server_that_stops_ends_the_loop(way: Way) -> None:
    pair = Pair(way)
    async with pair.opened() as client, client.listen(uris=["note://one"]) as stream:
        pair.server.mark_resource_updated("note://one")
        await pair.server.stop()
        heard = [notice.uri async for notice in stream]

        assert (["note://one"], "the server stops", None) == (heard, stream.ended, stream.failure)


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_stream_that_is_left_is_over_on_the_server_too(way: Way) -> None:
    pair = Pair(way)
    async with pair.opened() as client:
        async with client.listen(tools=True):
            during = len(pair.server._subscriptions)
        await until(lambda: len(pair.server._subscriptions) == 0)

        assert (1, []) == (during, pair.faults)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_resource_that_is_followed_is_read_again(way: Way) -> None:
    pair = Pair(way)
    async with pair.opened() as client:
        await asyncio.gather(client.subscribe_resource("note://one"), client.subscribe_resource("note://two"))
        pair.contents = "new"
        pair.server.mark_resource_updated("note://one")
        await pair.hears("note://one")
        result = client.updated_resource("note://one")
        await client.unsubscribe_resource("note://one")
        pair.server.mark_resource_updated("note://one")
        pair.server.mark_resource_updated("note://two")
        await pair.hears("note://one", "note://two")
        await until(lambda: len(pair.server._subscriptions) == 1)

        assert result is not None
        assert ("new", []) == (result.contents[0].text, pair.faults)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_lists_that_were_fetched_are_kept_up_to_date(way: Way) -> None:
    pair = Pair(way, prefetch=True)
    async with pair.opened() as client:
        before = [tool.name for tool in client.tools()]
        pair.server.register_tool(second)
        await pair.hears("tools")

        assert (["first"], ["first", "second"]) == (before, [tool.name for tool in client.tools()])


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_nothing_is_missed_while_other_things_are_followed(way: Way) -> None:
    pair = Pair(way)
    uris = [f"note://{number}" for number in range(20)]
    async with pair.opened() as client:
        await client.subscribe_resource("note://one")
        for number, uri in enumerate(uris, 1):
            subscribing = asyncio.create_task(client.subscribe_resource(uri))
            await asyncio.sleep(0)
            pair.server.mark_resource_updated("note://one")
            await until(lambda number=number: pair.heard.count("note://one") >= number)
            await subscribing

        assert [] == pair.faults


@pytest.mark.requirement("a-client-hears-what-it-was-promised-and-nothing-else")
async def test_a_notice_makes_what_is_kept_stale(way: Way) -> None:
    pair = Pair(way)

    @pair.server.resource("note://kept")
    async def kept_a_minute() -> ReadResourceResult:
        contents: list[ResourceContents] = [TextResourceContents(uri="note://kept", text=pair.contents)]
        return ReadResourceResult(contents=contents, ttl_ms=60_000)

    async with pair.opened() as client, client.listen(uris=["note://kept"]) as stream:
        await client.read_resource("note://kept")
        pair.contents = "new"
        kept = await client.read_resource("note://kept")
        pair.server.mark_resource_updated("note://kept")
        await anext(stream)
        anew = await client.read_resource("note://kept")

        assert ("old", "new") == (kept.contents[0].text, anew.contents[0].text)


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_resource_that_may_not_be_read_cannot_be_followed(way: Way) -> None:
    pair = Pair(way)
    pair.server.set_authorizer(lambda request: getattr(request.params, "uri", None) != "note://two")
    async with pair.opened() as client:
        await client.subscribe_resource("note://one")
        with pytest.raises(MCPError, match="does not tell of changes of 'note://two'"):
            await client.subscribe_resource("note://two")


@pytest.mark.requirement("a-stateless-client-follows-by-one-stream-of-its-own")
async def test_a_disconnected_client_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    server, client = MCPServer("s"), MCPClient(protocol="stateless")
    server.register_tool(first)
    near, far = InMemoryTransport.pair()
    await server.attach(far)
    await client.connect(near)
    stream = client.listen(tools=True)
    await stream.open()
    await client.disconnect()
    await server.stop()

    assert before == asyncio.all_tasks()
