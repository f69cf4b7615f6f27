"""The command `suaveplan-mcp`: serve a file, or look at and use a server from a terminal.

Each command has a module of its own, which is loaded only when it is asked for. What a command does with a server it
does through `connect` and `run`; no rule of the protocol may enter.
"""

import signal
from argparse import Namespace
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Final

from suaveplan_mcp.cli.parser import UsageError, make_parser
from suaveplan_mcp.cli.printing import give_up_output, write_error

_FAILED: Final = 1
_MISUSED: Final = 2
_SIGNALLED: Final = 128
_ENDING: Final = ("SIGTERM", "SIGHUP")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after `suaveplan-mcp`; those of this process by default.

    Returns:
        The exit status: 0 for success, 1 for failure, 2 for a command line that cannot be understood, and 128 more than
        its number for a signal that ended the command.

    Raises:
        SystemExit: with status 2, the command line is not complete; with 0, help was asked for.
    """
    came: list[int] = []
    try:
        with _ending_signals(came):
            return _run(make_parser().parse_args(arguments))
    except KeyboardInterrupt:
        return _SIGNALLED + (came[0] if came else signal.SIGINT)


def _run(options: Namespace) -> int:
    try:
        command = import_module(f"suaveplan_mcp.cli.{options.command}")
        return command.main(options.folder if options.command == "demo" else options)
    except BrokenPipeError:
        # The reader of our output has seen enough.
        give_up_output()
        return _FAILED
    except Exception as error:
        if options.debug:
            raise
        write_error(str(error) or type(error).__name__)
        return _MISUSED if isinstance(error, UsageError) else _FAILED


@contextmanager
def _ending_signals(came: list[int]) -> Generator[None]:
    """Clean up as for Ctrl-C when a signal comes that would end the process at once.

    Args:
        came: gets the numbers of those that come.
    """

    def take(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if not callable(signal.getsignal(signal.SIGINT)):
            # A shell has its background commands ignore Ctrl-C.
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # One that is ignored, as under nohup, stays so.
    watched = [
        number
        for name in _ENDING
        if (number := getattr(signal, name, None)) is not None and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in watched:
        signal.signal(number, take)
    try:
        yield
    finally:
        for number in watched:
            signal.signal(number, signal.SIG_DFL)
