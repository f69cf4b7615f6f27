"""How much the server shall log. Spec: server/utilities/logging"""

from typing import Final, get_args

from suaveplan_mcp.client.arguments import Meta, copy_meta, refusal
from suaveplan_mcp.types.logging import LoggingLevel, SetLevelRequestParams

_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)


def level_params(level: LoggingLevel, meta: Meta) -> SetLevelRequestParams:
    """Return the params that ask for a level.

    Raises:
        MCPError: `INVALID_PARAMS`, there is no such level; the message lists those there are.
    """
    if level not in _LEVELS:
        raise refusal("level", f"expected one of {', '.join(_LEVELS)}, got {level!r}")
    return SetLevelRequestParams(level=level, meta=copy_meta(meta))
