"""How requests are sent where each speaks for itself."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

from suaveplan_mcp.client.cache_store import MemoryCacheStore
from suaveplan_mcp.client.callbacks import Callbacks
from suaveplan_mcp.client.input_rounds import FIRST_PAUSE, InputRounds
from suaveplan_mcp.client.response_cache import ResponseCache, name_context
from suaveplan_mcp.client.stateless_requests import StatelessRequests
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Message, Request
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.tools import CallToolRequestParams

RAN: JsonObject = {"content": []}


def tool(name: str = "run", header: JsonValue = "Region", parameter: str = "region") -> JsonObject:
    """Return a tool one parameter of which travels as a header."""
    properties: JsonObject = {parameter: {"type": "string", "x-mcp-header": header}}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def run(**arguments: str) -> CallToolRequestParams:
    return CallToolRequestParams(name="run", arguments=Raw(encode(arguments)))


class Bench:
    """What sends requests, the server it sends them to, and what else it was told."""

    def __init__(
        self, *, cached: bool = True, context: str = "", rounds: bool = False, has_headers: bool = True
    ) -> None:
        near, far = InMemoryTransport.pair()
        far.on_message(self._note)
        self.peer = ScriptedPeer(far)
        self.headers: list[Mapping[str, str]] = []
        self.reports: list[tuple[str, BaseException | None]] = []
        clock, callbacks = FakeClock(), Callbacks(None)
        self.clock = clock
        self.dispatcher = JsonRpcDispatcher(near, era=StatelessEra("client", callbacks.handlers), side="client")
        self.store = MemoryCacheStore(clock=clock)
        cache = ResponseCache(self.store).bind("it", self._report) if cached else None
        self.requests = StatelessRequests(
            self.dispatcher,
            self._report,
            cache,
            context,
            rounds=InputRounds(self.dispatcher, callbacks, clock, clock) if rounds else None,
            has_headers=has_headers,
        )

    def _note(self, message: Message, delivery: Delivery | None = None) -> None:
        self.headers.append({} if delivery is None else delivery.headers)

    def _report(self, text: str, error: BaseException | None) -> None:
        self.reports.append((text, error))

    async def exchange(self, method: str, result: JsonObject, params: Any = None, **options: Any) -> Any:
        """Send a request, answer it, and return what came of it."""
        task = asyncio.create_task(self.requests.request(method, params, **options))
        request = await self.peer.expect_request(method)
        self.peer.respond(request.id, result)
        return await task

    async def list_tools(self, *tools: JsonObject, **options: Any) -> list[str]:
        """List these tools; return the names of those that were not left out."""
        result = await self.exchange("tools/list", _listed(*tools), **options)
        return [each.name for each in result.tools]

    @property
    def methods(self) -> list[str]:
        return [each.method for each in self.peer.seen if isinstance(each, Request)]


def _listed(*tools: JsonObject, ttl: int = 0) -> JsonObject:
    return {"tools": list[JsonValue](tools), "ttlMs": ttl, "cacheScope": "private"}


@asynccontextmanager
async def bench(**options: Any) -> AsyncGenerator[Bench]:
    made = Bench(**options)
    try:
        yield made
    finally:
        await made.dispatcher.close()


# What is kept


async def test_what_may_be_kept_is_asked_for_once() -> None:
    async with bench() as it:
        first = await it.exchange("tools/list", _listed(tool(), ttl=1000))
        second = await it.requests.request("tools/list")

        assert ["tools/list"] == it.methods
        assert first == second


async def test_a_fresh_result_is_asked_for_again() -> None:
    async with bench() as it:
        await it.exchange("tools/list", _listed(ttl=1000))
        await it.exchange("tools/list", _listed(tool(), ttl=1000), fresh=True)

        assert ["run"] == [each.name for each in (await it.requests.request("tools/list")).tools]


async def test_a_notice_makes_stale_what_is_kept() -> None:
    async with bench() as it:
        await it.exchange("tools/list", _listed(ttl=1000))
        it.requests.take_notice("notifications/tools/list_changed")

        assert ["run"] == await it.list_tools(tool())


async def test_without_a_cache_everything_is_asked_for_and_notices_mean_nothing() -> None:
    async with bench(cached=False) as it:
        for _ in range(2):
            await it.exchange("tools/list", _listed(ttl=1000))
            it.requests.take_notice("notifications/tools/list_changed")

        assert ["tools/list"] * 2 == it.methods


async def test_what_no_revision_says_may_be_kept_is_not() -> None:
    async with bench() as it:
        for _ in range(2):
            await it.exchange("prompts/get", {"messages": [], "ttlMs": 1000}, {"name": "p"})

        assert ["prompts/get"] * 2 == it.methods


async def test_other_headers_find_nothing_that_is_private() -> None:
    own = Delivery(headers={"authorization": "mine"})
    async with bench(context="all") as it:
        await it.exchange("tools/list", _listed(ttl=1000), delivery=own)
        await it.exchange("tools/list", _listed(ttl=1000))
        await it.requests.request("tools/list", delivery=own)

        assert [own.headers, {}] == it.headers
        assert {"all", f"all{name_context(own.headers)}"} == {key.context for key in it.store.keys("it", "tools/list")}


async def test_a_method_that_is_not_known_is_for_the_rules_to_refuse() -> None:
    async with bench() as it:
        with pytest.raises(MCPError, match="made/up") as raised:
            await it.requests.request("made/up")

        assert MCP_CODES.METHOD_NOT_FOUND == raised.value.code


# What travels in headers


async def test_arguments_travel_in_the_headers_that_the_last_list_named() -> None:
    async with bench() as it:
        assert ["run"] == await it.list_tools(tool())
        await it.exchange("tools/call", RAN, run(region="west", other="x"))

        assert {"Mcp-Param-Region": "west"} == it.headers[-1]


async def test_headers_of_the_callers_own_stay() -> None:
    own = Delivery(headers={"x-own": "1", "Mcp-Param-Region": "mine"})
    async with bench() as it:
        await it.list_tools(tool())
        await it.exchange("tools/call", RAN, run(region="west"), delivery=own)

        assert own.headers == it.headers[-1]


@pytest.mark.parametrize("listed", [True, False])
async def test_without_such_an_argument_or_a_list_there_are_no_headers(*, listed: bool) -> None:
    async with bench() as it:
        if listed:
            await it.list_tools(tool())
        await it.exchange("tools/call", RAN, run() if listed else run(region="west"))

        assert {} == it.headers[-1]


async def test_a_transport_without_headers_has_none_and_every_tool() -> None:
    async with bench(has_headers=False) as it:
        assert ["run", "bad"] == await it.list_tools(tool(), tool("bad", "no token"))
        await it.exchange("tools/call", RAN, run(region="west"))

        assert {} == it.headers[-1]
        assert [] == it.reports


async def test_a_tool_with_an_illegal_annotation_is_left_out_and_reported() -> None:
    async with bench() as it:
        assert ["run"] == await it.list_tools(tool(), tool("bad", "no token"))

        ((report, error),) = it.reports
        assert "the tool 'bad' is left out" in report
        assert "no token" in report
        assert error is None


async def test_a_tool_that_has_become_illegal_has_no_headers_any_more() -> None:
    async with bench() as it:
        await it.list_tools(tool())
        assert [] == await it.list_tools(tool(header="no token"))
        await it.exchange("tools/call", RAN, run(region="west"))

        assert {} == it.headers[-1]


async def test_a_list_that_is_kept_is_looked_over_as_well() -> None:
    async with bench() as it:
        await it.exchange("tools/list", _listed(tool(), tool("bad", 5), ttl=1000))

        assert ["run"] == [each.name for each in (await it.requests.request("tools/list")).tools]
        assert 2 == len(it.reports)


# Headers that are wrong


async def test_where_the_headers_are_wrong_the_tools_are_listed_and_the_call_is_sent_once_more() -> None:
    async with bench() as it:
        await it.exchange("tools/list", _listed(ttl=1000))
        calling = asyncio.create_task(it.requests.request("tools/call", run(region="west")))
        call = await it.peer.expect_request("tools/call")
        it.peer.fail(call.id, -32020, "no header")
        # All pages, and none that is kept.
        first = await it.peer.expect_request("tools/list")
        it.peer.respond(first.id, {**_listed(), "nextCursor": "2"})
        second = await it.peer.expect_request("tools/list")
        it.peer.respond(second.id, _listed(tool()))
        again = await it.peer.expect_request("tools/call")
        it.peer.respond(again.id, RAN)

        assert [] == (await calling).content
        assert {"Mcp-Param-Region": "west"} == it.headers[-1]
        assert call.params == again.params
        assert call.id != again.id


async def test_a_call_whose_headers_would_be_the_same_is_not_sent_again() -> None:
    async with bench() as it:
        await it.list_tools(tool())
        calling = asyncio.create_task(it.requests.request("tools/call", run(region="west")))
        call = await it.peer.expect_request("tools/call")
        it.peer.fail(call.id, -32020, "still wrong")
        listing = await it.peer.expect_request("tools/list")
        it.peer.respond(listing.id, _listed(tool()))

        with pytest.raises(MCPError, match="still wrong"):
            await calling
        assert ["tools/list", "tools/call", "tools/list"] == it.methods


async def test_a_call_is_sent_once_more_and_no_oftener() -> None:
    async with bench() as it:
        calling = asyncio.create_task(it.requests.request("tools/call", run(region="west")))
        for _ in range(2):
            call = await it.peer.expect_request("tools/call")
            it.peer.fail(call.id, -32020, "wrong")
            if len(it.methods) == 1:
                listing = await it.peer.expect_request("tools/list")
                it.peer.respond(listing.id, _listed(tool()))

        with pytest.raises(MCPError, match="wrong"):
            await calling
        assert ["tools/call", "tools/list", "tools/call"] == it.methods


@pytest.mark.parametrize("number", [-32602, -32021])
async def test_any_other_error_of_a_call_is_that_of_the_caller(number: int) -> None:
    async with bench() as it:
        calling = asyncio.create_task(it.requests.request("tools/call", run(region="west")))
        call = await it.peer.expect_request("tools/call")
        it.peer.fail(call.id, number, "no")

        with pytest.raises(MCPError, match="no"):
            await calling
        assert ["tools/call"] == it.methods


async def test_an_error_of_our_own_is_none_of_the_headers() -> None:
    async with bench() as it:
        await it.dispatcher.close()

        with pytest.raises(MCPError) as raised:
            await it.requests.request("tools/call", run())
        assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


# What is asked for in results

ASKS: JsonObject = {"resultType": "input_required", "requestState": "s"}


async def test_without_rounds_a_result_that_asks_is_returned_as_it_is() -> None:
    async with bench() as it:
        result = await it.exchange("tools/call", ASKS, run())

        assert isinstance(result, InputRequiredResult)


async def test_every_request_of_a_call_has_its_headers_and_the_last_its_result() -> None:
    async with bench(rounds=True) as it:
        await it.list_tools(tool())
        calling = asyncio.create_task(it.requests.request("tools/call", run(region="west"), total_timeout=9.0))
        first = await it.peer.expect_request("tools/call")
        it.peer.respond(first.id, {**ASKS, "inputRequests": {}})
        await it.clock.advance_async(FIRST_PAUSE)
        second = await it.peer.expect_request("tools/call")
        it.peer.respond(second.id, RAN)

        assert [] == (await calling).content
        assert [{"Mcp-Param-Region": "west"}] * 2 == it.headers[1:]
        assert isinstance(second.params, dict)
        assert "s" == second.params["requestState"]
