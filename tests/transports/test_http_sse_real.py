"""HTTP+SSE between real clients and real servers."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from suaveplan_mcp.transport import http_sse_app
from suaveplan_mcp.transport.asgi import read_body
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from tests.cases.leftovers import nothing_left_behind
from tests.transports.plain_process import SERVERS
from tests.transports.web_server import DEADLINE, RawClient, sse_server, until

CLIENTS = Path(__file__).parent / "clients"
OVER_HTTP = str(SERVERS / "over_http.py")


class Waiting:
    """Knows how many handlers wait, and how many did."""

    def __init__(self) -> None:
        self.now = 0
        self.ended = 0


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
    async def header(ctx: Context, name: str) -> str | None:
        return ctx.headers.get(name)

    @server.tool
    async def ask(ctx: Context, question: str) -> str:
        answer = await ctx.sample([SamplingMessage(role="user", content=TextContent(text=question))], max_tokens=10)
        return getattr(answer.content, "text", "")

    @server.tool
    async def wait() -> None:
        waiting.now += 1
        try:
            await asyncio.Event().wait()
        finally:
            waiting.now -= 1
            waiting.ended += 1

    @server.tool
    async def fail() -> None:
        raise ValueError("on purpose")

    @server.resource("test://text")
    async def text() -> str:
        return "text ≤🎉"

    @server.prompt
    async def greet(name: str) -> str:
        return f"Greet {name}."

    return server


@asynccontextmanager
async def connected(server: MCPServer, **options: Any) -> AsyncGenerator[tuple[MCPClient, str]]:
    async with sse_server(server) as (url, _), connect(url, **options) as client:
        yield client, url


def text_of(result: Any) -> str:
    return result.content[0].text


async def test_every_kind_of_request_goes_round(server: MCPServer) -> None:
    async with connected(server) as (client, _):
        assert 6 == len((await client.list_tools()).tools)
        assert "a≤b🎉\r\n" == text_of(await client.call_tool("echo", {"text": "a≤b🎉\r\n"}))
        assert "text ≤🎉" == getattr((await client.read_resource("test://text")).contents[0], "text", None)
        (greeting,) = (await client.get_prompt("greet", {"name": "Ann"})).messages
        assert "Greet Ann." == getattr(greeting.content, "text", None)
        assert (await client.call_tool("fail")).is_error
        with pytest.raises(MCPError) as raised:
            await client.call_tool("unknown")
        await client.ping()

    assert raised.value.jsonrpc_code == -32602


async def test_progress_comes_in_order_and_before_the_result(server: MCPServer) -> None:
    seen: list[float] = []
    async with connected(server) as (client, _):
        result = await client.call_tool("count", {"to": 50}, on_progress=lambda report: seen.append(report.progress))
        assert ("50", list(range(1, 51))) == (text_of(result), seen)


async def test_a_call_that_is_given_up_is_stopped_at_the_server(server: MCPServer, waiting: Waiting) -> None:
    async with connected(server) as (client, _):
        calling, controller = asyncio.create_task(client.call_tool("wait")), AbortController()
        aborted = asyncio.create_task(client.call_tool("wait", signal=controller.signal))
        await until(lambda: waiting.now == 2)
        calling.cancel()
        controller.abort()
        await until(lambda: waiting.ended == 2)
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(MCPError) as raised:
            await aborted
        assert "still there" == text_of(await client.call_tool("echo", {"text": "still there"}))

    assert MCP_CODES.REQUEST_CANCELLED == raised.value.code


async def test_a_server_asks_its_client(server: MCPServer) -> None:
    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        (message,) = params.messages
        text = getattr(message.content, "text", "")
        return CreateMessageResult(role="assistant", model="m", content=TextContent(text=f"{text}? yes"))

    async with sse_server(server) as (url, _):
        connection = connect(url)
        connection.client.set_sampling_provider(sample)
        async with connection as client:
            assert "really? yes" == text_of(await client.call_tool("ask", {"question": "really"}))


async def test_headers_given_once_or_with_a_call_reach_the_handler(server: MCPServer) -> None:
    async with connected(server, headers={"Authorization": "once", "X-Of": "all"}) as (client, _):
        answers = [
            text_of(await client.call_tool("header", {"name": name}, headers={"X-Call": "own"}))
            for name in ("authorization", "x-of", "x-call")
        ]

    assert ["once", "all", "own"] == answers


async def test_five_megabytes_go_round(server: MCPServer) -> None:
    text = "≤" * 1_700_000
    async with connected(server) as (client, _):
        assert text == text_of(await client.call_tool("echo", {"text": text}))


async def test_clients_do_not_see_each_other(server: MCPServer) -> None:
    async def use(url: str, name: str) -> list[str]:
        async with connect(url) as client:
            calls = (client.call_tool("echo", {"text": f"{name} {number}"}) for number in range(20))
            return [text_of(result) for result in await asyncio.gather(*calls)]

    async with sse_server(server) as (url, _):
        answers = await asyncio.gather(use(url, "a"), use(url, "b"))

    assert [[f"{name} {number}" for number in range(20)] for name in "ab"] == answers


async def test_a_message_over_the_limit_is_the_error_of_its_call(server: MCPServer) -> None:
    async with sse_server(server) as (url, _), connect(url) as client:
        with pytest.raises(MCPTransportError, match=r"413.*max_body_bytes"):
            await client.call_tool("echo", {"text": "x" * 17_000_000})


async def test_a_server_that_is_not_there_is_a_clear_error(server: MCPServer) -> None:
    async with sse_server(server) as (url, _):
        pass
    with pytest.raises(MCPTransportError, match=f"event stream of {url} failed"):
        async with connect(url):
            pass


async def test_the_end_of_the_server_is_the_end_of_its_clients(server: MCPServer, waiting: Waiting) -> None:
    async with AsyncExitStack() as stack:
        async with sse_server(server) as (url, app):
            client = await stack.enter_async_context(connect(url))
            calling = asyncio.create_task(client.call_tool("wait"))
            await until(lambda: waiting.now == 1)
        with pytest.raises(MCPTransportError) as raised:
            await calling

    assert (MCP_CODES.TRANSPORT_CLOSED, 0, 1) == (raised.value.code, len(app), waiting.ended)


# A client that goes away


@asynccontextmanager
async def leaving_nothing(server: MCPServer) -> AsyncGenerator[str]:
    """Serve, and wait until everything that came with clients has gone with them."""
    async with sse_server(server) as (url, app):
        # Now the web server runs.
        async with connect(url):
            pass
        await until(lambda: not len(app))
        async with nothing_left_behind():
            yield url
            await until(lambda: (len(app), server.get_info().connections) == (0, 0))


async def test_a_client_that_is_killed_leaves_nothing_behind(server: MCPServer, waiting: Waiting) -> None:
    async def kill_one(url: str) -> None:
        child = await asyncio.create_subprocess_exec(sys.executable, str(CLIENTS / "waiting.py"), url)
        await until(lambda: waiting.now == 1)
        assert 1 == server.get_info().connections
        child.kill()
        await child.wait()

    async with leaving_nothing(server) as url:
        await kill_one(url)

    assert (0, 1) == (waiting.now, waiting.ended)


async def test_a_thousand_streams_come_and_go_without_a_trace(server: MCPServer) -> None:
    async with leaving_nothing(server) as url:
        for _ in range(50):
            clients = [await RawClient.connect(url) for _ in range(20)]
            for number, client in enumerate(clients):
                client.send("GET", "/sse", "Host: localhost")
                if number % 2:
                    await client.read_status()
            for number, client in enumerate(clients):
                await (client.reset() if number % 3 else client.close())


async def session(url: str) -> tuple[RawClient, str]:
    """Open an event stream by hand; return it and the path to post to."""
    stream = await RawClient.connect(url)
    stream.send("GET", "/sse", "Host: localhost")
    assert 200 == await stream.read_status()
    line = await stream.reader.readuntil(b"data: ")
    assert line
    return stream, (await stream.reader.readline()).decode().strip()


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_half_a_message_is_no_message(
    server: MCPServer, how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("DEBUG", "suaveplan_mcp")
    being_read = asyncio.Event()

    async def receive_body(*args: Any) -> bytes:
        being_read.set()
        return await read_body(*args)

    monkeypatch.setattr(http_sse_app, "read_body", receive_body)
    async with sse_server(server) as (url, _):
        stream, path = await session(url)
        poster = await RawClient.connect(url)
        poster.send(
            "POST", path, "Host: localhost", "Content-Type: application/json", "Content-Length: 100", body=b'{"'
        )
        await poster.writer.drain()
        await being_read.wait()
        await getattr(poster, how)()
        await until(lambda: any("middle of a message" in record.getMessage() for record in caplog.records))
        assert ["a client went away in the middle of a message"] == [
            record.getMessage() for record in caplog.records if record.name == "suaveplan_mcp.transport"
        ]
        await stream.close()


async def test_a_client_that_sends_no_more_but_listens_still_gets_its_answer(server: MCPServer) -> None:
    async with sse_server(server) as (url, _):
        stream, path = await session(url)
        poster = await RawClient.connect(url)
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        head = (
            "Host: localhost",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        poster.send("POST", path, *head, body=body)
        assert 202 == await poster.read_status()
        assert b'"id":1' in await stream.reader.readuntil(b'"result":{}}')
        await poster.close()
        await stream.close()


# The process of a server


async def run_over_http(*options: str) -> tuple[asyncio.subprocess.Process, str]:
    """Start a server as people do, and return it with the URL that it prints."""
    command = [sys.executable, "-m", "suaveplan_mcp", "run", OVER_HTTP, "--transport", "sse", "--port", "0", *options]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = (await asyncio.wait_for(process.stderr.readline(), DEADLINE)).decode()
    assert said.startswith("listening at http://127.0.0.1:")
    return process, said.split()[-1]


async def said_until(process: asyncio.subprocess.Process, line: str) -> None:
    assert process.stderr is not None
    while (said := await process.stderr.readline()).decode().strip() != line:
        assert said, "the server has ended"


@pytest.mark.requirement("case-7-a-server-ends-with-its-input")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_end_ends_its_streams_and_itself(number: signal.Signals) -> None:
    process, url = await run_over_http()
    streams = [(await session(url))[0] for _ in range(20)]
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(url))
        calls = [asyncio.create_task(client.call_tool(tool)) for tool in ("wait", "block")]
        await said_until(process, "waiting")
        await said_until(process, "blocking")
        clock = asyncio.get_running_loop().time
        told = clock()
        os.kill(process.pid, number)
        rest = await process.stderr.read() if process.stderr is not None else b""
        status = await process.wait()
        assert clock() - told < 2
        # The last chunk of a response says that it is complete.
        assert {True} == {(await stream.reader.read()).endswith(b"0\r\n\r\n") for stream in streams}
        for stream in streams:
            await stream.close()
        ends = await asyncio.gather(*calls, return_exceptions=True)

    assert (0, ["cleaned up"]) == (status, rest.decode().split("\n")[:-1])
    assert {MCP_CODES.TRANSPORT_CLOSED} == {getattr(end, "code", end) for end in ends}


async def test_the_command_serves_under_the_path_and_the_names_it_is_given() -> None:
    options = [
        "--path",
        "/a/events",
        "--allowed-host",
        "mcp.example.com",
        "--allowed-origin",
        "https://app.example.com",
    ]
    process, url = await run_over_http(*options)
    assert url.endswith("/a/events")
    client = await RawClient.connect(url)
    client.send("GET", "/a/events", "Host: mcp.example.com", "Origin: https://app.example.com")
    assert 200 == await client.read_status()
    assert b"/a/messages?" in await client.reader.readuntil(b"session_id=")
    async with connect(url, transport="sse") as mcp:
        assert "hello" == text_of(await mcp.call_tool("echo", {"text": "hello"}))
    process.terminate()
    assert 0 == await process.wait()
    await client.close()


async def test_a_port_that_is_taken_is_one_clear_sentence(server: MCPServer) -> None:
    async with sse_server(server) as (url, _):
        port = url.split(":")[2].split("/")[0]
        command = [sys.executable, "-m", "suaveplan_mcp", "run", OVER_HTTP, "--transport", "sse", "--port", port]
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        _, said = await process.communicate()

    assert (1, 1) == (process.returncode, len(said.splitlines()))
    assert f"cannot listen at 127.0.0.1, port {port}" in said.decode()
