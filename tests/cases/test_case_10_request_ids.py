"""Case 10: a request keeps the id it has, and no other request has it."""

import asyncio
import json
from typing import Any

import pytest

from tests.cases.peers import (
    READ,
    TRANSPORTS,
    answer,
    answer_to,
    call,
    cancel,
    facing,
    frame,
    raw_client,
    text_of,
    write,
)

transports = pytest.mark.parametrize("transport", TRANSPORTS)

LEGAL = [0, "", "1", 1, -7, 9007199254740993, "0x1", "x" * 300, "≤🎉", "a\nb", "\x00", -(2**63), 2**63 - 1, 2**64]
ILLEGAL = [1.5, None, True, False, [1], {}, {"id": 1}, 1e3, float("inf")]


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_every_legal_id_is_echoed_with_its_type(transport: str) -> None:
    async with raw_client(transport) as client:
        for id in LEGAL:
            echoed = (await client.ask(frame("ping", id=id)))["id"]

            assert (type(id), id) == (type(echoed), echoed)


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_the_number_and_the_string_are_two_requests_at_once(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "hold", {"name": "number"}), call("1", "hold", {"name": "string"}))
        await client.send(call(2, "release"))
        answers = await client.rest()

    assert ("number", "string") == (text_of(answer_to(answers, 1)), text_of(answer_to(answers, "1")))


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
@pytest.mark.parametrize("given_up", [1, "1"])
async def test_cancelling_one_of_the_two_leaves_the_other(transport: str, given_up: Any) -> None:
    async with raw_client(transport) as client:
        await client.send(call(1, "hold", {"name": "number"}), call("1", "hold", {"name": "string"}))
        await client.send(cancel(given_up), call(2, "release"))
        answers = await client.rest()

    kept, name = ("1", "string") if given_up == 1 else (1, "number")
    assert {2, kept} == {each["id"] for each in answers}
    assert name == text_of(answer_to(answers, kept))


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_a_second_request_with_an_open_id_is_refused_and_the_first_is_answered(transport: str) -> None:
    async with raw_client(transport) as client:
        refused = await client.ask(call(5, "hold", {"name": "first"}), call(5, "nothing"))
        assert -32600 == refused["error"]["code"]
        assert refused["id"] in (5, None)
        await client.send(call(6, "release"))
        answers = await client.rest()

        assert "first" == text_of(answer_to(answers, 5))
        assert "done" == text_of(await client.ask(call(5, "nothing")))


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_what_is_no_id_is_refused_and_the_request_is_not_run(transport: str) -> None:
    async with raw_client(transport) as client:
        for id in ILLEGAL:
            sent = json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "release"}})
            refused = await client.ask(sent.encode())

            # Infinity is a word of Python's, and no JSON.
            assert (-32700 if id == float("inf") else -32600) == refused["error"]["code"], (id, refused)
            assert None is refused.get("id")
        await client.send(call(1, "hold", {"name": "still held"}))
        assert [] == await client.rest()


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_a_client_reports_an_answer_to_nothing_and_goes_on(transport: str) -> None:
    strangers = [answer(each, {}) for each in ("1", 0, 2, -1, "", "unheard of")]
    null = [b'{"jsonrpc":"2.0","id":null,"result":{}}', b'{"jsonrpc":"2.0","result":{}}', answer(1.0, {})]
    acts = [READ, write(*strangers, *null, answer(1, {})), write(answer(1, {})), READ, write(answer(2, {}))]
    async with facing(transport, acts) as faced:
        await faced.client.ping()
        await faced.client.ping()

        assert len(strangers) + len(null) + 1 == len(faced.faults)


@pytest.mark.requirement("case-10-ids-keep-their-type-and-their-owner")
@transports
async def test_requests_of_a_client_at_once_have_different_ids_and_their_own_answers(transport: str) -> None:
    answers = [answer(id, {"content": [{"type": "text", "text": str(id)}]}) for id in range(20, 0, -1)]
    async with facing(transport, [READ] * 20 + [write(*answers)]) as faced:
        results = await asyncio.gather(*(faced.client.call_tool("any") for _ in range(20)))

        assert [str(id) for id in range(1, 21)] == [getattr(each.content[0], "text", None) for each in results]
        assert [] == faced.faults
