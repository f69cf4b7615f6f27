"""Streamable HTTP applications with what only the machine has, or the options of people ask for."""

from typing import Unpack

from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers
from suaveplan_mcp.transport.event_stream import KEEP_ALIVE
from suaveplan_mcp.transport.http_guard import MAX_BODY_BYTES, HttpGuard
from suaveplan_mcp.transport.streamable_http.app import (
    BODY_TIMEOUT,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_REQUESTS,
    AsgiAppOptions,
    Hook,
    StreamableHttpApp,
)
from suaveplan_mcp.transport.streamable_http.authentication import Authenticate, require_bearer_token
from suaveplan_mcp.transport.streamable_http.exchange import Answer


def make_streamable_http_app(
    answer: Answer,
    path: str = "/mcp",
    *,
    timers: Timers | None = None,
    on_shutdown: Hook | None = None,
    **options: Unpack[AsgiAppOptions],
) -> StreamableHttpApp:
    """Return an ASGI application that serves over Streamable HTTP.

    Args:
        answer: serves one message, such as `MCPServer.answer`.
        path: where messages are posted to, inside the application.
        timers: what sets timers; the event loop by default.
        on_shutdown: called when a web server ends the application, if it is one that tells.
        options: see `AsgiAppOptions`.

    Raises:
        ValueError: a path or an option that cannot be; the message says which.
    """
    guard = HttpGuard(
        allowed_hosts=options.get("allowed_hosts"),
        allowed_origins=options.get("allowed_origins", ()),
        max_body_bytes=options.get("max_body_bytes", MAX_BODY_BYTES),
    )
    return StreamableHttpApp(
        answer,
        path=path,
        guard=guard,
        authenticate=_authenticate_of(options),
        cors=options.get("cors", False),
        max_requests=options.get("max_requests", MAX_REQUESTS),
        max_headers=options.get("max_headers", MAX_HEADERS),
        max_header_bytes=options.get("max_header_bytes", MAX_HEADER_BYTES),
        body_timeout=options.get("body_timeout", BODY_TIMEOUT),
        keep_alive=options.get("keep_alive", KEEP_ALIVE),
        on_shutdown=on_shutdown,
        call_later=(timers or LOOP_TIMERS).call_later,
    )


def _authenticate_of(options: AsgiAppOptions) -> Authenticate | None:
    authenticate, token = options.get("authenticate"), options.get("bearer_token")
    if token is None:
        return authenticate
    if authenticate is not None:
        raise ValueError("`authenticate` and `bearer_token` exclude each other")
    return require_bearer_token(token)
