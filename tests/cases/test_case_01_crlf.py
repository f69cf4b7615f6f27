"""Case 1: CRLF line ends, and bare ones between messages."""

import pytest

from tests.cases.peers import (
    FIELD,
    READ,
    SHOW,
    RawProcess,
    answer,
    facing,
    initialize,
    list_tools,
    raw_client,
    write_bytes,
)


@pytest.mark.requirement("case-1-both-line-ends-are-read-and-one-is-written")
async def test_a_server_takes_both_line_ends_and_writes_one() -> None:
    async with RawProcess.running(FIELD) as server:
        await server.write(initialize() + b"\r\n" + b"\r\n")
        await server.client.receive()
        await server.write(list_tools(1) + b"\r\n" + b"\r\n" + b"\n" + list_tools(2) + b"\n")
        answers = [await server.client.receive() for _ in range(2)]
        assert 0 == await server.end()

    assert [1, 2] == [each["id"] for each in answers]
    assert (3, 0) == (server.output.count(b"\n"), server.output.count(b"\r"))
    assert server.output.endswith(b"}\n")


@pytest.mark.requirement("case-1-both-line-ends-are-read-and-one-is-written")
async def test_a_client_takes_both_line_ends_and_writes_one() -> None:
    lines = b"\r\n\r\n" + answer(1, {}) + b"\r\n" + b"\n" + b"\r\n"
    async with facing("stdio", [READ, SHOW, write_bytes(lines), READ, write_bytes(answer(2, {}) + b"\n")]) as faced:
        await faced.client.ping()
        await faced.client.ping()

    assert [] == faced.faults
    assert faced.shown[0].endswith("}\\n'")
    assert "\\r" not in faced.shown[0]


@pytest.mark.requirement("case-1-both-line-ends-are-read-and-one-is-written")
@pytest.mark.parametrize("transport", ["http+sse", "in memory"])
async def test_line_ends_around_a_frame_are_mere_space(transport: str) -> None:
    async with raw_client(transport) as client:
        answered = await client.ask(b"\r\n" + list_tools(1).replace(b", ", b",\r\n") + b"\r\n")

    assert 1 == answered["id"]
