"""Running a server in this process."""

import asyncio
import io
import json
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from aiohttp import ClientSession

from suaveplan_mcp import serving
from suaveplan_mcp.host import leaving
from suaveplan_mcp.host.http_server import listen, port_of
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import run, serve_stdio
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport.base import Transport
from tests.transports.standard_streams import standard_streams
from tests.transports.stateless_requests import headers_of, request_of

CALL = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":"hello"}\n'


class EchoServer:
    """Answers `echo`, and does what a test wants when it is started."""

    def __init__(self, at_start: Callable[[], object] = bool) -> None:
        self.at_start = at_start
        self.stopped = False

    async def start(self, transport: Transport) -> JsonRpcDispatcher:
        self.at_start()
        self.dispatcher = JsonRpcDispatcher(transport, side="server")
        self.dispatcher.register_handler("echo", lambda params: params)
        return self.dispatcher

    async def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the process would be left for; nothing leaves it."""
    names: list[str] = []
    monkeypatch.setattr(serving, "leave_at_the_end", lambda stuck: names.extend(map(leaving._name_of, stuck)))
    return names


def served(server: EchoServer) -> object:
    """Run a server on one call and return what it answered."""
    with standard_streams() as wire:
        wire.feed(CALL)
        run(server)
    return json.loads(wire.written())["result"]


def test_a_server_runs_until_its_input_ends_and_is_stopped(left: list[str]) -> None:
    server = EchoServer()

    assert "hello" == served(server)
    assert (True, []) == (server.stopped, left)


def test_a_server_runs_in_another_thread_as_well(left: list[str]) -> None:
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(served(EchoServer())))
    thread.start()
    thread.join()

    assert (["hello"], []) == (answers, left)


def test_the_process_is_left_where_a_thread_of_a_handler_works_on(left: list[str]) -> None:
    released = threading.Event()
    threads = [threading.Thread(target=released.wait, name=name) for name in ("known", "a handler's")]
    threads[0].start()

    assert "hello" == served(EchoServer(threads[1].start))
    released.set()
    for thread in threads:
        thread.join()
    assert ["a handler's"] == left


def test_the_process_is_left_where_a_task_does_not_heed_its_cancellation(
    left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_GRACE", 0.01)
    released: list[asyncio.Future[None]] = []

    async def go_on() -> None:
        released.append(asyncio.get_running_loop().create_future())
        while True:
            try:
                await asyncio.shield(released[0])
            except asyncio.CancelledError:
                continue

    def start() -> None:
        tasks.append(asyncio.get_running_loop().create_task(go_on(), name="stubborn"))

    tasks: list[asyncio.Task[None]] = []

    assert "hello" == served(EchoServer(start))
    assert ["stubborn"] == left
    # It would complain when it is collected.
    setattr(tasks[0], "_log_destroy_pending", False)  # noqa: B010  checkers do not know the attribute


def test_cleaning_up_survives_a_second_signal_but_not_a_third(left: list[str]) -> None:
    class PatientServer(EchoServer):
        async def stop(self) -> None:
            # The signals are handled by the loop, in turns of their own.
            for _ in range(10):
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGTERM)
            await super().stop()

    taken: list[int] = []
    previous = signal.signal(signal.SIGTERM, lambda number, _: taken.append(number))
    server = PatientServer(lambda: [os.kill(os.getpid(), signal.SIGTERM) for _ in range(2)])
    with standard_streams() as wire:
        run(server)
    wire.end_input()
    signal.signal(signal.SIGTERM, previous)

    assert ([signal.SIGTERM], True) == (taken, server.stopped)


def test_a_server_that_cannot_be_started_says_so() -> None:
    def fail() -> None:
        raise LookupError("no database")

    with standard_streams() as wire, pytest.raises(LookupError, match="no database"):
        run(EchoServer(fail))
    wire.end_input()


def test_another_transport_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="no transport 'pigeon'; there are 'stdio', 'http' and 'sse'"):
        run(EchoServer(), "pigeon")


async def test_running_inside_a_loop_is_a_clear_error() -> None:
    with pytest.raises(RuntimeError, match="await serve_stdio"):
        run(EchoServer())


@pytest.mark.parametrize("limit", [len(CALL) - 2, len(CALL)])
def test_a_message_over_the_limit_is_refused(limit: int, left: list[str]) -> None:
    with standard_streams() as wire:
        wire.feed(CALL)
        run(EchoServer(), max_frame_bytes=limit)

    answer = json.loads(wire.written())
    assert limit == len(CALL) or f"over the limit of {limit} bytes" in answer["error"]["message"]
    assert (limit == len(CALL)) == ("result" in answer)


async def test_a_limit_that_no_message_can_keep_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="max_frame_bytes"):
        await serve_stdio(EchoServer(), max_frame_bytes=0)


async def test_a_server_is_served_inside_a_loop() -> None:
    server = EchoServer()
    with standard_streams() as wire:
        wire.feed(CALL)
        await serve_stdio(server)

    assert "hello" == json.loads(wire.written())["result"]
    assert server.stopped


# Over HTTP


def free_port() -> int:
    (listener,) = listen("127.0.0.1", 0)
    with listener:
        return port_of([listener])


class Announcement(io.StringIO):
    """A standard error that lets a thread wait for the first line on it."""

    def __init__(self) -> None:
        super().__init__()
        self.made = threading.Event()

    def flush(self) -> None:
        self.made.set()


def with_a_tool(server: MCPServer) -> MCPServer:
    @server.tool
    async def any_tool() -> None: ...

    return server


def run_and_use(
    server: MCPServer, monkeypatch: pytest.MonkeyPatch, use: Callable[[], Coroutine[Any, Any, None]], **options: Any
) -> str:
    """Run a server in this thread and its client in another; return what the process said."""
    announcement = Announcement()
    monkeypatch.setattr("sys.stderr", announcement)

    def use_in_a_thread() -> None:
        # By then it listens, and the signal is heeded.
        announcement.made.wait(20)
        asyncio.run(use())

    thread = threading.Thread(target=use_in_a_thread)
    thread.start()
    server.run(**options)
    thread.join()
    return announcement.getvalue()


@pytest.mark.parametrize(("path", "messages_path"), [(None, "/messages"), ("/a/events/", "/a/messages")])
def test_a_server_runs_over_http_and_sse_until_the_process_is_told_to_end(
    path: str | None, messages_path: str, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, port, answers = MCPServer("over-http"), free_port(), list[bytes]()
    url = f"http://127.0.0.1:{port}{path or '/sse'}"

    async def use() -> None:
        async with ClientSession() as session, session.get(url, headers={"Host": "mcp.example.com"}) as stream:
            answers.append(await stream.content.readuntil(b"session_id="))
            os.kill(os.getpid(), signal.SIGTERM)
            answers.append((await stream.content.read())[-2:])

    said = run_and_use(
        server, monkeypatch, use, transport="sse", port=port, path=path, allowed_hosts=["mcp.example.com"]
    )

    named, end = answers
    assert named.endswith(f"data: {messages_path}?session_id=".encode())
    assert (b"\n\n", []) == (end, left)
    assert said.startswith(f"listening at {url}")


@pytest.mark.parametrize("path", [None, "/a/mcp/"])
def test_a_server_runs_over_streamable_http_and_tells_those_who_listen_of_its_end(
    path: str | None, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, port, streams = with_a_tool(MCPServer("over-http")), free_port(), list[bytes]()
    url = f"http://127.0.0.1:{port}{path or '/mcp'}"
    headers = headers_of("subscriptions/listen", Host="mcp.example.com")
    body = request_of("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    async def use() -> None:
        async with ClientSession() as session, session.post(url, headers=headers, data=body) as stream:
            await stream.content.readuntil(b"acknowledged")
            os.kill(os.getpid(), signal.SIGTERM)
            streams.append(await stream.content.read())

    said = run_and_use(
        server, monkeypatch, use, transport="http", port=port, path=path, allowed_hosts=["mcp.example.com"]
    )

    last = streams[0].strip().rpartition(b"data: ")[2]
    assert (1, "complete", []) == (json.loads(last)["id"], json.loads(last)["result"]["resultType"], left)
    assert said.startswith(f"listening at {url}")


@pytest.mark.parametrize(("transport", "make"), [("sse", "sse_app"), ("http", "asgi_app")])
@pytest.mark.parametrize(("limits", "expected"), [({}, {}), ({"max_frame_bytes": 64}, {"max_body_bytes": 64})])
def test_the_limit_of_a_message_is_that_of_a_body_over_http(
    limits: Any, expected: dict[str, int], transport: str, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, object]] = []

    def refuse(*_: object, **options: object) -> None:
        seen.append(options)
        raise LookupError("seen enough")

    monkeypatch.setattr(serving, make, refuse)
    with pytest.raises(LookupError):
        MCPServer().run(transport, **limits)

    assert [{"allowed_hosts": None, "allowed_origins": (), **expected}] == seen


def test_a_port_that_is_taken_is_a_clear_error() -> None:
    (listener,) = listen("127.0.0.1", 0)
    with listener, pytest.raises(OSError, match="cannot listen at 127.0.0.1"):
        MCPServer().run("sse", host="127.0.0.1", port=port_of([listener]))


@pytest.mark.parametrize("transport", ["sse", "http"])
async def test_running_over_http_inside_a_loop_is_a_clear_error(transport: str) -> None:
    with pytest.raises(RuntimeError, match="mount `asgi_app`"):
        MCPServer().run(transport)


async def test_the_application_of_a_server_takes_its_options_and_its_timers() -> None:
    clock = FakeClock()
    server = MCPServer("mounted", timers=clock)
    app = server.sse_app("/events", "/inbox", keep_alive=5.0, allowed_hosts=["mcp.example.com"])
    async with AsgiClient(app).open("GET", "/events", headers={"Host": "mcp.example.com"}) as stream:
        assert (await stream.next_event()).data.startswith(b"/inbox?session_id=")
        assert 1 == server.get_info().connections
        await clock.advance_async(10.0)
        assert b": keep-alive" in stream.body


async def test_the_streamable_application_of_a_server_takes_its_options_and_its_timers() -> None:
    clock = FakeClock()
    server = with_a_tool(MCPServer("mounted"))
    app = serving.asgi_app(server, "/x", timers=clock, keep_alive=5.0, allowed_hosts=["mcp.example.com"])
    headers = headers_of("subscriptions/listen", Host="mcp.example.com")
    body = request_of("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    async with AsgiClient(app).open("POST", "/x", headers=headers, body=body) as stream:
        assert b"acknowledged" in (await stream.next_event()).data
        await clock.advance_async(10.0)
        assert b": keep-alive" in stream.body


async def test_a_web_server_that_ends_the_application_stops_the_server() -> None:
    stops: list[bool] = []
    server = EchoServer()
    setattr(server, "answer", stops.append)  # noqa: B010  the protocol wants it, the test does not
    async with AsgiClient(serving.asgi_app(server)).lifespan():  # pyright: ignore[reportArgumentType]
        assert not server.stopped

    assert server.stopped
