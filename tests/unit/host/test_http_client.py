"""HTTP for clients, against a web server made of a few lines."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from suaveplan_mcp.errors import MCPTransportError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.host.http_client import HttpClient

Answer = Callable[[str, str, dict[str, str], bytes], bytes | list[bytes]]


def response(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).replace("_", "-").encode() + body


@asynccontextmanager
async def answering(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str]:
    """Serve what `answer` returns for a method, a path, headers and a body; a list goes out in pieces, then ends."""
    talking: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, path, _ = head[0].split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                answered = answer(method, path, headers, body)
                for piece in answered if isinstance(answered, list) else [answered]:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if isinstance(answered, list):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(
        lambda reader, writer: talking.add(asyncio.ensure_future(talk(reader, writer))), "127.0.0.1", 0, ssl=tls
    )
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.wait(talking) if talking else None


def mirror(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
    seen = {"method": method, "path": path, "headers": headers, "size": len(body)}
    return response(200, json.dumps(seen).encode(), Content_Type="application/json", X_Name="v")


@asynccontextmanager
async def client(**options: object) -> AsyncGenerator[HttpClient]:
    client = HttpClient(**options)  # pyright: ignore[reportArgumentType]
    try:
        yield client
    finally:
        await client.close()


async def test_a_request_goes_out_as_it_is_and_comes_back() -> None:
    async with answering(mirror) as url, client() as http:
        answer = await http.fetch(f"{url}/a?b=c", method="POST", headers={"X-Trace": "1"}, body=b"body")
        seen = json.loads(await answer.read())

    assert (200, "v") == (answer.status, answer.headers["x-name"])
    assert ("POST", "/a?b=c", 4, "1") == (seen["method"], seen["path"], seen["size"], seen["headers"]["x-trace"])


async def test_headers_given_once_go_out_always_unless_a_request_has_its_own() -> None:
    async with answering(mirror) as url, client(headers={"Authorization": "once", "X-Of": "all"}) as http:
        seen = [
            json.loads(await (await http.fetch(url, method="GET", headers=headers)).read())["headers"]
            for headers in (None, {"authorization": "own"})
        ]

    assert [("once", "all"), ("own", "all")] == [(headers["authorization"], headers["x-of"]) for headers in seen]


@pytest.mark.parametrize("size", [0, 100_000, 5_000_000])
async def test_a_body_of_any_size_goes_out_with_its_length(size: int) -> None:
    async with answering(mirror) as url, client() as http:
        answer = await http.fetch(url, method="POST", body=b"x" * size)

        assert size == json.loads(await answer.read())["size"]


async def test_a_connection_is_used_again() -> None:
    connections = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for _ in range(3):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response(200))
        writer.close()

    server = await asyncio.start_server(count, "127.0.0.1", 0)
    async with server, client() as http:
        for _ in range(3):
            answer = await http.fetch(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", method="GET")
            await answer.read()

    assert 1 == connections


async def test_a_client_that_was_closed_can_be_used_again() -> None:
    async with answering(mirror) as url, client() as http:
        await http.close()
        for _ in range(2):
            assert 200 == (await http.fetch(url, method="GET")).status
            await http.close()


async def test_a_body_can_be_read_piece_by_piece() -> None:
    pieces = [b"HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\none", b"two"]
    async with answering(lambda *_: pieces) as url, client() as http:
        answer = await http.fetch(url, method="GET")

        assert b"onetwo" == b"".join([piece async for piece in answer])


async def test_a_server_that_is_not_there_is_an_error() -> None:
    async with answering(mirror) as url:
        pass
    async with client() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.fetch(url, method="GET")


async def test_only_reaching_a_server_has_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async with answering(mirror) as url, client(connect_timeout=0.01) as http:
        assert 200 == (await http.fetch(url, method="GET")).status
        await http.close()
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", never)
        with pytest.raises(TimeoutError, match=r"^the server was not reached within 0.01 s \(`connect_timeout`\)$"):
            await http.fetch(f"{url}?key=secret", method="GET")


@pytest.mark.parametrize(
    ("answer", "path", "said"),
    [
        (b"garbage\r\n\r\n", "/a?key=secret", "what came is no HTTP"),
        (response(307, Location="http://[::1?key=secret"), "/a", "what is no URL"),
        (response(307, Location="https://me:secret@else.example/b?key=secret"), "/a", "'https://else.example/b'"),
        (b"", "http:///a?key=secret", "cannot be requested"),
    ],
)
async def test_an_error_tells_no_secrets(answer: bytes, path: str, said: str) -> None:
    async with answering(lambda *_: answer) as url, client(headers={"Authorization": "secret"}) as http:
        with pytest.raises(MCPTransportError, match=said) as raised:
            await http.fetch(path if "//" in path else f"{url}{path}", method="POST")

    assert ("secret" not in str(raised.value), None) == (True, raised.value.__cause__)


def self_signed(folder: Path) -> Path:
    """Write a certificate for the loopback address, with its key, into one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        certificate.public_bytes(Encoding.PEM) + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return file


async def test_a_certificate_is_checked_against_those_that_are_trusted(tmp_path: Path) -> None:
    file = self_signed(tmp_path)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(file)
    trusting = ssl.create_default_context(cafile=str(file))
    async with answering(mirror, tls=served) as url:
        async with client() as http:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await http.fetch(url, method="GET")
        async with client(tls=trusting) as http:
            assert 200 == (await http.fetch(url, method="GET")).status


# Redirects


def redirecting(status: int, to: str) -> Answer:
    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
        return mirror(method, path, headers, body) if path == "/there" else response(status, Location=to)

    return answer


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 301), ("GET", 302), ("GET", 303), ("GET", 307), ("POST", 307), ("POST", 308)]
)
async def test_a_redirect_within_the_origin_is_followed_with_everything(method: str, status: int) -> None:
    async with answering(redirecting(status, "/there")) as url, client(headers={"Authorization": "x"}) as http:
        answer = await http.fetch(f"{url}/here", method=method, body=b"body")
        seen = json.loads(await answer.read())

    assert (method, "/there", 4, "x") == (seen["method"], seen["path"], seen["size"], seen["headers"]["authorization"])


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_turn_a_post_into_something_else_is_not_followed(status: int) -> None:
    async with answering(redirecting(status, "/there")) as url, client() as http:
        assert status == (await http.fetch(f"{url}/here", method="POST", body=b"body")).status


async def test_a_redirect_to_nowhere_is_the_answer() -> None:
    async with answering(lambda *_: response(307)) as url, client() as http:
        assert 307 == (await http.fetch(url, method="GET")).status


@pytest.mark.parametrize("to", ["http://127.0.0.1:1/there", "https://{}/there", "//evil.example/there"])
async def test_nothing_goes_to_another_origin(to: str) -> None:
    places: list[str] = []

    def answer(_: str, path: str, headers: dict[str, str], __: bytes) -> bytes:
        places.append(path)
        return response(307, Location=to.format(headers["host"]))

    async with answering(answer) as url, client() as http:
        with pytest.raises(MCPTransportError, match="another origin") as raised:
            await http.fetch(f"{url}/here", method="POST", body=b"secret")

    assert (["/here"], {"status": 307}) == (places, raised.value.context)


async def test_redirects_in_a_ring_end() -> None:
    async with answering(lambda *_: response(302, Location="/again")) as url, client() as http:
        with pytest.raises(MCPTransportError, match="more than 5 times"):
            await http.fetch(url, method="GET")


# Event streams


def streaming(*pieces: bytes, kind: str = "text/event-stream") -> Answer:
    head = f"HTTP/1.1 200 X\r\nContent-Type: {kind}\r\n\r\n".encode()
    return lambda *_: [head, *pieces]


async def events_of(http: HttpClient, url: str, **options: int) -> list[object]:
    source = http.open_event_source(url, **options)
    try:
        return [event if isinstance(event, FrameTooLarge) else (event.event, event.data) async for event in source]
    finally:
        await source.close()


@pytest.mark.parametrize("kind", ["text/event-stream", "Text/Event-Stream; charset=UTF-8"])
async def test_events_come_as_they_are_sent(kind: str) -> None:
    sent = streaming(b"event: endpoint\ndata: /m\n\nda", b"ta: 1\n\n", kind=kind)
    async with answering(sent) as url, client() as http:
        assert [("endpoint", b"/m"), ("message", b"1")] == await events_of(http, url)


async def test_an_event_stream_asks_for_one() -> None:
    asked: list[dict[str, str]] = []

    def answer(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes | list[bytes]:
        asked.append(headers)
        return streaming()(method, path, headers, body)

    async with answering(answer) as url, client(headers={"accept": "application/json"}) as http:
        await events_of(http, url)

    assert ("text/event-stream", "no-cache", "identity") == tuple(
        asked[0][name] for name in ("accept", "cache-control", "accept-encoding")
    )


async def test_an_event_over_the_limit_is_reported() -> None:
    async with answering(streaming(b"data: 12345\n\ndata: 1\n\n")) as url, client() as http:
        too_large, good = await events_of(http, url, max_frame_bytes=4)

    assert (5, ("message", b"1")) == (getattr(too_large, "size", 0), good)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (response(404, b"not here", Content_Type="text/plain"), "404, text/plain: b'not here'"),
        (response(200, b"{}", Content_Type="application/json"), "200, application/json: b'{}'"),
        (response(200), "200, of no type: b''"),
    ],
)
async def test_an_answer_that_is_no_event_stream_is_an_error_with_its_status(answer: bytes, said: str) -> None:
    async with answering(lambda *_: answer) as url, client() as http:
        with pytest.raises(MCPTransportError, match=said) as raised:
            await events_of(http, url)

    assert int(said[:3]) == raised.value.context["status"]


async def test_a_stream_that_breaks_off_is_an_error() -> None:
    head = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\n"
    async with answering(lambda *_: [head, b"data: 1\n\n"]) as url, client() as http:
        with pytest.raises(aiohttp.ClientError):
            await events_of(http, url)


async def test_a_source_that_was_never_opened_is_closed() -> None:
    async with client() as http:
        source = http.open_event_source("http://127.0.0.1:1/")
        await source.close()

    assert None is source.response
