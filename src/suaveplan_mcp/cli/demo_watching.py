"""Noticing that a file has changed, by looking at it now and then."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from suaveplan_mcp.runtime.timers import LOOP_TIMERS, TimerHandle, Timers

INTERVAL: Final = 0.05


class FileWatch:
    """Looks at one file again and again, and tells when it is not what it was.

    Args:
        path: the file; it may come and go.
        on_changed: called after every change.
        timers: what sets timers.
    """

    def __init__(self, path: Path, on_changed: Callable[[], object], *, timers: Timers = LOOP_TIMERS) -> None:
        self._path = path
        self._on_changed = on_changed
        self._timers = timers
        self._seen = _look_at(path)
        self._clients = 0
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Look from now on, until `stop` has been called as often as this."""
        self._clients += 1
        if self._timer is None:
            self._look_later()

    def stop(self) -> None:
        """Look no longer, unless another client still wants it."""
        self._clients -= 1
        if self._timer is not None and not self._clients:
            self._timer.cancel()
            self._timer = None

    def _look_later(self) -> None:
        self._timer = self._timers.call_later(INTERVAL, self._look)

    def _look(self) -> None:
        self._look_later()
        seen = _look_at(self._path)
        if seen != self._seen:
            self._seen = seen
            self._on_changed()


def _look_at(path: Path) -> tuple[int, int] | None:
    """Return what changes with a file: when it was written, and its size; None where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
