"""Answers that no handler has a part in: to what is no request, or may not be served.

Spec: basic/transports/streamable-http, Sending Messages
"""

from contextlib import suppress
from typing import Final

from msgspec import UnsetType

from suaveplan_mcp.jsonrpc.messages import ErrorObject, ErrorResponse, RequestId
from suaveplan_mcp.transport.asgi import Send
from suaveplan_mcp.transport.frames import encode_frame

_JSON: Final = (b"content-type", b"application/json")


def error_frame(number: int, text: str, id_: RequestId | UnsetType) -> bytes:
    """Return a JSON-RPC error as JSON; `UNSET` for the id of a message that has none which could be read."""
    return encode_frame(ErrorResponse(id_, ErrorObject(number, text)))


async def respond_json(send: Send, status: int, body: bytes) -> None:
    """Send a whole response in JSON; a client that has gone away does not mind that it gets none."""
    headers = [_JSON, (b"content-length", b"%d" % len(body))]
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def respond_empty(send: Send, status: int, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """Send a response without a body."""
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers or []})
        await send({"type": "http.response.body", "body": b""})
