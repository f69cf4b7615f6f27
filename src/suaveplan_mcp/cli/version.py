"""`suaveplan-mcp version`: print the version."""

from argparse import Namespace

from suaveplan_mcp.cli.printing import write_line
from suaveplan_mcp.version import VERSION


def main(options: Namespace) -> int:
    """Print the version of this library."""
    write_line(f"suaveplan-mcp {VERSION}")
    return 0
