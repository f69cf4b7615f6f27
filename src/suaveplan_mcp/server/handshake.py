"""The handshake as a server sees it: it also has to know when the client is ready. Spec: basic/lifecycle"""

from collections.abc import Callable, Collection, Container

from suaveplan_mcp.jsonrpc.messages import Notification, Payload
from suaveplan_mcp.jsonrpc.rules import CancelNotice, ProgressNotice
from suaveplan_mcp.protocol.handshake import INITIALIZED, HandshakeEra
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS


class ServerHandshake(HandshakeEra):
    """The rules of a server's connection that opens with `initialize`.

    Args:
        served: the methods that have a handler here.
        accepted: the revisions the server speaks.

    Attributes:
        initialized: whether the client has said that it is ready; before that it may be asked nothing but `ping`.
        on_initialized: called when it says so.
    """

    def __init__(self, served: Container[str], accepted: Collection[str] = HANDSHAKE_REVISIONS) -> None:
        super().__init__("server", served, accepted)
        self.initialized = False
        self.on_initialized: Callable[[], object] = _tell_nobody

    def admit_notification(self, notification: Notification) -> Payload | CancelNotice | ProgressNotice:
        """Return the typed params, or what a cancellation or progress notice asks for.

        Raises:
            MCPError: the notification is unknown, illegal now, or malformed; it is dropped.
        """
        admitted = super().admit_notification(notification)
        if notification.method == INITIALIZED:
            self.initialized = True
            self.on_initialized()
        return admitted


def _tell_nobody() -> None:
    """Do nothing: nothing waits for it yet."""
