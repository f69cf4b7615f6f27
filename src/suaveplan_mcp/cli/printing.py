"""The one place where commands write."""

import sys
from typing import TextIO

from msgspec.json import encode
from msgspec.json import format as indent


def write_line(text: str) -> None:
    """Write a line of text to standard output; what its encoding lacks is written as an escape."""
    _write(sys.stdout, text)


def write_json(value: object) -> None:
    """Write a value as indented JSON to standard output."""
    write_line(indent(encode(value)).decode())


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def write_error(sentence: str) -> None:
    """Write what went wrong to standard error."""
    _write(sys.stderr, f"suaveplan-mcp: {sentence}")


def write_stderr_line(line: str) -> None:
    """Pass on a line that a server wrote to its standard error."""
    _write(sys.stderr, line)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
