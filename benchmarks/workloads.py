"""What is measured, and what this library must reach."""

from typing import NamedTuple


class Workload(NamedTuple):
    """One measurement of calls.

    Args:
        name: for people.
        place: the contestant's function, `in_memory`, `stdio`, `asgi` or `uvicorn`.
        way: `sequential`, or `concurrent` with 100 or `crowded` with 32 in flight.
        calls: how many for one turn of the fastest contestant; slower ones make fewer.
        target: how many times faster than the official SDK this library must be.
    """

    name: str
    place: str
    way: str
    calls: int
    target: float


WORKLOADS = (
    Workload("in memory, one after the other", "in_memory", "sequential", 5000, 6),
    Workload("in memory, 100 in flight", "in_memory", "concurrent", 5000, 6),
    Workload("stdio, one after the other", "stdio", "sequential", 2000, 6),
    Workload("stdio, 100 in flight", "stdio", "concurrent", 5000, 6),
    Workload("ASGI application in this process", "asgi", "sequential", 5000, 6),
    Workload("uvicorn, one after the other", "uvicorn", "sequential", 2000, 4),
    Workload("uvicorn, 32 in flight", "uvicorn", "crowded", 3200, 6),
)

IMPORTS = {
    "floor": "import asyncio, msgspec",
    "ours": "from suaveplan_mcp import MCPServer, MCPClient, connect",
    "official": "from mcp.server import MCPServer; from mcp.client import Client",
}
IMPORT_TARGET = 4.0
"""Importing server and client must take at most this part of the official SDK's time."""
