"""Case 19: progress goes to whoever asked for it, under the token it was given, upwards, and never after the answer."""

import ast
import asyncio
import json
from typing import Any

import pytest

from tests.cases.peers import (
    READ,
    SHOW,
    TRANSPORTS,
    RawClient,
    answer,
    answer_to,
    call,
    facing,
    frame,
    is_answer_to,
    raw_client,
    text_of,
    write,
)

transports = pytest.mark.parametrize("transport", TRANSPORTS)
tools = pytest.mark.parametrize("tool", ["count", "count_in_a_thread"])

TOKENS: list[Any] = [0, "", "0", -1, "≤", 2**53 + 1, "x" * 300]
UPWARDS = [(1, 3), (2, 3), (3, 3)]


async def counted(client: RawClient, tool: str, meta: Any, id: str = "counted") -> list[Any]:
    """Call a tool that counts; return everything up to its answer."""
    await client.send(call(id, tool, meta=meta))
    return await client.all_until(id)


def reports(messages: list[Any]) -> list[Any]:
    return [each["params"] for each in messages if each.get("method") == "notifications/progress"]


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
@tools
async def test_progress_has_the_token_with_its_type_and_only_grows(transport: str, tool: str) -> None:
    async with raw_client(transport) as client:
        for token in TOKENS:
            messages = await counted(client, tool, {"progressToken": token})

            assert {(type(token), token)} == {
                (type(each["progressToken"]), each["progressToken"]) for each in reports(messages)
            }
            assert UPWARDS == [(each["progress"], each["total"]) for each in reports(messages)]
            assert is_answer_to(messages[-1], "counted")


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
@tools
@pytest.mark.parametrize("meta", [None, {}, {"progressToken": None}, {"com.example/other": 1}])
async def test_without_a_token_there_is_no_progress(transport: str, tool: str, meta: Any) -> None:
    async with raw_client(transport) as client:
        (answered,) = await counted(client, tool, meta)

        assert "counted" == text_of(answered)
        assert [] == await client.rest()


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
@pytest.mark.parametrize("token", [1.5, True, [], {}])
async def test_what_is_no_token_is_refused(transport: str, token: Any) -> None:
    async with raw_client(transport) as client:
        (refused,) = await counted(client, "count", {"progressToken": token})

        assert -32602 == refused["error"]["code"]


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
async def test_a_report_after_the_answer_goes_nowhere(transport: str) -> None:
    async with raw_client(transport) as client:
        await counted(client, "count", {"progressToken": 0})
        answered = await client.call("report_late")

        assert 1 == answered["result"]["structuredContent"]["result"]
        assert [] == await client.rest()


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
async def test_calls_at_once_report_under_their_own_tokens(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(*(call(id, "count", meta={"progressToken": id}) for id in (1, "1", 2)))
        messages = await client.rest()

    for id in (1, "1", 2):
        # In JSON they differ.
        mine = [each for each in reports(messages) if json.dumps(each["progressToken"]) == json.dumps(id)]
        assert UPWARDS == [(each["progress"], each["total"]) for each in mine]
        assert "counted" == text_of(answer_to(messages, id))


# Our client


def progress(token: Any, value: float) -> bytes:
    return frame("notifications/progress", {"progressToken": token, "progress": value})


def sent(shown: str) -> Any:
    return json.loads(ast.literal_eval(shown))


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
async def test_a_client_asks_for_progress_only_where_somebody_listens_and_never_twice_with_one_token(
    transport: str,
) -> None:
    acts = [*[READ, SHOW] * 3, write(*(answer(id, {"content": []}) for id in (3, 2, 1)))]
    async with facing(transport, acts) as faced:
        call_tool = faced.client.call_tool
        await asyncio.gather(
            call_tool("a", on_progress=print), call_tool("b", on_progress=print), call_tool("c", meta={"k": 1})
        )

    first, second, silent = (sent(shown)["params"].get("_meta", {}) for shown in faced.shown)
    assert first["progressToken"] != second["progressToken"]
    assert {"k": 1} == silent


@pytest.mark.requirement("case-19-progress-keeps-to-its-request")
@transports
async def test_a_client_hands_on_what_belongs_to_a_call_and_nothing_else(transport: str) -> None:
    heard: list[float] = []
    strangers = [progress("made-up", 50), progress("1", 60), progress(99, 70), progress(True, 75)]
    reported = [progress(1, 0.5), *strangers, progress(1, 1)]
    acts = [READ, write(*reported, answer(1, {"content": []}), progress(1, 80)), READ, write(answer(2, {}))]
    async with facing(transport, acts) as faced:
        await faced.client.call_tool("any", on_progress=lambda params: heard.append(params.progress))
        await faced.client.ping()

    assert [0.5, 1] == heard
