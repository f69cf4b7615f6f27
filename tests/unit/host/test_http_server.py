"""Listening, and a web server that ends when it is told to."""

import asyncio
import errno
import socket
from collections.abc import Callable

import aiohttp
import pytest

from suaveplan_mcp.host import http_server
from suaveplan_mcp.host.http_server import listen, port_of, serve_http, url_of
from suaveplan_mcp.transport.asgi import Receive, Scope, Send, respond
from tests.transports.web_server import web_server

Address = tuple[str, int] | tuple[str, int, int, int]
FOUR = ("127.0.0.1", 0)
SIX = ("::1", 0, 0, 0)


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let every name lead to the given addresses."""

    def lead_to(*addresses: Address) -> None:
        found = [
            (socket.AF_INET if len(address) == 2 else socket.AF_INET6, socket.SOCK_STREAM, 6, "", address)
            for address in addresses
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    return lead_to


def closing(listeners: list[socket.socket]) -> list[tuple[str, int]]:
    """Close sockets and return where they listened."""
    places = [listener.getsockname()[:2] for listener in listeners]
    for listener in listeners:
        listener.close()
    return places


def test_a_free_port_is_taken_where_none_is_named() -> None:
    listeners = listen("127.0.0.1", 0)
    port = port_of(listeners)

    assert port > 0
    assert f"http://127.0.0.1:{port}/sse" == url_of(listeners, "/sse")
    assert [("127.0.0.1", port)] == closing(listeners)


def test_every_address_of_a_name_is_listened_at_with_one_port(resolve: Callable[..., None]) -> None:
    resolve(SIX, FOUR)
    listeners = listen("localhost", 0)
    port = port_of(listeners)

    assert f"http://[::1]:{port}/" == url_of(listeners, "/")
    assert [("::1", port), ("127.0.0.1", port)] == closing(listeners)


def test_the_empty_name_is_every_address() -> None:
    assert {"0.0.0.0"} <= {host for host, _ in closing(listen("", 0))}


def test_sockets_say_that_they_speak_tcp_which_asyncio_asks_before_it_sends_without_delay() -> None:
    (listener,) = listen("127.0.0.1", 0)

    assert socket.IPPROTO_TCP == listener.proto
    listener.close()


def test_an_address_this_machine_does_not_have_is_left_out_where_there_is_another(
    resolve: Callable[..., None],
) -> None:
    resolve(("192.0.2.1", 0), FOUR)

    assert ["127.0.0.1"] == [host for host, _ in closing(listen("name", 0))]


def test_a_name_that_is_not_this_machines_is_a_clear_error(resolve: Callable[..., None]) -> None:
    resolve(("192.0.2.1", 0))

    with pytest.raises(OSError, match="cannot listen at name, port 80: this machine has no such address") as raised:
        listen("name", 80)
    assert errno.EADDRNOTAVAIL == raised.value.errno


def test_a_port_that_is_taken_is_a_clear_error_and_nothing_stays_open(resolve: Callable[..., None]) -> None:
    taken = listen("127.0.0.1", 0)
    resolve(("127.0.0.2", port_of(taken)), ("127.0.0.1", port_of(taken)))

    with pytest.raises(OSError, match=f"cannot listen at every address, port {port_of(taken)}: .*in use"):
        listen("", port_of(taken))
    # An open socket would be complained about when it is collected.
    closing(taken)


async def test_an_application_is_served_until_it_is_told_to_end_and_its_lifespan_is_not_run() -> None:
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["type"])
        await respond(send, 200, "hello")

    async with web_server(app) as url, aiohttp.ClientSession() as session, session.get(url) as answer:
        assert ("hello", None) == (await answer.text(), answer.headers.get("server"))

    assert ["http"] == asked


async def test_what_would_go_on_for_ever_is_stopped_first() -> None:
    ended, served = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        served.set()
        await ended.wait()
        await respond(send, 200, "late")

    async def stop() -> None:
        ended.set()

    async def ask(url: str) -> str:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.text()

    async with web_server(app, stop) as url:
        asking = asyncio.create_task(ask(url))
        await served.wait()

    assert "late" == await asking


async def test_a_server_that_fails_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise LookupError("no web")

    stopped: list[bool] = []

    async def stop() -> None:
        stopped.append(True)

    monkeypatch.setattr(http_server.uvicorn.Server, "serve", fail)
    with pytest.raises(LookupError, match="no web"):
        await serve_http(respond, [], until=asyncio.Event(), stop=stop)  # pyright: ignore[reportArgumentType]  never called

    assert [True] == stopped
