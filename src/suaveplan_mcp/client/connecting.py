"""Which way a client opens its connections follows from its options."""

from collections.abc import Collection

from suaveplan_mcp.client.handshake import Handshake
from suaveplan_mcp.client.negotiating import Negotiation
from suaveplan_mcp.client.opening import Opener
from suaveplan_mcp.client.stateless import Stateless
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISIONS

_ERAS = {"handshake": HANDSHAKE_REVISIONS, "stateless": STATELESS_REVISIONS, "auto": REVISIONS}


def choose_opener(protocol: str, accepted_versions: Collection[str] | str | None) -> Opener:
    """Return how a client of these options begins.

    Args:
        protocol: `"handshake"`, `"stateless"`, `"auto"` for what the server knows, or a revision to speak no other.
        accepted_versions: the revisions the client speaks, all of the era by default.

    Raises:
        ValueError: there is no such protocol, or no revision is left to speak.
    """
    if protocol not in _ERAS and protocol not in REVISIONS:
        raise ValueError(f"protocol {protocol!r} is not available; choose one of {', '.join((*_ERAS, *REVISIONS))}")
    possible = _ERAS.get(protocol, (protocol,))
    versions = possible if accepted_versions is None else accepted_versions
    given = (versions,) if isinstance(versions, str) else versions
    accepted = [revision for revision in given if revision in possible]
    if not accepted:
        raise ValueError(f"accepted_versions {', '.join(given)!r} leave nothing for protocol {protocol!r}")
    newer = tuple(revision for revision in accepted if revision in STATELESS_REVISIONS)
    older = tuple(revision for revision in accepted if revision in HANDSHAKE_REVISIONS)
    if not newer:
        return Handshake(older)
    return Negotiation(Stateless(newer), Handshake(older)) if older else Stateless(newer)
