"""Which revision two peers will speak."""

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.negotiation import choose_revision, require_accepted
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, V2024_11_05, V2025_03_26, V2025_11_25


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_server_speaks_the_revision_that_is_asked_for_where_it_can(revision: str) -> None:
    assert revision == choose_revision(revision, HANDSHAKE_REVISIONS)


@pytest.mark.parametrize("requested", ["1999-01-01", "2999-01-01", "", "latest"])
def test_a_server_offers_its_newest_revision_otherwise(requested: str) -> None:
    assert V2025_11_25 == choose_revision(requested, HANDSHAKE_REVISIONS)
    assert V2025_03_26 == choose_revision(requested, [V2025_03_26, V2024_11_05])


@pytest.mark.parametrize("answered", HANDSHAKE_REVISIONS)
def test_a_client_accepts_what_it_speaks_and_nothing_else(answered: str) -> None:
    require_accepted(answered, [answered])
    for other in set(HANDSHAKE_REVISIONS) - {answered}:
        with pytest.raises(MCPError, match=f"'{answered}', and this client accepts only {other}"):
            require_accepted(answered, [other])


def test_a_client_refuses_what_it_does_not_speak_and_says_what_it_does() -> None:
    with pytest.raises(MCPError) as caught:
        require_accepted("1999-01-01", [V2025_03_26, V2024_11_05])

    error = caught.value
    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == error.code
    assert {"answered": "1999-01-01", "accepted": [V2024_11_05, V2025_03_26]} == error.context
    assert "'1999-01-01'" in error.message
    assert f"{V2024_11_05}, {V2025_03_26}" in error.message
