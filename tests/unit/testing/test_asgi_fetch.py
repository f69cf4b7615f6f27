"""Requests of a client that go straight into an application."""

import asyncio
from typing import Any

import pytest

from suaveplan_mcp.testing import AsgiFetch
from suaveplan_mcp.transport.asgi import Receive, Scope, Send

POST: dict[str, Any] = {"method": "POST", "headers": {"x-key": "k"}, "body": b"given"}


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-path", scope["path"].encode())]})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b"?" + scope["query_string"], "more_body": False})


async def test_a_request_goes_into_the_application_and_its_response_comes_back() -> None:
    response = await AsgiFetch(_echo)("http://server.example/at?a=1", **POST)

    assert (201, "/at") == (response.status, response.headers["x-path"])
    assert b"given?a=1" == b"".join([part async for part in response])
    await response.close()


async def test_closing_a_response_tells_the_application_that_the_client_is_gone() -> None:
    told: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        told.append((await receive())["type"])

    response = await AsgiFetch(app)("http://server.example/", **POST)
    await response.close()

    assert ["http.disconnect"] == told


async def test_a_request_that_is_given_up_leaves_nothing_running() -> None:
    told: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        told.append((await receive())["type"])

    asking = asyncio.create_task(AsgiFetch(app)("http://server.example/", **POST))
    await asyncio.sleep(0)
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ["http.disconnect"] == told


async def test_what_the_application_raises_reaches_who_asked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await AsgiFetch(app)("http://server.example/", **POST)
