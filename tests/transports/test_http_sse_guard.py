"""Foreign web pages do not reach a server, over real connections (cases 35 and 37)."""

import logging

import pytest

from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.transport.asgi import AsgiApp, Receive, Scope, Send
from tests.transports.web_server import RawClient, web_server


def at_the_network(app: AsgiApp) -> AsgiApp:
    """Let requests seem to arrive at an address of the network, as where a server listens at 0.0.0.0."""

    async def seem(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "server": ("192.0.2.7", 8000)}, receive, send)

    return seem


def both(here: AsgiApp, elsewhere: AsgiApp) -> AsgiApp:
    """Serve one application under `/here` and another under `/elsewhere`."""

    async def parent(scope: Scope, receive: Receive, send: Send) -> None:
        root_path = f"/{scope['path'].split('/')[1]}"
        app = here if root_path == "/here" else elsewhere
        await app({**scope, "root_path": root_path}, receive, send)

    return parent


async def status_of(url: str, method: str, path: str, *headers: str) -> int:
    client = await RawClient.connect(url)
    client.send(method, path, *headers, "Content-Length: 0", "Connection: close")
    try:
        return await client.read_status()
    finally:
        await client.close()


# A server of this machine, and one of the network that has a name.
MATRIX = [
    ("Host: evil.example", None, 421, 421),
    ("Host: localhost", None, 200, 200),
    ("Host: localhost:8000", None, 200, 200),
    ("Host: [::1]:8000", None, 200, 200),
    ("Host: mcp.example.com", None, 421, 200),
    ("Host: MCP.EXAMPLE.COM:443", None, 421, 200),
    ("Host: localhost", "Origin: http://evil.example", 403, 403),
    ("Host: localhost", "Origin: null", 403, 403),
    ("Host: localhost", "Origin: http://localhost:3000", 200, 200),
    ("Host: mcp.example.com", "Origin: https://mcp.example.com", 421, 200),
    ("Host: mcp.example.com", "Origin: http://localhost:3000", 421, 403),
]


@pytest.mark.parametrize(("host", "origin", "here", "elsewhere"), MATRIX)
async def test_host_and_origin_decide_who_is_served(
    host: str, origin: str | None, here: int, elsewhere: int, caplog: pytest.LogCaptureFixture
) -> None:
    headers = [host, *([origin] if origin else [])]
    server = MCPServer("guarded")
    app = both(server.sse_app(), at_the_network(server.sse_app(allowed_hosts=["mcp.example.com"])))
    async with web_server(app) as url:
        for place, expected in (("/here", here), ("/elsewhere", elsewhere)):
            caplog.clear()
            assert expected == await status_of(url, "GET", f"{place}/sse", *headers)
            # Whoever may not open a stream may not post either; this one only forgot the type.
            posted = await status_of(url, "POST", f"{place}/messages?session_id=x", *headers)
            assert {200: 415}.get(expected, expected) == posted
            warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
            assert (0 if expected == 200 else 2) == len([text for text in warnings if "allowed_" in text])


async def test_a_server_of_the_network_without_a_name_is_reached_under_any_but_by_no_page() -> None:
    async with web_server(at_the_network(MCPServer("open").sse_app())) as url:
        assert 200 == await status_of(url, "GET", "/sse", "Host: mcp.example.com")
        assert 403 == await status_of(url, "GET", "/sse", "Host: evil.example", "Origin: http://evil.example")
