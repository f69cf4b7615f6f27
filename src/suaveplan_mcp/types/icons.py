"""Pictures for people. Spec: basic"""

from typing import Literal, TypeAlias

from suaveplan_mcp.types.base import WireStruct

IconTheme: TypeAlias = Literal["dark", "light"]
"""The background an icon is drawn for. Spec: basic"""


class Icon(WireStruct, frozen=True, kw_only=True):
    """Point to a picture that a user interface may show.

    Args:
        src: an `https:` or `data:` address.
        mime_type: overrides what the address says it is.
        sizes: such as `"48x48"`, or `"any"` for a scalable one.

    Spec: basic
    """

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: IconTheme | None = None
