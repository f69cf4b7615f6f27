"""Results that a client need not ask for again."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw
from msgspec.json import decode, encode

from suaveplan_mcp.client.cache_store import CacheKey, MemoryCacheStore
from suaveplan_mcp.client.response_cache import MAX_TTL, ResponseCache, ServerCache, name_context
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import Payload
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.types.caching import CacheableResult
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.resources import ReadResourceRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, ListToolsResult, Tool

LIST = "tools/list"
READ = "resources/read"
PAGES: list[Payload] = [{}, {"cursor": "2"}]
TOOL = {"name": "t", "inputSchema": {"type": "object"}, "x-vendor": {"n": None}}


BODIES: dict[str, dict[str, Any]] = {LIST: {"tools": [TOOL]}, READ: {"contents": []}}


def came(method: str = LIST, /, **members: object) -> Any:
    """Return a result as it is when it has come from a server."""
    raw = Raw(encode({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private", **BODIES[method], **members}))
    return admit_result(METHODS[method]["client"], raw)[0]


def uri_params(uri: str) -> ReadResourceRequestParams:
    return ReadResourceRequestParams(uri=uri)


class Bench:
    """A cache with everything that is passed in."""

    def __init__(self, store: Any = None, **options: float) -> None:
        self.clock = FakeClock(1000.0)
        self.store = MemoryCacheStore(clock=self.clock) if store is None else store
        self.cache = ResponseCache(self.store, **options)
        self.faults: list[str] = []
        self.server = self.bind()

    def bind(self, server: str = "s") -> ServerCache:
        return self.cache.bind(server, lambda fault, _: self.faults.append(fault))

    def keep(self, result: Any, method: str = LIST, params: Payload = UNSET, context: str = "") -> None:
        with self.server.fetch(method, params, context) as fetch:
            fetch.store(result)

    def has(self, method: str = LIST, params: Payload = UNSET, context: str = "") -> bool:
        return self.server.lookup(method, params, context) is not None


# How long


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_a_result_is_found_as_it_came_until_its_time_is_over() -> None:
    bench = Bench()
    result = came(ttlMs=500.5, **{"x-new": 1})
    bench.keep(result)

    bench.clock.advance(0.5)
    assert result.raw == bench.server.lookup(LIST, UNSET)
    bench.clock.advance(0.001)
    assert None is bench.server.lookup(LIST, UNSET)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("ttl", [0, -5, -1e300, None, float("nan"), 0.0])
def test_a_result_that_is_stale_at_once_is_not_kept_and_takes_the_place_of_what_was(ttl: Any) -> None:
    bench = Bench()
    bench.keep(came(cacheScope="public"))
    bench.keep(ListToolsResult(tools=[], ttl_ms=ttl))

    assert not bench.has()


def test_a_result_that_says_nothing_of_time_is_not_kept() -> None:
    bench = Bench()
    bench.keep(admit_result(METHODS[LIST]["client"], Raw(b'{"tools":[],"cacheScope":"public"}'))[0])

    assert not bench.has()


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("ttl", [1e9, 1e300, 10**400, MAX_TTL * 1000 + 1])
def test_no_result_is_kept_longer_than_a_day(ttl: Any) -> None:
    bench = Bench()
    bench.keep(ListToolsResult(tools=[], ttl_ms=ttl))

    bench.clock.advance(86_399.0)
    assert bench.has()
    bench.clock.advance(1.0)
    assert not bench.has()


def test_the_longest_time_can_be_set() -> None:
    bench = Bench(max_ttl=1.0)
    bench.keep(came())

    bench.clock.advance(1.0)
    assert not bench.has()


def test_a_longest_time_of_zero_keeps_nothing() -> None:
    bench = Bench(max_ttl=0.0)
    bench.keep(came())

    assert not bench.has()


@pytest.mark.parametrize("max_ttl", [-1.0, float("inf"), float("nan")])
def test_a_longest_time_that_is_none_is_refused(max_ttl: float) -> None:
    with pytest.raises(MCPError, match="`max_ttl` is not valid") as caught:
        ResponseCache(max_ttl=max_ttl)
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    "result",
    [
        InputRequiredResult(request_state="x"),
        ListToolsResult(tools=[], ttl_ms=1000, result_type="input_required"),
        ListToolsResult(tools=[], ttl_ms=1000, result_type="com.example/other"),
        None,
        {"tools": [], "ttlMs": 1000},
    ],
)
def test_what_is_no_complete_result_is_not_kept(result: Any) -> None:
    bench = Bench()
    bench.keep(result)

    assert not bench.has()


# What it answers


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    "params",
    [UNSET, None, {}, {"cursor": None}, {"_meta": {}}, {"_meta": {"progressToken": 0}}, PaginatedRequestParams()],
)
def test_params_that_ask_for_the_same_find_the_same(params: Payload) -> None:
    bench = Bench()
    bench.keep(came())

    assert bench.has(params=params)
    assert bench.has(params=Raw(encode(params)) if params is not UNSET else UNSET)


def test_the_order_of_members_does_not_count() -> None:
    bench = Bench()
    bench.keep(came(), params=Raw(b'{"cursor":"c","x":{"a":1,"b":2}}'))

    assert bench.has(params={"x": {"b": 2, "a": 1}, "cursor": "c"})


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("other", [{"cursor": "d"}, {"cursor": ""}, {}, {"cursor": "c", "_meta": {"tenant": 1}}])
def test_other_params_find_nothing(other: Payload) -> None:
    bench = Bench()
    bench.keep(came(), params=PaginatedRequestParams(cursor="c"))

    assert bench.has(params=PaginatedRequestParams(cursor="c"))
    assert not bench.has(params=other)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_another_method_and_another_server_find_nothing() -> None:
    bench = Bench()
    bench.keep(came(cacheScope="public"))

    assert not bench.has("prompts/list")
    assert None is bench.bind("t").lookup(LIST, UNSET)
    assert None is not bench.bind("s").lookup(LIST, UNSET)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    "params",
    [
        ReadResourceRequestParams(uri="file:///a", request_state="x"),
        ReadResourceRequestParams(uri="file:///a", input_responses={}),
        {"uri": "file:///a", "inputResponses": {"k": {}}},
    ],
)
def test_an_answer_to_answers_is_neither_kept_nor_looked_for(params: Payload) -> None:
    bench = Bench()
    bench.keep(came(READ), READ, params)

    assert not bench.has(READ, params)
    assert not bench.has(READ, uri_params("file:///a"))


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "subscriptions/listen", "nonsense"])
def test_other_methods_give_nothing_that_is_kept(method: str) -> None:
    bench = Bench()
    bench.keep(came(), method, CallToolRequestParams(name="t"))

    assert not bench.has(method, CallToolRequestParams(name="t"))
    assert 0 == len(bench.store)


def test_every_method_that_the_table_calls_cacheable_is_kept() -> None:
    bench = Bench()
    rows = {name for name, senders in METHODS.items() if "client" in senders and senders["client"].cacheable}
    result = CacheableResult(ttl_ms=1000)

    for method in rows:
        bench.keep(result, method)

    assert {LIST, "server/discover", "prompts/list", "resources/list", "resources/templates/list", READ} == rows
    assert all(bench.has(method) for method in rows)


@pytest.mark.parametrize("params", [{"cursor": object()}, {"cursor": "\ud800"}, [1], Raw(b"[]"), Raw(b"{"), 5])
def test_params_that_are_none_are_never_looked_for(params: Any) -> None:
    bench = Bench()
    bench.keep(came(), params=params)

    assert not bench.has(params=params)
    assert 0 == len(bench.store)


# For whom


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_what_is_private_is_found_in_its_own_context_alone() -> None:
    bench = Bench()
    bench.keep(came(), context="alice")

    assert [True, False, False] == [bench.has(context=context) for context in ("alice", "bob", "")]


def test_what_is_public_is_found_in_every_context() -> None:
    bench = Bench()
    bench.keep(came(cacheScope="public"), context="alice")

    assert [True, True, True] == [bench.has(context=context) for context in ("alice", "bob", "")]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_a_result_without_a_scope_is_private() -> None:
    bench = Bench()
    bench.keep(ListToolsResult(tools=[], ttl_ms=1000), context="alice")

    assert [True, False] == [bench.has(context=context) for context in ("alice", "bob")]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_what_becomes_private_is_not_given_to_others_any_more() -> None:
    bench = Bench()
    bench.keep(came(cacheScope="public"), context="alice")
    bench.keep(came(), context="alice")

    assert [True, False] == [bench.has(context=context) for context in ("alice", "bob")]


def test_what_becomes_public_takes_the_place_of_what_was_private() -> None:
    bench = Bench()
    bench.keep(came(n=1), context="alice")
    bench.keep(came(n=2, cacheScope="public"), context="alice")

    assert 2 == decode(bench.server.lookup(LIST, UNSET, "alice") or b"{}")["n"]


def test_a_context_is_named_by_all_headers_without_showing_them() -> None:
    name = name_context({"Authorization": "Bearer secret"})

    assert "" == name_context({})
    assert name == name_context({"authorization": "Bearer secret"})
    assert 4 == len({name, name_context({"authorization": "Bearer other"}), name_context({"x": "Bearer secret"}), ""})
    assert "secret" not in name
    assert name_context({"a": "b", "c": "d"}) == name_context({"c": "d", "a": "b"}) != name_context({"a": "b,c:d"})


# What makes it stale


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    ("notice", "gone"),
    [
        ("notifications/tools/list_changed", {LIST}),
        ("notifications/prompts/list_changed", {"prompts/list"}),
        ("notifications/resources/list_changed", {"resources/list", "resources/templates/list"}),
        ("notifications/message", set[str]()),
        ("notifications/resources/updated", {READ}),
    ],
)
def test_a_notice_makes_stale_what_it_is_about_every_page_and_for_everyone(notice: str, gone: set[str]) -> None:
    bench = Bench()
    methods = {LIST, "prompts/list", "resources/list", "resources/templates/list", READ}
    for method in methods:
        for params in PAGES:
            bench.keep(CacheableResult(ttl_ms=1000), method, params, "alice")
            bench.keep(CacheableResult(ttl_ms=1000, cache_scope="public"), method, params, "bob")

    bench.server.take_notice(notice)

    for params in PAGES:
        assert methods - gone == {method for method in methods if bench.has(method, params, "bob")}
        assert methods - gone == {method for method in methods if bench.has(method, params, "alice")}


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    ("updated", "gone"),
    [
        ("file:///a", {"file:///a"}),
        ("file:///a/b", {"file:///a", "file:///a/b"}),
        ("file:///a/b/c", {"file:///a", "file:///a/b"}),
        ("file:///ab", set[str]()),
        ("file:///A", set[str]()),
    ],
)
def test_an_update_makes_stale_the_resource_and_those_that_it_is_a_part_of(updated: str, gone: set[str]) -> None:
    bench = Bench()
    uris = {"file:///a", "file:///a/b", "mem://x"}
    for uri in uris:
        bench.keep(came(READ), READ, uri_params(uri), "alice")

    bench.server.take_notice("notifications/resources/updated", updated)

    assert uris - gone == {uri for uri in uris if bench.has(READ, uri_params(uri), "alice")}


def test_an_update_reaches_a_read_with_other_meta_too() -> None:
    bench = Bench()
    params = ReadResourceRequestParams(uri="file:///a", meta={"tenant": 1})
    bench.keep(came(READ), READ, params)

    bench.server.take_notice("notifications/resources/updated", "file:///a")

    assert not bench.has(READ, params)


def test_a_notice_of_one_server_leaves_those_of_others() -> None:
    bench = Bench()
    bench.keep(came())

    bench.bind("t").take_notice("notifications/tools/list_changed")

    assert bench.has()


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_an_answer_that_a_notice_overtakes_is_not_kept() -> None:
    bench = Bench()
    for uri, stays in (("file:///a", False), ("file:///b", True)):
        with bench.server.fetch(READ, uri_params(uri)) as fetch:
            bench.server.take_notice("notifications/resources/updated", "file:///a")
            fetch.store(came(READ))

        assert stays == bench.has(READ, uri_params(uri))


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_a_notice_that_another_client_of_the_server_hears_counts_too() -> None:
    bench = Bench()
    with bench.server.fetch(LIST, UNSET) as fetch:
        bench.bind("t").take_notice("notifications/tools/list_changed")
        bench.bind("s").take_notice("notifications/prompts/list_changed")
        fetch.store(came(n=1))
    assert bench.has()

    with bench.server.fetch(LIST, UNSET) as fetch:
        bench.bind("s").take_notice("notifications/tools/list_changed")
        fetch.store(came(n=2))
    assert not bench.has()


def test_an_answer_that_was_asked_for_after_the_notice_is_kept_though_an_older_one_comes_later() -> None:
    bench = Bench()
    with bench.server.fetch(LIST, UNSET) as old:
        bench.server.take_notice("notifications/tools/list_changed")
        bench.keep(came(n=2))
        old.store(came(n=1))

    assert 2 == decode(bench.server.lookup(LIST, UNSET) or b"{}")["n"]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("error", [MCPError("x", "x"), asyncio.CancelledError()])
def test_nothing_is_left_of_a_request_that_fails(error: BaseException) -> None:
    bench: Any = Bench()
    with pytest.raises(type(error)), bench.server.fetch(LIST, UNSET):
        raise error

    assert (False, set()) == (bench.has(), bench.cache._fetches)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize(
    ("params", "code", "received", "stays"),
    [
        (PaginatedRequestParams(cursor="3"), MCP_CODES.INVALID_PARAMS, True, False),
        (PaginatedRequestParams(cursor="3"), MCP_CODES.INVALID_PARAMS, False, True),
        (PaginatedRequestParams(cursor="3"), MCP_CODES.INTERNAL_ERROR, True, True),
        (PaginatedRequestParams(), MCP_CODES.INVALID_PARAMS, True, True),
        ({"x": 'not a "cursor":'}, MCP_CODES.INVALID_PARAMS, True, True),
    ],
)
def test_a_cursor_that_the_server_refuses_takes_all_pages_with_it(
    *, params: Payload, code: str, received: bool, stays: bool
) -> None:
    bench = Bench()
    bench.keep(came())
    bench.keep(came(), params=PaginatedRequestParams(cursor="2"))
    error = MCPError(code, "no such cursor")
    error.received = received

    with pytest.raises(MCPError), bench.server.fetch(LIST, params):
        raise error

    assert [stays] * 2 == [bench.has(), bench.has(params=PaginatedRequestParams(cursor="2"))]


# Asking


class Server:
    """Answers with what it has, and counts."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self) -> Any:
        self.asked += 1
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_a_server_is_asked_once_while_its_answer_is_fresh() -> None:
    bench = Bench()
    server = Server(came(n=1), came(n=2))

    results = [await bench.server.request(LIST, UNSET, server) for _ in range(3)]
    bench.clock.advance(60.0)
    results.append(await bench.server.request(LIST, UNSET, server))

    assert [1, 1, 1, 2] == [decode(result.raw)["n"] for result in results]
    assert (2, []) == (server.asked, bench.faults)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_what_a_caller_does_to_a_result_changes_no_other() -> None:
    bench = Bench()
    server = Server(came())

    for _ in range(3):
        result = await bench.server.request(LIST, UNSET, server)
        assert ["t"] == [tool.name for tool in result.tools]
        result.tools[0].input_schema["type"] = "poisoned"
        result.tools.clear()

    assert [{"type": "object"}] == [
        tool.input_schema for tool in (await bench.server.request(LIST, UNSET, server)).tools
    ]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_a_result_handed_over_in_memory_is_copied_as_well() -> None:
    bench = Bench()
    tools = [Tool(name="t", input_schema={})]
    server = Server(ListToolsResult(tools=tools, ttl_ms=1000))
    await bench.server.request(LIST, UNSET, server)

    tools.clear()

    assert ["t"] == [tool.name for tool in (await bench.server.request(LIST, UNSET, server)).tools]


async def test_a_result_that_has_no_json_is_given_and_not_kept() -> None:
    bench = Bench()
    result = ListToolsResult(tools=[], ttl_ms=1000, meta={"x": object()})  # pyright: ignore[reportArgumentType]

    assert result is await bench.server.request(LIST, UNSET, Server(result))
    assert not bench.has()


async def test_a_result_can_be_asked_for_although_one_is_kept() -> None:
    bench = Bench()
    server = Server(came(n=1), came(n=2))

    await bench.server.request(LIST, UNSET, server)
    assert 2 == decode((await bench.server.request(LIST, UNSET, server, fresh=True)).raw)["n"]
    assert 2 == decode((await bench.server.request(LIST, UNSET, server)).raw)["n"]


async def test_the_context_of_a_request_is_minded() -> None:
    bench = Bench()
    server = Server(came(n=1), came(n=2))

    found = [await bench.server.request(LIST, UNSET, server, context=context) for context in ("a", "b", "a", "b")]

    assert [1, 2, 1, 2] == [decode(result.raw)["n"] for result in found]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_what_has_run_out_is_not_given_where_the_server_cannot_be_asked() -> None:
    bench = Bench()
    failure = MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "gone")
    server = Server(came(), failure, failure, came())

    await bench.server.request(LIST, UNSET, server)
    bench.clock.advance(60.0)
    for _ in range(2):
        with pytest.raises(MCPTransportError):
            await bench.server.request(LIST, UNSET, server)

    assert await bench.server.request(LIST, UNSET, server)


async def test_what_cannot_be_kept_is_asked_for_each_time() -> None:
    bench = Bench()
    server = Server(1, 2)

    assert [1, 2] == [await bench.server.request("tools/call", {"name": "t"}, server) for _ in range(2)]


async def test_a_request_that_is_cancelled_leaves_nothing() -> None:
    bench: Any = Bench()
    never = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(bench.server.request(LIST, UNSET, lambda: never))
    await asyncio.sleep(0)
    assert 1 == len(bench.cache._fetches)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert set() == bench.cache._fetches


# Stores that fail


class Broken:
    """A store that fails at what it is told to fail at, and is one in memory otherwise."""

    def __init__(self) -> None:
        self.inner = MemoryCacheStore(clock=FakeClock())
        self.fails: set[str] = set()

    def _meet(self, action: str) -> None:
        if action in self.fails:
            raise OSError(f"{action} failed")

    def get(self, key: CacheKey) -> bytes | None:
        self._meet("get")
        return self.inner.get(key)

    def put(self, key: CacheKey, json: bytes, ttl: float) -> None:
        self._meet("put")
        self.inner.put(key, json, ttl)

    def delete(self, key: CacheKey) -> None:
        self._meet("delete")
        self.inner.delete(key)

    def keys(self, server: str, method: str) -> Iterable[CacheKey]:
        self._meet("keys")
        return self.inner.keys(server, method)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_a_store_that_cannot_find_or_keep_costs_a_request_to_the_server_and_is_reported() -> None:
    store = Broken()
    bench = Bench(store)
    store.fails = {"put"}
    server = Server(came(n=1), came(n=2), came(n=3))

    await bench.server.request(LIST, UNSET, server)
    store.fails = {"get"}
    await bench.server.request(LIST, UNSET, server)
    store.fails = set()
    assert 2 == decode((await bench.server.request(LIST, UNSET, server)).raw)["n"]

    assert [
        "the cache could not keep a result of tools/list: put failed",
        *["the cache could not look for a result of tools/list: get failed"] * 2,
    ] == bench.faults


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@pytest.mark.parametrize("action", ["keys", "delete"])
def test_a_store_that_cannot_forget_is_not_used_any_more(action: str) -> None:
    store = Broken()
    bench = Bench(store)
    bench.keep(came())
    store.fails = {action}

    bench.server.take_notice("notifications/tools/list_changed")
    store.fails = set()

    assert not bench.has()
    bench.keep(came())
    bench.server.take_notice("notifications/tools/list_changed")
    assert not bench.has()
    assert [
        f"the cache could not forget results of tools/list, and is not used any more: {action} failed"
    ] == bench.faults


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
async def test_what_is_no_result_in_a_store_is_reported_and_asked_for_anew() -> None:
    bench = Bench()
    server = Server(came(n=1))
    bench.store.put(CacheKey("s", LIST, "", "{}", ""), b'{"tools":5}', 60.0)

    assert 1 == decode((await bench.server.request(LIST, UNSET, server)).raw)["n"]
    (fault,) = bench.faults
    assert fault.startswith("the cache holds no result of tools/list: the result of tools/list is malformed at tools: ")
    assert bench.has()


async def test_a_cache_has_a_store_of_its_own_by_default() -> None:
    server = ResponseCache().bind("s", lambda *_: None)
    with server.fetch(LIST, UNSET) as fetch:
        fetch.store(came())

    assert None is not server.lookup(LIST, UNSET)


# Anything at all

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("ab"), st.sampled_from(["public", "private"])),
        st.tuples(st.just("notice"), st.just(""), st.just("")),
        st.tuples(st.just("advance"), st.just(""), st.just("")),
        st.tuples(st.just("look"), st.sampled_from("ab"), st.just("")),
    )
)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@given(STEPS)
def test_nobody_is_ever_given_what_is_stale_or_anothers(steps: list[tuple[str, str, str]]) -> None:
    bench = Bench()
    generation = 0
    for number, (step, context, scope) in enumerate(steps):
        if step == "keep":
            bench.keep(
                came(owner=context, scope=scope, n=number, generation=generation, at=bench.clock.now, cacheScope=scope),
                context=context,
            )
        elif step == "notice":
            generation += 1
            bench.server.take_notice("notifications/tools/list_changed")
        elif step == "advance":
            bench.clock.advance(25.0)
        else:
            found = bench.server.lookup(LIST, UNSET, context)
            if found is not None:
                members = decode(found)
                assert generation == members["generation"]
                assert bench.clock.now < members["at"] + 60.0
                assert context == members["owner"] or "public" == members["scope"]
