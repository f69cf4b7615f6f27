"""The commands that use a server, each with a real one."""

import json
import logging
import shlex
import socket
import sys

import pytest

from suaveplan_mcp.cli import main
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.types.meta import SERVER_INFO_KEY
from tests.transports.plain_process import SERVERS

FILE = str(SERVERS / "tools.py")


def test_what_a_server_offers_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["list", FILE])

    out, err = capsys.readouterr()
    expected = [
        "tools:",
        "  echo  Say it again.",
        "  add",
        "resources:",
        "  test://text  Some text.",
        "  test://bytes  bytes",
        "resource templates:",
        "  test://items/{number}  item",
        "prompts:",
        "  greet  Greet somebody.",
    ]
    assert ([], "") == ([line for line in expected if line not in out.splitlines()], err)


def test_a_server_that_offers_nothing_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["list", f"{FILE}:other"])
    assert ("", "") == capsys.readouterr()


def test_what_a_server_offers_is_listed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["list", FILE, "--json"])

    listed = json.loads(capsys.readouterr().out)
    assert ["test://items/{number}"] == [item["uriTemplate"] for item in listed["resourceTemplates"]]


@pytest.mark.parametrize(
    ("arguments", "status", "output"),
    [
        (["echo", "text=a≤b"], 0, "a≤b\n"),
        (["picture"], 0, "[image image/png]\n"),
        (["fail"], 1, "Error: on purpose\n"),
    ],
)
def test_a_tool_is_called(arguments: list[str], status: int, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status == main(["call", FILE, *arguments])
    assert output == capsys.readouterr().out


def test_what_a_tool_returned_is_printed_whole_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["call", FILE, "echo", "text=x", "--json"])

    printed = capsys.readouterr().out
    result = json.loads(printed)
    assert [{"type": "text", "text": "x"}] == result["content"]
    assert {SERVER_INFO_KEY: {"name": "tools", "version": "1.0"}} == result["_meta"]
    assert f"{json.dumps(result, indent=2)}\n" == printed


def test_values_are_what_the_tool_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["call", FILE, "add", "a=1", "b=2"])
    assert {"sum": 3} == json.loads(capsys.readouterr().out)


def test_a_result_without_content_is_its_structure_where_it_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["call", FILE, "structure"])
    assert 0 == main(["call", FILE, "nothing"])
    assert {"sum": 3} == json.loads(capsys.readouterr().out)


def test_a_tool_that_does_not_exist_is_named_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["call", FILE, "nope"])
    assert capsys.readouterr().err.startswith("suaveplan-mcp: there is no tool 'nope'; there are echo, add")


def test_what_a_server_writes_to_stderr_is_shown_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["call", FILE, "fail", "--stderr"])
    assert {"loading", "loading by a shell", "about to fail"} <= set(capsys.readouterr().err.splitlines())


def test_a_message_over_the_limit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["call", FILE, "echo", "text=" + "x" * 5000, "--max-frame-bytes", "4096"])
    assert "over the limit of 4096 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("uri", "output"),
    [("test://text", "text ≤\n".encode()), ("test://bytes", b"\x00\xff"), ("test://items/7", b"item 7\n")],
)
def test_a_resource_is_read(uri: str, output: bytes, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert 0 == main(["read", FILE, uri])
    sys.stdout.flush()
    assert output == capfdbinary.readouterr().out


def test_a_resource_is_read_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["read", FILE, "test://bytes", "--json"])
    assert "AP8=" == json.loads(capsys.readouterr().out)["contents"][0]["blob"]


def test_a_prompt_is_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["prompt", FILE, "greet", "name=Ada"])
    assert "user: Greet Ada.\n" == capsys.readouterr().out


def test_a_prompt_is_filled_in_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["prompt", FILE, "greet", "name=Ada", "--json"])
    assert "user" == json.loads(capsys.readouterr().out)["messages"][0]["role"]


def test_a_server_that_cannot_be_started_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["list", "no-such-command-anywhere"])

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "suaveplan-mcp: cannot start the server process 'no-such-command-anywhere': there is no such"
    )


def test_a_program_that_is_no_server_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    echo = "import sys; [print(line, end='', flush=True) for line in sys.stdin]"

    assert 1 == main(["list", shlex.join([sys.executable, "-c", echo])])

    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("is no MCP server: it answers the handshake with 'Method not found: initialize'")


def test_a_method_that_a_server_lacks_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def refuse(self: object, uri: str) -> None:
        raise MCPError(MCP_CODES.METHOD_NOT_FOUND, "it offers no resources")

    monkeypatch.setattr(MCPClient, "read_resource", refuse)

    assert 1 == main(["read", FILE, "test://text"])
    assert "suaveplan-mcp: it offers no resources\n" == capsys.readouterr().err


@pytest.mark.parametrize(("options", "handlers"), [([], 1), (["--debug"], 0)])
def test_faults_are_logged_where_errors_are_shown_in_full(
    options: list[str], handlers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("suaveplan_mcp")
    monkeypatch.setattr(logger, "handlers", [])

    assert 0 == main(["read", FILE, "test://text", *options])
    assert handlers == len(logger.handlers)


@pytest.mark.parametrize(
    ("transport", "reason"), [([], "the POST of server/discover"), (["--transport", "sse"], "the event stream of")]
)
def test_a_url_is_opened_over_the_transport_that_is_named(
    transport: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    assert 1 == main(["list", f"http://127.0.0.1:{port}/x", *transport])
    assert reason in capsys.readouterr().err
