"""Connecting to whatever names a server."""

import asyncio
import inspect
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from suaveplan_mcp.client.known_servers import KnownServers
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.negotiating import PATIENCE
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import ClientOptions, Target, connect
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.architecture.source import SOURCE
from tests.cases.peers import READ, Act, answer, played_command, welcome, write
from tests.transports.plain_process import SERVERS, is_running, open_descriptors, script
from tests.transports.web_server import sse_server, web_server

FILE = str(SERVERS / "tools.py")
COMMAND = [sys.executable, "-m", "suaveplan_mcp", "run", FILE]
ENVIRONMENT = {"PYTHONPATH": str(SOURCE.parent)}
SILENT = script("import os, sys, time; sys.stderr.write(f'{os.getpid()}\\n'); sys.stderr.flush(); time.sleep(60)")


def entry(**fields: object) -> dict[str, Any]:
    return {"command": COMMAND[0], "args": COMMAND[1:], "env": ENVIRONMENT, **fields}


@pytest.fixture
def server() -> MCPServer:
    server = MCPServer("here")

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


async def say(client: MCPClient, text: str) -> object:
    return getattr((await client.call_tool("echo", {"text": text})).content[0], "text", None)


async def test_a_server_in_this_process_is_started_and_stopped(server: MCPServer) -> None:
    async with connect(server) as client:
        assert "hello" == await say(client, "hello")
        assert server.get_info().running

    assert (False, 0) == (server.get_info().running, server.get_info().connections)


async def test_several_clients_of_a_server_in_this_process_do_not_disturb_each_other(server: MCPServer) -> None:
    first, second = connect(server), connect(server)
    await first.__aenter__()
    client = await second.__aenter__()

    await first.__aexit__(None, None, None)

    assert "still there" == await say(client, "still there")
    await second.__aexit__(None, None, None)
    assert not server.get_info().running


async def test_a_server_that_somebody_else_started_goes_on(server: MCPServer) -> None:
    near, far = InMemoryTransport.pair()
    await server.start(far)

    async with connect(server) as client:
        assert "hello" == await say(client, "hello")

    async with MCPClient() as client:
        await client.connect(near)
        assert "still there" == await say(client, "still there")
    await server.stop()


@pytest.mark.parametrize(
    "target",
    [
        COMMAND,
        " ".join(COMMAND),
        entry(),
        {"mcpServers": {"one": entry()}},
        {"servers": {"one": entry()}},
    ],
)
async def test_a_command_is_started_and_ended(target: Target) -> None:
    before = open_descriptors()

    async with connect(target, env=ENVIRONMENT) as client:
        assert "hello" == await say(client, "hello")
        assert client.server_info is not None
        assert "tools" == client.server_info.name

    assert before == open_descriptors()


@pytest.mark.parametrize(("target", "name"), [(FILE, "tools"), (Path(FILE), "tools"), (f"{FILE}:other", "other")])
async def test_a_python_file_is_run_by_this_interpreter(target: Target, name: str) -> None:
    async with connect(target) as client:
        assert client.server_info is not None
        assert name == client.server_info.name


async def test_a_configuration_file_says_how_a_server_is_started(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    given = {**ENVIRONMENT, "FROM_FILE": "file", "FROM_BOTH": "file"}
    path.write_text(json.dumps({"mcpServers": {"one": entry(env=given, cwd=str(tmp_path))}}))

    async with connect(path, env={"FROM_BOTH": "call"}) as client:
        answers = [await client.call_tool("variable", {"name": f"FROM_{name}"}) for name in ("FILE", "BOTH")]

    assert [f"file in {tmp_path}", f"call in {tmp_path}"] == [getattr(a.content[0], "text", None) for a in answers]


async def test_the_folder_of_a_call_goes_before_that_of_a_configuration(tmp_path: Path) -> None:
    async with connect(entry(cwd="/"), cwd=tmp_path) as client:
        result = await client.call_tool("variable", {"name": "NONE"})

    assert f"None in {tmp_path}" == getattr(result.content[0], "text", None)


async def test_what_a_server_writes_to_stderr_is_heard() -> None:
    heard: list[str] = []

    async with connect(COMMAND, env=ENVIRONMENT, on_stderr=heard.append):
        pass

    assert {"loading", "loading by a shell"} <= set(heard)


async def test_a_transport_is_used_and_closed(server: MCPServer) -> None:
    near, far = InMemoryTransport.pair()
    await server.start(far)

    async with connect(near) as client:
        assert "hello" == await say(client, "hello")

    assert near.closed
    await server.stop()


async def test_a_connection_may_be_left_in_another_task_and_twice(server: MCPServer) -> None:
    connection = connect(server)
    client = await asyncio.create_task(connection.__aenter__())
    assert "hello" == await say(client, "hello")

    await asyncio.create_task(connection.__aexit__(None, None, None))
    await connection.__aexit__(None, None, None)

    assert not client.initialized


@pytest.mark.requirement("case-43-opened-and-closed-from-any-task")
async def test_entering_that_is_cancelled_leaves_nothing_behind() -> None:
    before = open_descriptors()
    heard: asyncio.Queue[str] = asyncio.Queue()
    entering = asyncio.create_task(connect(SILENT, on_stderr=heard.put_nowait).__aenter__())
    pid = int(await heard.get())

    entering.cancel()
    await asyncio.wait((entering,))

    assert (True, False) == (entering.cancelled(), is_running(pid))
    assert before == open_descriptors()


async def test_a_server_that_ends_at_once_is_the_error_of_entering() -> None:
    with pytest.raises(MCPTransportError, match="(?s)ended with exit status 1; its last words: .*LookupError: no key"):
        async with connect(script("raise LookupError('no key')")):
            pass


async def test_a_server_that_refuses_is_the_error_of_entering() -> None:
    near, far = InMemoryTransport.pair()
    await far.close()

    with pytest.raises(MCPTransportError) as raised:
        async with connect(near):
            pass
    assert MCP_CODES.TRANSPORT_CLOSED == raised.value.code


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (42, "cannot connect to 42: pass an MCPServer, a transport, a command"),
        ([1, 2], "cannot connect to"),
        (None, "cannot connect to None"),
    ],
)
async def test_what_is_no_target_is_a_clear_error(target: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        async with connect(target):
            pass


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ({"url": "pigeon://example.org/mcp"}, "cannot connect to pigeon://example.org/mcp"),
        ({"type": "stdio"}, "has no `command`"),
        ({"mcpServers": {}}, "exactly one server, but has none"),
        ({"mcpServers": {"a": entry(), "b": entry()}}, "exactly one server, but has 'a', 'b'"),
        ({"mcpServers": {"a": {"command": 1}}}, "the target is no list of servers: .*command"),
        ({"mcpServers": {"a": {"command": Path("a")}}}, "the target is no list of servers: .*command"),
        ({"mcpServers": [1]}, "the target is no list of servers"),
        ("pigeon://example.org", "cannot connect to pigeon://example.org"),
        ("", "empty"),
    ],
)
async def test_a_target_that_cannot_be_used_says_why(target: Target, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        async with connect(target):
            pass


@pytest.mark.parametrize(("content", "reason"), [("{", "is not JSON"), ("[]", "has no object at its top")])
async def test_a_configuration_file_that_is_none_says_so(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)

    with pytest.raises(ValueError, match=f"mcp.json {reason}"):
        async with connect(path):
            pass


@pytest.mark.parametrize("target", ["missing.py", "missing.json"])
async def test_a_file_that_does_not_exist_is_no_command(target: str) -> None:
    with pytest.raises(FileNotFoundError, match=target):
        async with connect(target):
            pass


async def test_a_command_line_may_end_with_the_name_of_a_file() -> None:
    async with connect(" ".join(COMMAND[:4]) + f" {FILE}", env=ENVIRONMENT) as client:
        assert "hello" == await say(client, "hello")


@pytest.mark.parametrize("protocol", ["auto", "handshake"])
async def test_the_protocol_may_be_named(protocol: str, server: MCPServer) -> None:
    async with connect(server, protocol=protocol, name="me") as client:
        assert client.initialized


async def test_lists_are_fetched_only_where_that_is_asked_for(server: MCPServer) -> None:
    async with connect(server) as lazy, connect(server, prefetch=True) as eager:
        assert ([], ["echo"]) == (lazy.tools(), [tool.name for tool in eager.tools()])


async def test_providers_are_set_before_entering(server: MCPServer) -> None:
    connection = connect(server, protocol="handshake")
    connection.client.set_roots_provider(lambda: ["file:///tmp"])

    async with connection:
        assert ["file:///tmp"] == [root.uri for root in await server.list_client_roots()]


def test_an_option_that_cannot_be_used_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="made-up"):
        connect(["true"], protocol="made-up")
    with pytest.raises(ValueError, match="max_frame_bytes"):
        connect(["true"], max_frame_bytes=0)
    with pytest.raises(MCPError):
        connect(["true"], max_pages=0)


async def test_a_message_over_the_limit_fails_its_call_alone(server: MCPServer) -> None:
    async with sse_server(server) as (url, _):
        for target in (COMMAND, url):
            async with connect(target, env=ENVIRONMENT, max_frame_bytes=4096) as client:
                with pytest.raises(MCPError, match="over the limit of 4096 bytes"):
                    await say(client, "x" * 5000)
                assert "short" == await say(client, "short")


def test_the_options_are_those_of_the_client() -> None:
    options = inspect.signature(MCPClient).parameters

    assert set(options) - {"server"} == set(ClientOptions.__annotations__)


# A server that listens somewhere


@pytest.fixture
def listening() -> MCPServer:
    server = MCPServer("listening")

    @server.tool
    async def key(ctx: Context) -> str:
        return ctx.headers["x-key"]

    return server


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("{}/sse", {"headers": {"X-Key": "given"}}),
        ("{}/sse/", {"headers": {"X-Key": "given"}}),
        ("{}/sse?key=1", {"transport": "sse", "headers": {"X-Key": "given"}}),
        ({"url": "{}/sse", "headers": {"x-key": "given"}}, {}),
        ({"url": "{}/sse", "type": "sse", "headers": {"X-Key": "of the entry"}}, {"headers": {"X-Key": "given"}}),
    ],
)
async def test_a_url_is_connected_to_with_the_headers_given(
    target: Any, options: dict[str, Any], listening: MCPServer
) -> None:
    async with sse_server(listening) as (url, _):
        root = url.removesuffix("/sse")
        place = target.format(root) if isinstance(target, str) else {**target, "url": target["url"].format(root)}
        async with connect(place, **options) as client:
            assert "given" == getattr((await client.call_tool("key")).content[0], "text", None)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("{}/mcp", {"headers": {"X-Key": "given"}}),
        ("{}/mcp?key=1", {"transport": "http", "headers": {"X-Key": "given"}}),
        ("{}/sse", {"transport": "streamable-http", "headers": {"X-Key": "given"}}),
        ({"url": "{}/sse", "type": "streamableHttp", "headers": {"x-key": "given"}}, {}),
        ({"url": "{}/mcp", "headers": {"X-Key": "of the entry"}}, {"headers": {"X-Key": "given"}}),
    ],
)
async def test_a_url_is_connected_to_over_streamable_http(
    target: Any, options: dict[str, Any], listening: MCPServer
) -> None:
    path = urlsplit(target if isinstance(target, str) else target["url"]).path
    async with web_server(listening.asgi_app(path.removeprefix("{}")), listening.stop) as root:
        place = target.format(root) if isinstance(target, str) else {**target, "url": target["url"].format(root)}
        async with connect(place, **options) as client:
            assert LATEST == client.protocol_version
            assert "given" == getattr((await client.call_tool("key")).content[0], "text", None)


@pytest.mark.parametrize(
    ("target", "options", "reason"),
    [
        ("http://127.0.0.1:1/sse", {"transport": "pigeon"}, "the transport 'pigeon' is none of http, .*sse"),
        ("ftp://127.0.0.1:1/sse", {}, "only http and https"),
        ({}, {}, "no `command` and no `url`"),
    ],
)
async def test_a_url_that_cannot_be_connected_to_says_why(target: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        async with connect(target, **options):
            pass


async def test_a_server_that_ends_is_started_again_where_that_is_asked_for() -> None:
    clock, ended = FakeClock(), asyncio.Event()
    with played_command([*welcome(), READ, write(answer(1, {})), Act("exit", "0")]) as command:
        async with connect(command, protocol="handshake", respawn=True, clock=clock, timers=clock) as client:
            client.events.on("connection:closed", lambda _: ended.set())
            await client.ping()
            await ended.wait()
            again = asyncio.create_task(client.ping(timeout=None))
            while not any(timer.due <= 0.5 for timer in clock.pending):
                await asyncio.sleep(0)
            assert not again.done()

            await clock.advance_async(0.5)
            await again


# What is remembered of a server


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be known of any server yet."""
    monkeypatch.setattr("suaveplan_mcp.targets._servers", KnownServers())


def older(manner: str) -> list[str]:
    """Return the command for a server of the handshake alone that does this about any other request."""
    return [sys.executable, "-I", "-S", str(SERVERS / "older.py"), manner]


async def asked(target: Target, **options: Any) -> list[str]:
    """Connect to such a server, and return the requests that it was sent, however often it was started."""
    heard: list[str] = []
    async with connect(target, on_stderr=heard.append, **options) as client:
        assert (LATEST_HANDSHAKE, "older") == (client.protocol_version, getattr(client.server_info, "name", None))
    return [method for method in heard if not method.startswith("notifications/")]


@pytest.mark.requirement("a-client-remembers-what-its-server-is")
@pytest.mark.usefixtures("forgetful")
async def test_an_older_server_is_asked_only_once_what_it_is() -> None:
    command = older("refuse")

    assert ["server/discover", "initialize"] == await asked(command)
    assert ["initialize"] == await asked(command)
    assert ["initialize"] == await asked(command, name="another client")


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("other", [{"env": {"A": "1"}}, {"cwd": "/"}])
async def test_the_same_command_with_other_settings_is_another_server(other: dict[str, Any]) -> None:
    await asked(older("refuse"))

    assert ["server/discover", "initialize"] == await asked(older("refuse"), **other)


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("manner", ["exit", "refuse+exit"])
async def test_a_server_that_ends_over_the_question_is_started_again_and_asked_as_of_old(manner: str) -> None:
    before = open_descriptors()

    methods = await asked(older(manner))

    assert "server/discover" == methods[0]
    assert "initialize" == methods[-1]
    assert ["initialize"] == await asked(older(manner))
    assert before == open_descriptors()


@pytest.mark.usefixtures("forgetful")
async def test_a_server_that_always_ends_is_started_twice_and_is_not_known_afterwards(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = script(f"import sys; open({str(log)!r}, 'a').write(sys.stdin.readline()); sys.exit(3)")

    for _ in range(2):
        with pytest.raises(MCPTransportError, match="exit status 3"):
            await connect(command).__aenter__()

    methods = [json.loads(line)["method"] for line in log.read_text().splitlines()]
    assert ["server/discover", "initialize"] * 2 == methods


@pytest.mark.usefixtures("forgetful")
async def test_a_client_that_speaks_one_era_starts_a_server_that_ends_only_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = script(f"import sys; open({str(log)!r}, 'a').write(sys.stdin.readline()); sys.exit(3)")

    for protocol in ("handshake", "stateless"):
        with pytest.raises(MCPTransportError, match="exit status 3"):
            await connect(command, protocol=protocol).__aenter__()

    assert 2 == len(log.read_text().splitlines())


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.usefixtures("forgetful")
async def test_a_silent_older_server_is_asked_as_of_old_when_patience_is_over() -> None:
    clock, heard = FakeClock(), asyncio.Queue[str]()
    connection = connect(older("ignore"), on_stderr=heard.put_nowait, clock=clock, timers=clock)
    entering = asyncio.create_task(connection.__aenter__())
    assert "server/discover" == await heard.get()

    clock.advance(PATIENCE)
    client = await entering

    assert LATEST_HANDSHAKE == client.protocol_version
    assert ["notifications/cancelled", "initialize"] == [await heard.get() for _ in range(2)]
    await connection.__aexit__(None, None, None)
    assert ["initialize"] == await asked(older("ignore"))


@pytest.mark.requirement("a-client-remembers-what-its-server-is")
@pytest.mark.usefixtures("forgetful")
async def test_a_server_that_has_become_a_newer_one_is_found_to_be(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    command = [sys.executable, str(file), "refuse"]
    file.write_text((SERVERS / "older.py").read_text())
    assert ["server/discover", "initialize"] == await asked(command, env=ENVIRONMENT)

    file.write_text("from suaveplan_mcp import MCPServer\nMCPServer('newer', eras=('stateless',)).run()\n")
    for _ in range(2):
        async with connect(command, env=ENVIRONMENT) as client:
            assert LATEST == client.protocol_version


@pytest.mark.usefixtures("forgetful")
async def test_a_server_that_has_become_an_older_one_is_found_to_be(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    command = [sys.executable, str(file), "refuse"]
    file.write_text("from suaveplan_mcp import MCPServer\nMCPServer('newer').run()\n")
    async with connect(command, env=ENVIRONMENT) as client:
        assert LATEST == client.protocol_version

    file.write_text((SERVERS / "older.py").read_text())
    assert ["server/discover", "initialize"] == await asked(command, env=ENVIRONMENT)


async def test_a_server_here_that_goes_away_is_not_asked_twice(server: MCPServer) -> None:
    near, far = InMemoryTransport.pair()
    peer = ScriptedPeer(far)
    entering = asyncio.create_task(connect(near).__aenter__())
    await peer.expect_request("server/discover")
    await far.close()

    with pytest.raises(MCPTransportError):
        await entering
    assert 1 == len(peer.seen)


async def test_a_target_that_is_not_started_cannot_be_started_again(server: MCPServer) -> None:
    with pytest.raises(ValueError, match="`respawn` is for servers that are started here"):
        await connect(server, respawn=True).__aenter__()

    assert not server.get_info().running
