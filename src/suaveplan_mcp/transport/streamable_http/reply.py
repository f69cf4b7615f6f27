"""What comes back for one POST: read to the answer, or to an error that says what is wrong with it.

Spec: basic/transports/streamable-http, Receiving Messages
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, Protocol

from suaveplan_mcp.errors import INVALID_REQUEST, MCP_CODES, MCPTransportError, SuaveplanError
from suaveplan_mcp.framing.limits import SAMPLE, FrameTooLarge, LimitedBuffer
from suaveplan_mcp.framing.sse import SseDecoder
from suaveplan_mcp.jsonrpc.messages import Batch, ErrorResponse, InvalidMessage, Message, Request, RequestId, Response
from suaveplan_mcp.transport.base import logger
from suaveplan_mcp.transport.frames import decode_frame
from suaveplan_mcp.transport.http_sse import settled
from suaveplan_mcp.transport.media_types import EVENT_STREAM, JSON, media_type_of

_OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_ERRORS: Final = range(400, 600)


class StreamedResponse(Protocol):
    """The answer to one POST, whose body is read as it comes."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers; their names are in any case."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the body, once; end with it, raise when it breaks off."""
        ...

    def close(self) -> object:
        """Let go of what has not been read; what it returns is awaited where it can be."""
        ...


class Reply:
    """A response, as far as it has been read.

    Args:
        response: the response.
        source: what a person should take the answer for, such as `the answer of https://example.org/mcp to tools/list`.

    Attributes:
        status: its HTTP status.
        kind: its media type; the empty string where it has none.
    """

    __slots__ = ("_chunks", "_response", "_source", "kind", "status")

    def __init__(self, response: StreamedResponse, source: str) -> None:
        self._response = response
        self._source = source
        self._chunks = response.__aiter__()
        self.status = response.status
        self.kind = media_type_of(self.header("content-type"))

    def header(self, name: str) -> str:
        """Return a header; the empty string where there is none.

        Args:
            name: in lower case.
        """
        return next((value for given, value in self._response.headers.items() if given.lower() == name), "")

    async def next_chunk(self) -> bytes:
        """Return the next part of the body; the empty string at its end.

        Raises:
            MCPTransportError: the connection broke.
        """
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except Exception as error:
            raise self.error(f"broke off: {describe(error)}", error) from error
        return b""

    async def read(self, limit: int) -> bytes | FrameTooLarge:
        """Return the whole body; no more than a sample of one that is over a limit, whose rest is not read."""
        body = LimitedBuffer(limit)
        while body.size <= limit and (chunk := await self.next_chunk()):
            body.keep(chunk)
        return body.take()

    async def drain(self) -> None:
        """Read what is left, so that the connection can be used again."""
        while await self.next_chunk():
            pass

    async def close(self) -> None:
        """Let go of the rest; what that raises is of no use to anyone any more."""
        try:
            await settled(self._response.close())
        except Exception as error:
            logger.debug("while closing a response: %r", error)

    def refused(self, body: bytes | FrameTooLarge) -> MCPTransportError:
        """Return the error for a status or a type that is no answer."""
        location = self.header("location") if self.status in _REDIRECTS else ""
        elsewhere = f", which leads to {location.partition('?')[0].rpartition('@')[2][:SAMPLE]}" if location else ""
        return self.error(f"is {self.status}, {self.kind or 'of no type'}{elsewhere}: {sample_of(body)!r}")

    def error(self, problem: str, cause: BaseException | None = None) -> MCPTransportError:
        """Return the error that says what is wrong with the answer."""
        text, context = f"{self._source} {problem}", {"status": self.status}
        return MCPTransportError(MCP_CODES.TRANSPORT_ERROR, text, cause=cause, context=context)


class AnswerReader:
    """Finds the answer to one request in what comes back for it.

    Args:
        request: the request.
        limit: the most bytes that a message may have.
        hand_on: takes what comes before the answer.
        stateless: whether the request is of the era in which servers ask nothing on their own, and send no batches.
    """

    __slots__ = ("_hand_on", "_id", "_limit", "_stateless")

    def __init__(self, request: Request, limit: int, hand_on: Callable[[Message], object], *, stateless: bool) -> None:
        self._id: RequestId = request.id
        self._limit = limit
        self._hand_on = hand_on
        self._stateless = stateless

    async def read(self, reply: Reply) -> Response | ErrorResponse:
        """Read to the answer and return it.

        Raises:
            MCPTransportError: `TRANSPORT_ERROR`, there is none, or none that can be used; `context` has the `status`.
        """
        if reply.status != _OK:
            return await self._read_refusal(reply)
        if reply.kind == JSON:
            return await self._read_json(reply)
        if reply.kind == EVENT_STREAM:
            return await self._read_stream(reply)
        raise reply.refused(await reply.next_chunk())

    async def _read_refusal(self, reply: Reply) -> ErrorResponse:
        """Return the error that the body of a refusal is. Spec: basic/transports/streamable-http, Server Validation"""
        body = await reply.read(self._limit)
        if reply.status in _ERRORS and body and isinstance(body, bytes):
            message = decode_frame(body)
            if isinstance(message, ErrorResponse) and (message.id is None or self._is_ours(message.id)):
                return ErrorResponse(self._id, message.error)
        raise reply.refused(body)

    async def _read_json(self, reply: Reply) -> Response | ErrorResponse:
        body = await reply.read(self._limit)
        if not body:
            raise reply.error(f"is empty ({reply.status}, {reply.kind})")
        if isinstance(body, FrameTooLarge):
            raise reply.error(f"is over the limit of {body.limit} bytes (`max_frame_bytes`)")
        message = decode_frame(body)
        if isinstance(message, InvalidMessage):
            raise reply.error(f"is malformed: {message.reason}: {sample_of(body)!r}")
        answer = self._find_answer(message, reply)
        if answer is None:
            raise reply.error(f"is no response, but a {type(message).__name__.lower()}: {sample_of(body)!r}")
        return answer

    async def _read_stream(self, reply: Reply) -> Response | ErrorResponse:
        decoder = SseDecoder(self._limit)
        problem = ""
        while chunk := await reply.next_chunk():
            for event in decoder.feed(chunk):
                if not isinstance(event, FrameTooLarge) and (event.event != "message" or not event.data):
                    continue
                message = decode_frame(event if isinstance(event, FrameTooLarge) else event.data)
                answer = self._take(message, reply)
                if answer is not None:
                    return answer
                if isinstance(message, InvalidMessage):
                    problem = f"; the last event that cannot be used: {message.reason}: {message.sample!r}"
        raise reply.error(f"ended before it was complete: the event stream has no response in it{problem}")

    def _take(self, message: Message, reply: Reply) -> Response | ErrorResponse | None:
        """Hand a message of the stream on, unless it is the answer."""
        if isinstance(message, Batch) and not self._stateless:
            answers = [self._take(member, reply) for member in message.messages]
            return next((answer for answer in answers if answer is not None), None)
        answer = self._find_answer(message, reply)
        if answer is None:
            self._hand_on(self._admitted(message))
        return answer

    def _admitted(self, message: Message) -> Message:
        """Return a message, or what to report in its place where it would have to be answered and may not be."""
        if not isinstance(message, Request) or not self._stateless:
            return message
        return InvalidMessage(INVALID_REQUEST, f"a request, {message.method}, on the stream of an answer")

    def _find_answer(self, message: Message, reply: Reply) -> Response | ErrorResponse | None:
        if isinstance(message, InvalidMessage) and message.answers:
            raise reply.error(f"is malformed: {message.reason}: {message.sample!r}")
        if isinstance(message, ErrorResponse) and not isinstance(message.id, int | str):
            # The server could not read the id; this is the answer to one request, so there is no doubt which.
            return ErrorResponse(self._id, message.error)
        if not isinstance(message, Response | ErrorResponse):
            return None
        if not self._is_ours(message.id):
            raise reply.error(f"has the wrong id: {message.id!r} in place of {self._id!r}")
        return message

    def _is_ours(self, id_: object) -> bool:
        return type(id_) is type(self._id) and id_ == self._id


def sample_of(body: bytes | FrameTooLarge) -> bytes:
    """Return the beginning of a body."""
    return body.start if isinstance(body, FrameTooLarge) else body[:SAMPLE]


def describe(error: BaseException) -> str:
    """Return what an exception says, without what its `repr` may give away."""
    if isinstance(error, SuaveplanError):
        return error.message
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
