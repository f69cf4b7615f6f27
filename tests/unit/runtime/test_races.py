"""Real races on a real loop: nothing is answered twice, nothing hangs and nothing is left behind."""

import asyncio
import random
import threading
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, JsonValue, Notification, Request, Response
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.runtime.pairs import SendOnly, connected, facing_a_script, turns

ROUNDS = 1000


async def at_once(params: JsonValue) -> JsonValue:
    return params


async def after_a_turn(params: JsonValue) -> JsonValue:
    await asyncio.sleep(0)
    return params


def answers_to(messages: list[Any]) -> dict[Any, int]:
    """Count the answers by id."""
    counted: dict[Any, int] = {}
    for message in messages:
        if isinstance(message, Response | ErrorResponse):
            counted[message.id] = counted.get(message.id, 0) + 1
    return counted


@pytest.mark.requirement("every-branch-is-reached", "case-11-a-cancelled-call-is-never-answered")
@pytest.mark.parametrize("handler", [at_once, after_a_turn])
@pytest.mark.parametrize("gap", [0, 1, 2, 3])
async def test_a_cancel_races_with_the_answer_a_thousand_times(handler: Any, gap: int) -> None:
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("quick", handler)
        for number in range(ROUNDS):
            alone.peer.request(number, "quick")
            await turns(gap)
            alone.peer.notify("notifications/cancelled", {"requestId": number})
        alone.peer.request("alive", "quick", "yes")
        await turns()

        counted = answers_to(alone.peer.seen)
        assert 1 == counted.pop("alive")
        assert {1} >= set(counted.values())
        assert (0 if gap == 0 else ROUNDS) in (len(counted), ROUNDS)
        assert [] == list(alone.dispatcher._connection._theirs)
        assert set() == alone.dispatcher._calls.running


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
async def test_a_cancel_in_the_turn_of_the_request_means_that_nothing_runs() -> None:
    ran: list[JsonValue] = []
    async with facing_a_script("server") as alone:
        alone.dispatcher.register_handler("quick", ran.append)
        for number in range(ROUNDS):
            alone.peer.request(number, "quick")
            alone.peer.notify("notifications/cancelled", {"requestId": number})
        await turns()

        assert ([], []) == (ran, alone.peer.seen)


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
async def test_requests_end_once_whether_aborted_cancelled_timed_out_or_answered() -> None:
    chance = random.Random(5)
    async with connected() as pair:

        async def sleepy(params: Any) -> JsonValue:
            await turns(params)
            return params

        pair.server.register_handler("sleepy", sleepy)

        async def ask(number: int) -> str:
            controller, delay = AbortController(), chance.randrange(4)
            asking = asyncio.create_task(
                pair.client.request("sleepy", delay, timeout=1, signal=controller.signal, on_progress=lambda _: None)
            )
            await turns(chance.randrange(6))
            chance.choice([controller.abort, asking.cancel, lambda: pair.clock.advance(1), lambda: None])()
            try:
                assert delay == await asking
            except MCPError as error:
                return error.code
            except asyncio.CancelledError:
                return "cancelled"
            return "answered"

        outcomes = {await ask(number) for number in range(ROUNDS)}
        await turns()

        assert {"answered", "cancelled", MCP_CODES.REQUEST_CANCELLED, MCP_CODES.TIMEOUT} == outcomes
        assert {1} >= set(answers_to(pair.received).values())
        assert [] == list(pair.client._connection.pending)
        assert [] == list(pair.server._connection._theirs)
        deadlines = pair.client._requests._deadlines
        assert deadlines is not None
        assert {} == deadlines._entries


async def test_aborts_in_threads_race_with_answers() -> None:
    async with connected() as pair:
        pair.server.register_handler("quick", after_a_turn)
        controllers = [AbortController() for _ in range(200)]
        asking = [
            asyncio.create_task(pair.client.request("quick", number, signal=controller.signal))
            for number, controller in enumerate(controllers)
        ]
        thread = threading.Thread(target=lambda: [controller.abort() for controller in controllers])
        thread.start()
        results = await asyncio.gather(*asking, return_exceptions=True)
        thread.join()

        for number, result in enumerate(results):
            assert result == number or (isinstance(result, MCPError) and result.code == MCP_CODES.REQUEST_CANCELLED), (
                result
            )
        assert [] == list(pair.client._connection.pending)


async def test_a_close_races_with_everything_in_flight() -> None:
    for gap in range(8):
        async with connected() as pair:
            threads = WorkerThreads(2)

            async def in_a_thread(params: Any, call: InboundCall, threads: WorkerThreads = threads) -> JsonValue:
                signal, aborted = call.signal, threading.Event()
                signal.add_listener(aborted.set)
                await threads.run(lambda: aborted.wait(5))
                return params

            async def ask_back(params: Any, call: InboundCall) -> JsonValue:
                return await call.peer.request("quick", params)

            pair.client.register_handler("quick", after_a_turn)
            for name, handler in (("quick", after_a_turn), ("thread", in_a_thread), ("back", ask_back)):
                pair.server.register_handler(name, handler)
            asking = [
                asyncio.create_task(pair.client.request(name, 1, timeout=60, on_progress=lambda _: None))
                for name in ("quick", "thread", "back")
            ]
            await turns(gap)
            closing = [asyncio.create_task(side.close()) for side in (pair.client, pair.server)]

            results = await asyncio.gather(*asking, return_exceptions=True)
            await asyncio.gather(*closing)
            threads.close()

        assert all(result == 1 or isinstance(result, MCPTransportError) for result in results), results
        assert set() == pair.client._calls.running | pair.server._calls.running


async def test_a_peer_that_goes_away_in_the_middle_stops_its_calls_and_fails_ours() -> None:
    for gap in range(6):
        near, far = InMemoryTransport.pair()
        dispatcher = JsonRpcDispatcher(SendOnly(near), side="server")
        stopped: list[str] = []

        async def slow(_: JsonValue, stopped: list[str] = stopped) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append("yes")

        dispatcher.register_handler("slow", slow)
        far.on_message(lambda _: None)
        far.post(Request(1, "slow"))
        await turns(gap)
        asking = asyncio.create_task(dispatcher.request("ask"))
        await turns(gap)
        await far.close()

        with pytest.raises(MCPTransportError):
            await asking
        await dispatcher.close()
        assert ([], gap > 0) == ([*dispatcher._calls.running], stopped == ["yes"])


async def test_messages_and_their_order_survive_a_transport_that_can_only_send() -> None:
    near, far = InMemoryTransport.pair()
    client = JsonRpcDispatcher(SendOnly(near))
    server = JsonRpcDispatcher(SendOnly(far), side="server")
    heard: list[Any] = []

    async def count(params: Any, call: InboundCall) -> JsonValue:
        for value in range(1, params + 1):
            call.progress(value)
        return params

    server.register_handler("count", count)
    server.register_handler("count_up", lambda _, call: count(3, call))
    results = await asyncio.gather(*(client.request("count", 5) for _ in range(20)))
    counted = await client.request("count_up", on_progress=lambda params: heard.append(params.progress))

    assert ([5] * 20, 3, [1, 2, 3]) == (results, counted, heard)
    await client.close()
    await server.close()


async def test_a_notification_that_is_posted_last_arrives_last() -> None:
    near, far = InMemoryTransport.pair()
    client, arrived = JsonRpcDispatcher(SendOnly(near)), list[Any]()
    far.on_message(arrived.append)
    client.post_notification("first")
    await client.notify("second")
    asking = asyncio.create_task(client.request("third"))
    await turns()
    asking.cancel()
    await turns()
    client.post_notification("last")
    await client.close()

    assert ["first", "second", "third", "notifications/cancelled", "last"] == [
        message.method for message in arrived if isinstance(message, Request | Notification)
    ]
