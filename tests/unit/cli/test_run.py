"""`suaveplan-mcp run`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from suaveplan_mcp.cli import main
from suaveplan_mcp.cli.run import ServerFileError, load_server
from tests.transports.plain_process import DEADLINE, SERVERS
from tests.transports.standard_streams import standard_streams

HEADER = "from suaveplan_mcp.server.mcp_server import MCPServer\n"
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    }
)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Return a function that writes a server file; what loading it changes is undone."""
    monkeypatch.setattr("sys.path", [*sys.path])

    def write(text: str, name: str = "a_server_file.py") -> Path:
        path = tmp_path / name
        path.write_text(HEADER + text, "utf-8")
        return path

    yield write
    loaded = [
        name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(str(tmp_path))
    ]
    for name in loaded:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "place", "name"),
    [
        ("mine = MCPServer('mine')", "", "mine"),
        ("one = MCPServer('one'); server = MCPServer('server'); mcp = MCPServer('mcp')", "", "server"),
        ("one = MCPServer('one'); app = MCPServer('app'); mcp = MCPServer('mcp')", "", "mcp"),
        ("one = MCPServer('one'); two = MCPServer('two')", ":two", "two"),
        ("one = again = MCPServer('one')", "", "one"),
    ],
)
def test_the_server_of_a_file_is_found(text: str, place: str, name: str, write: Callable[..., Path]) -> None:
    assert name == load_server(f"{write(text)}{place}").name


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "", "which server of '.*a_server_file.py'. it has no MCPServer at its top level"),
        ("a = MCPServer('a'); b = MCPServer('b')", "", "its servers are a, b; write FILE:NAME to choose one"),
        ("a = MCPServer('a')", ":b", "there is no b in '.*'; its servers are a"),
        ("a = MCPServer('a'); b = 1", ":b", "b is a int in '.*'; its servers are a"),
        ("def make(): ...", ":make", "make is a function in '.*'; call it there .* server = make"),
        ("\nraise LookupError('no key')", "", "cannot be loaded: LookupError: no key .line 3."),
        ("a = (", "", "cannot be loaded: SyntaxError"),
    ],
)
def test_a_file_without_the_server_says_what_is_wrong(
    text: str, place: str, reason: str, write: Callable[..., Path]
) -> None:
    with pytest.raises(ServerFileError, match=reason):
        load_server(f"{write(text)}{place}")


@pytest.mark.parametrize("place", ["missing.py", "missing.py:server"])
def test_a_file_that_does_not_exist_says_so(place: str) -> None:
    with pytest.raises(ServerFileError, match="there is no file 'missing.py'"):
        load_server(place)


def test_a_file_that_is_no_python_says_so(write: Callable[..., Path]) -> None:
    with pytest.raises(ServerFileError, match="is no Python file"):
        load_server(str(write("", "server.txt")))


def test_a_file_may_import_its_neighbours_and_have_the_name_of_a_module(write: Callable[..., Path]) -> None:
    write("NAME = 'from the neighbour'", "a_neighbour.py")

    server = load_server(str(write("import a_neighbour; server = MCPServer(a_neighbour.NAME)", "json.py")))

    assert "from the neighbour" == server.name


def test_a_message_over_the_limit_is_refused_by_a_file_that_is_served(write: Callable[..., Path]) -> None:
    with standard_streams() as wire:
        wire.feed(INITIALIZE.encode() + b"\n")
        assert 0 == main(["run", str(write("server = MCPServer('served')")), "--max-frame-bytes", "64"])

    assert "over the limit of 64 bytes" in json.loads(wire.written())["error"]["message"]


def test_a_file_is_served_on_standard_input_and_output(write: Callable[..., Path]) -> None:
    with standard_streams() as wire:
        wire.feed(INITIALIZE.encode() + b"\n")
        assert 0 == main(["run", str(write("server = MCPServer('served'); print('loading')"))])

    (answer,) = wire.written().splitlines()
    assert "served" == json.loads(answer)["result"]["serverInfo"]["name"]


@pytest.mark.parametrize(("place", "transport"), [("missing.py", "stdio"), (f"{SERVERS}/tools.py", "pigeon")])
def test_standard_streams_are_put_back_where_nothing_is_served(
    place: str, transport: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.fstat(1).st_ino

    assert 1 == main(["run", place, "--transport", transport])

    assert before == os.fstat(1).st_ino
    assert capsys.readouterr().err.splitlines()[-1].startswith("suaveplan-mcp: ")


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_the_options_of_serving_over_http_are_handed_on(
    transport: str, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        f"suaveplan_mcp.cli.run.run_{transport}", lambda server, **options: asked.extend([server, options])
    )
    file = str(write("server = MCPServer('over HTTP')"))

    assert 0 == main(
        [
            "run",
            file,
            "--transport",
            transport,
            "--host",
            "::1",
            "--port",
            "80",
            "--path",
            "/x",
            "--max-frame-bytes",
            "9",
        ]
    )

    server, options = asked
    assert "over HTTP" == server.name
    assert {"host": "::1", "port": 80, "path": "/x", "max_frame_bytes": 9}.items() <= options.items()


def test_a_thread_that_the_file_starts_does_not_keep_the_process_alive(write: Callable[..., Path]) -> None:
    file = write(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nserver = MCPServer()"
    )

    command = [sys.executable, "-m", "suaveplan_mcp", "run", str(file)]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=DEADLINE, check=False)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("ending", ["server.run()", "if __name__ == '__main__': server.run()"])
@pytest.mark.parametrize("command", [["-m", "suaveplan_mcp", "run"], []])
def test_a_file_that_runs_itself_can_be_run_in_both_ways(
    ending: str, command: list[str], write: Callable[..., Path]
) -> None:
    file = write(f"server = MCPServer('itself')\n{ending}\n")

    done = subprocess.run(
        [sys.executable, *command, str(file)],
        input=INITIALIZE,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )

    assert ["itself"] == [json.loads(line)["result"]["serverInfo"]["name"] for line in done.stdout.splitlines()]
    assert "" == done.stderr


@pytest.mark.parametrize("option", ["--host", "--port", "--path", "--allowed-host", "--allowed-origin"])
def test_options_of_http_are_misuse_without_it(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["run", "missing.py", option, "80"])
    assert f"suaveplan-mcp: {option} needs an HTTP transport; add --transport http\n" == capsys.readouterr().err
