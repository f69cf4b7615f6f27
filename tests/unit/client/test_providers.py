"""Calling the functions a user gives."""

import threading
from typing import Any, cast

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.providers import Provider
from suaveplan_mcp.jsonrpc.messages import ErrorResponse
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from tests.unit.client.peers import ask, connected, record_faults

CALL = InboundCall(1, "roots/list", {}, None)


async def _ask(function: Any) -> Any:
    threads = WorkerThreads()
    try:
        return await Provider(function, threads).ask("params", CALL)
    finally:
        threads.close()


async def _coroutine(params: object, call: InboundCall) -> object:
    return params, call, threading.current_thread()


class _AsyncCallable:
    async def __call__(self, params: object) -> object:
        return params


async def test_a_coroutine_runs_on_the_loop() -> None:
    assert ("params", CALL, threading.current_thread()) == await _ask(_coroutine)


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    thread = await _ask(lambda _params, _call: threading.current_thread())

    assert threading.current_thread() is not cast("threading.Thread", thread)


async def test_a_provider_takes_nothing_the_params_or_both() -> None:
    assert ["none", "params", ("params", CALL)] == [
        await _ask(lambda: "none"),
        await _ask(lambda params: params),
        await _ask(lambda params, call: (params, call)),
    ]


async def test_an_awaitable_from_a_plain_callable_is_awaited() -> None:
    assert "params" == await _ask(_AsyncCallable())


async def test_a_provider_that_raises_tells_the_peer_nothing_and_is_reported() -> None:
    async def fail(_: object) -> None:
        raise ValueError("secret")

    client = MCPClient(prefetch=False)
    client.set_roots_provider(fail)
    faults = record_faults(client)
    async with connected(client) as (_, peer):
        answer = await ask(peer, "roots/list", {})

    assert isinstance(answer, ErrorResponse)
    assert (-32603, "Internal error") == (answer.error.code, answer.error.message)
    assert "secret" not in repr(answer)
    assert ["secret"] == [str(fault.error) for fault in faults]


@pytest.mark.parametrize("loose", [None, 42, ["x"]])
async def test_a_sampling_provider_that_answers_nonsense_is_reported_and_tells_the_peer_nothing(loose: object) -> None:
    client = MCPClient(prefetch=False)
    client.set_sampling_provider(lambda: loose)
    faults = record_faults(client)
    async with connected(client) as (_, peer):
        answer = await ask(peer, "sampling/createMessage", {"messages": [], "maxTokens": 1})

    assert isinstance(answer, ErrorResponse)
    assert (-32603, "Internal error") == (answer.error.code, answer.error.message)
    assert 1 == len(faults)
