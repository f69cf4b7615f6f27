"""The files that the demo server serves: found once, read when they are asked for, never from outside the folder."""

import os
from collections.abc import Iterator
from itertools import islice
from mimetypes import guess_type
from pathlib import Path
from stat import S_ISREG
from typing import Final

from msgspec import Struct

MAX_FILES: Final = 1_000
MAX_ENTRIES: Final = 50_000
MAX_BYTES: Final = 1_048_576

# What machines put into a folder. Names with a dot in front, `.git` and `.venv` among them, are left out as well.
_NOT_FOR_READERS: Final = frozenset({"CVS", "__pycache__", "node_modules", "site-packages"})
_MARK_OF_AN_ENVIRONMENT: Final = "pyvenv.cfg"


class FoundFile(Struct, frozen=True):
    """One file of the folder.

    Args:
        path: where it is.
        name: its path inside the folder, with slashes on every platform; what is no Unicode in it is replaced.
        size: its bytes, when it was found.
        mime_type: what its name promises, if anything.
    """

    path: Path
    name: str
    size: int
    mime_type: str | None


class ServedFolder:
    """A folder and the files in it that a reader would care for.

    Hidden files, what version control and package managers keep, and virtual environments are left out; so are
    symbolic links that lead outside, pipes and devices. A huge folder is cut: `complete` tells.

    Args:
        root: the folder.
        max_files: how many files are enough.
        max_entries: after how many names in folders the search ends, whether they are files or not.
        max_bytes: how much of one file is read.

    Raises:
        OSError: there is no such folder, or it cannot be listed.
    """

    def __init__(
        self, root: Path, *, max_files: int = MAX_FILES, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES
    ) -> None:
        self.root = root.resolve(strict=True)
        self.complete = True
        self._max_bytes = max_bytes
        os.scandir(self.root).close()
        self.files = list(islice(self._search(max_entries), max_files + 1))
        if len(self.files) > max_files:
            self.complete = False
            del self.files[max_files:]

    def read(self, path: Path) -> bytes:
        """Return what a file contains.

        Raises:
            OSError: it is not in the folder, cannot be read, or is larger than what is read of one file.
        """
        content = self._read(path)
        if len(content) > self._max_bytes:
            raise OSError(f"{path.name!r} is larger than {self._max_bytes} bytes, the most that is read of one file")
        return content

    def read_lines(self, path: Path) -> tuple[str | None, bool]:
        """Return the text of a file, or as many whole lines of it as are read of one file.

        Returns:
            The text, None where the file is no text; and whether that is all of it.

        Raises:
            OSError: it is not in the folder, or cannot be read.
        """
        content = self._read(path)
        whole = len(content) <= self._max_bytes
        if not whole:
            content = content[: content.rfind(b"\n", 0, self._max_bytes) + 1]
        return text_of(content), whole

    def _read(self, path: Path) -> bytes:
        # Looked at again, because a link may lead elsewhere by now.
        found = self._target(path)
        if found is None:
            raise FileNotFoundError(f"there is no file {path.name!r} in the folder")
        target, size = found
        if not size:
            # Reading what only looks like an empty file, as `/proc` has them, may take for ever.
            return b""
        with target.open("rb") as file:
            return file.read(self._max_bytes + 1)

    def _target(self, path: Path) -> tuple[Path, int] | None:
        """Return the file that a path leads to, and its size; None where it is none, hidden, or outside the folder."""
        try:
            target = path.resolve(strict=True)
            status = target.stat()
        except (OSError, RuntimeError, ValueError):
            # A ring of links is a RuntimeError up to Python 3.12, a NUL in the name a ValueError.
            return None
        if not S_ISREG(status.st_mode) or not target.is_relative_to(self.root):
            return None
        is_shown = all(map(_is_shown, target.relative_to(self.root).parts))
        return (target, status.st_size) if is_shown else None

    def _search(self, entries_left: int) -> Iterator[FoundFile]:
        pending = [self.root]
        while pending and entries_left > 0:
            entries = _list_folder(pending.pop(), entries_left)
            entries_left -= len(entries)
            if any(path.name == _MARK_OF_AN_ENVIRONMENT for path, _ in entries):
                continue
            shown = [(path, is_folder) for path, is_folder in entries if _is_shown(path.name)]
            # A link to a folder counts as no folder, so no ring is ever walked.
            pending.extend(path for path, is_folder in reversed(shown) if is_folder)
            for path, _ in shown:
                found = self._target(path)
                if found is not None:
                    yield self._describe(path, found[1])
        self.complete = entries_left > 0

    def _describe(self, path: Path, size: int) -> FoundFile:
        name = os.fsencode(path.relative_to(self.root).as_posix()).decode("utf-8", "replace")
        return FoundFile(path, name, size, mime_type_of(path))


def text_of(content: bytes) -> str | None:
    """Return bytes as text, None where they are none."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def mime_type_of(path: Path) -> str | None:
    """Return the MIME type that the name of a file promises, None where it promises none."""
    mime_type, packing = guess_type(path.name)
    return mime_type if packing is None else None


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_FOR_READERS


def _list_folder(folder: Path, most: int) -> list[tuple[Path, bool]]:
    """Return what is in a folder, and of each whether it is a folder; nothing where it may not be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted((Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in islice(entries, most))
    except OSError:
        return []
