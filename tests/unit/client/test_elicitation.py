"""Answering a server that asks for the user."""

from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.jsonrpc.messages import ErrorResponse
from suaveplan_mcp.types.elicitation import ElicitRequestParams, ElicitResult
from tests.unit.client.peers import ask, connected, record_faults

FIELDS: Any = {"name": {"type": "string"}, "age": {"type": "integer", "default": 30, "maximum": 99}}
URL: Any = {"mode": "url", "message": "?", "url": "https://example.com", "elicitationId": "1"}


def _form(fields: Any = FIELDS, *required: str, mode: str | None = None) -> Any:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"message": "?", "requestedSchema": schema, **({"mode": mode} if mode else {})}


async def _elicit(params: Any, given: object, **modes: bool) -> tuple[Any, list[str]]:
    client = MCPClient(prefetch=False)
    client.set_elicitation_provider(lambda: given, **modes)
    faults = record_faults(client)
    async with connected(client) as (_, peer):
        answer = await ask(peer, "elicitation/create", params)
    return answer, [str(fault.error) for fault in faults]


async def test_the_provider_sees_the_form() -> None:
    seen: list[ElicitRequestParams] = []
    client = MCPClient(prefetch=False)
    client.set_elicitation_provider(lambda params: seen.append(params) or "decline")
    async with connected(client) as (_, peer):
        await ask(peer, "elicitation/create", _form())

    assert seen[0].requested_schema is not None
    assert {"name", "age"} == set(seen[0].requested_schema.properties)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"name": "n"}, {"action": "accept", "content": {"name": "n", "age": 30}}),
        ({}, {"action": "accept", "content": {"age": 30}}),
        ({"age": 1}, {"action": "accept", "content": {"age": 1}}),
        ({"action": "accept", "content": {"name": "n"}}, {"action": "accept", "content": {"name": "n", "age": 30}}),
        (
            ElicitResult(action="accept", content={"name": "n"}),
            {"action": "accept", "content": {"name": "n", "age": 30}},
        ),
        (ElicitResult(action="accept"), {"action": "accept", "content": {"age": 30}}),
        ("accept", {"action": "accept", "content": {"age": 30}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
        (ElicitResult(action="decline", content={"name": "n"}), {"action": "decline"}),
        ({"action": "cancel", "_meta": {"a": 1}}, {"action": "cancel", "_meta": {"a": 1}}),
    ],
)
async def test_a_provider_may_answer_in_every_shape_and_defaults_are_filled_in(given: object, expected: object) -> None:
    answer, _ = await _elicit(_form(), given)

    assert expected == answer.result


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"action": "decline"}, {"action": "accept", "content": {"action": "decline"}}),
        ({"action": "accept", "content": {"action": "x"}}, {"action": "accept", "content": {"action": "x"}}),
    ],
)
async def test_a_form_with_a_field_called_action_is_not_mistaken_for_a_result(given: object, expected: object) -> None:
    answer, _ = await _elicit(_form({"action": {"type": "string"}}), given)

    assert expected == answer.result


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"age": 1}, "content.name: this field is required"),
        ({"name": 1}, "content.name: Expected `string`"),
        ({"name": "n", "age": 100}, "content.age: 100 is more than 99"),
        ({"name": {"deep": 1}}, "`$.content[...]`"),
        (None, "Expected `object`, got `null`"),
        ("later", "Invalid enum value 'later'"),
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_reported_and_not_sent(given: object, reason: str) -> None:
    answer, (error,) = await _elicit(_form(FIELDS, "name"), given)

    assert isinstance(answer, ErrorResponse)
    assert (-32603, "Internal error") == (answer.error.code, answer.error.message)
    assert "the provider for elicitation/create returned a wrong answer" in error
    assert reason in error


@pytest.mark.parametrize(
    ("params", "modes"),
    [
        (URL, {"form": True, "url": False}),
        (_form(), {"form": False, "url": True}),
        (_form(mode="form"), {"form": False, "url": True}),
    ],
)
async def test_a_mode_that_was_not_declared_is_refused(params: Any, modes: dict[str, bool]) -> None:
    answer, _ = await _elicit(params, "accept", **modes)

    assert (-32602, "mode") == (answer.error.code, answer.error.data["path"])


async def test_an_address_is_accepted_without_content() -> None:
    answer, _ = await _elicit(URL, {"secret": "x"}, url=True)

    assert {"action": "accept"} == answer.result
