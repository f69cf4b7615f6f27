"""The Model Context Protocol for Python: servers, clients, every revision, every transport.

This is the shop window. A name is loaded from its room when it is first used, so importing the package costs next to
nothing, and a program pays only for the side of the conversation it takes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suaveplan_mcp import testing, types
    from suaveplan_mcp.client.mcp_client import MCPClient
    from suaveplan_mcp.errors import (
        MCP_CODES,
        MCPError,
        MCPProtocolError,
        MCPTransportError,
        SuaveplanError,
        define_codes,
    )
    from suaveplan_mcp.events import EventBus
    from suaveplan_mcp.runtime.abort import AbortController, AbortSignal
    from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
    from suaveplan_mcp.server.context import Context
    from suaveplan_mcp.server.mcp_server import MCPServer
    from suaveplan_mcp.serving import run
    from suaveplan_mcp.targets import connect
    from suaveplan_mcp.transport.base import Transport
    from suaveplan_mcp.transport.http_sse import create_http_sse_transport
    from suaveplan_mcp.transport.in_memory import InMemoryTransport
    from suaveplan_mcp.transport.stdio import create_stdio_transport
    from suaveplan_mcp.transport.streamable_http.client import create_streamable_http_transport

_ROOMS = {
    "AbortController": "runtime.abort",
    "AbortSignal": "runtime.abort",
    "Context": "server.context",
    "EventBus": "events",
    "InMemoryTransport": "transport.in_memory",
    "JsonRpcDispatcher": "runtime.dispatcher",
    "MCPClient": "client.mcp_client",
    "MCPError": "errors",
    "MCPProtocolError": "errors",
    "MCPServer": "server.mcp_server",
    "MCPTransportError": "errors",
    "MCP_CODES": "errors",
    "SuaveplanError": "errors",
    "Transport": "transport.base",
    "connect": "targets",
    "create_http_sse_transport": "transport.http_sse",
    "create_stdio_transport": "transport.stdio",
    "create_streamable_http_transport": "transport.streamable_http.client",
    "define_codes": "errors",
    "run": "serving",
}
_OTHER_NAMES = {"__version__": ("version", "VERSION")}
_PACKAGES = ("testing", "types")

__all__ = [  # noqa: RUF022  in the order in which they are met
    "MCPServer",
    "MCPClient",
    "connect",
    "run",
    "Context",
    "types",
    "testing",
    "Transport",
    "InMemoryTransport",
    "create_stdio_transport",
    "create_http_sse_transport",
    "create_streamable_http_transport",
    "JsonRpcDispatcher",
    "AbortController",
    "AbortSignal",
    "EventBus",
    "SuaveplanError",
    "MCPError",
    "MCPTransportError",
    "MCPProtocolError",
    "MCP_CODES",
    "define_codes",
]


def __getattr__(name: str) -> object:
    """Load a public name from its room and keep it here.

    Raises:
        AttributeError: the package has no such name.
    """
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    room, name_there = _OTHER_NAMES.get(name) or (_ROOMS.get(name), name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{room}"), name_there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
