"""Calling the functions a user gives."""

import re
import threading
from typing import Any, cast

import pytest
from msgspec import Raw

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.providers import Provider
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import ErrorResponse
from suaveplan_mcp.protocol.admission import admit_result
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.types.completion import CompleteResult, Completion
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.elicitation import ElicitResult
from suaveplan_mcp.types.roots import ListRootsResult, Root
from suaveplan_mcp.types.sampling import CreateMessageResult
from tests.unit.client.peers import ask, connected, record_faults

CALL = InboundCall(1, "roots/list", {}, None)


async def _ask(function: Any, call: InboundCall = CALL) -> Any:
    threads = WorkerThreads()
    try:
        return await Provider(function, threads).ask("params", call)
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


WRONG: Any = 5


@pytest.mark.parametrize(
    ("method", "answer", "reason"),
    [
        ("roots/list", ListRootsResult(roots=[Root(uri=WRONG)]), "roots[0] is left out: Expected `str`, got `int`"),
        ("elicitation/create", ElicitResult(action=WRONG), "Expected `str`, got `int`"),
        ("completion/complete", CompleteResult(completion=Completion(values=[WRONG])), "at completion.values[0]"),
        (
            "sampling/createMessage",
            CreateMessageResult(role="assistant", content=TextContent(text=WRONG), model="m"),
            "at text: Expected `str`",
        ),
        ("sampling/createMessage", CreateMessageResult(role="assistant", content=WRONG, model="m"), "at content"),
        ("sampling/createMessage", CreateMessageResult(role=object(), content=WRONG, model="m"), "type object"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_struct_that_holds_what_its_class_forbids_is_a_wrong_answer(
    method: str, answer: Any, reason: str
) -> None:
    with pytest.raises(MCPError, match=re.escape(reason)) as caught:
        await _ask(lambda: answer, InboundCall(1, method, {}, None))

    assert MCP_CODES.HANDLER_FAILED == caught.value.code


async def test_struct_of_a_provider_is_as_it_was_made() -> None:
    answer = CreateMessageResult(role="assistant", content=TextContent(text="hi"), model="m")

    assert answer == await _ask(lambda: answer, InboundCall(1, "sampling/createMessage", {}, None))


async def test_result_of_another_peer_goes_on_in_its_own_form() -> None:
    raw = Raw(b'{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","vendor":1}')
    answer = admit_result(METHODS["sampling/createMessage"]["server"], raw)[0]

    assert answer is await _ask(lambda: answer, InboundCall(1, "sampling/createMessage", {}, None))
