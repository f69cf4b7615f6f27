"""The files that the demo server serves."""

import os
import sys
from pathlib import Path

import pytest

from suaveplan_mcp.cli.demo_files import ServedFolder, mime_type_of, text_of

posix = pytest.mark.skipif(os.name != "posix", reason="such files exist on POSIX systems only")


def _write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}", "utf-8")


def _names(folder: ServedFolder) -> list[str]:
    return [file.name for file in folder.files]


def test_files_are_found_in_order_and_folders_behind_them(tmp_path: Path) -> None:
    _write(tmp_path, "b.txt", "a/z.txt", "a/y/x.txt", "c/w.txt", "a.txt")

    assert ["a.txt", "b.txt", "a/z.txt", "a/y/x.txt", "c/w.txt"] == _names(ServedFolder(tmp_path))


def test_an_empty_folder_is_complete(tmp_path: Path) -> None:
    folder = ServedFolder(tmp_path)

    assert ([], True) == (folder.files, folder.complete)


def test_what_machines_keep_in_a_folder_is_left_out(tmp_path: Path) -> None:
    _write(tmp_path, ".hidden", ".git/config", "node_modules/x.js", "a/__pycache__/x.pyc", "env/pyvenv.cfg", "env/x.py")
    _write(tmp_path, "seen.py")

    assert ["seen.py"] == _names(ServedFolder(tmp_path))


def test_a_hidden_folder_may_be_served_itself(tmp_path: Path) -> None:
    _write(tmp_path, ".notes/a.txt")

    assert ["a.txt"] == _names(ServedFolder(tmp_path / ".notes"))


@posix
def test_links_pipes_and_odd_names_disturb_nothing(tmp_path: Path) -> None:
    served, outside = tmp_path / "served", tmp_path / "outside.txt"
    _write(served, "a b%20é\n{x}.txt", ".hidden/key")
    outside.write_text("not to be served")
    os.mkfifo(served / "pipe")
    links = {
        "out": outside,
        "ring": "ring",
        "broken": "nowhere",
        "round": ".",
        "in": "a b%20é\n{x}.txt",
        "key": ".hidden/key",
    }
    for name, target in links.items():
        (served / name).symlink_to(target)

    assert ["a b%20é\n{x}.txt", "in"] == _names(ServedFolder(served))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a name is always Unicode")
def test_a_name_that_is_no_unicode_is_shown_as_well_as_can_be_and_read_all_the_same(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.txt"))
    path.write_bytes(b"good")
    folder = ServedFolder(tmp_path)

    assert ["bad\ufffd.txt"] == _names(folder)
    assert b"good" == folder.read(folder.files[0].path)


def test_a_folder_with_many_files_is_cut(tmp_path: Path) -> None:
    _write(tmp_path, "a", "b", "c")

    assert (["a", "b"], False) == (_names(found := ServedFolder(tmp_path, max_files=2)), found.complete)
    assert (["a", "b", "c"], True) == (_names(found := ServedFolder(tmp_path, max_files=3)), found.complete)


def test_the_search_ends_after_so_many_names_whatever_they_are(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name / "deeper").mkdir(parents=True)
    _write(tmp_path, "a/file")
    folder = ServedFolder(tmp_path, max_entries=4)

    assert not folder.complete
    assert len(folder.files) <= 1


def test_a_folder_that_may_not_be_listed_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "a.txt", "locked/b.txt")
    scandir = os.scandir

    def refuse(path: "Path | str") -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)

    assert ["a.txt"] == _names(ServedFolder(tmp_path))


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ServedFolder(tmp_path / "nowhere")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    _write(tmp_path, "a.txt")

    with pytest.raises(NotADirectoryError):
        ServedFolder(tmp_path / "a.txt")


def test_only_what_is_in_the_folder_is_read(tmp_path: Path) -> None:
    _write(tmp_path, "served/a.txt", "b.txt", "served/.hidden")
    folder = ServedFolder(tmp_path / "served")

    assert b"this is served/a.txt" == folder.read(folder.root / "a.txt")
    for name in ("../b.txt", str(tmp_path / "b.txt"), ".hidden", "", "a.txt/x", "nul\0", "x" * 10_000):
        with pytest.raises(FileNotFoundError, match="in the folder"):
            folder.read(folder.root / name)


def test_a_large_file_is_read_in_part_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\ntwö\nthree".encode())
    folder = ServedFolder(tmp_path, max_bytes=7)
    path = folder.files[0].path

    assert ("one\n", False) == folder.read_lines(path)
    with pytest.raises(OSError, match="larger than 7 bytes"):
        folder.read(path)


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo")
    folder = ServedFolder(tmp_path, max_bytes=7)

    assert ("one\ntwo", True) == folder.read_lines(folder.files[0].path)


def test_an_empty_file_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").touch()
    folder = ServedFolder(tmp_path)
    monkeypatch.delattr(Path, "open")

    assert ("", True) == folder.read_lines(folder.files[0].path)


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"", ""), ("ü".encode(), "ü"), ("ü".encode("latin-1"), None), (b"a\0b", None), (b"a\r\nb", "a\r\nb")],
)
def test_text_is_what_is_utf_8_without_nul(content: bytes, text: str | None) -> None:
    assert text == text_of(content)


@pytest.mark.parametrize(
    ("name", "mime_type"), [("a.txt", "text/plain"), ("a.png", "image/png"), ("a.tar.gz", None), ("a", None)]
)
def test_a_name_promises_a_mime_type_unless_the_file_is_packed(name: str, mime_type: str | None) -> None:
    assert mime_type == mime_type_of(Path(name))
