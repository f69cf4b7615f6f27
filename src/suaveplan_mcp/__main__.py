"""Let `python -m suaveplan_mcp` be the command `suaveplan-mcp`."""

from importlib import import_module

_INTERRUPTED = 130


def main() -> int:
    """Load the command and run it; return its exit status."""
    try:
        # Loading takes a moment, and a user may change their mind in it.
        return import_module("suaveplan_mcp.cli").main()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
