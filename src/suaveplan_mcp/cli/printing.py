"""The one place where commands write."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO, cast

from msgspec.json import encode
from msgspec.json import format as indent


class OutputError(Exception):
    """Standard output does not take what is written; the message says why."""


def write_line(text: str) -> None:
    """Write a line of text to standard output; what its encoding lacks is written as an escape.

    Raises:
        OutputError: it cannot be written.
        BrokenPipeError: the reader has seen enough.
    """
    with _output() as stream:
        _write(stream, text)


def write_json(value: object) -> None:
    """Write a value as indented JSON to standard output."""
    write_line(indent(encode(value)).decode())


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output as they are.

    Raises:
        OutputError: as `write_line`, and BrokenPipeError likewise.
    """
    with _output() as stream:
        stream.flush()
        stream.buffer.write(data)
        stream.flush()


def write_error(sentence: str) -> None:
    """Write what went wrong to standard error, where there is one."""
    _write_aside(f"suaveplan-mcp: {sentence}")


def write_stderr_line(line: str) -> None:
    """Pass on a line that a server wrote to its standard error."""
    _write_aside(line)


def give_up_output() -> None:
    """Let what is left to be written go nowhere, so that the interpreter does not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _output() -> Generator[TextIO]:
    # Where it was closed when the process started, there is none.
    stream = cast("TextIO | None", sys.stdout)
    if stream is None:
        raise OutputError("cannot write to standard output: it is closed")
    try:
        yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error


def _write_aside(text: str) -> None:
    stream = cast("TextIO | None", sys.stderr)
    if stream is not None:
        # Where this fails as well there is no one left to tell.
        with suppress(OSError):
            _write(stream, text)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
