"""The handshake that opens a connection before the stateless era. Spec: basic/lifecycle"""

from suaveplan_mcp.types.base import RequestParams, Result
from suaveplan_mcp.types.capabilities import ClientCapabilities, ServerCapabilities
from suaveplan_mcp.types.implementation import Implementation


class InitializeRequestParams(RequestParams, frozen=True, kw_only=True):
    """Open a connection.

    Args:
        protocol_version: the newest revision the client wants to speak.

    Spec: basic/lifecycle
    """

    protocol_version: str
    capabilities: ClientCapabilities
    client_info: Implementation


class InitializeResult(Result, frozen=True, kw_only=True):
    """Accept a connection.

    Args:
        protocol_version: the revision that will be spoken; the client leaves if it cannot.
        instructions: how to use the server, for the model.

    Spec: basic/lifecycle
    """

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None
