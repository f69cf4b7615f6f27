"""What a server of the stateless era can do. Spec: server/discover"""

from suaveplan_mcp.types.caching import CacheableResult
from suaveplan_mcp.types.capabilities import ServerCapabilities


class DiscoverResult(CacheableResult, frozen=True, kw_only=True):
    """Answer `server/discover`.

    Args:
        supported_versions: the revisions the server speaks.
        instructions: how to use the server, for the model.

    Spec: server/discover
    """

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
