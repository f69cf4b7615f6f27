"""What a server writes to its standard error."""

from collections.abc import AsyncIterator

import pytest

from suaveplan_mcp.host.stderr_log import StderrLog


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_lines_are_passed_on_whole_however_they_are_cut() -> None:
    lines: list[str] = []

    await StderrLog(lines.append).read(chunks(b"on", b"e\r\n\ntw\xe2\x89", b"\xa4o\nlast"))

    assert ["one", "tw≤o", "last"] == lines


async def test_the_last_words_are_the_last_four_kibibytes() -> None:
    log = StderrLog(str)

    await log.read(chunks(b"long ago ", b"x" * 4090, b"\xff end\n"))

    assert "x" * 4090 + "� end" == log.tail
    assert f"; its last words: {log.tail}" == log.last_words()


async def test_who_says_nothing_has_no_last_words() -> None:
    log = StderrLog(str)

    await log.read(chunks(b"\n"))

    assert "" == log.last_words()


async def test_a_line_without_end_is_clipped() -> None:
    lines: list[str] = []

    await StderrLog(lines.append).read(chunks(b"x" * 100_000, b"\nnext\n"))

    assert ["x" * 200 + "...", "next"] == lines


async def test_a_function_that_raises_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(line: str) -> None:
        raise ValueError(line)

    log = StderrLog(fail)

    await log.read(chunks(b"one\ntwo\n"))

    assert "one\ntwo" == log.tail
    assert 2 == caplog.text.count("raised ValueError")
