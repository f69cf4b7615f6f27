"""HTTP+SSE applications with what only the machine has: ids that cannot be guessed."""

import secrets
from typing import Unpack

from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers
from suaveplan_mcp.transport.event_stream import KEEP_ALIVE
from suaveplan_mcp.transport.http_guard import MAX_BODY_BYTES, HttpGuard
from suaveplan_mcp.transport.http_sse_app import Attach, HttpSseApp, SseAppOptions


def make_session_id() -> str:
    """Return an id of 256 random bits, fit for a URL."""
    return secrets.token_urlsafe(32)


def make_sse_app(
    attach: Attach,
    path: str = "/sse",
    messages_path: str = "/messages",
    *,
    timers: Timers | None = None,
    **options: Unpack[SseAppOptions],
) -> HttpSseApp:
    """Return an ASGI application that serves over HTTP+SSE.

    Args:
        attach: serves the transport of a new client, such as `MCPServer.attach`.
        path: where the event stream is, inside the application.
        messages_path: where messages are posted to, likewise.
        timers: what sets timers; the event loop by default.
        options: see `SseAppOptions`.

    Raises:
        ValueError: a path or an entry of a list that cannot be; the message says which.
    """
    guard = HttpGuard(
        allowed_hosts=options.get("allowed_hosts"),
        allowed_origins=options.get("allowed_origins", ()),
        max_body_bytes=options.get("max_body_bytes", MAX_BODY_BYTES),
    )
    return HttpSseApp(
        attach,
        make_session_id,
        path=path,
        messages_path=messages_path,
        guard=guard,
        keep_alive=options.get("keep_alive", KEEP_ALIVE),
        call_later=(timers or LOOP_TIMERS).call_later,
    )
