"""Case 52, the client: hints that are absent, too wide or wrong never make a client show what is stale or another's."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

from suaveplan_mcp.client.cache_store import MemoryCacheStore
from suaveplan_mcp.client.response_cache import ResponseCache, name_context
from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.protocol.revisions import LATEST
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.resources import ReadResourceRequestParams

pytestmark = pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")

ALICE = name_context({"authorization": "Bearer alice"})
BOB = name_context({"authorization": "Bearer bob"})
FIRST = PaginatedRequestParams()


class Peer:
    """A server that counts its answers, behind a client's cache."""

    def __init__(self, **hints: object) -> None:
        self.hints = hints
        self.asked = 0
        self.is_up = True
        self.clock = FakeClock()
        self.cache = ResponseCache(MemoryCacheStore(clock=self.clock)).bind("https://h/mcp", print)
        self._era = StatelessEra("client", (), (LATEST,))

    async def ask(self, method: str = "tools/list", params: Any = FIRST, context: str = "") -> Any:
        return await self.cache.request(method, params, lambda: self._answer(method), context=context)

    async def _answer(self, method: str) -> Any:
        self.asked += 1
        if not self.is_up:
            raise MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "down")
        body = {"contents": []} if method == "resources/read" else {"tools": [{"name": "t", "inputSchema": {}}]}
        result, _ = self._era.admit_result(method, Raw(encode({"resultType": "complete", **body, **self.hints})))
        return result


@pytest.mark.parametrize("hints", [{}, {"ttlMs": 0}, {"ttlMs": -5}, {"ttlMs": None}, {"cacheScope": "public"}])
async def test_what_is_stale_at_once_is_asked_for_each_time(hints: dict[str, object]) -> None:
    peer = Peer(**hints)

    for _ in range(3):
        await peer.ask()

    assert 3 == peer.asked


@pytest.mark.parametrize(("ttl", "fresh", "stale"), [(500.5, 0.5, 0.001), (60_000, 59.9, 0.1), (1e9, 86_399.0, 1.0)])
async def test_what_is_fresh_is_asked_for_once_until_it_is_not(ttl: float, fresh: float, stale: float) -> None:
    peer = Peer(ttlMs=ttl)

    await peer.ask()
    peer.clock.advance(fresh)
    await peer.ask()
    assert 1 == peer.asked
    peer.clock.advance(stale)
    await peer.ask()
    assert 2 == peer.asked


async def test_another_cursor_and_another_resource_are_asked_for() -> None:
    peer = Peer(ttlMs=1000)

    for _ in range(2):
        await peer.ask(params=PaginatedRequestParams(cursor="2"))
        await peer.ask()
        for uri in ("file:///a", "file:///b"):
            await peer.ask("resources/read", ReadResourceRequestParams(uri=uri))

    assert 4 == peer.asked


@pytest.mark.parametrize(("scope", "asked"), [("private", 2), (None, 2), ("public", 1)])
async def test_another_token_shares_what_is_public_alone(scope: str | None, asked: int) -> None:
    peer = Peer(ttlMs=1000, cacheScope=scope)

    for context in (ALICE, BOB, ALICE, BOB):
        await peer.ask(context=context)

    assert asked == peer.asked


async def test_a_list_that_changed_while_fresh_is_asked_for_again() -> None:
    peer = Peer(ttlMs=1000)

    await peer.ask()
    peer.cache.take_notice("notifications/tools/list_changed")
    await peer.ask()

    assert 2 == peer.asked


async def test_one_resource_that_changed_is_read_again_and_no_other() -> None:
    peer = Peer(ttlMs=1000)
    uris = [ReadResourceRequestParams(uri=uri) for uri in ("file:///a", "file:///b")]

    for params in uris:
        await peer.ask("resources/read", params)
    peer.cache.take_notice("notifications/resources/updated", "file:///a")
    for params in uris:
        await peer.ask("resources/read", params)

    assert 3 == peer.asked


async def test_a_list_that_its_caller_changes_stays_what_it_was_for_the_next() -> None:
    peer = Peer(ttlMs=1000)

    (await peer.ask()).tools.clear()

    assert ["t"] == [tool.name for tool in (await peer.ask()).tools]
    assert 1 == peer.asked


async def test_a_stale_list_is_not_shown_when_the_server_is_down() -> None:
    peer = Peer(ttlMs=1000)
    await peer.ask()
    peer.clock.advance(1.0)
    peer.is_up = False

    with pytest.raises(MCPTransportError):
        await peer.ask()


async def test_the_answer_to_a_retry_with_input_is_not_kept() -> None:
    peer = Peer(ttlMs=1000)
    retried = ReadResourceRequestParams(uri="file:///a", request_state="s", input_responses={})

    for params in (retried, retried, ReadResourceRequestParams(uri="file:///a")):
        await peer.ask("resources/read", params)

    assert 3 == peer.asked
