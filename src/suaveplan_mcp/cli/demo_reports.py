"""What the demo server's tools find out about the files. Nothing here knows of MCP: any struct can become a result."""

import re
from typing import Final

from msgspec import Struct

from suaveplan_mcp.cli.demo_files import FoundFile, ServedFolder

LINE_LENGTH: Final = 200

_EVERY_LINE: Final = re.compile("")


class FileSize(Struct):
    """A file and its bytes."""

    name: str
    size: int


class FileList(Struct):
    """Some files, and whether the server knows all files of the folder."""

    files: list[FileSize]
    complete: bool


class Summary(Struct):
    """The folder in figures.

    Args:
        files: how many there are.
        bytes: their sizes, added up.
        lines: of all text files.
        words: likewise.
        text_files: those that could be read and are text.
        binary_files: those that could be read and are none.
        unreadable_files: those that could not be read.
        partly_read_files: those of which only the beginning was read, because they are large.
        largest: the three largest.
        complete: whether the server knows all files of the folder.
    """

    files: int = 0
    bytes: int = 0
    lines: int = 0
    words: int = 0
    text_files: int = 0
    binary_files: int = 0
    unreadable_files: int = 0
    partly_read_files: int = 0
    largest: list[FileSize] = []
    complete: bool = True


class Match(Struct):
    """A line that was looked for; lines count from 1."""

    file: str
    line: int
    text: str


class SearchResult(Struct):
    """Lines that were looked for, and whether these are all there are."""

    matches: list[Match]
    files_searched: int
    complete: bool


def list_largest(folder: ServedFolder, count: int) -> list[FileSize]:
    """Return the largest files of a folder, the largest first."""
    files = sorted(folder.files, key=lambda file: (-file.size, file.name))
    return [FileSize(file.name, file.size) for file in files[:count]]


def summarise_folder(folder: ServedFolder) -> Summary:
    """Count what is in a folder."""
    summary = Summary(complete=folder.complete, largest=list_largest(folder, 3))
    for file in folder.files:
        summary.files += 1
        summary.bytes += file.size
        _count_contents(summary, folder, file)
    return summary


def find_lines(folder: ServedFolder, file: FoundFile, wanted: re.Pattern[str]) -> list[Match]:
    """Return the lines of a file that match; none where it is no text or cannot be read."""
    try:
        text, _ = folder.read_lines(file.path)
    except OSError:
        return []
    lines = enumerate((text or "").splitlines(), 1)
    return [Match(file.name, number, line[:LINE_LENGTH]) for number, line in lines if wanted.search(line)]


def count_lines_in_turn(folder: ServedFolder, turn: int) -> int:
    """Read one of the files, another one each turn, and return how many lines it has."""
    if not folder.files:
        return 0
    return len(find_lines(folder, folder.files[turn % len(folder.files)], _EVERY_LINE))


def _count_contents(summary: Summary, folder: ServedFolder, file: FoundFile) -> None:
    try:
        text, whole = folder.read_lines(file.path)
    except OSError:
        summary.unreadable_files += 1
        return
    summary.partly_read_files += not whole
    if text is None:
        summary.binary_files += 1
        return
    summary.text_files += 1
    summary.lines += len(text.splitlines())
    summary.words += len(text.split())
