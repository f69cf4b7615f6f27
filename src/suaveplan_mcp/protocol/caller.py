"""Who sends a request: what a handler may have to know of its peer, in every era."""

from suaveplan_mcp.protocol.revisions import V2026_07_28, is_at_least
from suaveplan_mcp.types.capabilities import ClientCapabilities
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.logging import LoggingLevel


class Caller:
    """The peer behind a call.

    In the handshake era all calls of one connection share one object, and what is agreed on later shows in it; where
    every request stands for itself, each has its own.

    Args:
        revision: the revision it speaks; None before one is agreed on, and for a call that crosses no wire.
        info: what it calls itself, None where it has not said.
        capabilities: what it can be asked as a client; nothing for a server, and before it has said.
        log_level: the least level of log messages it wants, None where it has not said.
    """

    __slots__ = ("capabilities", "info", "log_level", "revision")

    def __init__(
        self,
        revision: str | None = None,
        info: Implementation | None = None,
        capabilities: ClientCapabilities | None = None,
        log_level: LoggingLevel | None = None,
    ) -> None:
        self.revision = revision
        self.info = info
        self.capabilities = capabilities if capabilities is not None else ClientCapabilities()
        self.log_level: LoggingLevel | None = log_level


def is_stateless(caller: Caller) -> bool:
    """Tell whether the peer speaks a revision in which every request stands for itself."""
    return caller.revision is not None and is_at_least(caller.revision, V2026_07_28)
