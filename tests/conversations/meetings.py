"""Every transport with every revision that it carries, so that one test function can be run over all of them."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE, REVISIONS
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import AsgiFetch
from suaveplan_mcp.transport.base import Transport
from suaveplan_mcp.transport.streamable_http.client import create_streamable_http_transport
from tests.e2e.wires import in_memory, over_http_sse, over_streams

Client = AbstractAsyncContextManager[MCPClient]

Meet = Callable[..., Client]
"""Connects a client with a server, `meet(server, **options of the client)`; `prepare=` is called with the client."""


class Meeting(NamedTuple):
    """One transport with one revision."""

    transport: str
    revision: str


def _meetings() -> list[Meeting]:
    """Return what is tested: every revision in memory, and over the others the newest of each era that they carry."""
    over = {"streams": (LATEST_HANDSHAKE, LATEST), "http+sse": (LATEST_HANDSHAKE,), "streamable http": (LATEST,)}
    everywhere = [Meeting("in memory", revision) for revision in REVISIONS]
    return everywhere + [Meeting(transport, revision) for transport, some in over.items() for revision in some]


MEETINGS = _meetings()

_WIRES = {"in memory": in_memory, "streams": over_streams, "http+sse": over_http_sse}

over_all = pytest.mark.parametrize("meeting", MEETINGS, ids=[f"{each.transport}, {each.revision}" for each in MEETINGS])


async def _serve(server: MCPServer, transport: str) -> Transport:
    """Return the client's end of a transport that a server is served on."""
    if transport == "streamable http":
        fetch = AsgiFetch(server.asgi_app())
        return create_streamable_http_transport(endpoint="http://127.0.0.1:8000/mcp", fetch_impl=fetch)
    wire = _WIRES[transport]()
    await server.attach(wire.server)
    return wire.client


@asynccontextmanager
async def meet(
    meeting: Meeting,
    server: MCPServer,
    *,
    prepare: Callable[[MCPClient], object] | None = None,
    options: Mapping[str, Any] | None = None,
) -> AsyncGenerator[MCPClient]:
    """Connect a client with a server as a meeting says; stop both in the end.

    Args:
        meeting: over which transport, in which revision.
        server: who is served.
        prepare: called with the client before it connects, to set its providers.
        options: of the client.
    """
    chosen: dict[str, Any] = {"protocol": meeting.revision, "prefetch": False, **(options or {})}
    client = MCPClient("meeting", "1", **chosen)
    if prepare is not None:
        prepare(client)
    try:
        await client.connect(await _serve(server, meeting.transport))
        yield client
    finally:
        await client.disconnect()
        await server.stop()
