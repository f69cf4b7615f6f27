"""Hints about who a piece of data is for. Spec: server/resources"""

from typing import Literal, TypeAlias

from suaveplan_mcp.types.base import WireStruct

Role: TypeAlias = Literal["assistant", "user"]
"""Who speaks, or who is meant. Spec: server/prompts"""


class Annotations(WireStruct, frozen=True, kw_only=True):
    """Tell a client who data is for and how much it matters.

    Args:
        priority: from 0, may be left out, to 1, must be there.
        last_modified: an ISO 8601 time.

    Spec: server/resources
    """

    audience: list[Role] | None = None
    priority: int | float | None = None
    last_modified: str | None = None
