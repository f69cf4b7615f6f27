"""Tools for testing MCP servers and clients: part of the public API, used by our own tests too.

Nothing may enter that only our own tests need.
"""

from suaveplan_mcp.testing.asgi import AsgiClient, AsgiExchange
from suaveplan_mcp.testing.asgi_fetch import AsgiFetch
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.testing.recording import RecordingTransport
from suaveplan_mcp.testing.scripted_peer import ScriptedPeer

__all__ = ["AsgiClient", "AsgiExchange", "AsgiFetch", "FakeClock", "RecordingTransport", "ScriptedPeer"]
