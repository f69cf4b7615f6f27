"""Let `python -m suaveplan_mcp` be the command `suaveplan-mcp`."""

from suaveplan_mcp.cli import main

raise SystemExit(main())
