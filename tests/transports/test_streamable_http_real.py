"""Streamable HTTP between a real web server and clients that write what they want (cases 35, 40 and 49)."""

import asyncio
import gc
import io
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import asgi_app
from suaveplan_mcp.transport.streamable_http.app import StreamableHttpApp
from suaveplan_mcp.transport.streamable_http.authentication import Principal
from suaveplan_mcp.transport.streamable_http.exchange import HttpExchange
from tests.transports.plain_process import SERVERS, open_descriptors
from tests.transports.stateless_requests import call_of, headers_of, request_of
from tests.transports.web_server import DEADLINE, RawClient, until, web_server

OVER_HTTP = str(SERVERS / "over_http.py")


class Waiting:
    """Knows how many handlers wait, and how many did."""

    def __init__(self) -> None:
        self.now = 0
        self.ended = 0

    async def wait(self) -> None:
        self.now += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.now -= 1
            self.ended += 1


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def server(waiting: Waiting) -> MCPServer:
    server = MCPServer("real", "1.0")

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def count(ctx: Context, to: int) -> int:
        for number in range(to):
            ctx.progress(number + 1, to)
        return to

    @server.tool
    async def wait() -> None:
        await waiting.wait()

    @server.tool
    async def say_and_wait(ctx: Context) -> None:
        ctx.progress(1)
        await waiting.wait()

    @server.tool
    async def whoami(ctx: Context) -> str:
        return getattr(ctx.principal, "subject", "nobody")

    return server


class Caller:
    """Posts to an endpoint."""

    def __init__(self, session: ClientSession, url: str, app: StreamableHttpApp) -> None:
        self.session = session
        self.url = url
        self.app = app

    async def post(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Return status, type and body of the answer."""
        async with self.session.post(self.url, data=io.BytesIO(body), headers=headers) as answer:
            return answer.status, answer.headers.get("content-type", ""), await answer.read()

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **headers: str) -> Any:
        """Return the result of a call that is answered in JSON."""
        _, _, body = await self.post(call_of(tool, arguments), headers_of("tools/call", tool, **headers))
        return json.loads(body)["result"]["content"][0]["text"]


@asynccontextmanager
async def serving(server: MCPServer, **options: Any) -> AsyncGenerator[Caller]:
    app = asgi_app(server, **options)

    async def stop() -> None:
        app.refuse_new()
        await server.stop()
        await app.close()

    async with web_server(app, stop) as root, ClientSession() as session:
        yield Caller(session, f"{root}/mcp", app)


def error_in(answer: tuple[int, str, bytes]) -> tuple[int, Any, Any]:
    error = json.loads(answer[2])
    return answer[0], error["error"]["code"], error.get("id")


# Answers


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_call_is_answered_in_json(server: MCPServer) -> None:
    async with serving(server) as caller:
        status, kind, body = await caller.post(call_of("echo", {"text": "a≤b🎉"}), headers_of("tools/call", "echo"))

    assert (200, "application/json", 1) == (status, kind, json.loads(body)["id"])
    assert "a≤b🎉" == json.loads(body)["result"]["content"][0]["text"]


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_a_call_that_reports_progress_is_answered_with_a_stream(server: MCPServer) -> None:
    async with serving(server) as caller:
        body = call_of("count", {"to": 50}, progressToken="p")
        status, kind, answer = await caller.post(body, headers_of("tools/call", "count"))

    messages = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith(b"data: ")]
    assert (200, "text/event-stream") == (status, kind)
    assert list(range(1, 51)) == [message["params"]["progress"] for message in messages[:-1]]
    assert (1, "50") == (messages[-1]["id"], messages[-1]["result"]["content"][0]["text"])


async def test_five_megabytes_go_round(server: MCPServer) -> None:
    text = "≤" * 1_700_000
    async with serving(server) as caller:
        assert text == await caller.call("echo", {"text": text})


async def test_many_calls_at_once_get_their_own_answers(server: MCPServer) -> None:
    async with serving(server) as caller:
        texts = [str(number) for number in range(100)]
        assert texts == await asyncio.gather(*(caller.call("echo", {"text": text}) for text in texts))


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_a_token_lets_in_whoever_knows_it(server: MCPServer) -> None:
    async with serving(server, bearer_token="abc") as caller:
        body, headers = call_of("whoami"), headers_of("tools/call", "whoami")
        assert 401 == (await caller.post(body, headers))[0]
        assert "bearer" == await caller.call("whoami", authorization="Bearer abc")


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_who_sent_a_request_reaches_the_handler(server: MCPServer) -> None:
    async def authenticate(headers: Mapping[str, str]) -> Principal:
        return Principal(headers["x-user"])

    async with serving(server, authenticate=authenticate) as caller:
        assert ["Ann", "Ben"] == [await caller.call("whoami", x_user=name) for name in ("Ann", "Ben")]


# What contradicts itself: each is one change from a good request

GOOD = headers_of("tools/list")


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
@pytest.mark.parametrize(
    ("body", "headers", "status", "number"),
    [
        (request_of("tools/list"), GOOD, 200, None),
        (request_of("tools/list"), without("mcp-protocol-version"), 400, -32020),
        (request_of("tools/list"), GOOD | {"mcp-protocol-version": "2025-11-25"}, 400, -32020),
        (request_of("tools/list"), without("mcp-method"), 400, -32020),
        (request_of("tools/list"), GOOD | {"mcp-method": "Tools/List"}, 400, -32020),
        (call_of("echo", {"text": "x"}), headers_of("tools/call"), 400, -32020),
        (request_of("tools/unknown"), headers_of("tools/unknown"), 404, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', GOOD, 400, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}', GOOD, 400, -32602),
        (
            request_of("tools/list", revision="1900-01-01"),
            GOOD | {"mcp-protocol-version": "1900-01-01"},
            400,
            -32022,
        ),
    ],
)
async def test_a_request_that_contradicts_itself_is_refused(
    server: MCPServer, body: bytes, headers: dict[str, str], status: int, number: int | None
) -> None:
    async with serving(server) as caller:
        answer = await caller.post(body, headers)

    assert status == answer[0]
    if number is not None:
        assert (status, number, 1) == error_in(answer)


@pytest.mark.requirement("a-post-is-answered-in-json-or-with-a-stream")
async def test_what_opens_a_handshake_is_told_which_revisions_there_are(server: MCPServer) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    async with serving(server) as caller:
        answer = await caller.post(body, {"content-type": "application/json"})

    assert 400 == answer[0]
    assert "2026-07-28" in json.loads(answer[2])["error"]["message"]


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize("how", ["content-length", "chunked"])
async def test_a_body_over_the_limit_is_refused_and_not_kept(server: MCPServer, how: str) -> None:
    async with serving(server, max_body_bytes=1000) as caller:
        client = await RawClient.connect(caller.url)
        lines = [f"{name}: {value}" for name, value in GOOD.items()]
        length, body = ("Transfer-Encoding: chunked", b"5\r\n     \r\n" * 201)
        if how == "content-length":
            length, body = ("Content-Length: 1001", b"")
        client.send("POST", "/mcp", "Host: localhost", *lines, length, body=body)
        assert 413 == await client.read_status()
        await client.close()


async def test_a_body_in_chunks_is_put_together(server: MCPServer) -> None:
    async with serving(server) as caller:
        client = await RawClient.connect(caller.url)
        lines = [f"{name}: {value}" for name, value in GOOD.items()]
        chunks = [b"%x\r\n%b\r\n" % (1, bytes((byte,))) for byte in request_of("tools/list")]
        body = b"".join([*chunks, b"0\r\n\r\n"])
        client.send("POST", "/mcp", "Host: localhost", *lines, "Transfer-Encoding: chunked", body=body)
        assert 200 == await client.read_status()
        await client.close()


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
async def test_too_many_headers_are_refused_and_the_server_goes_on(server: MCPServer) -> None:
    async with serving(server) as caller:
        many = {f"x-{number}": "x" for number in range(300)}
        assert 431 == (await caller.post(request_of("tools/list"), GOOD | many))[0]
        assert 431 == (await caller.post(request_of("tools/list"), GOOD | {"x-long": "x" * 70_000}))[0]
        assert 200 == (await caller.post(request_of("tools/list"), GOOD))[0]


# Clients that go away


async def post_raw(caller: Caller, tool: str) -> RawClient:
    """Post a call on a connection of its own, and return that."""
    body = call_of(tool, progressToken=1)
    lines = [f"{name}: {value}" for name, value in headers_of("tools/call", tool).items()]
    client = await RawClient.connect(caller.url)
    client.send("POST", "/mcp", "Host: localhost", *lines, f"Content-Length: {len(body)}", body=body)
    return client


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("tool", ["wait", "say_and_wait"])
async def test_a_client_that_goes_away_gives_its_request_up(
    server: MCPServer, waiting: Waiting, tool: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "suaveplan_mcp")
    async with serving(server) as caller:
        client = await post_raw(caller, tool)
        await until(lambda: waiting.now == 1)
        await getattr(client, how)()
        await until(lambda: waiting.ended == 1 and not len(caller.app))

    lines = [record.getMessage() for record in caplog.records if record.name == "suaveplan_mcp.transport"]
    assert (1, True) == (len(lines), "went away" in lines[0])


def count_exchanges() -> int:
    """Return how many exchanges are still in memory."""
    gc.collect()
    return sum(isinstance(each, HttpExchange) for each in gc.get_objects())


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
async def test_a_thousand_requests_come_and_go_without_a_trace(server: MCPServer, waiting: Waiting) -> None:
    async with serving(server) as caller:
        await caller.call("echo", {"text": "warm"})
        await caller.session.close()
        await until(lambda: not [task for task in asyncio.all_tasks() if "run_asgi" in repr(task)])
        tasks, descriptors = len(asyncio.all_tasks()), len(open_descriptors())
        for _ in range(25):
            tools = ("wait", "say_and_wait", "echo", "count")
            clients = [await post_raw(caller, tools[number % 4]) for number in range(40)]
            for number, client in enumerate(clients):
                await (client.reset() if number % 3 else client.close())
        await until(lambda: not len(caller.app) and not waiting.now)
        await until(lambda: (tasks, descriptors) == (len(asyncio.all_tasks()), len(open_descriptors())))
        await until(lambda: not count_exchanges())


@pytest.mark.requirement("a-client-that-goes-away-gives-its-request-up")
@pytest.mark.parametrize("how", ["reset", "close"])
async def test_half_a_message_is_no_message(server: MCPServer, how: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "suaveplan_mcp")
    async with serving(server) as caller:
        client = await RawClient.connect(caller.url)
        lines = [f"{name}: {value}" for name, value in GOOD.items()]
        client.send("POST", "/mcp", "Host: localhost", *lines, "Content-Length: 100", body=b'{"')
        await client.writer.drain()
        await until(lambda: len(caller.app) == 1)
        await getattr(client, how)()
        await until(lambda: not len(caller.app))

    assert ["a client went away in the middle of a message"] == [
        record.getMessage() for record in caplog.records if record.name == "suaveplan_mcp.transport"
    ]


# The process of a server


@asynccontextmanager
async def run_over_http(*options: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, str]]:
    """Start a server as people do, and give it with the URL that it prints."""
    command = [sys.executable, "-m", "suaveplan_mcp", "run", OVER_HTTP, "--transport", "http", "--port", "0", *options]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = (await asyncio.wait_for(process.stderr.readline(), DEADLINE)).decode()
    assert said.startswith("listening at http://127.0.0.1:")
    try:
        yield process, said.split()[-1]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_end_tells_its_clients_and_ends(number: signal.Signals) -> None:
    listen = request_of("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="l")
    async with AsyncExitStack() as stack:
        process, url = await stack.enter_async_context(run_over_http())
        session = await stack.enter_async_context(ClientSession())
        streams = [
            await stack.enter_async_context(session.post(url, data=listen, headers=headers_of("subscriptions/listen")))
            for _ in range(20)
        ]
        for stream in streams:
            await stream.content.readuntil(b"acknowledged")
        calling = asyncio.create_task(session.post(url, data=call_of("wait"), headers=headers_of("tools/call", "wait")))
        assert process.stderr is not None
        assert b"waiting\n" == await process.stderr.readline()
        os.kill(process.pid, number)
        # Each is told in order: its request is answered.
        assert {True} == {b'"id":"l","result"' in await stream.read() for stream in streams}
        async with await calling as answer:
            assert (503, -32603) == (answer.status, (await answer.json())["error"]["code"])
        assert (0, b"cleaned up\n") == (await process.wait(), await process.stderr.read())


async def test_the_command_serves_under_the_path_and_the_names_it_is_given() -> None:
    options = ["--path", "/a/mcp", "--allowed-host", "mcp.example.com", "--allowed-origin", "https://app.example.com"]
    async with run_over_http(*options) as (_, url), ClientSession() as session:
        assert url.endswith("/a/mcp")
        headers = headers_of("tools/list", host="mcp.example.com", origin="https://app.example.com")
        async with session.post(url, data=request_of("tools/list"), headers=headers) as answer:
            assert 200 == answer.status


async def test_a_file_that_serves_itself_may_be_run_with_python(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text("from suaveplan_mcp import MCPServer\nserver = MCPServer('x')\nserver.run('http', port=0)\n")
    process = await asyncio.create_subprocess_exec(sys.executable, str(file), stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    assert b"/mcp\n" == (await asyncio.wait_for(process.stderr.readline(), DEADLINE))[-5:]
    process.terminate()
    assert (0, b"") == (await process.wait(), await process.stderr.read())
