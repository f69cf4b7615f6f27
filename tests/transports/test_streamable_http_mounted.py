"""Streamable HTTP inside other applications, behind proxies, under any path (case 38)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import ClientSession
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import asgi_app
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.transport.asgi import AsgiApp, Receive, Scope, Send
from tests.transports.stateless_requests import call_of, headers_of
from tests.transports.web_server import until, web_server

HEADERS = headers_of("tools/call", "who")


def named(name: str) -> MCPServer:
    server = MCPServer(name)

    @server.tool
    async def who(ctx: Context) -> str:
        ctx.progress(1)
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
    """Route as Litestar does: what is routed by is cut from the path, and the root is not told."""

    async def parent(scope: Scope, receive: Receive, send: Send) -> None:
        inside = scope["path"].removeprefix(path).rstrip("/") + "/"
        await app({**scope, "path": inside}, receive, send)

    return parent


async def name_at(client: AsgiClient, path: str, **headers: str) -> str:
    answer = await client.request("POST", path, headers=HEADERS | headers, body=call_of("who"))
    assert (200, None) == (answer.status, answer.headers.get("location"))
    return json.loads(answer.body)["result"]["content"][0]["text"]


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
@pytest.mark.parametrize("mount", [in_starlette, in_fastapi, in_a_router, in_a_cutting_router])
@pytest.mark.parametrize("path", ["/api", "/a/b", "/"])
@pytest.mark.parametrize("slash", ["", "/"])
async def test_it_works_under_a_path_of_any_framework(
    mount: Callable[[AsgiApp, str], AsgiApp], path: str, slash: str
) -> None:
    client = AsgiClient(mount(asgi_app(named("mounted")), path))
    assert "mounted" == await name_at(client, f"{path.rstrip('/')}/mcp{slash}")


@pytest.mark.parametrize("mount", [in_starlette, in_fastapi])
async def test_the_path_of_the_framework_may_be_all_there_is(mount: Callable[[AsgiApp, str], AsgiApp]) -> None:
    client = AsgiClient(mount(asgi_app(named("whole"), "/"), "/mcp"))
    assert "whole" == await name_at(client, "/mcp/")


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_two_of_them_live_in_one_parent() -> None:
    names = ("first", "second")
    parent = Starlette(routes=[Mount(f"/{name}", app=asgi_app(named(name))) for name in names])
    assert list(names) == [await name_at(AsgiClient(parent), f"/{name}/mcp") for name in names]


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_a_redirect_is_never_sent_whatever_a_proxy_says() -> None:
    client = AsgiClient(asgi_app(named("behind")), root_path="/proxy")
    for path in ("/proxy/mcp", "/proxy/mcp/", "/mcp", "/mcp/"):
        assert "behind" == await name_at(client, path, **{"x-forwarded-proto": "https"})


async def pass_on(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    return await call_next(request)


async def test_it_works_behind_middleware() -> None:
    middleware = [Middleware(GZipMiddleware, minimum_size=1), Middleware(BaseHTTPMiddleware, dispatch=pass_on)]
    parent = in_starlette(asgi_app(named("behind")), "/api", middleware=middleware)
    async with web_server(parent) as url, ClientSession() as session:
        for body in (call_of("who"), call_of("who", progressToken=1)):
            async with session.post(f"{url}/api/mcp", headers=HEADERS, data=body) as answer:
                assert (200, True) == (answer.status, "behind" in await answer.text())


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_it_notices_behind_middleware_that_a_client_is_gone() -> None:
    server, waits, ends = named("behind"), list[bool](), list[bool]()

    @server.tool
    async def wait() -> None:
        waits.append(True)
        try:
            await asyncio.Event().wait()
        finally:
            ends.append(True)

    parent = in_starlette(asgi_app(server), "/api", middleware=[Middleware(BaseHTTPMiddleware, dispatch=pass_on)])
    async with web_server(parent) as url, ClientSession() as session:
        calling = asyncio.create_task(
            session.post(f"{url}/api/mcp", headers=headers_of("tools/call", "wait"), data=call_of("wait"))
        )
        await until(lambda: bool(waits))
        calling.cancel()
        await until(lambda: bool(ends))


@pytest.mark.requirement("an-endpoint-stands-anywhere-and-ends-in-order")
async def test_the_lifespan_of_a_parent_may_run_twice() -> None:
    client = AsgiClient(in_starlette(asgi_app(named("again")), "/api"))
    for _ in range(2):
        async with client.lifespan():
            assert "again" == await name_at(client, "/api/mcp")
