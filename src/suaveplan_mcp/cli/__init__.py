"""The command `suaveplan-mcp`: serve a file, or look at and use a server from a terminal.

Each command has a module of its own, which is loaded only when it is asked for. What a command does with a server it
does through `connect` and `run`; no rule of the protocol may enter.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from suaveplan_mcp.cli.parser import UsageError, make_parser
from suaveplan_mcp.cli.printing import write_error

_FAILED: Final = 1
_MISUSED: Final = 2
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after `suaveplan-mcp`; those of this process by default.

    Returns:
        The exit status: 0 for success, 1 for failure, 2 for a command line that cannot be understood.

    Raises:
        SystemExit: with status 2, the command line is not complete; with 0, help was asked for.
    """
    options = make_parser().parse_args(arguments)
    try:
        command = import_module(f"suaveplan_mcp.cli.{options.command}")
        return command.main(options.folder if options.command == "demo" else options)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter shall not complain when it writes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except Exception as error:
        if options.debug:
            raise
        write_error(str(error) or type(error).__name__)
        return _MISUSED if isinstance(error, UsageError) else _FAILED
