"""Case 11: a cancelled call is never answered, and no cancel breaks anything."""

import asyncio

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController
from tests.cases.peers import (
    READ,
    TRANSPORTS,
    RawClient,
    answer,
    answer_to,
    call,
    cancel,
    error,
    facing,
    frame,
    list_tools,
    raw_client,
    text_of,
    write,
)

transports = pytest.mark.parametrize("transport", TRANSPORTS)

RACES = 1000

MALFORMED = [
    frame("notifications/cancelled"),
    frame("notifications/cancelled", {}),
    frame("notifications/cancelled", {"reason": "no id"}),
    frame("notifications/cancelled", {"requestId": None}),
    frame("notifications/cancelled", {"requestId": 1.5}),
    frame("notifications/cancelled", {"requestId": [1]}),
    frame("notifications/cancelled", {"requestId": True}),
    frame("notifications/cancelled", {"requestId": "held", "reason": 5}),
    frame("notifications/cancelled", members={"params": [1]}),
    frame("notifications/cancelled", members={"params": None}),
]


async def ended(client: RawClient) -> list[str]:
    """Return the tools whose clean-up has run."""
    answered = await client.call("who_ended", id="who")
    return answered["result"]["structuredContent"]["result"]


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_a_cancelled_call_is_never_answered_and_the_next_request_is(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "wait", {"name": "first"}), cancel(1), list_tools(2))
        assert [2] == [each["id"] for each in await client.rest()]
        # Once more, when the tool runs by then.
        await client.send(call(3, "wait", {"name": "second"}))
        assert [] == await client.rest("it runs")
        await client.send(cancel(3), list_tools(4))

        assert [4] == [each["id"] for each in await client.rest()]
        # The first may not even have begun.
        assert "second" == (await ended(client))[-1]


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_a_thousand_cancels_that_come_with_their_calls_break_nothing(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(*(part for id in range(RACES) for part in (call(id, "nothing"), cancel(id))))
        answers = await client.rest()

        ids = [each["id"] for each in answers]
        assert len(ids) == len(set(ids))
        assert "done" == text_of(await client.call("nothing", id="alive"))


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_a_thousand_cancels_that_come_after_their_calls_break_nothing(transport: str) -> None:
    async with raw_client(transport) as client:
        for id in range(0, RACES, 10):
            await client.send(*(call(each, "nothing") for each in range(id, id + 10)))
            await asyncio.sleep(0)
            await client.send(*(cancel(each) for each in range(id, id + 10)))
        answers = await client.rest()

        ids = [each["id"] for each in answers]
        assert len(ids) == len(set(ids))
        assert "done" == text_of(await client.call("nothing", id="alive"))


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_cancels_of_nothing_and_malformed_ones_are_passed_over(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call("held", "hold", {"name": "held"}))
        await client.send(cancel(999), cancel("999"), cancel("initialize"), cancel(""), cancel(-1), *MALFORMED)
        assert [] == await client.rest("they have been read")
        await client.send(call(1, "release"))

        answers = await client.rest()
        # The one whose reason alone is bad may count or not; no cancel of anything else does.
        assert {1} <= {each["id"] for each in answers} <= {1, "held"}


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_a_second_cancel_is_passed_over(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "wait"), call(2, "hold", {"name": "other"}))
        assert [] == await client.rest("they run")
        await client.send(cancel(1), cancel(1), call(3, "release"), cancel(1))
        answers = await client.rest()

    assert {2, 3} == {each["id"] for each in answers}
    assert "other" == text_of(answer_to(answers, 2))


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_what_a_tool_returns_that_swallows_its_cancellation_is_discarded(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "stubborn"))
        assert [] == await client.rest("it runs")
        await client.send(cancel(1))

        assert [] == await client.rest()
        assert ["stubborn"] == await ended(client)


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_what_a_tool_in_a_thread_returns_after_its_cancellation_is_discarded(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "block"), call(2, "block"))
        assert [] == await client.rest("they run")
        await client.send(cancel(1), call(3, "unblock"))
        # The second call of the tool returns when the first one could.
        answers = await client.all_until(2)

        assert {2, 3} == {each["id"] for each in answers + await client.rest()}


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_the_id_of_a_cancelled_call_may_be_used_again(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "wait"))
        assert [] == await client.rest("it runs")
        await client.send(cancel(1), call(1, "nothing"))

        assert ["done"] == [text_of(each) for each in await client.rest()]


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_the_handshake_cannot_be_cancelled(transport: str) -> None:
    async with raw_client(transport, revision=None) as client:
        await client.shake_hands()
        await client.send(cancel("initialize"))

        assert "done" == text_of(await client.call("nothing"))


# Our client gives up


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
@pytest.mark.parametrize("late", ["result", "error"])
async def test_an_answer_that_crosses_the_cancel_of_a_client_disturbs_nobody(transport: str, late: str) -> None:
    crossing = answer(1, {"content": []}) if late == "result" else error(1, -32603, "cancelled")
    acts = [READ, READ, write(crossing), READ, write(answer(2, {}))]
    async with facing(transport, acts) as faced:
        controller = AbortController()
        calling = asyncio.create_task(faced.client.call_tool("slow", signal=controller.signal))
        await asyncio.sleep(0)
        controller.abort("enough")
        with pytest.raises(MCPError) as raised:
            await calling
        await faced.client.ping()

        assert MCP_CODES.REQUEST_CANCELLED == raised.value.code
        # It is told and no more.
        assert 1 == len(faced.faults)


@pytest.mark.requirement("case-11-a-cancelled-call-is-never-answered")
@transports
async def test_a_cancelled_task_of_a_client_tells_the_server_and_leaves_the_connection(transport: str) -> None:
    async with facing(transport, [READ, READ, READ, write(answer(2, {}))]) as faced:
        calling = asyncio.create_task(faced.client.call_tool("slow"))
        await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        # The server answers the third message; the second is the notice.
        await faced.client.ping()

        assert [] == faced.faults
