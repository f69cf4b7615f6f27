"""Whether a peer has declared what a method demands of it. Spec: basic/lifecycle, Capability Negotiation"""

from typing import cast

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.protocol.era import method_not_found
from suaveplan_mcp.types.capabilities import ClientCapabilities, ServerCapabilities


def declares(capabilities: ClientCapabilities | ServerCapabilities, path: str) -> bool:
    """Tell whether a capability is there.

    Args:
        capabilities: what the peer declared.
        path: names of members joined by dots, as the method table writes them: `tools`, `resources.subscribe`.

    Returns:
        True for an object, empty or not, and for `true`; False for what is absent and for `false`.
    """
    value: object = capabilities
    for name in path.split("."):
        value = cast("JsonObject", value).get(name) if isinstance(value, dict) else getattr(value, name, None)
        if value is None or value is False:
            return False
    return True


def undeclared(method: str, path: str) -> MCPError:
    """Return the error for a method that may not be sent because the peer lacks the capability for it."""
    return method_not_found(method, f" (the peer did not declare the capability {path})")
