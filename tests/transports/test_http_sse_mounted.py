"""HTTP+SSE inside other applications, behind proxies, under any path (case 38)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.targets import connect
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.transport.asgi import AsgiApp, Receive, Scope, Send
from suaveplan_mcp.transport.http_sse_app import HttpSseApp
from tests.transports.web_server import until, web_server


def named(name: str) -> MCPServer:
    server = MCPServer(name)

    @server.tool
    async def who() -> str:
        return name

    return server


def in_starlette(app: AsgiApp, path: str, **options: Any) -> AsgiApp:
    return Starlette(routes=[Mount(path, app=app)], **options)


def in_fastapi(app: AsgiApp, path: str, **options: Any) -> AsgiApp:
    parent = FastAPI(**options)
    parent.mount(path, app)
    return parent


def in_a_router(app: AsgiApp, path: str) -> AsgiApp:
    """Route by hand, as the definition of ASGI has it: the path stays, the root grows."""

    async def parent(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(path.rstrip("/")):
            root_path = scope.get("root_path", "") + path.rstrip("/")
            await app({**scope, "root_path": root_path}, receive, send)

    return parent


def in_a_cutting_router(app: AsgiApp, path: str) -> AsgiApp:
    """Route by hand, as older frameworks do: what is routed by is cut from the path."""

    async def parent(scope: Scope, receive: Receive, send: Send) -> None:
        prefix = path.rstrip("/")
        await app({**scope, "path": scope["path"].removeprefix(prefix), "root_path": prefix}, receive, send)

    return parent


async def name_at(url: str) -> str:
    async with connect(url, transport="sse") as client:
        return getattr((await client.call_tool("who")).content[0], "text", "")


@pytest.mark.parametrize("mount", [in_starlette, in_fastapi, in_a_router, in_a_cutting_router])
@pytest.mark.parametrize("path", ["/api", "/a/b", "/"])
@pytest.mark.parametrize("slash", ["", "/"])
async def test_it_works_under_a_path_of_any_framework(
    mount: Callable[[AsgiApp, str], AsgiApp], path: str, slash: str
) -> None:
    app = named("mounted").sse_app()
    async with web_server(mount(app, path), app.close) as url:
        assert "mounted" == await name_at(f"{url}{path.rstrip('/')}/sse{slash}")


async def test_two_of_them_live_in_one_parent() -> None:
    apps = {name: named(name).sse_app() for name in ("first", "second")}
    parent = Starlette(routes=[Mount(f"/{name}", app=app) for name, app in apps.items()])

    async def stop() -> None:
        for app in apps.values():
            await app.close()

    async with web_server(parent, stop) as url:
        assert ["first", "second"] == [await name_at(f"{url}/{name}/sse") for name in apps]


async def pass_on(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    return await call_next(request)


async def test_it_works_behind_middleware_and_notices_there_that_a_client_is_gone() -> None:
    server = named("behind")
    app = server.sse_app()
    middleware = [Middleware(GZipMiddleware, minimum_size=1), Middleware(BaseHTTPMiddleware, dispatch=pass_on)]
    async with web_server(in_starlette(app, "/api", middleware=middleware), app.close) as url:
        assert "behind" == await name_at(f"{url}/api/sse")
        await until(lambda: (len(app), server.get_info().connections) == (0, 0))


def behind_a_proxy(app: AsgiApp, *, told: str) -> AsgiApp:
    """Do what a proxy does that shows an application under `/proxy`, and tell the framework so."""

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix("/proxy")
        await app({**scope, "path": path, "root_path": told}, receive, send)

    return proxy


@pytest.mark.filterwarnings("ignore:The `root_path` parameter is deprecated")
@pytest.mark.parametrize(
    "parent",
    [
        lambda app: behind_a_proxy(in_starlette(app, "/api"), told="/proxy"),
        lambda app: behind_a_proxy(in_fastapi(app, "/api"), told="/proxy"),
        # FastAPI is told itself.
        lambda app: behind_a_proxy(in_fastapi(app, "/api", root_path="/proxy"), told=""),
        # The web server is told, and shows the whole path again.
        lambda app: in_a_router(in_starlette(app, "/api"), "/proxy"),
    ],
)
async def test_behind_a_proxy_the_url_to_post_to_leads_in_from_outside(parent: Callable[[HttpSseApp], AsgiApp]) -> None:
    app = named("behind").sse_app()
    async with web_server(parent(app), app.close) as url:
        assert "behind" == await name_at(f"{url}/proxy/api/sse")


async def test_a_redirect_is_never_sent_whatever_a_proxy_says() -> None:
    client = AsgiClient(named("x").sse_app(), root_path="/api")
    headers = {"X-Forwarded-Proto": "https", "Content-Type": "application/json"}
    for path in ("/api/messages", "/api/messages/", "/api/sse", "/api/sse/"):
        answer = await client.request("POST", path, headers=headers)
        assert (True, None) == (answer.status in (404, 405), answer.headers.get("location"))


async def test_the_lifespan_of_a_parent_may_run_twice() -> None:
    app = named("x").sse_app()
    parent = in_starlette(app, "/api")
    for _ in range(2):
        client = AsgiClient(parent)
        async with client.lifespan(), client.open("GET", "/api/sse") as stream:
            assert (await stream.next_event()).data.startswith(b"/api/messages?session_id=")
