"""What the demo tells its reader: each step as it is done, and a total."""

from typing import Final

from suaveplan_mcp.cli.demo_walk import Step
from suaveplan_mcp.cli.printing import write_line

WIDTH: Final = 100


class Account:
    """Writes the account, and keeps count.

    Attributes:
        steps: how many steps were done.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._methods: set[str] = set()
        self._seconds = 0.0

    def open(self, folder: str) -> None:
        """Say what is going to happen."""
        write_line(f"A server for the files of {folder}, a client, and every method between them.\n")

    def add(self, step: Step, answer: str, seconds: float) -> None:
        """Tell of one step.

        Args:
            step: the step.
            answer: what came back.
            seconds: how long that took.
        """
        self.steps += 1
        self._methods.update(step.methods)
        self._seconds += seconds
        write_line(f"{self.steps:3}  {step.title}")
        write_line(f"{seconds * 1000:9.1f} ms  {shorten(answer, WIDTH)}")

    def close(self, ending: str) -> None:
        """Write the total."""
        write_line(
            f"\n{self.steps} steps, {len(self._methods)} methods, every answer as it should be, "
            f"{self._seconds:.2f} s; {ending}"
        )


def shorten(text: str, width: int) -> str:
    """Return a text as a single line that can be seen, cut at its end where it is longer than `width`."""
    line = _one_line(text)
    return line if len(line) <= width else f"{line[: width - 3]}..."


def shorten_middle(text: str, width: int) -> str:
    """Return a text as a single line that can be seen, with its beginning and its end where it is longer."""
    line = _one_line(text)
    return line if len(line) <= width else f"{line[: width // 2]} ... {line[-width // 2 :]}"


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
