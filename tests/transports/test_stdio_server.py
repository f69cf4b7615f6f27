"""A server on its own standard input and output, as a real process."""

import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.transports.plain_process import DEADLINE, PLAIN, SERVERS, running, script, serve_lines


def request(id_: int, method: str, params: Any = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode() + b"\n"


def results(output: bytes) -> list[Any]:
    return [json.loads(line)["result"] for line in output.splitlines()]


def start(*methods: str) -> subprocess.Popen[bytes]:
    """Start a server, send one request after another and return when all of them run."""
    server = subprocess.Popen(PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(b"".join(request(number, method) for number, method in enumerate(methods)))
    server.stdin.write(request(99, "echo", "running"))
    server.stdin.flush()
    while json.loads(server.stdout.readline()).get("id") != 99:
        pass
    return server


def end(server: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    """Close a server's input; return its exit status, the rest of its output and what it wrote to stderr."""
    output, errors = server.communicate(timeout=DEADLINE)
    return server.returncode, output, errors.decode()


async def test_a_request_goes_round() -> None:
    async with running(PLAIN) as dispatcher:
        assert {"text": "a≤b🎉"} == await dispatcher.request("echo", {"text": "a≤b🎉"})


@pytest.mark.requirement("case-5-tools-cannot-touch-the-wire")
@pytest.mark.parametrize(
    ("method", "answer"), [("child", "0"), ("print", "done"), ("system", 0), ("input", "end of input")]
)
async def test_a_handler_cannot_touch_the_wire(method: str, answer: object) -> None:
    heard: list[str] = []
    async with running(PLAIN, on_stderr=heard.append) as dispatcher:
        assert answer == await dispatcher.request(method)
        assert "next" == await dispatcher.request("echo", "next")
    expected = {"print": ["printed"], "system": ["from a shell"]}.get(method, [])
    assert [*expected, "cleaned up"] == heard


async def test_ten_megabytes_go_round() -> None:
    big = "x" * 10_000_000
    async with running(PLAIN) as dispatcher:
        assert big == await dispatcher.request("echo", big)


def test_a_handler_waits_for_a_client_that_is_behind_with_its_reading() -> None:
    server = start()
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    server.stdin.write(request(100, "chatter", 10_000))
    server.stdin.flush()
    assert b"the client is behind\n" == server.stderr.readline()
    *news, answer = (json.loads(server.stdout.readline()) for _ in range(10_001))

    assert (10_000, 1) == (len(news), answer["result"])
    assert 0 == end(server)[0]


@pytest.mark.requirement("case-1-both-line-ends-are-read-and-one-is-written")
def test_carriage_returns_and_blank_lines_are_no_part_of_a_message() -> None:
    lines = request(1, "echo", "a").replace(b"\n", b"\r\n") + b"\r\n\n" + request(2, "echo", "b")

    status, output, _ = serve_lines(lines)

    assert (0, ["a", "b"], 0) == (status, results(output), output.count(b"\r"))


@pytest.mark.requirement("case-2-a-character-that-a-read-cuts-stays-whole")
def test_characters_cut_by_single_byte_writes_stay_whole() -> None:
    server = start()
    assert server.stdin is not None
    for byte in request(1, "echo", "a≤b🎉").replace(b"\\u2264", "≤".encode()):
        os.write(server.stdin.fileno(), bytes([byte]))

    status, output, _ = end(server)

    assert (0, ["a≤b🎉"]) == (status, results(output))


def test_requests_piped_in_at_once_are_answered_before_the_server_ends() -> None:
    status, output, errors = serve_lines(request(1, "nap") + request(2, "echo", "b"))

    assert (0, ["awake", "b"]) == (status, sorted(results(output)))
    assert "cleaned up\n" == errors


@pytest.mark.parametrize("source", ["/dev/null", "a file"])
def test_input_that_is_no_pipe_is_served(source: str, tmp_path: Path) -> None:
    path, output = tmp_path / "requests", tmp_path / "answers"
    path.write_bytes(request(1, "echo", "from a file"))
    with (path if source == "a file" else Path(source)).open("rb") as stdin, output.open("wb") as stdout:
        done = subprocess.run(PLAIN, stdin=stdin, stdout=stdout, timeout=DEADLINE, check=False)

    assert (0, ["from a file"] if source == "a file" else []) == (done.returncode, results(output.read_bytes()))


@pytest.mark.parametrize(("closed", "answers"), [(0, []), (1, [])])
def test_a_descriptor_that_was_closed_from_the_start_ends_the_server_quietly(closed: int, answers: list[Any]) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *PLAIN]

    status, output, errors = serve_lines(request(1, "echo", "a"), shell)

    assert (0, answers, "cleaned up\n") == (status, results(output), errors)


def test_an_output_that_breaks_ends_the_server_quietly() -> None:
    server = start()
    assert server.stdout is not None
    assert server.stdin is not None
    server.stdout.close()
    server.stdin.write(request(1, "echo", "nobody reads this"))
    server.stdin.flush()

    assert 0 == server.wait(DEADLINE)
    assert server.stderr is not None
    assert b"cleaned up\n" == server.stderr.read()
    server.stderr.close()
    server.stdin.close()


@pytest.mark.parametrize("methods", [[], ["sleep"], ["block"], ["background"], ["sleep", "block", "background"]])
def test_the_end_of_input_ends_the_process_whatever_handlers_do(methods: list[str]) -> None:
    status, _, errors = end(start(*methods))

    assert (0, "cleaned up\n") == (status, errors)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("methods", [[], ["sleep"], ["block"]])
def test_a_signal_ends_the_process_although_the_input_is_open(number: signal.Signals, methods: list[str]) -> None:
    server = start(*methods)
    server.send_signal(number)
    assert 0 == server.wait(DEADLINE)

    assert (0, b"", "cleaned up\n") == end(server)


def test_a_handler_that_does_not_heed_its_cancellation_is_left_behind() -> None:
    status, _, errors = end(start("stubborn"))

    assert (0, "cleaned up") == (status, errors.splitlines()[-1])
    assert "Traceback" not in errors


def test_the_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = script(
        "import subprocess, sys, time\n"
        f"server = subprocess.Popen({PLAIN!r}, stdin=subprocess.PIPE, stderr=open({str(tmp_path / 'log')!r}, 'w'))\n"
        f"server.stdin.write({request(1, 'block')!r}); server.stdin.flush()\n"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(parent, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        watch = os.pidfd_open(pid)
        started.kill()
    try:
        assert [watch] == select.select([watch], [], [], DEADLINE)[0]
    finally:
        os.close(watch)


def test_what_was_printed_before_serving_is_no_message() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SERVERS)!r}); print('a banner')\nfrom plain import *; run(PlainServer())"
    )

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

    status, output, errors = serve_lines(request(1, "echo", "a"), script(code), environment)

    assert (0, ["a"]) == (status, results(output))
    assert "a banner\n" in errors


def test_a_terminal_can_be_typed_into() -> None:
    ours, theirs = os.openpty()
    server = subprocess.Popen(PLAIN, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(theirs)
    assert server.stdout is not None
    os.write(ours, request(1, "echo", "typed"))

    assert "typed" == json.loads(server.stdout.readline())["result"]
    os.close(ours)
    assert 0 == server.wait(DEADLINE)
    server.communicate()
