"""The floor: the least that an honest call takes, by hand, with msgspec and asyncio and nothing of MCP but the JSON.

It really decodes an envelope, dispatches by method and by tool name, decodes the arguments into a type, runs the
handler in a task of its own, and encodes an answer that carries text and structured content.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder, encode


class Request(Struct, tag_field="jsonrpc", tag="2.0"):
    """A request."""

    id: int
    method: str
    params: Any


class Reply(Struct, tag_field="jsonrpc", tag="2.0"):
    """An answer."""

    id: int
    result: Any


class _RawRequest(Struct):
    jsonrpc: str
    id: int
    method: str
    params: Raw


class CallParams(Struct):
    """The params of `tools/call`."""

    name: str
    arguments: Raw


class Text(Struct):
    """A text block."""

    text: str
    type: str = "text"


class CallResult(Struct, rename="camel"):
    """The result of `tools/call`."""

    content: list[Text]
    structured_content: Any
    is_error: bool = False


class _RawReply(Struct):
    jsonrpc: str
    id: int
    result: Raw


class AddArguments(Struct):
    """The arguments of `add`."""

    a: int
    b: int


_request = Decoder(_RawRequest)
_params = Decoder(CallParams)
_arguments = Decoder(AddArguments)
_reply = Decoder(_RawReply)
_result = Decoder(CallResult)


async def add(arguments: AddArguments) -> int:
    """Add two numbers."""
    return arguments.a + arguments.b


async def answer_alone(body: bytes) -> bytes:
    """Answer a request that is the body of a POST, in the current task."""
    request = _request.decode(body)
    if request.method != "tools/call":
        raise ValueError(request.method)
    params = _params.decode(request.params)
    return encode(Reply(request.id, await _call_tool(params)))


async def _call_tool(params: CallParams) -> CallResult:
    decoder, handler = _TOOLS[params.name]
    value = await handler(decoder.decode(params.arguments))
    return CallResult([Text(encode(value).decode())], {"result": value})


_TOOLS: dict[str, tuple[Decoder[Any], Callable[[Any], Awaitable[int]]]] = {"add": (_arguments, add)}


class Server:
    """Answers requests; `send` takes what goes back."""

    def __init__(self, send: Callable[[Any], object]) -> None:
        self._send = send
        self._methods = {"tools/call": self._call}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    def take_line(self, line: bytes) -> None:
        """Take a request as bytes."""
        request = _request.decode(line)
        self._start(request.id, request.method, _params.decode(request.params), as_bytes=True)

    def take(self, request: Request) -> None:
        """Take a request as it is."""
        self._start(request.id, request.method, request.params, as_bytes=False)

    def _start(self, id_: int, method: str, params: CallParams, *, as_bytes: bool) -> None:
        task = self._loop.create_task(self._methods[method](id_, params, as_bytes=as_bytes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, id_: int, params: CallParams, *, as_bytes: bool) -> None:
        reply = Reply(id_, await _call_tool(params))
        self._send(encode(reply) + b"\n" if as_bytes else reply)


class Client:
    """Sends requests and matches the answers."""

    def __init__(self, send: Callable[[Any], object], *, as_bytes: bool) -> None:
        self._send = send
        self._as_bytes = as_bytes
        self._ids = count()
        self._waiting: dict[int, asyncio.Future[CallResult]] = {}
        self._loop = asyncio.get_running_loop()

    async def call(self, a: int, b: int) -> int:
        """Call `add`."""
        id_ = next(self._ids)
        future = self._waiting[id_] = self._loop.create_future()
        request = Request(id_, "tools/call", CallParams("add", Raw(encode({"a": a, "b": b}))))
        self._send(encode(request) + b"\n" if self._as_bytes else request)
        return (await future).structured_content["result"]

    def take_line(self, line: bytes) -> None:
        """Take an answer as bytes."""
        reply = _reply.decode(line)
        self._waiting.pop(reply.id).set_result(_result.decode(reply.result))

    def take(self, reply: Reply) -> None:
        """Take an answer as it is."""
        self._waiting.pop(reply.id).set_result(reply.result)
