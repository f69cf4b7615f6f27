"""The demo as its users run it: a server in a process of its own, and every method between it and the client."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from suaveplan_mcp.cli import demo, demo_walk
from tests.architecture.source import ROOT

SERVERS = Path(__file__).with_name("servers")
DEADLINE = 60.0
METHODS = (
    "initialize notifications/initialized ping logging/setLevel notifications/message tools/list tools/call "
    "notifications/progress notifications/cancelled sampling/createMessage elicitation/create roots/list "
    "resources/list resources/templates/list resources/read resources/subscribe notifications/resources/updated "
    "resources/unsubscribe prompts/list prompts/get completion/complete"
).split()


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the numbers of the processes that the demo starts."""
    numbers: list[int] = []
    start_server = demo.start_server

    async def note(folder: Path, watched: Path) -> demo_walk.ServerProcess:
        server = await start_server(folder, watched)
        numbers.append(server.pid)
        return server

    monkeypatch.setattr(demo, "start_server", note)
    return numbers


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def _assert_walked(out: str) -> None:
    lines = out.splitlines()
    assert len(demo.STEPS) == len([line for line in lines if re.match(r" *\d+  \S", line)])
    assert lines[-1].startswith(f"{len(demo.STEPS)} steps, {len(METHODS)} methods, every answer as it should be")


def test_the_command_walks_through_the_present_folder_and_leaves_no_process_behind() -> None:
    command = [sys.executable, "-m", "suaveplan_mcp", "demo"]
    child = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=DEADLINE
    )

    assert (0, "") == (child.returncode, child.stderr)
    _assert_walked(child.stdout)
    ended = re.search(r"the server, process (\d+), has ended with status 0$", child.stdout.strip())
    assert ended is not None
    assert not _is_alive(int(ended[1]))


def test_the_walk_passes_every_method() -> None:
    assert set(METHODS) == {method for step in demo.STEPS for method in step.methods}


def test_the_demo_works_on_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == demo.main(str(tmp_path))
    _assert_walked(capsys.readouterr().out)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="such files exist on POSIX systems only")
def test_the_demo_works_on_a_folder_of_oddities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "100% odd é {x}?#"
    (folder / "日本語").mkdir(parents=True)
    for name in (
        "a b%20c.txt",
        "new\nline",
        '"quoted".json',
        "日本語/文.txt",
        "back\\slash",
        "{brace}",
        "-x",
        "café.md",
    ):
        (folder / name).write_text(f"content of {name}", "utf-8")
    (folder / "bytes.bin").write_bytes(bytes(range(256)))
    (folder / "locked").write_text("locked")
    (folder / "locked").chmod(0)
    (folder / "no entry").mkdir(mode=0)
    for name, target in {"out": "/etc/hosts", "ring": "ring", "broken": "nowhere", "round": "."}.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")

    assert 0 == demo.main(str(folder))
    _assert_walked(out := capsys.readouterr().out)
    assert '"quoted".json' in out
    assert "bytes.bin, application/octet-stream, 256 bytes" in out


def test_the_demo_works_on_a_huge_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(1_001):
        (tmp_path / f"{number}").write_text("small", "utf-8")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(10**10)

    assert 0 == demo.main(str(tmp_path))
    _assert_walked(out := capsys.readouterr().out)
    assert "1000 files, and more" in out


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing")

    assert 1 == demo.main(missing)
    said = capsys.readouterr()
    assert ("", 1) == (said.out, len(said.err.splitlines()))
    assert missing in said.err
    assert "No such file or directory" in said.err


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()

    assert 1 == demo.main(str(tmp_path / "file"))
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "step", "reason"),
    [
        (
            "dying",
            "search: where is a certain word? [tools/call, notifications/progress]",
            "ended with exit status 3; its last words:",
        ),
        (
            "lying",
            "show_largest: how many, user? [tools/call, elicitation/create]",
            "[FileSize(name='invented.txt', size=1)] are not the two largest files",
        ),
        ("broken", "who are you? [initialize]", "ValueError: this file is broken"),
        ("grudging", "goodbye, and see the server end", "the server ended with status 7 instead of 0"),
    ],
)
def test_a_failure_is_told_in_one_sentence_that_names_the_step(
    server: str,
    step: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    started: list[int],
) -> None:
    (tmp_path / "a.txt").write_text("some words to look for", "utf-8")
    monkeypatch.setattr(demo_walk, "SERVER_FILE", SERVERS / f"{server}_server.py")

    assert 1 == demo.main(str(tmp_path))
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("suaveplan-mcp: the demo failed at step ")
    assert step in sentence
    assert reason in sentence
    assert len(sentence) < 1_200
    assert [False] == [_is_alive(number) for number in started]


def test_a_server_that_cannot_be_started_fails_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-such-python"))

    with pytest.raises(demo_walk.MCPError, match="cannot start the server process"):
        demo.main(str(tmp_path))
