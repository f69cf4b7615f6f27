"""Which revision two peers will speak. Spec: basic/lifecycle, Version Negotiation"""

from collections.abc import Collection

from suaveplan_mcp.errors import MCP_CODES, MCPError


def choose_revision(requested: str, supported: Collection[str]) -> str:
    """Return what a server answers to a client that asks for `requested`: that, or else the newest it has.

    Args:
        requested: the `protocolVersion` of an `initialize` request.
        supported: the revisions the server speaks; at least one.
    """
    return requested if requested in supported else max(supported)


def require_accepted(answered: str, accepted: Collection[str]) -> None:
    """Refuse a revision that the client does not speak.

    Raises:
        MCPError: `PROTOCOL_VERSION_MISMATCH`, naming what was answered and what would be accepted.
    """
    if answered in accepted:
        return
    text = f"the server speaks revision {answered!r}, and this client accepts only {', '.join(sorted(accepted))}"
    context = {"answered": answered, "accepted": sorted(accepted)}
    raise MCPError(MCP_CODES.PROTOCOL_VERSION_MISMATCH, text, context=context)
