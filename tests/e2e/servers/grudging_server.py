"""The demo's server, but it ends with a status of its own."""

import atexit
import os

from suaveplan_mcp.cli.demo_server import server

__all__ = ["server"]

atexit.register(lambda: os._exit(7))
