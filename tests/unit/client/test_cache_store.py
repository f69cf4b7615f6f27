"""Where a client keeps the results that a server lets it keep."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suaveplan_mcp.client.cache_store import CacheKey, MemoryCacheStore
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.testing.clock import FakeClock

LIST = "tools/list"


def key_of(params: str = "{}", *, server: str = "s", method: str = LIST, context: str | None = "") -> CacheKey:
    return CacheKey(server, method, "", params, context)


def store_of(clock: FakeClock | None = None, /, **limits: int) -> MemoryCacheStore:
    return MemoryCacheStore(clock=clock or FakeClock(), **limits)


def test_what_is_kept_is_found_until_its_time_is_over() -> None:
    clock = FakeClock(100.0)
    store = store_of(clock)
    store.put(key_of(), b"{}", 0.5)

    clock.advance(0.49)
    assert b"{}" == store.get(key_of())
    clock.advance(0.01)
    assert None is store.get(key_of())
    assert (0, 0) == (len(store), store.size)


@pytest.mark.parametrize(
    "other",
    [key_of("x"), key_of(server="t"), key_of(method="prompts/list"), key_of(context="x"), key_of(context=None)],
)
def test_every_part_of_a_key_counts(other: CacheKey) -> None:
    store = store_of()
    store.put(key_of(), b"{}", 1.0)

    assert None is store.get(other)


def test_what_is_kept_later_takes_the_place_and_the_time_of_what_was_there() -> None:
    clock = FakeClock()
    store = store_of(clock)
    store.put(key_of(), b"1", 10.0)
    store.put(key_of(), b"22", 1.0)

    assert (b"22", 1) == (store.get(key_of()), len(store))
    clock.advance(1.0)
    assert None is store.get(key_of())


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_what_was_asked_for_longest_ago_makes_room() -> None:
    store = store_of(max_entries=2)
    store.put(key_of("a"), b"a", 1.0)
    store.put(key_of("b"), b"b", 1.0)
    store.get(key_of("a"))
    store.put(key_of("c"), b"c", 1.0)

    assert [b"a", None, b"c"] == [store.get(key_of(params)) for params in "abc"]


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_large_results_push_out_as_many_as_they_need() -> None:
    store = store_of(max_bytes=4000)
    for params in "abc":
        store.put(key_of(params), b"x" * 500, 1.0)
    store.put(key_of("d"), b"x" * 2500, 1.0)

    assert [False, False, False, True] == [store.get(key_of(params)) is not None for params in "abcd"]
    assert store.size <= 4000


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
def test_a_result_that_is_larger_than_everything_is_not_kept_and_what_it_replaces_is_gone() -> None:
    store = store_of(max_bytes=2000)
    store.put(key_of(), b"small", 1.0)
    store.put(key_of("b"), b"small", 1.0)
    store.put(key_of(), b"x" * 2000, 1.0)

    assert (None, b"small") == (store.get(key_of()), store.get(key_of("b")))


def test_a_long_key_counts_as_much_as_a_large_result() -> None:
    store = store_of(max_bytes=2000)
    store.put(key_of("x" * 2000), b"{}", 1.0)

    assert 0 == len(store)


@pytest.mark.parametrize("limit", ["max_entries", "max_bytes"])
def test_a_limit_of_zero_keeps_nothing_and_a_negative_one_is_refused(limit: str) -> None:
    store = store_of(**{limit: 0})
    store.put(key_of(), b"{}", 1.0)

    assert None is store.get(key_of())
    with pytest.raises(MCPError, match=f"`{limit}` is not valid: it cannot be negative") as caught:
        store_of(**{limit: -1})
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


def test_the_keys_of_one_method_of_one_server_are_told() -> None:
    store = store_of()
    ours = {key_of("a"), key_of("b", context=None), key_of("b", context="x")}
    for key in {*ours, key_of(server="t"), key_of(method="prompts/list")}:
        store.put(key, b"{}", 1.0)

    assert ours == set(store.keys("s", LIST))
    assert () == store.keys("u", LIST)


def test_what_is_deleted_is_gone_and_deleting_it_again_changes_nothing() -> None:
    store = store_of()
    store.put(key_of("a"), b"{}", 1.0)
    store.put(key_of("b"), b"{}", 1.0)
    store.delete(key_of("a"))
    store.delete(key_of("a"))

    assert (None, b"{}") == (store.get(key_of("a")), store.get(key_of("b")))
    assert [key_of("b")] == list(store.keys("s", LIST))


def test_everything_can_be_forgotten() -> None:
    store = store_of()
    store.put(key_of(), b"{}", 1.0)
    store.clear()

    assert (0, 0, ()) == (len(store), store.size, store.keys("s", LIST))


async def test_the_loop_has_the_clock_where_no_other_is_given() -> None:
    store = MemoryCacheStore()
    store.put(key_of(), b"{}", 60.0)

    assert b"{}" == store.get(key_of())


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "get", "delete", "advance"]), st.sampled_from("abcdef"), st.integers(0, 900))
)


@pytest.mark.requirement("a-client-keeps-what-a-server-lets-it-keep")
@given(STEPS)
def test_whatever_happens_the_limits_hold_and_the_books_are_right(steps: list[tuple[str, str, int]]) -> None:
    clock = FakeClock()
    store: Any = store_of(clock, max_entries=4, max_bytes=3000)
    for step, params, size in steps:
        key = key_of(params)
        if step == "put":
            store.put(key, b"x" * size, 1.0)
        elif step == "advance":
            clock.advance(size / 1000)
        else:
            getattr(store, step)(key)

        assert len(store) <= 4
        assert store.size == sum(entry.size for entry in store._entries.values()) <= 3000
        assert set(store._entries) == {key for keys in store._keys.values() for key in keys}
        assert all(store._keys.values())
