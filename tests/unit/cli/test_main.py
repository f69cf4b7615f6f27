"""The command line as a whole."""

import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from suaveplan_mcp.cli import main
from suaveplan_mcp.cli.parser import UsageError
from suaveplan_mcp.cli.printing import write_line
from suaveplan_mcp.version import VERSION
from tests.transports.plain_process import DEADLINE


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts another function in the place of a command."""

    def replace(name: str, function: Callable[..., object]) -> None:
        module = ModuleType(name)
        module.__dict__["main"] = function
        monkeypatch.setitem(sys.modules, f"suaveplan_mcp.cli.{name}", module)

    return replace


def fail_with(error: BaseException) -> Callable[[object], int]:
    def fail(options: object) -> int:
        raise error

    return fail


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["version"])
    assert f"suaveplan-mcp {VERSION}\n" == capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "folder"), [(["demo"], "."), (["demo", "some folder"], "some folder")])
def test_the_demo_gets_its_folder(arguments: list[str], folder: str, command: Callable[..., None]) -> None:
    asked: list[object] = []
    command("demo", lambda given: asked.append(given) or 0)

    assert 0 == main(arguments)
    assert [folder] == asked


def test_the_arguments_of_the_process_are_taken_where_none_are_given(
    command: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("version", lambda options: 7)
    monkeypatch.setattr("sys.argv", ["suaveplan-mcp", "version"])

    assert 7 == main()


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["call"], ["list"]])
def test_a_command_line_that_is_not_complete_is_misuse(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)

    assert 2 == raised.value.code
    assert capsys.readouterr().err.startswith("usage: suaveplan-mcp")


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (OSError("the disk is full"), 1, "suaveplan-mcp: the disk is full\n"),
        (LookupError(), 1, "suaveplan-mcp: LookupError\n"),
        (UsageError("no such thing"), 2, "suaveplan-mcp: no such thing\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_sentence_and_a_status(
    error: BaseException,
    status: int,
    sentence: str,
    command: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command("version", fail_with(error))

    assert status == main(["version"])
    assert ("", sentence) == capsys.readouterr()


def test_an_error_is_shown_in_full_where_that_is_asked_for(command: Callable[..., None]) -> None:
    command("version", fail_with(OSError("the disk is full")))

    with pytest.raises(OSError, match="the disk is full"):
        main(["version", "--debug"])


def test_a_reader_that_has_seen_enough_is_no_reason_to_complain() -> None:
    command = [sys.executable, "-m", "suaveplan_mcp", "version"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"" == process.stderr.read()

    assert 1 == process.wait(DEADLINE)


def test_what_a_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    terminal = SimpleNamespace(encoding="ascii", write=written.append, flush=lambda: None)
    monkeypatch.setattr("sys.stdout", terminal)

    write_line("a≤b")

    assert ["a\\u2264b\n"] == written
