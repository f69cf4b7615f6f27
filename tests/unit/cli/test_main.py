"""The command line as a whole."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import pytest

from suaveplan_mcp import __main__
from suaveplan_mcp.cli import main
from suaveplan_mcp.cli.parser import UsageError
from suaveplan_mcp.cli.printing import OutputError, write_bytes, write_error, write_line
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
    ("arguments", "sentence"),
    [
        (["call", "x.py"], "arguments are required: TOOL\n"),
        (["run", "x.py", "--port", "99999"], "argument --port: '99999' is no port; they go from 0 to 65535\n"),
        (["run", "x.py", "--port", "many"], "argument --port: 'many' is no port; they go from 0 to 65535\n"),
    ],
)
def test_misuse_names_what_is_wrong(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)

    assert capsys.readouterr().err.endswith(sentence)


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


def test_a_disk_that_is_full_is_one_sentence() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("only Linux has a device that is always full")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "suaveplan_mcp", "version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE, check=False)

    assert (1, b"suaveplan-mcp: cannot write to standard output: No space left on device\n") == (
        done.returncode,
        done.stderr,
    )


def test_closed_output_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout", None)

    assert 1 == main(["version"])
    assert "suaveplan-mcp: cannot write to standard output: it is closed\n" == capsys.readouterr().err
    with pytest.raises(OutputError, match="it is closed"):
        write_bytes(b"a")


def test_an_error_is_not_told_where_standard_error_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)

    assert None is write_error("lost")


def test_what_a_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    terminal = SimpleNamespace(encoding="ascii", write=written.append, flush=lambda: None)
    monkeypatch.setattr("sys.stdout", terminal)

    write_line("a≤b")

    assert ["a\\u2264b\n"] == written


# Signals

needs_signals = pytest.mark.skipif(os.name != "posix", reason="other systems do not end a process by a signal")


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """Put the handlers back that a test changes."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def be_told(options: object) -> int:
    signal.raise_signal(signal.SIGTERM)
    return 7


@needs_signals
@pytest.mark.parametrize("interrupt", [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.usefixtures("signal_handlers")
def test_a_signal_that_would_end_the_process_ends_the_command(
    interrupt: signal.Handlers, command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    command("version", be_told)
    signal.signal(signal.SIGINT, interrupt)

    assert 128 + signal.SIGTERM == main(["version"])
    assert ("", "") == capsys.readouterr()
    assert signal.SIG_DFL is signal.getsignal(signal.SIGTERM)


@needs_signals
@pytest.mark.usefixtures("signal_handlers")
def test_a_signal_that_is_ignored_stays_so(command: Callable[..., None]) -> None:
    command("version", be_told)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    assert 7 == main(["version"])


@needs_signals
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_takes_the_server_along_that_a_command_has_started(name: str) -> None:
    number = signal.Signals[name]
    server = "import os, sys; print(os.getpid(), file=sys.stderr, flush=True); sys.stdin.read()"
    target = shlex.join([sys.executable, "-c", server])
    command = [sys.executable, "-m", "suaveplan_mcp", "list", target, "--stderr"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        server_id = int(process.stderr.readline())
        process.send_signal(number)
        assert b"" == process.stderr.read()

    assert 128 + number == process.wait(DEADLINE)
    with pytest.raises(ProcessLookupError):
        os.kill(server_id, 0)


def test_an_interrupt_while_the_command_is_loaded_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def be_interrupted(name: str) -> ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "import_module", be_interrupted)

    assert 130 == __main__.main()
