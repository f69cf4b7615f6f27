"""Applications made of the options that people give."""

from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.host.streamable_http_server import make_streamable_http_app
from suaveplan_mcp.jsonrpc.messages import Message, Notification, Request, Response
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport.base import Delivery, Transport

HEADERS = {"host": "mcp.example.com", "origin": "https://app.example.com", "content-type": "application/json"}
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"x"}'


async def answer(exchange: Transport, message: Message, delivery: Delivery) -> None:
    assert isinstance(message, Request)
    await exchange.send(Response(message.id, {"principal": str(delivery.principal)}))


async def test_the_options_of_an_application_reach_it() -> None:
    stops: list[bool] = []

    async def stop() -> None:
        stops.append(True)

    app = make_streamable_http_app(
        answer,
        "/x",
        on_shutdown=stop,
        allowed_hosts=["mcp.example.com"],
        allowed_origins=["https://app.example.com"],
        cors=True,
        max_body_bytes=len(REQUEST),
        max_requests=1,
        max_headers=5,
        max_header_bytes=1000,
    )
    client = AsgiClient(app, server=("192.0.2.7", 80))
    async with client.lifespan():
        served = await client.request("POST", "/x", headers=HEADERS, body=REQUEST)
        too_long = await client.request("POST", "/x", headers=HEADERS, body=REQUEST + b" ")
        too_many = await client.request("POST", "/x", headers=HEADERS | dict.fromkeys("abc", "x"), body=REQUEST)
        too_big = await client.request("POST", "/x", headers=HEADERS | {"a": "x" * 999}, body=REQUEST)

    assert (200, HEADERS["origin"]) == (served.status, served.headers["access-control-allow-origin"])
    assert (413, 431, 431, [True]) == (too_long.status, too_many.status, too_big.status, stops)


async def test_timers_decide_when_a_body_is_late_and_a_stream_silent() -> None:
    clock = FakeClock()

    async def listen(exchange: Transport, message: Message, delivery: Delivery) -> None:
        await exchange.send(Notification("x"))
        await clock.advance_async(10.0)

    app = make_streamable_http_app(listen, timers=clock, body_timeout=1.0, keep_alive=5.0)
    client, headers = AsgiClient(app), {"content-type": "application/json"}
    late = client.open("POST", "/mcp", headers=headers, body=None)
    await clock.advance_async(2.0)
    silent = await client.request("POST", "/mcp", headers=headers, body=REQUEST)

    assert (408, True) == (late.status, b": keep-alive" in silent.body)


@pytest.mark.parametrize(("shown", "status"), [({"authorization": "Bearer abc"}, 200), ({}, 401)])
async def test_a_token_is_asked_for(shown: dict[str, str], status: int) -> None:
    client = AsgiClient(make_streamable_http_app(answer, bearer_token="abc"))
    headers = {"content-type": "application/json", **shown}
    assert status == (await client.request("POST", "/mcp", headers=headers, body=REQUEST)).status


async def authenticate(headers: Mapping[str, str]) -> str:
    return "Ann"


async def test_a_function_tells_who_it_is() -> None:
    client = AsgiClient(make_streamable_http_app(answer, authenticate=authenticate))
    served = await client.request("POST", "/mcp", headers={"content-type": "application/json"}, body=REQUEST)
    assert b"Ann" in served.body


def test_there_is_one_way_to_tell_who_it_is() -> None:
    options: dict[str, Any] = {"authenticate": authenticate, "bearer_token": "abc"}
    with pytest.raises(ValueError, match="`authenticate` and `bearer_token` exclude each other"):
        make_streamable_http_app(answer, **options)
