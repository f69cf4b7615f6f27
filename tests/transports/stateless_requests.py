"""Requests of the stateless era as they are on the wire."""

import json
from typing import Any

REVISION = "2026-07-28"


def request_of(
    method: str, params: dict[str, Any] | None = None, *, id: Any = 1, revision: Any = REVISION, **meta: Any
) -> bytes:
    """Return the body of a request; what is said beside goes into its `_meta`."""
    own = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        **meta,
    }
    return json.dumps(
        {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": own}}
    ).encode()


def headers_of(method: str, name: str | None = None, **others: str) -> dict[str, str]:
    """Return the headers that go with it."""
    named = {} if name is None else {"mcp-name": name}
    return {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": REVISION,
        "mcp-method": method,
        **named,
        **{key.lower().replace("_", "-"): value for key, value in others.items()},
    }


def call_of(tool: str, arguments: dict[str, Any] | None = None, *, id: Any = 1, **meta: Any) -> bytes:
    """Return the body of a call."""
    return request_of("tools/call", {"name": tool, "arguments": arguments or {}}, id=id, **meta)
