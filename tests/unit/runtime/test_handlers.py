"""Who answers which method, and who listens to which notification."""

import functools
from collections.abc import Callable

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.handlers import Handler, HandlerTable, count_parameters


def one(params: object) -> None: ...


async def two(params: object, call: object) -> None: ...


class Callback:
    def method(self, params: object, call: object) -> None: ...

    def __call__(self, params: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (one, 1),
        (two, 2),
        (lambda: None, 0),
        (lambda *values: values, 99),
        (lambda params, *, key=None, **more: (params, key, more), 1),
        (lambda params, call=None: (params, call), 2),
        (Callback().method, 2),
        (Callback(), 1),
        (functools.partial(two, call=None), 1),
        (functools.partial(two, None), 1),
        ([].append, 1),
        (max, 1),
        (print, 99),
    ],
)
def test_positional_parameters_are_counted(function: Callable[..., object], count: int) -> None:
    assert count == count_parameters(function)


def test_a_handler_gets_the_call_where_it_has_a_place_for_it() -> None:
    table = HandlerTable()
    table.register("one", one)
    table.register("two", two, pauses_timeouts=True)

    handlers: list[Handler] = [table.handler_of("one"), table.handler_of("two")]
    assert [(False, False, False), (True, True, True)] == [
        (handler.takes_call, handler.is_coroutine, handler.pauses_timeouts) for handler in handlers
    ]
    assert [one, two] == [handler.function for handler in handlers]


def test_a_parameter_with_a_default_is_no_place_for_the_call() -> None:
    table, name = HandlerTable(), "bound early"
    table.register("named", lambda params, name=name: (params, name))

    assert not table.handler_of("named").takes_call
    assert [1, 2] == [
        count_parameters(lambda a, b=0: (a, b), required_only=True),
        count_parameters(lambda a, b=0: (a, b)),
    ]


def test_the_table_tells_what_is_served() -> None:
    table = HandlerTable()
    table.register("one", one)
    table.register("two", two)

    assert ["one", "two"] == list(table)
    assert "one" in table
    table.unregister("one")
    assert "one" not in table


def test_a_method_has_one_handler_and_what_is_missing_cannot_be_taken_away() -> None:
    table = HandlerTable()
    table.register("one", one)

    with pytest.raises(MCPError) as twice:
        table.register("one", two)
    with pytest.raises(MCPError) as missing:
        table.unregister("two")

    assert [MCP_CODES.DUPLICATE_REGISTRATION, MCP_CODES.NOT_FOUND] == [twice.value.code, missing.value.code]
    assert one is table.handler_of("one").function


def test_listeners_are_kept_in_order_and_each_subscription_ends_once() -> None:
    table, heard = HandlerTable(), list[object]()
    stop_first = table.listen("news", heard.append)
    table.listen("news", one)
    table.listen("news", heard.append)

    stop_first()
    stop_first()

    assert (one, heard.append) == table.listeners_of("news")


def test_nobody_listens_at_first() -> None:
    assert () == HandlerTable().listeners_of("news")


def test_whoever_leaves_while_a_notification_is_handed_on_still_hears_that_one() -> None:
    table = HandlerTable()
    stop = table.listen("news", one)
    now = table.listeners_of("news")
    stop()

    assert ((one,), ()) == (now, table.listeners_of("news"))
