"""Read the fenced code blocks of a Markdown document."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<fence>```+)(?P<language>\w*)(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.M | re.S)
_FILE = re.compile(r"\bfile=(\S+)")


@dataclass(frozen=True)
class Block:
    """One code block."""

    language: str
    file: str | None
    code: str
    line: int

    @property
    def first_line(self) -> str:
        """The first line of the code, by which a reader finds the block."""
        return self.code.strip().partition("\n")[0]


@dataclass(frozen=True)
class Command:
    """One command of a console block, with the output that the document shows below it."""

    line: str
    output: str


def read_blocks(text: str) -> list[Block]:
    """Return the code blocks of a document in their order."""
    return [
        Block(
            language=match["language"],
            file=found[1] if (found := _FILE.search(match["info"])) else None,
            code=match["code"],
            line=text.count("\n", 0, match.start()) + 1,
        )
        for match in _FENCE.finditer(text)
    ]


def read_commands(code: str) -> list[Command]:
    """Return the commands of a console block: each stands behind a `$ `, its output on the lines below."""
    pieces = re.split(r"^\$ (.+)\n", code + "\n", flags=re.MULTILINE)[1:]
    return [
        Command(line, output.strip() + "\n" if output.strip() else "")
        for line, output in zip(pieces[::2], pieces[1::2], strict=True)
    ]
