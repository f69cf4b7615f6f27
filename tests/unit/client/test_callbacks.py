"""What a client serves, and what it says it can serve."""

from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import ErrorResponse, Notification, Response
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST_HANDSHAKE
from tests.unit.client.peers import ask, connected, open_client

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")

OLDEST, _, FIRST_WITH_FORMS, _ = HANDSHAKE_REVISIONS


def _nothing(_: object) -> None: ...


def _all(client: MCPClient) -> None:
    client.set_sampling_provider(_nothing, tools=True, context=True)
    client.set_roots_provider(_nothing)
    client.set_elicitation_provider(_nothing, url=True)
    client.set_completion_provider(_nothing)


async def _declared(client: MCPClient, revision: str = LATEST_HANDSHAKE) -> Any:
    _, request = await open_client(client, revision=revision)
    await client.disconnect()
    assert isinstance(request.params, dict)
    return request.params["capabilities"]


async def test_without_providers_nothing_is_declared() -> None:
    assert {} == await _declared(MCPClient(prefetch=False))


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (
            LATEST_HANDSHAKE,
            {"sampling": {"context": {}, "tools": {}}, "elicitation": {"form": {}, "url": {}}},
        ),
        (FIRST_WITH_FORMS, {"sampling": {}, "elicitation": {}}),
        (OLDEST, {"sampling": {}}),
    ],
)
async def test_what_has_a_provider_is_declared_in_the_words_of_the_revision(
    revision: str, expected: dict[str, object]
) -> None:
    client = MCPClient(prefetch=False, protocol=revision)
    _all(client)

    assert {
        "roots": {"listChanged": True},
        "experimental": {"suaveplan/completions": {}},
        **expected,
    } == await _declared(client, revision)


async def test_only_what_a_provider_can_do_is_declared() -> None:
    client = MCPClient(prefetch=False, experimental={"com.example/x": {"y": 1}})
    client.set_sampling_provider(_nothing)
    client.set_elicitation_provider(_nothing)

    assert {
        "sampling": {},
        "elicitation": {"form": {}},
        "experimental": {"com.example/x": {"y": 1}},
    } == await _declared(client)


async def test_a_provider_that_was_taken_away_is_not_declared() -> None:
    client = MCPClient(prefetch=False)
    _all(client)
    client.set_sampling_provider(None)
    client.set_roots_provider(None)
    client.set_elicitation_provider(None)
    client.set_completion_provider(None)

    assert {} == await _declared(client)


async def test_a_provider_that_was_declared_can_be_replaced_while_connected() -> None:
    client = MCPClient(prefetch=False)
    client.set_sampling_provider(lambda: "old")
    async with connected(client) as (_, peer):
        client.set_sampling_provider(lambda: "new")
        answer = await ask(peer, "sampling/createMessage", {"messages": [], "maxTokens": 1})

    assert "new" == answer.result["content"]["text"]


@pytest.mark.parametrize("method", ["sampling", "roots", "elicitation", "completion"])
async def test_a_provider_that_was_not_declared_cannot_be_set_while_connected(method: str) -> None:
    async with connected() as (client, _):
        with pytest.raises(MCPError, match="set the provider before connecting") as raised:
            getattr(client, f"set_{method}_provider")(_nothing)

        assert MCP_CODES.ALREADY_CONNECTED == raised.value.code


async def test_more_than_was_declared_cannot_be_set_while_connected() -> None:
    client = MCPClient(prefetch=False)
    client.set_sampling_provider(_nothing)
    async with connected(client):
        with pytest.raises(MCPError, match=r"has no sampling\.tools"):
            client.set_sampling_provider(_nothing, tools=True)


async def test_after_disconnecting_any_provider_can_be_set() -> None:
    async with connected() as (client, _):
        await client.disconnect()
        client.set_roots_provider(_nothing)

        assert {"roots": {"listChanged": True}} == await _declared(client)


def test_an_elicitation_provider_has_a_mode() -> None:
    with pytest.raises(MCPError, match="at least one of `form` and `url`"):
        MCPClient().set_elicitation_provider(_nothing, form=False)


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method", "every-branch-is-reached")
@requirement
async def test_ping_of_the_server_is_answered() -> None:
    async with connected() as (_, peer):
        assert Response("asked", {}) == await ask(peer, "ping", {})


@pytest.mark.parametrize(
    ("method", "params"),
    [("sampling/createMessage", {"messages": [], "maxTokens": 1}), ("roots/list", {}), ("elicitation/create", {})],
)
async def test_what_has_no_provider_is_not_found(method: str, params: dict[str, object]) -> None:
    async with connected() as (_, peer):
        answer = await ask(peer, method, params)

    assert isinstance(answer, ErrorResponse)
    assert -32601 == answer.error.code


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
async def test_changed_roots_are_told_to_a_server_that_knows_of_roots() -> None:
    client = MCPClient(prefetch=False)
    client.set_roots_provider(_nothing)
    async with connected(client) as (_, peer):
        await client.send_roots_list_changed()

        assert Notification("notifications/roots/list_changed") == peer.seen[-1]


async def test_changed_roots_are_not_told_to_a_server_that_knows_of_none() -> None:
    async with connected() as (client, _):
        with pytest.raises(MCPError, match="not told of any roots") as raised:
            await client.send_roots_list_changed()

    assert MCP_CODES.METHOD_NOT_FOUND == raised.value.code


async def test_requests_do_not_age_while_a_provider_thinks() -> None:
    client = MCPClient()
    client.set_sampling_provider(_nothing)
    client.set_completion_provider(_nothing)
    handlers = client._callbacks.handlers

    assert handlers.handler_of("sampling/createMessage").pauses_timeouts
    assert handlers.handler_of("completion/complete").pauses_timeouts
    assert not handlers.handler_of("ping").pauses_timeouts
