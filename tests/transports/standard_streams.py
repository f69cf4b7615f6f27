"""Puts pipes in the place of this process's standard input and output, for code that takes those for itself."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


class Wire:
    """The other ends of the pipes."""

    def __init__(self) -> None:
        self.stdin, self._input = os.pipe()
        self._output, self.stdout = os.pipe()

    def feed(self, data: bytes) -> None:
        """Give input that ends."""
        os.write(self._input, data)
        self.end_input()

    def end_input(self) -> None:
        """End the input."""
        os.close(self._input)

    def written(self) -> bytes:
        """Return everything that was written; nobody else may hold the pipe any more."""
        with open(self._output, "rb") as stream:
            return stream.read()


@contextmanager
def standard_streams() -> Generator[Wire]:
    """Let descriptors 0 and 1 be pipes for a while, and `sys.stdout` write to the second."""
    wire, saved, stdout = Wire(), [os.dup(0), os.dup(1)], sys.stdout
    os.dup2(wire.stdin, 0)
    os.dup2(wire.stdout, 1)
    os.close(wire.stdin)
    os.close(wire.stdout)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    try:
        yield wire
    finally:
        sys.stdout.close()
        sys.stdout = stdout
        for fd, kept in enumerate(saved):
            os.dup2(kept, fd)
            os.close(kept)
