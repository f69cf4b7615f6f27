"""Which way a client opens its connections."""

import asyncio
from collections.abc import Sequence

import pytest

from suaveplan_mcp.client.connecting import choose_opener
from suaveplan_mcp.client.handshake import Handshake
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.negotiating import Negotiation
from suaveplan_mcp.client.stateless import Stateless
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    LATEST,
    LATEST_HANDSHAKE,
    REVISIONS,
    STATELESS_REVISIONS,
)
from tests.unit.client.peers import open_client


async def _requested(client: MCPClient, revision: str = LATEST_HANDSHAKE) -> object:
    _, request = await open_client(client, revision=revision)
    await client.disconnect()
    assert isinstance(request.params, dict)
    return request.params["protocolVersion"]


async def test_the_newest_revision_is_asked_for() -> None:
    assert LATEST_HANDSHAKE == await _requested(MCPClient(prefetch=False))


async def test_of_the_accepted_revisions_the_newest_is_asked_for() -> None:
    first, second, *_ = HANDSHAKE_REVISIONS
    client = MCPClient(prefetch=False, accepted_versions=[second, first, *STATELESS_REVISIONS])

    assert second == await _requested(client, first)


async def test_a_single_accepted_revision_may_be_a_plain_string() -> None:
    first = HANDSHAKE_REVISIONS[0]

    assert first == await _requested(MCPClient(prefetch=False, accepted_versions=first), first)


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_a_pinned_revision_is_asked_for_and_no_other_is_accepted(revision: str) -> None:
    assert revision == await _requested(MCPClient(prefetch=False, protocol=revision), revision)

    other = next(v for v in HANDSHAKE_REVISIONS if v != revision)
    with pytest.raises(MCPError, match="accepts only"):
        await asyncio.wait_for(open_client(MCPClient(prefetch=False, protocol=revision), revision=other), 1)


@pytest.mark.parametrize(
    ("protocol", "accepted", "opener"),
    [
        ("handshake", None, Handshake),
        ("handshake", REVISIONS, Handshake),
        ("stateless", None, Stateless),
        ("stateless", REVISIONS, Stateless),
        ("auto", None, Negotiation),
        ("auto", [LATEST, LATEST_HANDSHAKE], Negotiation),
        ("auto", HANDSHAKE_REVISIONS, Handshake),
        ("auto", LATEST, Stateless),
        (LATEST, None, Stateless),
        (LATEST_HANDSHAKE, None, Handshake),
    ],
)
def test_an_era_is_only_asked_for_where_a_revision_of_it_is_accepted(
    protocol: str, accepted: Sequence[str] | str | None, opener: type
) -> None:
    assert opener is type(choose_opener(protocol, accepted))


@pytest.mark.parametrize("protocol", ["initialize", "1900-01-01"])
def test_a_protocol_that_is_not_available_is_refused_by_name(protocol: str) -> None:
    with pytest.raises(ValueError, match="choose one of handshake, ") as raised:
        choose_opener(protocol, None)

    assert protocol in str(raised.value)


@pytest.mark.parametrize("accepted", [[], STATELESS_REVISIONS, [HANDSHAKE_REVISIONS[0]]])
def test_revisions_that_leave_nothing_to_speak_are_refused(accepted: list[str]) -> None:
    with pytest.raises(ValueError, match="leave nothing"):
        choose_opener(LATEST_HANDSHAKE, accepted)
