"""Answering a server that asks for suggestions."""

from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.types.completion import CompleteResult, Completion
from tests.unit.client.peers import ask, connected

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")

PARAMS: Any = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}}


async def _complete(answer: object) -> Any:
    client = MCPClient(prefetch=False)
    client.set_completion_provider(lambda _: answer)
    async with connected(client) as (_, peer):
        return (await ask(peer, "completion/complete", PARAMS)).result


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (["va", "vb"], {"values": ["va", "vb"], "total": 2, "hasMore": False}),
        (("va",), {"values": ["va"], "total": 1, "hasMore": False}),
        (Completion(values=["va"]), {"values": ["va"]}),
        (CompleteResult(completion=Completion(values=["va"])), {"values": ["va"]}),
        ({"values": ["va"], "total": 7}, {"values": ["va"], "total": 7}),
        ({"completion": {"values": ["va"]}}, {"values": ["va"]}),
    ],
)
async def test_a_provider_may_answer_in_every_shape(answer: object, expected: dict[str, object]) -> None:
    assert {"completion": expected} == await _complete(answer)


async def test_more_suggestions_than_allowed_are_counted_but_not_sent() -> None:
    result = await _complete([str(number) for number in range(101)])

    assert (100, 101, True) == (
        len(result["completion"]["values"]),
        result["completion"]["total"],
        result["completion"]["hasMore"],
    )


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_without_a_provider_nothing_is_suggested() -> None:
    async with connected() as (_, peer):
        answer = await ask(peer, "completion/complete", PARAMS)

    assert {"completion": {"values": []}} == answer.result
