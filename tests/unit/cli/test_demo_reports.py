"""What the demo server's tools find out about the files."""

import re
from pathlib import Path

import pytest

from suaveplan_mcp.cli.demo_files import ServedFolder
from suaveplan_mcp.cli.demo_reports import (
    FileSize,
    Match,
    Summary,
    count_lines_in_turn,
    find_lines,
    list_largest,
    summarise_folder,
)


@pytest.fixture
def folder(tmp_path: Path) -> ServedFolder:
    (tmp_path / "a.txt").write_text("one two\nthree\n", "utf-8")
    (tmp_path / "b.bin").write_bytes(b"\0" * 20)
    (tmp_path / "c.txt").write_text("four\n" * 30, "utf-8")
    return ServedFolder(tmp_path, max_bytes=100)


def test_a_summary_counts_what_it_could_read_and_says_what_it_could_not(folder: ServedFolder) -> None:
    (folder.root / "d.txt").write_text("gone", "utf-8")
    folder = ServedFolder(folder.root, max_bytes=100)
    (folder.root / "d.txt").unlink()

    expected = Summary(
        files=4,
        bytes=14 + 20 + 150 + 4,
        lines=2 + 20,
        words=3 + 20,
        text_files=2,
        binary_files=1,
        unreadable_files=1,
        partly_read_files=1,
        largest=[FileSize("c.txt", 150), FileSize("b.bin", 20), FileSize("a.txt", 14)],
        complete=True,
    )
    assert expected == summarise_folder(folder)


def test_files_of_the_same_size_are_largest_by_name(tmp_path: Path) -> None:
    for name in "cab":
        (tmp_path / name).write_text("same", "utf-8")

    assert [FileSize("a", 4), FileSize("b", 4)] == list_largest(ServedFolder(tmp_path), 2)


def test_lines_are_found_with_their_numbers(folder: ServedFolder) -> None:
    assert [Match("a.txt", 2, "three")] == find_lines(folder, folder.files[0], re.compile("re"))


def test_no_lines_are_found_in_what_is_no_text(folder: ServedFolder) -> None:
    assert [] == find_lines(folder, folder.files[1], re.compile(""))


def test_no_lines_are_found_in_what_cannot_be_read(folder: ServedFolder) -> None:
    folder.files[0].path.unlink()

    assert [] == find_lines(folder, folder.files[0], re.compile(""))


def test_long_lines_are_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 1_000, "utf-8")
    folder = ServedFolder(tmp_path)

    assert [Match("a.txt", 1, "x" * 200)] == find_lines(folder, folder.files[0], re.compile("x"))


def test_each_turn_reads_another_file(folder: ServedFolder) -> None:
    assert [2, 0, 20, 2] == [count_lines_in_turn(folder, turn) for turn in range(4)]


def test_a_turn_in_an_empty_folder_reads_nothing(tmp_path: Path) -> None:
    assert 0 == count_lines_in_turn(ServedFolder(tmp_path), 1)
