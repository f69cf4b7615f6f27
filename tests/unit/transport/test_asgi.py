"""What is read from an ASGI scope, and the plain responses."""

from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.transport.asgi import (
    AsgiMessage,
    BodyCutOffError,
    BodyTooLargeError,
    answer_lifespan,
    read_body,
    read_request,
    respond,
)


def scope(path: str = "/", root_path: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": path, "root_path": root_path, "headers": [], **more}


class Peer:
    """The web server's side: what it gives, and what it was sent."""

    def __init__(self, *messages: AsgiMessage) -> None:
        self.messages = list(messages)
        self.sent: list[AsgiMessage] = []

    async def receive(self) -> AsgiMessage:
        return self.messages.pop(0)

    async def send(self, message: AsgiMessage) -> None:
        self.sent.append(message)


def part(body: bytes, *, more: bool = False) -> AsgiMessage:
    return {"type": "http.request", "body": body, "more_body": more}


# Where an application is


@pytest.mark.parametrize(
    ("path", "root_path", "inside", "mount"),
    [
        ("/sse", "", "/sse", ""),
        ("/sse/", "", "/sse", ""),
        ("/", "", "", ""),
        # As ASGI defines it, and as Starlette mounts: the path includes the root.
        ("/api/sse", "/api", "/sse", "/api"),
        ("/api/sse", "/api/", "/sse", "/api"),
        ("/api", "/api", "", "/api"),
        ("/proxy/api/sse", "/proxy/api", "/sse", "/proxy/api"),
        # As Litestar mounts: it cuts the path, at the root the first slash with it.
        ("mcp/", "", "/mcp", ""),
        ("", "", "", ""),
        # A proxy has taken its part away.
        ("/sse", "/proxy", "/sse", "/proxy"),
        # The same, and a framework has the application mounted.
        ("/api/sse", "/proxy/api", "/sse", "/proxy/api"),
        ("/a/b/sse", "/proxy/a/b", "/sse", "/proxy/a/b"),
        # What only begins with the same letters is another path.
        ("/apiary/sse", "/api", "/apiary/sse", "/api"),
        ("/sse", "root", "/sse", "root"),
        ("/ä b/sse", "/ä b", "/sse", "/%C3%A4%20b"),
    ],
)
def test_the_path_inside_an_application_and_its_mount_are_told_apart(
    path: str, root_path: str, inside: str, mount: str
) -> None:
    request = read_request(scope(path, root_path))

    assert (inside, mount) == (request.path, request.mount)


def test_headers_are_found_by_lower_case_names_and_repeated_ones_are_joined() -> None:
    headers = [(b"Accept", b"text/plain"), (b"accept", b"text/html"), (b"x-name", "é".encode("latin-1"))]

    assert {"accept": "text/plain, text/html", "x-name": "é"} == read_request(scope(headers=headers)).headers


def test_what_a_web_server_does_not_tell_is_empty() -> None:
    request = read_request({"type": "http", "method": "GET", "path": "/sse", "headers": [], "server": None})

    assert ("", "", "") == (request.mount, request.query, request.server)


def test_query_values_are_decoded() -> None:
    request = read_request(scope(query_string=b"session_id=a%2Bb&session_id=c", server=("::1", 8000)))

    assert ("a+b", "", "::1") == (request.query_value("session_id"), request.query_value("other"), request.server)


# Bodies


async def test_a_body_is_put_together_from_its_parts() -> None:
    peer = Peer(part(b"on", more=True), {"type": "http.request", "more_body": True}, part(b"e"))

    assert b"one" == await read_body(peer.receive, {"content-length": "3"}, 3)


async def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    peer = Peer(part(b"four"))
    with pytest.raises(BodyTooLargeError):
        await read_body(peer.receive, {"content-length": "4"}, 3)

    assert 1 == len(peer.messages)


@pytest.mark.parametrize("headers", [{}, {"content-length": "1"}, {"content-length": "-1"}])
async def test_a_body_that_becomes_too_large_is_refused_without_reading_on(headers: Mapping[str, str]) -> None:
    peer = Peer(part(b"on", more=True), part(b"es", more=True), part(b"unread"))
    with pytest.raises(BodyTooLargeError):
        await read_body(peer.receive, headers, 3)

    assert 1 == len(peer.messages)


async def test_a_body_that_is_cut_off_is_no_body() -> None:
    peer = Peer(part(b"half", more=True), {"type": "http.disconnect"})
    with pytest.raises(BodyCutOffError):
        await read_body(peer.receive, {}, 100)


# Responses


async def test_a_response_is_text_of_a_known_length() -> None:
    peer = Peer()
    await respond(peer.send, 405, "é", {"allow": "GET"})

    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"2"),
        (b"allow", b"GET"),
    ]
    assert [
        {"type": "http.response.start", "status": 405, "headers": headers},
        {"type": "http.response.body", "body": "é".encode()},
    ] == peer.sent


async def test_a_client_that_is_gone_gets_no_response_and_nobody_minds() -> None:
    async def send(_: AsgiMessage) -> None:
        raise OSError("gone")

    await respond(send, 200, "hello")


async def test_the_lifespan_of_a_process_is_answered_to_its_end() -> None:
    peer = Peer({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    await answer_lifespan(peer.receive, peer.send)

    assert ["lifespan.startup.complete", "lifespan.shutdown.complete"] == [message["type"] for message in peer.sent]
