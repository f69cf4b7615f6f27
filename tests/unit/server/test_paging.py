"""Pages of a list and the cursors between them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Payload
from suaveplan_mcp.protocol.admission import SealedResult
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE, V2024_11_05
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.paging import Listing, Page, Pages, page_of, require_page_size, require_ttl
from suaveplan_mcp.targets import connect
from suaveplan_mcp.types.base import Result
from suaveplan_mcp.types.caching import CacheableResult, CacheScope


def test_without_a_page_size_there_is_one_page() -> None:
    assert ([1, 2, 3], None) == page_of([1, 2, 3], None, None)


@given(st.lists(st.integers(), max_size=30), st.integers(1, 12))
def test_walking_the_cursors_gives_every_item_once_and_in_order(items: list[int], size: int) -> None:
    seen, cursor = page_of(items, None, size)
    while cursor is not None:
        page, cursor = page_of(items, cursor, size)
        assert page
        seen += page

    assert items == seen


def test_an_empty_list_has_one_empty_page() -> None:
    assert ([], None) == page_of([], None, 2)


@pytest.mark.parametrize(
    "cursor",
    ["", "garbage", "after:", "after:0", "after:1", "after:4", "after:6", "after:-2", "after:02", "after:٢", "2"],
)
def test_a_cursor_that_no_page_gave_is_refused(cursor: str) -> None:
    with pytest.raises(MCPError) as caught:
        page_of([1, 2, 3, 4], cursor, 2)

    assert (MCP_CODES.INVALID_PARAMS, "cursor") == (caught.value.code, caught.value.context["path"])


def test_a_huge_number_is_refused_without_being_read() -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        page_of([1, 2, 3, 4], f"after:{'9' * 100_000}", 2)


def test_without_a_page_size_no_cursor_was_given() -> None:
    with pytest.raises(MCPError):
        page_of([1, 2, 3, 4], "after:2", None)


@pytest.mark.parametrize("size", [1, 500, None])
def test_a_page_holds_any_number_of_items(size: int | None) -> None:
    assert size == require_page_size(size)


@pytest.mark.parametrize("size", [0, -1])
def test_a_page_that_would_hold_nothing_is_refused(size: int) -> None:
    with pytest.raises(MCPError) as caught:
        require_page_size(size)

    assert "page_size" == caught.value.context["path"]


def _pages(items: list[int], scope: Callable[[], CacheScope], size: int | None = None) -> Pages[int]:
    def make_page(page: Page[int]) -> Result:
        meta: JsonObject = {"items": list[JsonValue](page.items), "next": page.next_cursor}
        return CacheableResult(meta=meta, cache_scope=page.scope)

    return Pages(
        lambda form: [*items, 26] if form == "stateless" else items, make_page, Listing(scope, _completed, size)
    )


def _json(answer: Payload) -> bytes:
    assert isinstance(answer, Raw)
    return bytes(answer)


def _completed(result: Result) -> Result:
    return replace(result, result_type="complete")


def test_a_page_is_made_once_until_the_list_changes() -> None:
    items = [1]
    pages = _pages(items, lambda: "public")
    first = pages.answer(None, LATEST_HANDSHAKE)
    items.append(2)

    assert first is pages.answer(None, LATEST_HANDSHAKE)
    pages.forget()
    assert b'{"_meta":{"items":[1,2],"next":null},"cacheScope":"public"}' == _json(pages.answer(None, LATEST_HANDSHAKE))


def test_pages_for_sharing_are_kept_apart_from_those_that_are_not() -> None:
    scopes: list[CacheScope] = ["public", "private"]
    pages = _pages([1, 2], lambda: scopes[0], size=1)
    shared = pages.answer("after:1", LATEST_HANDSHAKE)
    scopes.reverse()

    assert b"public" in _json(shared)
    assert b"private" in _json(pages.answer("after:1", LATEST_HANDSHAKE))


def test_pages_for_one_era_are_kept_apart_from_those_for_the_other() -> None:
    pages = _pages([1], lambda: "public")
    pages.answer(None, LATEST_HANDSHAKE)
    sealed = pages.answer(None, LATEST)

    assert isinstance(sealed, SealedResult)
    assert b'"items":[1,26]' in bytes(sealed.json)
    assert b'"resultType":"complete"' in bytes(sealed.json)
    assert pages.answer(None, V2024_11_05) is pages.answer(None, LATEST_HANDSHAKE)


async def test_a_client_in_the_same_process_cannot_reach_into_what_is_registered() -> None:
    server = MCPServer("s", "1")

    @server.tool
    def wave(times: int) -> str:
        return "~" * times

    async with connect(server) as client:
        (listed,) = (await client.list_tools()).tools
        listed.input_schema["properties"] = {}

    assert {"times": {"type": "integer"}} == server.list_tools()[0].input_schema["properties"]


@pytest.mark.parametrize("ttl_ms", [0, 60_000])
def test_a_list_may_be_kept_for_any_time(ttl_ms: int) -> None:
    assert ttl_ms == require_ttl("list_ttl_ms", ttl_ms)


def test_a_list_cannot_be_kept_for_less_than_no_time() -> None:
    with pytest.raises(MCPError) as caught:
        MCPServer(list_ttl_ms=-1)

    expected = {"path": "list_ttl_ms", "reason": "milliseconds are counted from 0 on, not from -1"}
    assert (MCP_CODES.INVALID_PARAMS, expected) == (caught.value.code, caught.value.context)
