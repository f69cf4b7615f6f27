"""Two ends in one process: a message posted at one is handled at the other before `post` returns."""

from typing import ClassVar

from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.transport.base import Delivery, TransportBase
from suaveplan_mcp.transport.frames import MESSAGE_TYPES, to_message


class InMemoryTransport(TransportBase):
    """One end of a pair; make both with `InMemoryTransport.pair()`.

    The message object itself crosses over: no copy, no encoding, no turn of the event loop. A message posted while the
    peer is still handling an earlier one waits until that is done, so order is kept and handlers never nest. Both ends
    belong to one thread.
    """

    __slots__ = ("_peer",)

    in_process: ClassVar[bool] = True

    def __init__(self, peer: "InMemoryTransport | None" = None) -> None:
        """Make one end, and the other with it; use `pair`."""
        super().__init__()
        self._peer: InMemoryTransport = InMemoryTransport(self) if peer is None else peer

    @classmethod
    def pair(cls) -> "tuple[InMemoryTransport, InMemoryTransport]":
        """Return two ends that are connected with each other."""
        near = cls()
        return near, near._peer

    def post(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Hand `message` to the peer.

        Args:
            message: the very object the peer's handlers get; a dict with the members of one becomes one first.
            delivery: handed on where it has headers or a principal; a related request says nothing here, since there is
                only one stream.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, one of the ends is closed.
            MCPProtocolError: `PROTOCOL_INVALID`, it is no message.
        """
        if self._ended:
            raise self._refusal()
        if type(message) not in MESSAGE_TYPES:
            message = to_message(message)
        if delivery is not None and not delivery.headers and delivery.principal is None:
            delivery = None
        self._peer._receive(message, delivery)

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        """Hand `message` to the peer, as `post` does.

        Raises:
            MCPTransportError: `TRANSPORT_CLOSED`, one of the ends is closed.
            MCPProtocolError: `PROTOCOL_INVALID`, it is no message.
        """
        self.post(message, delivery=delivery)

    async def close(self) -> None:
        """Close this end at once, and the other as soon as it has handled what was posted before."""
        self._finish()
        self._peer._end()
