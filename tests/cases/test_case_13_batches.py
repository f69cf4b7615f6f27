"""Case 13: several messages in one frame are one error, or, in the one revision that has them, a batch."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, V2025_03_26, V2025_06_18
from tests.cases.peers import (
    READ,
    TRANSPORTS,
    answer,
    answer_to,
    call,
    cancel,
    facing,
    frame,
    initialize,
    list_tools,
    raw_client,
    text_of,
    write,
)

transports = pytest.mark.parametrize("transport", TRANSPORTS)
without_batches = pytest.mark.parametrize("revision", [each for each in HANDSHAKE_REVISIONS if each != V2025_03_26])


def batch(*frames: bytes) -> bytes:
    return b"[" + b",".join(frames) + b"]"


ARRAYS = [
    batch(list_tools(1), list_tools(2)),
    batch(call(3, "release")),
    batch(),
    b"[1]",
    batch(cancel("held")),
    b"[[]]",
    batch(batch(list_tools(1))),
    b"[null]",
    b'  [{"jsonrpc":"2.0","id":1,"method":"ping"}]  ',
]


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
@without_batches
async def test_an_array_is_one_error_and_nothing_of_it_is_done(transport: str, revision: str) -> None:
    async with raw_client(transport, revision=revision) as client:
        await client.send(call("held", "hold", {"name": "held"}))
        for array in ARRAYS:
            refused = await client.ask(array)

            assert (-32600, None) == (refused["error"]["code"], refused.get("id")), array
        assert [] == await client.rest("nothing was done")
        await client.send(call("free", "release"))
        # Neither cancelled nor released by what was in the arrays.
        assert "held" == text_of(answer_to(await client.rest(), "held"))


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_an_array_before_the_handshake_is_an_error_and_so_is_one_with_the_handshake_in_it(transport: str) -> None:
    async with raw_client(transport, revision=None) as client:
        for array in (batch(frame("ping", id=1)), batch(initialize(V2025_03_26)), batch(initialize(), list_tools(1))):
            refused = await client.ask(array)

            assert (-32600, None) == (refused["error"]["code"], refused.get("id"))
        await client.shake_hands()


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_batch_is_answered_in_one_piece_where_batches_are(transport: str) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        answers = await client.ask(
            batch(
                list_tools(1),
                frame("codex/event", {}),
                call("1", "echo", {"text": "≤"}),
                frame("nope", id=2),
                call(3, "nope"),
            )
        )

        assert 4 == len(answers)
        assert "result" in answer_to(answers, 1)
        assert "≤" == text_of(answer_to(answers, "1"))
        assert (-32601, -32602) == tuple(answer_to(answers, id)["error"]["code"] for id in (2, 3))
        assert [] == await client.rest()


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_batch_of_one_is_answered_with_an_array(transport: str) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        (answered,) = await client.ask(batch(list_tools(1)))

        assert 1 == answered["id"]


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_batch_waits_for_its_slowest_call_and_holds_nobody_else_up(transport: str) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        await client.send(batch(call(1, "hold", {"name": "slow"}), list_tools(2)))
        assert 3 == (await client.ask(list_tools(3)))["id"]
        await client.send(call(4, "release"))
        answers = await client.rest()

    (together,) = [each for each in answers if isinstance(each, list)]
    assert {1, 2} == {each["id"] for each in together}


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
@pytest.mark.parametrize(("array", "numbers"), [(b"[]", -32600), (b"[1]", [-32600]), (b"[[]]", [-32600])])
async def test_an_array_that_holds_no_message_is_an_error_where_batches_are(
    transport: str, array: bytes, numbers: Any
) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        refused = await client.ask(array)

        if isinstance(numbers, list):
            assert numbers == [each["error"]["code"] for each in refused]
        else:
            assert numbers == refused["error"]["code"]
        assert [] == await client.rest()


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_batch_of_notifications_is_not_answered(transport: str) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        await client.send(batch(cancel(1), frame("notifications/initialized"), frame("codex/event")))

        assert [] == await client.rest()


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_call_of_a_batch_that_is_cancelled_is_missing_from_the_answer(transport: str) -> None:
    async with raw_client(transport, revision=V2025_03_26) as client:
        await client.send(batch(call(1, "wait"), list_tools(2)))
        assert [] == await client.rest("it runs")
        await client.send(cancel(1))

        assert [[2]] == [[each["id"] for each in together] for together in await client.rest()]


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_client_takes_an_array_for_a_bad_message(transport: str) -> None:
    acts = [READ, write(b"[" + answer(1, {}) + b"]", b"[]", answer(1, {})), READ, write(answer(2, {}))]
    async with facing(transport, acts, revision=V2025_06_18) as faced:
        await faced.client.ping()
        await faced.client.ping()

        assert 2 == len(faced.faults)


@pytest.mark.requirement("case-13-an-array-is-one-error-or-a-batch")
@transports
async def test_a_client_takes_answers_in_one_piece_where_batches_are(transport: str) -> None:
    acts = [READ, READ, write(b"[" + answer(2, {}) + b"," + answer(1, {}) + b"]")]
    async with facing(transport, acts, revision=V2025_03_26) as faced:
        await asyncio.gather(faced.client.ping(), faced.client.ping())

        assert [] == faced.faults
