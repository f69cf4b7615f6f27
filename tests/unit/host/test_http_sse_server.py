"""Applications with real ids of sessions."""

from suaveplan_mcp.host.http_sse_server import make_session_id, make_sse_app
from suaveplan_mcp.testing.asgi import AsgiClient
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport.base import Transport


async def attach(transport: Transport) -> None:
    transport.on_message(lambda *_: None)


def test_no_id_can_be_guessed_from_another() -> None:
    ids = {make_session_id() for _ in range(100)}

    assert (100, {43}) == (len(ids), {len(id_) for id_ in ids})


async def test_the_options_of_an_application_reach_it() -> None:
    clock = FakeClock()
    app = make_sse_app(
        attach,
        "/events",
        "/inbox",
        timers=clock,
        allowed_hosts=["mcp.example.com"],
        allowed_origins=["https://app.example.com"],
        max_body_bytes=3,
        keep_alive=5.0,
    )
    headers = {"Host": "mcp.example.com", "Origin": "https://app.example.com"}
    client = AsgiClient(app, server=("192.0.2.7", 80))
    async with client.open("GET", "/events", headers=headers) as stream:
        url = (await stream.next_event()).data.decode()
        assert url.startswith("/inbox?session_id=")
        posted = await client.request(
            "POST", url, headers={**headers, "Content-Type": "application/json"}, body=b"four"
        )
        await clock.advance_async(10.0)
        assert (413, True) == (posted.status, b": keep-alive" in stream.body)


async def test_an_application_needs_no_options() -> None:
    async with AsgiClient(make_sse_app(attach)).open("GET", "/sse") as stream:
        assert (await stream.next_event()).data.startswith(b"/messages?session_id=")
