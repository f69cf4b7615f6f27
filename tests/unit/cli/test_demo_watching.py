"""Noticing that a file has changed."""

from pathlib import Path

import pytest

from suaveplan_mcp.cli.demo_watching import INTERVAL, FileWatch
from suaveplan_mcp.testing import FakeClock


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    path = tmp_path / "watched.txt"
    path.write_text("at first", "utf-8")
    return path


class Watched:
    """A file watch on a fake clock, and how often it told of a change."""

    def __init__(self, path: Path) -> None:
        self.changes = 0
        self.clock = FakeClock()
        self.watch = FileWatch(path, self.count, timers=self.clock)

    def count(self) -> None:
        self.changes += 1


def test_a_change_is_told_once(watched: Path) -> None:
    it = Watched(watched)
    it.watch.start()
    watched.write_text("and then another text", "utf-8")
    it.clock.advance(5 * INTERVAL)

    assert 1 == it.changes


def test_a_file_may_come_and_go(watched: Path) -> None:
    it = Watched(watched)
    it.watch.start()
    for change in (watched.unlink, watched.touch):
        change()
        it.clock.advance(INTERVAL)

    assert 2 == it.changes


def test_nothing_is_looked_at_before_the_start_and_after_the_stop(watched: Path) -> None:
    it = Watched(watched)
    it.clock.advance(INTERVAL)
    it.watch.start()
    it.watch.stop()
    watched.unlink()
    it.clock.advance(INTERVAL)

    assert (0, []) == (it.changes, it.clock.pending)


def test_a_second_client_keeps_the_watch_going(watched: Path) -> None:
    it = Watched(watched)
    it.watch.start()
    it.watch.start()
    it.watch.stop()
    watched.unlink()
    it.clock.advance(INTERVAL)

    assert (1, 1) == (it.changes, len(it.clock.pending))


def test_stopping_what_was_never_started_does_nothing(watched: Path) -> None:
    it = Watched(watched)
    it.watch.stop()

    assert [] == it.clock.pending
