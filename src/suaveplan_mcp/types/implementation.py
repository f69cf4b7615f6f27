"""What a peer calls itself. Spec: basic"""

from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.icons import Icon


class Implementation(WireStruct, frozen=True, kw_only=True):
    """Name the software at one end.

    Args:
        name: for programs.
        title: for people.

    Spec: basic
    """

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None
