"""Raw peers on every transport: a client that sends our server any bytes, and a server that sends our client any.

Each `raw_client` and each `facing` is the same conversation on another transport, so a case is written once.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, TypeAlias

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.events import FaultReported
from suaveplan_mcp.framing.lines import LineDecoder
from suaveplan_mcp.framing.sse import ServerSentEvent
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.jsonrpc.codec import encode_message
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import AsgiClient, AsgiExchange
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.frames import decode_frame, encode_frame
from suaveplan_mcp.transport.http_sse import create_http_sse_transport
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.cases.servers.field import make_server

TRANSPORTS = ("in memory", "stdio", "http+sse")

SERVERS = Path(__file__).parent / "servers"
FIELD = [sys.executable, str(SERVERS / "field.py")]
# Neither `site` nor anything of ours: it starts in a few milliseconds.
PLAYED = [sys.executable, "-I", "-S", str(SERVERS / "played.py")]

DEADLINE = 10.0
"""Seconds after which a peer that stays silent fails its test; nothing is ever waited for that long otherwise."""

Json: TypeAlias = Any


def frame(method: str, params: Json = None, *, id: Json = ..., members: Json = None) -> bytes:
    """Return a request, or a notification where there is no id; `members` replace or add to what it has."""
    message: dict[str, Json] = {"jsonrpc": "2.0"}
    if id is not ...:
        message["id"] = id
    message["method"] = method
    if params is not None:
        message["params"] = params
    return json.dumps(message | (members or {}), ensure_ascii=False).encode()


def list_tools(id: Json) -> bytes:
    return frame("tools/list", id=id)


def call(id: Json, name: str, arguments: Json = None, *, meta: Json = None) -> bytes:
    params = {"name": name, "arguments": arguments or {}}
    return frame("tools/call", params if meta is None else params | {"_meta": meta}, id=id)


def cancel(id: Json, reason: str = "user") -> bytes:
    return frame("notifications/cancelled", {"requestId": id, "reason": reason})


def initialize(revision: str = LATEST_HANDSHAKE, *, id: Json = "initialize") -> bytes:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return frame("initialize", params, id=id)


def text_of(answer: Json) -> str:
    """Return the text of a tool's result as it went over the wire."""
    return answer["result"]["content"][0]["text"]


# Our server, and a client that sends it anything


class RawClient:
    """A client that sends frames as they are and gives the messages that come back, as plain JSON."""

    def __init__(self, send: Callable[[Sequence[bytes]], Awaitable[None]]) -> None:
        self._send = send
        self._received: asyncio.Queue[Json] = asyncio.Queue()

    def take(self, message: Json) -> None:
        """Take what the server sent; None is its end."""
        self._received.put_nowait(message)

    async def send(self, *frames: bytes) -> None:
        """Send frames one after the other, in a single write where the transport knows writes."""
        await self._send(frames)

    async def receive(self) -> Json:
        """Return the next message of the server."""
        async with asyncio.timeout(DEADLINE):
            message = await self._received.get()
        assert message is not None, "the server has ended"
        return message

    async def ask(self, *frames: bytes) -> Json:
        """Send frames and return the next message of the server."""
        await self.send(*frames)
        return await self.receive()

    async def call(self, tool: str, arguments: Json = None, *, id: Json = "asked") -> Json:
        """Call a tool and return its answer."""
        return await self.ask(call(id, tool, arguments))

    async def all_until(self, id: Json) -> list[Json]:
        """Return every message up to the answer to a request, and that as well."""
        messages: list[Json] = []
        while not messages or not is_answer_to(messages[-1], id):
            messages.append(await self.receive())
        return messages

    async def rest(self, end: str = "the end") -> list[Json]:
        """Return everything the server has still to say: it answers a last call after all of that."""
        await self.send(call(end, "last"))
        return (await self.all_until(end))[:-1]

    async def shake_hands(self, revision: str = LATEST_HANDSHAKE) -> None:
        """Open the session."""
        answer = await self.ask(initialize(revision))
        assert revision == answer["result"]["protocolVersion"]
        await self.send(frame("notifications/initialized"))


def is_answer_to(message: Json, id: Json) -> bool:
    """Tell whether a message answers a request; `1` and `"1"` are different ids, and so are `1` and `True`."""
    if not isinstance(message, dict) or "method" in message:
        return False
    return type(message.get("id")) is type(id) and message["id"] == id


def answer_to(messages: Iterable[Json], id: Json) -> Json:
    """Return the one answer to a request."""
    (answer,) = [message for message in messages if is_answer_to(message, id)]
    return answer


@asynccontextmanager
async def raw_client(
    transport: str, server: MCPServer | None = None, revision: str | None = LATEST_HANDSHAKE
) -> AsyncGenerator[RawClient]:
    """Face a server of ours on a transport.

    Args:
        transport: one of `TRANSPORTS`.
        server: it, where it is not that of the cases; never over stdio.
        revision: what to agree on; None to leave the handshake to the test.
    """
    if transport == "stdio":
        assert server is None
        opened = _raw_client_of_a_process()
    else:
        opened = (_raw_client_in_memory if transport == "in memory" else _raw_client_of_an_app)(server or make_server())
    async with opened as client:
        if revision is not None:
            await client.shake_hands(revision)
        yield client


@asynccontextmanager
async def _raw_client_in_memory(server: MCPServer) -> AsyncGenerator[RawClient]:
    near, far = InMemoryTransport.pair()

    async def send(frames: Sequence[bytes]) -> None:
        for each in frames:
            near.post(decode_frame(each))

    client = RawClient(send)

    def take(message: Message) -> None:
        client.take(json.loads(encode_message(message)))

    near.on_message(take)
    await server.start(far)
    try:
        yield client
    finally:
        await server.stop()


@asynccontextmanager
async def _raw_client_of_an_app(server: MCPServer) -> AsyncGenerator[RawClient]:
    http = AsgiClient(server.sse_app(), deadline=DEADLINE)
    async with http.open("GET", "/sse") as stream:
        url = (await stream.next_event()).data.decode()

        async def send(frames: Sequence[bytes]) -> None:
            for each in frames:
                posted = await http.request("POST", url, headers={"Content-Type": "application/json"}, body=each)
                assert 202 == posted.status

        client = RawClient(send)
        reading = asyncio.create_task(_read_events(stream, client))
        try:
            yield client
        finally:
            reading.cancel()
            await server.stop()


async def _read_events(stream: AsgiExchange, client: RawClient) -> None:
    try:
        while True:
            client.take(json.loads((await stream.next_event()).data))
    except AssertionError:
        # The stream has ended.
        client.take(None)


@asynccontextmanager
async def _raw_client_of_a_process() -> AsyncGenerator[RawClient]:
    async with RawProcess.running(FIELD) as process:
        yield process.client


class RawProcess:
    """A real server process, written to byte by byte."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin = process.stdin
        self.client = RawClient(self._send_lines)
        self.output = b""
        self.errors = b""
        self._reading = asyncio.gather(
            asyncio.create_task(self._read_output(process.stdout)),
            asyncio.create_task(self._read_errors(process.stderr)),
        )

    @classmethod
    @asynccontextmanager
    async def running(cls, command: Sequence[str]) -> "AsyncGenerator[RawProcess]":
        """Start a server; in the end close its input and wait for it."""
        pipe = asyncio.subprocess.PIPE
        process = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**26))
        try:
            yield process
        except BaseException:
            if process.process.returncode is None:
                process.process.kill()
            raise
        finally:
            await process.end()

    async def end(self) -> int:
        """Close its input, and return its exit status when it has ended and everything is read."""
        self.stdin.close()
        async with asyncio.timeout(DEADLINE):
            await self._reading
            return await self.process.wait()

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.stdin.write(data)
        await self.stdin.drain()

    async def _send_lines(self, frames: Sequence[bytes]) -> None:
        await self.write(b"".join(each + b"\n" for each in frames))

    async def _read_output(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.output += line
            # Whatever is on the wire is JSON.
            self.client.take(json.loads(line))
        self.client.take(None)

    async def _read_errors(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(65_536):
            self.errors += chunk


# Our client, and a server that sends it anything


class Act(NamedTuple):
    """One step of a server that is played; see `servers/played.py`."""

    name: str
    text: str = ""


READ = Act("read")
SHOW = Act("show")


def write(*lines: bytes) -> Act:
    """Write lines, all in one go."""
    return Act("write", b"".join(line + b"\n" for line in lines).decode("latin-1"))


def write_bytes(data: bytes) -> Act:
    return Act("write", data.decode("latin-1"))


def trickle(data: bytes) -> Act:
    """Write single bytes, each flushed and followed by a pause."""
    return Act("trickle", data.decode("latin-1"))


def answer(id: Json, result: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}, ensure_ascii=False).encode()


def error(id: Json, code: int, message: str, **members: Json) -> bytes:
    problem = {"code": code, "message": message, **members}
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": problem}, ensure_ascii=False).encode()


def welcome(revision: str = LATEST_HANDSHAKE) -> list[Act]:
    """Return the handshake; our client has id 0 for it, and counts on from there."""
    result = {
        "protocolVersion": revision,
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "played", "version": "1"},
    }
    return [READ, write(answer(0, result)), READ]


class Faced(NamedTuple):
    """A client of ours that is connected to a played server, what it reports, and what the server shows at its end."""

    client: MCPClient
    faults: list[str]
    shown: list[str]


@asynccontextmanager
async def facing(
    transport: str,
    acts: Sequence[Act],
    *,
    before: Sequence[Act] = (),
    revision: str = LATEST_HANDSHAKE,
    **options: Any,
) -> AsyncGenerator[Faced]:
    """Connect a client of ours to a server that shakes hands and then does as it is told.

    Args:
        transport: one of `TRANSPORTS`.
        acts: what the server does after the handshake; the next request has id 1.
        before: what it does before that.
        revision: what the server answers to the handshake.
        options: of the client.
    """
    faced = Faced(MCPClient(prefetch=False, **options), [], [])

    def note(fault: FaultReported) -> None:
        faced.faults.append(fault.fault)

    faced.client.events.on("fault:reported", note)
    async with _PLAYERS[transport]([*before, *welcome(revision), *acts], faced.shown) as ours:
        try:
            await faced.client.connect(ours)
            yield faced
        finally:
            await faced.client.disconnect()


class PlayedServer:
    """Plays acts in this process, frame by frame."""

    def __init__(self, acts: Sequence[Act], shown: list[str], send: Callable[[bytes], None]) -> None:
        self._send = send
        self._shown = shown
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()
        self._lines = LineDecoder(2**26)
        self.playing = asyncio.create_task(self._play(acts))

    def hear(self, data: bytes) -> None:
        self._heard.put_nowait(data)

    async def _play(self, acts: Sequence[Act]) -> None:
        heard = b""
        for act in acts:
            if act.name == "read":
                heard = await self._heard.get()
            elif act.name == "show":
                self._shown.append(repr(heard))
            for line in self._lines.feed(act.text.encode("latin-1")):
                assert isinstance(line, bytes)
                self._send(line)


_Player: TypeAlias = Callable[[Sequence[Act], list[str]], AbstractAsyncContextManager[Transport]]


@asynccontextmanager
async def _played_in_memory(acts: Sequence[Act], shown: list[str]) -> AsyncGenerator[Transport]:
    near, far = InMemoryTransport.pair()
    server = PlayedServer(acts, shown, lambda line: far.post(decode_frame(line)))

    def hear(message: Message) -> None:
        server.hear(encode_frame(message))

    far.on_message(hear)
    try:
        yield near
    finally:
        server.playing.cancel()
        await near.close()


@asynccontextmanager
async def _played_over_http_sse(acts: Sequence[Act], shown: list[str]) -> AsyncGenerator[Transport]:
    events: asyncio.Queue[bytes] = asyncio.Queue()
    server = PlayedServer(acts, shown, events.put_nowait)

    class Accepted(NamedTuple):
        status: int = 202

        async def read(self) -> bytes:
            return b"Accepted"

    async def fetch(url: str, *, method: str, headers: Mapping[str, str], body: bytes) -> Accepted:
        server.hear(body)
        return Accepted()

    async def listen(url: str) -> AsyncIterator[ServerSentEvent]:
        yield ServerSentEvent(event="endpoint", data=b"/messages")
        while True:
            yield ServerSentEvent(event="message", data=await events.get())

    transport = create_http_sse_transport(
        endpoint="https://field.example/sse", fetch_impl=fetch, event_source_impl=listen
    )
    try:
        yield transport
    finally:
        server.playing.cancel()
        await transport.close()


@asynccontextmanager
async def _played_as_a_process(acts: Sequence[Act], shown: list[str]) -> AsyncGenerator[Transport]:
    with played_command(acts) as command:
        server = await ServerProcess.spawn(command, on_stderr=shown.append, grace=DEADLINE)
        try:
            yield server.transport
        finally:
            await server.close()


@contextmanager
def played_command(acts: Sequence[Act]) -> Generator[list[str]]:
    """Give the command for a server that plays acts; it takes them from a file, as some are long."""
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(acts, file)
        file.flush()
        yield [*PLAYED, file.name]


_PLAYERS: dict[str, _Player] = {
    "in memory": _played_in_memory,
    "stdio": _played_as_a_process,
    "http+sse": _played_over_http_sse,
}
