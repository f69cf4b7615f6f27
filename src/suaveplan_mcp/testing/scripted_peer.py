"""The other side of a connection, played by hand."""

import asyncio
from collections import deque

from msgspec import UNSET, UnsetType

from suaveplan_mcp.jsonrpc.messages import (
    ErrorObject,
    ErrorResponse,
    JsonObject,
    JsonValue,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.testing.recording import copy_message
from suaveplan_mcp.transport.base import Transport, find_post
from suaveplan_mcp.transport.frames import to_message

_IMPLEMENTATION: JsonObject = {"name": "scripted-peer", "version": "1"}


class ScriptedPeer:
    """Play a client or a server message by message, legal or not.

    Use it where the typed API cannot produce what a test needs: malformed params, late or doubled answers, silence. It
    follows no rules of its own. Params and results are plain JSON values in both directions.

    Args:
        transport: its own end, such as one of `InMemoryTransport.pair()`; it must have `post`.
        deadline: real seconds that each `receive` and `expect_…` waits before it fails the test.

    Attributes:
        seen: everything that has arrived, oldest first.
    """

    def __init__(self, transport: Transport, *, deadline: float = 5.0) -> None:
        post = find_post(transport)
        if post is None:
            raise TypeError("a scripted peer needs a transport that has `post`")
        self.transport = transport
        self.deadline = deadline
        self.seen: list[Message] = []
        self._post = post
        self._unread: deque[Message] = deque()
        self._changed = asyncio.Event()
        transport.on_close(self._changed.set)
        transport.on_message(self._take)

    async def receive(self) -> Message:
        """Return the next message that has not been read yet.

        Raises:
            AssertionError: none came in time, or the transport has closed; the message says what was seen so far.
        """
        try:
            async with asyncio.timeout(self.deadline):
                while not self._unread:
                    if self.transport.closed:
                        raise AssertionError(self._complaint("the transport closed before the next message"))
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(self._complaint(f"no message within {self.deadline} s")) from None
        return self._unread.popleft()

    async def expect_request(self, method: str) -> Request:
        """Return the next message, a request of `method`.

        Raises:
            AssertionError: the next message is another one, or there is none.
        """
        message = await self.receive()
        if isinstance(message, Request) and message.method == method:
            return message
        raise AssertionError(self._complaint(f"expected a request of {method}, not {message!r}"))

    async def expect_notification(self, method: str) -> Notification:
        """Return the next message, a notification of `method`.

        Raises:
            AssertionError: the next message is another one, or there is none.
        """
        message = await self.receive()
        if isinstance(message, Notification) and message.method == method:
            return message
        raise AssertionError(self._complaint(f"expected a notification of {method}, not {message!r}"))

    async def expect_response(self, id: RequestId) -> Response | ErrorResponse:
        """Return the next message, the answer to request `id`, good or bad.

        Raises:
            AssertionError: the next message is another one, or there is none.
        """
        message = await self.receive()
        if isinstance(message, Response | ErrorResponse) and message.id == id:
            return message
        raise AssertionError(self._complaint(f"expected the answer to {id!r}, not {message!r}"))

    async def expect_close(self) -> None:
        """Wait until the transport has closed.

        Raises:
            AssertionError: it is still open when the deadline is over.
        """
        try:
            async with asyncio.timeout(self.deadline):
                while not self.transport.closed:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(self._complaint(f"still open after {self.deadline} s")) from None

    def request(self, id: RequestId, method: str, params: JsonValue | UnsetType = UNSET) -> None:
        """Send a request."""
        self._post(Request(id, method, params))

    def notify(self, method: str, params: JsonValue | UnsetType = UNSET) -> None:
        """Send a notification."""
        self._post(Notification(method, params))

    def respond(self, id: RequestId, result: JsonValue) -> None:
        """Answer request `id`."""
        self._post(Response(id, result))

    def fail(self, id: RequestId | None, number: int, message: str, data: JsonValue | UnsetType = UNSET) -> None:
        """Answer request `id` with an error.

        Args:
            id: None as from a peer that could not read it.
            number: the JSON-RPC error number.
            message: its text.
            data: its data, absent when left out.
        """
        self._post(ErrorResponse(id, ErrorObject(number, message, data)))

    def send_raw(self, message: Message) -> None:
        """Send any message as it is; a dict with the members of one becomes one first.

        Raises:
            MCPProtocolError: `PROTOCOL_INVALID`, it is no message.
        """
        self._post(to_message(message))

    async def handshake(self, *, revision: str = LATEST_HANDSHAKE, capabilities: JsonObject | None = None) -> Request:
        """Play the server's side of the opening handshake.

        Args:
            revision: the protocol version to answer with.
            capabilities: the server capabilities to announce, none by default.

        Returns:
            The client's `initialize` request.
        """
        request = await self.expect_request("initialize")
        self.respond(
            request.id,
            {"protocolVersion": revision, "capabilities": capabilities or {}, "serverInfo": _IMPLEMENTATION},
        )
        await self.expect_notification("notifications/initialized")
        return request

    async def initialize(
        self,
        *,
        id: RequestId = "initialize",
        revision: str = LATEST_HANDSHAKE,
        capabilities: JsonObject | None = None,
    ) -> Response | ErrorResponse:
        """Play the client's side of the opening handshake.

        Args:
            id: the id of the `initialize` request.
            revision: the protocol version to ask for.
            capabilities: the client capabilities to announce, none by default.

        Returns:
            The server's answer; the handshake is completed only where that is a good one.
        """
        self.request(
            id,
            "initialize",
            {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": _IMPLEMENTATION},
        )
        answer = await self.expect_response(id)
        if isinstance(answer, Response):
            self.notify("notifications/initialized")
        return answer

    def _take(self, message: Message, _delivery: object = None) -> None:
        copy = copy_message(message)
        self.seen.append(copy)
        self._unread.append(copy)
        self._changed.set()

    def _complaint(self, problem: str) -> str:
        seen = "".join(f"\n  {message!r}" for message in self.seen) or " nothing"
        return f"{problem}; seen so far:{seen}"
