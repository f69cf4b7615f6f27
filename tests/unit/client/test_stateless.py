"""Opening a connection on which every request speaks for itself."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.stateless import Stateless, is_modern_error, supported_by
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, Request
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, PROTOCOL_VERSION_KEY, SERVER_INFO_KEY
from tests.unit.client.peers import opened_stateless, settle

OLDER, NEWER = "2026-07-29", "2026-07-30"
"""Revisions of the era that are yet to come."""


def _discovered(*revisions: str, **members: JsonValue) -> JsonObject:
    return {"supportedVersions": list[JsonValue](revisions or (LATEST,)), "capabilities": {}, **members}


def _asked_in(request: Request) -> JsonValue:
    """Return the revision that a request names."""
    params: Any = request.params
    return params["_meta"][PROTOCOL_VERSION_KEY]


def _opening(
    client: MCPClient | None = None, clock: FakeClock | None = None
) -> tuple[asyncio.Task[None], ScriptedPeer, InMemoryTransport, MCPClient]:
    client = client or MCPClient("host", "9", protocol="stateless", prefetch=False, clock=clock, timers=clock)
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    return asyncio.create_task(client.connect(near)), peer, near, client


async def test_the_server_is_asked_what_it_is_and_told_who_asks() -> None:
    opening, peer, _, client = _opening()

    request = await peer.expect_request("server/discover")
    peer.respond(
        request.id, _discovered(instructions="be gentle", _meta={SERVER_INFO_KEY: {"name": "s", "version": "1"}})
    )
    await opening

    meta = {
        PROTOCOL_VERSION_KEY: LATEST,
        CLIENT_INFO_KEY: {"name": "host", "version": "9"},
        CLIENT_CAPABILITIES_KEY: {},
    }
    assert {"_meta": meta} == request.params
    assert (LATEST, "be gentle") == (client.protocol_version, client.instructions)
    assert client.server_info is not None
    assert ("s", "1") == (client.server_info.name, client.server_info.version)
    await client.disconnect()


@pytest.mark.parametrize("meta", [None, {}, {SERVER_INFO_KEY: 5}, {SERVER_INFO_KEY: {"name": 1}}])
async def test_what_a_server_calls_itself_is_not_worth_a_connection(meta: JsonValue) -> None:
    async with opened_stateless(_discovered() if meta is None else _discovered(_meta=meta)) as (client, _):
        assert client.initialized
        assert client.server_info is None


async def test_each_request_says_what_the_client_can_do_by_then() -> None:
    client = MCPClient(protocol="stateless", prefetch=False)
    client.set_roots_provider(list)

    async with opened_stateless(_discovered(), client=client) as (_, peer):
        (request,) = peer.seen
        assert isinstance(request, Request)
        params: Any = request.params
        assert {"roots": {}} == params["_meta"][CLIENT_CAPABILITIES_KEY]


# The revision that both speak


class _Later:
    """A client of revisions that are yet to come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        opener = Stateless((OLDER, NEWER))
        monkeypatch.setattr("suaveplan_mcp.client.lifecycle.choose_opener", lambda *_: opener)
        self.client = MCPClient(prefetch=False)


async def test_the_newest_revision_that_both_know_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    opening, peer, _, client = _opening(_Later(monkeypatch).client)

    first = await peer.expect_request("server/discover")
    peer.respond(first.id, {**_discovered("1999-01-01", OLDER), "capabilities": {"tools": {}}})
    await opening
    listing = asyncio.create_task(client.list_tools())
    second = await peer.expect_request("tools/list")
    peer.respond(second.id, {"tools": []})
    await listing

    assert (NEWER, OLDER, OLDER) == (_asked_in(first), _asked_in(second), client.protocol_version)
    await client.disconnect()


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
async def test_a_revision_that_the_server_names_in_refusing_is_asked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    opening, peer, _, client = _opening(_Later(monkeypatch).client)

    first = await peer.expect_request("server/discover")
    peer.fail(first.id, -32022, "no", {"supported": [OLDER], "requested": NEWER})
    second = await peer.expect_request("server/discover")
    peer.respond(second.id, _discovered(OLDER))
    await opening

    assert (NEWER, OLDER) == (_asked_in(first), _asked_in(second))
    assert OLDER == client.protocol_version
    await client.disconnect()


@pytest.mark.parametrize(
    ("supported", "named"),
    [(["2099-01-01", LATEST_HANDSHAKE], f"2099-01-01, {LATEST_HANDSHAKE}"), ([], "no revision that it names")],
)
@pytest.mark.parametrize("refuses", [True, False])
async def test_no_revision_in_common_is_an_error_that_names_both_sides(
    supported: list[JsonValue], named: str, *, refuses: bool
) -> None:
    opening, peer, near, _ = _opening()

    request = await peer.expect_request("server/discover")
    if refuses:
        peer.fail(request.id, -32022, "no", {"supported": supported, "requested": LATEST})
    else:
        peer.respond(request.id, {"supportedVersions": supported, "capabilities": {}})
    with pytest.raises(MCPError) as raised:
        await opening

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert f"the server speaks {named}, this client {LATEST}" == raised.value.message
    assert {"supported": supported, "accepted": [LATEST]} == raised.value.context
    assert near.closed


async def test_a_server_that_refuses_what_it_names_is_not_asked_for_ever() -> None:
    opening, peer, near, _ = _opening()

    for _ in range(2):
        request = await peer.expect_request("server/discover")
        peer.fail(request.id, -32022, "no", {"supported": [LATEST], "requested": LATEST})
    with pytest.raises(MCPProtocolError, match=f"refuses {LATEST}, which it names as supported") as raised:
        await opening

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert 2 == len(peer.seen)
    assert near.closed


# Failing to open


@pytest.mark.parametrize("number", [-32601, -32600, -32602])
async def test_an_older_server_is_an_error_that_says_what_to_do(number: int) -> None:
    opening, peer, near, client = _opening()

    request = await peer.expect_request("server/discover")
    peer.fail(request.id, number, "not that")
    with pytest.raises(MCPError) as raised:
        await opening

    error = raised.value
    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == error.code
    for part in ("server/discover", LATEST, "not that", 'use protocol="auto"'):
        assert part in error.message
    assert number == getattr(error.cause, "jsonrpc_code", None)
    assert near.closed
    assert not client.initialized


async def test_a_silent_server_is_waited_for_as_for_any_other_answer() -> None:
    clock = FakeClock()
    opening, peer, near, _ = _opening(clock=clock)
    await peer.expect_request("server/discover")

    await clock.advance_async(59.9)
    assert not opening.done()
    await clock.advance_async(0.2)

    with pytest.raises(MCPError, match='no answer to server/discover within 60 s.*use protocol="auto"') as raised:
        await opening
    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert MCP_CODES.TIMEOUT == getattr(raised.value.cause, "code", None)
    assert near.closed


@pytest.mark.parametrize("number", [-32020, -32021])
async def test_what_only_a_newer_server_says_is_passed_on_as_it_is(number: int) -> None:
    opening, peer, near, _ = _opening()

    request = await peer.expect_request("server/discover")
    peer.fail(request.id, number, "as it is")
    with pytest.raises(MCPError) as raised:
        await opening

    assert ("as it is", number) == (raised.value.message, raised.value.jsonrpc_code)
    assert near.closed


async def test_a_server_that_goes_away_is_the_error_of_the_transport() -> None:
    opening, peer, _, _ = _opening()

    await peer.expect_request("server/discover")
    await peer.transport.close()

    with pytest.raises(MCPTransportError) as raised:
        await opening
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


async def test_a_malformed_answer_is_the_error_of_opening() -> None:
    opening, peer, near, _ = _opening()

    request = await peer.expect_request("server/discover")
    peer.respond(request.id, {"supportedVersions": 1})

    with pytest.raises(MCPProtocolError, match="supportedVersions"):
        await opening
    assert near.closed


async def test_opening_that_is_cancelled_closes_the_transport() -> None:
    opening, peer, near, _ = _opening()
    await peer.expect_request("server/discover")

    opening.cancel()
    await settle()

    assert (True, True) == (opening.cancelled(), near.closed)


# Errors of a server


def _received(number: int, data: object) -> MCPError:
    error = MCPError(MCP_CODES.INTERNAL_ERROR, "it failed", jsonrpc_code=number, data=data)
    error.received = True
    return error


def test_only_what_a_server_answered_can_show_that_it_is_a_newer_one() -> None:
    numbers = [-32020, -32021, -32022, -32601]

    assert [True, True, True, False] == [is_modern_error(_received(number, None)) for number in numbers]
    assert not is_modern_error(MCPError(MCP_CODES.PROTOCOL_INVALID, "ours", jsonrpc_code=-32020))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"supported": [LATEST, 5]}, [LATEST, "5"]),
        ({"supported": LATEST}, []),
        ({}, []),
        (None, []),
        ([LATEST], []),
    ],
)
def test_the_revisions_that_a_refusal_names_are_read_whatever_it_holds(data: object, named: list[str]) -> None:
    assert named == supported_by(_received(-32022, data))
