"""Lists that come in pages."""

import asyncio

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.pagination import page_params
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from tests.unit.client.peers import answer, connected, exchange


async def test_a_cursor_that_comes_twice_ends_the_walk_and_the_old_list_stays() -> None:
    async with connected() as (client, peer):
        await exchange(peer, "prompts/list", client.refresh_prompts(), {"prompts": [{"name": "old"}]})
        refreshing = asyncio.create_task(client.refresh_prompts())
        for _ in range(2):
            await answer(peer, "prompts/list", {"prompts": [{"name": "new"}], "nextCursor": "again"})

        with pytest.raises(MCPProtocolError, match="do not end at cursor 'again'") as raised:
            await refreshing

        assert MCP_CODES.PROTOCOL_INVALID == raised.value.code
        assert "again" == raised.value.context["cursor"]
        assert ["old"] == [prompt.name for prompt in client.prompts()]


async def test_more_pages_than_allowed_end_the_walk() -> None:
    async with connected(MCPClient(prefetch=False, max_pages=2)) as (client, peer):
        refreshing = asyncio.create_task(client.refresh_prompts())
        for cursor in ("one", "two"):
            await answer(peer, "prompts/list", {"prompts": [], "nextCursor": cursor})

        with pytest.raises(MCPProtocolError, match="'two': there is more after 2 pages"):
            await refreshing


async def test_exactly_as_many_pages_as_allowed_are_a_list() -> None:
    async with connected(MCPClient(prefetch=False, max_pages=2)) as (client, peer):
        refreshing = asyncio.create_task(client.refresh_prompts())
        await answer(peer, "prompts/list", {"prompts": [], "nextCursor": "one"})
        await answer(peer, "prompts/list", {"prompts": [{"name": "last"}]})

        assert ["last"] == [prompt.name for prompt in await refreshing]


def test_a_client_reads_at_least_one_page() -> None:
    with pytest.raises(MCPError, match="`max_pages`"):
        MCPClient(max_pages=0)


def test_the_empty_string_is_a_cursor() -> None:
    assert PaginatedRequestParams(cursor="") == page_params("")


def test_meta_goes_with_the_first_page() -> None:
    assert PaginatedRequestParams(meta={"a": 1}) == page_params(None, {"a": 1})


def test_a_cursor_that_is_no_string_is_refused() -> None:
    with pytest.raises(MCPError, match="`cursor` is not valid: expected a string, got int"):
        page_params(0)  # pyright: ignore[reportArgumentType]
