"""What lets web pages of other origins use a server: the preflight, and headers on every response.

Which origins may is for `HttpGuard` to say; what comes here has passed it. Cookies and the like are never let in.
Spec: Fetch, 3.2 CORS protocol
"""

import re
from collections.abc import Mapping
from typing import Final

from suaveplan_mcp.transport.asgi import AsgiMessage, Send

MAX_AGE: Final = 600
"""Seconds for which a browser need not ask again."""

_METHODS: Final = b"POST"
_REQUEST_HEADERS: Final = (
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
)
_EXPOSED: Final = (b"access-control-expose-headers", b"mcp-session-id, mcp-protocol-version, www-authenticate")
_VARY: Final = (b"vary", b"Origin")
_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Tell whether a request only asks what a page may do."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def preflight_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return what answers a preflight, beside what every response has.

    Headers are allowed by name, since `*` would not cover `authorization`, and those that are asked for as well: names
    of `Mcp-Param-…` are not known before.
    """
    asked = headers.get("access-control-request-headers", "").lower().split(",")
    names = dict.fromkeys((*_REQUEST_HEADERS, *(name.strip() for name in asked)))
    allowed = ", ".join(name for name in names if _NAME.fullmatch(name))
    return [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", allowed.encode()),
        (b"access-control-max-age", b"%d" % MAX_AGE),
    ]


def share_with(origin: str | None, send: Send) -> Send:
    """Return a `send` that lets pages of an origin read the response; of none where it is None."""
    shared = [_VARY]
    if origin is not None:
        shared += [(b"access-control-allow-origin", origin.encode("latin-1")), _EXPOSED]

    async def send_shared(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *shared]}
        await send(message)

    return send_shared
