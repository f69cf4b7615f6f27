"""Foreign web pages do not reach an endpoint, those that may are told so, over real connections (cases 35 and 37)."""

import pytest

from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import asgi_app
from suaveplan_mcp.transport.asgi import AsgiApp, Receive, Scope, Send
from tests.transports.stateless_requests import headers_of, request_of
from tests.transports.web_server import RawClient, web_server

BODY = request_of("tools/list")
GOOD = headers_of("tools/list")


def at_the_network(app: AsgiApp) -> AsgiApp:
    """Let requests seem to arrive at an address of the network, as where a server listens at 0.0.0.0."""

    async def seem(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "server": ("192.0.2.7", 8000)}, receive, send)

    return seem


async def head_of(
    url: str, method: str, *lines: str, headers: dict[str, str] | None = None, body: bytes = BODY
) -> tuple[int, dict[str, str]]:
    client = await RawClient.connect(url)
    named = [f"{name}: {value}" for name, value in (GOOD | (headers or {})).items() if value]
    client.send(method, "/mcp", *lines, *named, f"Content-Length: {len(body)}", "Connection: close", body=body)
    try:
        head = (await client.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    finally:
        await client.close()
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), {name.lower(): value for name, value in pairs}


# A server of this machine, and one of the network that has a name.
MATRIX = [
    ("Host: evil.example", None, 421, 421),
    ("Host: localhost", None, 200, 200),
    ("Host: [::1]:8000", None, 200, 200),
    ("Host: mcp.example.com", None, 421, 200),
    ("Host: MCP.EXAMPLE.COM:443", None, 421, 200),
    ("Host: localhost", "Origin: http://evil.example", 403, 403),
    ("Host: localhost", "Origin: null", 403, 403),
    ("Host: localhost", "Origin: http://localhost:3000", 200, 200),
    ("Host: mcp.example.com", "Origin: https://mcp.example.com", 421, 200),
]


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
@pytest.mark.parametrize(("host", "origin", "here", "elsewhere"), MATRIX)
async def test_host_and_origin_decide_who_is_served(host: str, origin: str | None, here: int, elsewhere: int) -> None:
    lines = [host, *([origin] if origin else [])]
    async with web_server(asgi_app(MCPServer("here"))) as url:
        assert here == (await head_of(url, "POST", *lines))[0]
    async with web_server(at_the_network(asgi_app(MCPServer("there"), allowed_hosts=["mcp.example.com"]))) as url:
        assert elsewhere == (await head_of(url, "POST", *lines))[0]


@pytest.mark.requirement("an-endpoint-refuses-before-memory-is-spent")
@pytest.mark.parametrize(
    ("accept", "content_type", "status"),
    [
        ("*/*", "application/json", 200),
        ("application/*, text/*;q=0.5", "application/json", 200),
        ("application/json", "application/json", 200),
        ("application/json;q=0, text/event-stream", "application/json", 406),
        ("", "application/json", 200),
        ("Application/JSON;charset=utf-8 , TEXT/event-stream", "application/json;charset=utf-8", 200),
        ("*/*", 'Application/JSON; charset="utf-8"', 200),
        ("*/*", "application/json;", 200),
        ("*/*", "text/plain; a=application/json", 415),
        ("*/*", "application/jsonp", 415),
        ("*/*", "", 415),
    ],
)
async def test_types_are_read_as_http_means_them(accept: str, content_type: str, status: int) -> None:
    async with web_server(asgi_app(MCPServer("typed"))) as url:
        found = await head_of(url, "POST", "Host: localhost", headers={"accept": accept, "content-type": content_type})
        assert status == found[0]


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
async def test_a_page_that_may_use_the_server_can_do_so_in_a_browser() -> None:
    page = "https://app.example.com"
    app = asgi_app(MCPServer("shared"), cors=True, allowed_origins=[page], bearer_token="abc")
    async with web_server(app) as url:
        asking = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,authorization,mcp-protocol-version,mcp-method,mcp-name,"
            "mcp-param-region",
        }
        status, answer = await head_of(url, "OPTIONS", "Host: localhost", f"Origin: {page}", headers=asking, body=b"")
        allowed = set(answer["access-control-allow-headers"].split(", "))
        assert (204, page) == (status, answer["access-control-allow-origin"])
        assert set(asking["access-control-request-headers"].split(",")) <= allowed
        token = {"authorization": "Bearer abc"}
        for method, headers, expected in (
            ("POST", token, 200),
            ("POST", token | {"mcp-method": "other"}, 400),
            ("POST", {}, 401),
            ("GET", token, 405),
        ):
            status, answer = await head_of(url, method, "Host: localhost", f"Origin: {page}", headers=headers)
            assert (expected, page) == (status, answer["access-control-allow-origin"])
            assert "mcp-session-id" in answer["access-control-expose-headers"]
