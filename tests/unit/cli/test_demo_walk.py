"""What the steps of the demo's walk share."""

from collections.abc import Awaitable
from pathlib import Path
from typing import cast

import pytest

from suaveplan_mcp.cli import demo_walk
from suaveplan_mcp.cli.demo_account import Account, shorten, shorten_middle
from suaveplan_mcp.cli.demo_tool_steps import longest_word
from suaveplan_mcp.cli.demo_walk import Sample, Step, Walk, WrongAnswerError, expect, expect_refusal, number
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.types import (
    CreateMessageRequestParams,
    ImageContent,
    LoggingMessageNotificationParams,
    Resource,
    SamplingMessage,
    TextContent,
)


def _walk(folder: Path) -> Walk:
    """Return a walk that never gets to its server."""
    return Walk(folder, folder / "watched.txt", cast("ServerProcess", None))


def _listed(name: str, size: int | None = 10) -> Resource:
    return Resource(uri=f"file:///{name}", name=name, size=size)


async def answer(value: object) -> object:
    if isinstance(value, Exception):
        raise value
    return value


# Samples


async def test_the_first_text_and_the_first_bytes_are_the_samples(tmp_path: Path) -> None:
    contents = {"a.bin": b"\0", "b.txt": b"b", "c.bin": b"\0", "d.txt": b"d"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    walk = _walk(tmp_path)
    walk.files = [_listed(name) for name in contents]
    walk.choose_samples()

    assert (b"\0", b"b") == tuple(sample and sample.content for sample in (walk.binary_file, walk.text_file))
    assert ("a.bin", "b.txt") == tuple(sample and sample.name for sample in (walk.binary_file, walk.text_file))


async def test_files_that_are_empty_large_or_unreadable_are_no_samples(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_text("large")
    walk = _walk(tmp_path)
    walk.files = [_listed("empty", 0), _listed("large", 10**9), _listed("gone")]
    walk.choose_samples()

    assert (None, None) == (walk.text_file, walk.binary_file)


def test_a_sample_may_be_what_it_was_or_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"now")
    sample = Sample(_listed("log"), path, b"before")

    assert [True, True, False] == [sample.is_equal(content) for content in (b"before", b"now", b"never")]


# Waiting


async def test_waiting_for_what_does_not_come_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_walk, "PATIENCE", 0.0)

    with pytest.raises(WrongAnswerError, match="a log message from nobody did not come within 0 s"):
        await _walk(tmp_path).wait_for_log("nobody")


async def test_the_last_message_of_a_logger_is_what_is_waited_for(tmp_path: Path) -> None:
    walk = _walk(tmp_path)
    for data, logger in (("first", "one"), ("second", "one"), ("third", "other")):
        walk.logs.append(LoggingMessageNotificationParams(level="info", data=data, logger=logger))

    assert "second" == await walk.wait_for_log("one")


# Stand-ins


async def test_the_stand_in_for_a_model_says_what_it_is_and_counts(tmp_path: Path) -> None:
    walk = _walk(tmp_path)
    picture = ImageContent(data="AAAA", mime_type="image/png")
    messages = [
        SamplingMessage(role="user", content=[TextContent(text="one two"), picture]),
        SamplingMessage(role="user", content=TextContent(text="three")),
    ]
    result = walk.answer_as_model(CreateMessageRequestParams(messages=messages, max_tokens=10))

    said = "No model is connected; this stand-in was given 3 words and understood none of them."
    assert (TextContent(text=said), "demo-stand-in") == (result.content, result.model)
    assert said == walk.sampled


# Checking


def test_a_wrong_answer_is_an_error() -> None:
    expect(["right"], "never told")
    with pytest.raises(WrongAnswerError, match="it is wrong"):
        expect([], "it is wrong")


async def test_a_refusal_that_is_expected_is_returned() -> None:
    error = MCPError(MCP_CODES.NOT_FOUND, "not here")

    assert error is await expect_refusal(MCP_CODES.NOT_FOUND, answer(error))


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (answer("something"), "'something' came back"),
        (answer(MCPError(MCP_CODES.TIMEOUT, "too late")), "MCP.TIMEOUT came instead of MCP.NOT_FOUND: too late"),
    ],
)
async def test_anything_but_the_expected_refusal_is_wrong(request_: Awaitable[object], complaint: str) -> None:
    with pytest.raises(WrongAnswerError, match=complaint):
        await expect_refusal(MCP_CODES.NOT_FOUND, request_)


# Words


@pytest.mark.parametrize(("count", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_one_is_no_plural(count: int, text: str) -> None:
    assert text == number(count, "file")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("short", "short"),
        ("a\n b\tc \x1b[3md\x07", "a b c [3md"),
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 17 + "..."),
    ],
)
def test_a_text_is_shortened_to_one_line_that_can_be_seen(text: str, line: str) -> None:
    assert line == shorten(text, 20)


@pytest.mark.parametrize(("text", "line"), [("12\n345", "12 345"), ("1234567", "123 ... 567")])
def test_of_a_reason_both_ends_are_kept(text: str, line: str) -> None:
    assert line == shorten_middle(text, 6)


@pytest.mark.parametrize(("text", "word"), [("a bcd ef", "bcd"), ("\n \n", ""), ("日本語", "")])
def test_the_longest_word_is_in_the_text_and_nothing_is_in_every_line(text: str, word: str) -> None:
    assert word == longest_word(text)


def test_the_account_tells_steps_and_counts_methods_once(capsys: pytest.CaptureFixture[str]) -> None:
    async def run(_: Walk) -> str:
        return ""

    account = Account()
    account.open("/folder")
    account.add(Step("anybody?", run, ("ping",)), "yes", 0.25)
    account.add(Step("still?", run, ("ping", "tools/list")), "yes", 0.5)
    account.add(Step("goodbye", run), "gone", 0.25)
    account.close("it has ended")

    assert [
        "A server for the files of /folder, a client, and every method between them.",
        "",
        "  1  anybody? [ping]",
        "    250.0 ms  yes",
        "  2  still? [ping, tools/list]",
        "    500.0 ms  yes",
        "  3  goodbye",
        "    250.0 ms  gone",
        "",
        "3 steps, 2 methods, every answer as it should be, 1.00 s; it has ended",
    ] == capsys.readouterr().out.splitlines()
