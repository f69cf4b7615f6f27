"""Case 4: a line that is no message costs nothing but itself."""

import asyncio
from typing import Any

import pytest

from tests.cases.peers import (
    READ,
    TRANSPORTS,
    answer,
    answer_to,
    error,
    facing,
    frame,
    list_tools,
    raw_client,
    write,
)

BOM = b"\xef\xbb\xbf"
SILENT = [BOM, b"", b" \t", BOM + b"\r"]
"""Nothing is in them, so nothing is said of them."""

NO_JSON = [
    b"\xff\xfe",
    b"Server started on stdio",
    b"[Breadcrumb] {",
    b"{",
    b"\x00",
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xff"}}',
    b"[" * 100_000,
]
NO_MESSAGE = [b'"just a string"', b"42", b"null", b"{}", b"[]", b'{"jsonrpc":"1.0","id":7,"method":"ping"}']
LONG = b"x" * 1_000_000

transports = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@transports
async def test_a_client_reports_each_bad_line_once_and_its_call_completes(transport: str) -> None:
    bad = [*NO_JSON, *NO_MESSAGE, LONG]
    silent = SILENT if transport == "stdio" else []
    acts = [READ, write(*silent, *bad), write(*silent, BOM + answer(1, {})), READ, write(answer(2, {}))]
    async with facing(transport, acts) as faced:
        await faced.client.ping()

        assert len(bad) == len(faced.faults)
        assert "Server started on stdio" in faced.faults[1]
        assert "just a string" in faced.faults[len(NO_JSON)]
        assert max(map(len, faced.faults)) < 600
        await faced.client.ping()


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@transports
async def test_a_client_survives_a_banner_before_the_handshake(transport: str) -> None:
    banner = [write(b"Welcome!", BOM, b"", b"42")]
    async with facing(transport, [READ, write(answer(1, {}))], before=banner) as faced:
        await faced.client.ping()

        assert 2 == len(faced.faults)


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@transports
async def test_a_server_says_what_is_wrong_with_each_and_answers_the_next(transport: str) -> None:
    async with raw_client(transport) as client:
        for sent, number in [*((each, -32700) for each in NO_JSON), *((each, -32600) for each in NO_MESSAGE)]:
            refused = await client.ask(sent)

            assert number == refused["error"]["code"], (sent[:50], refused)
            assert (refused.get("id") in (None, 7), "result" in refused) == (True, False)
        assert 1 == (await client.ask(BOM + list_tools(1)))["id"]


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
async def test_a_server_of_lines_passes_over_what_is_empty() -> None:
    async with raw_client("stdio") as client:
        await client.send(*SILENT, list_tools(1))

        assert 1 == (await client.receive())["id"]


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@transports
@pytest.mark.parametrize(
    "member", [{"params": 5}, {"params": [1]}, {"params": "text"}, {"method": 5}, {"method": None}, {"result": 1}]
)
async def test_a_request_with_a_bad_member_is_refused_under_its_id(transport: str, member: dict[str, Any]) -> None:
    async with raw_client(transport) as client:
        await client.send(frame("tools/list", id=5), frame("tools/list", id=6, members=member))
        answers = await client.rest()

    assert "result" in answer_to(answers, 5)
    assert answer_to(answers, 6)["error"]["code"] in (-32600, -32602)


@pytest.mark.requirement("case-4-a-bad-line-costs-nothing-but-itself")
@transports
async def test_an_error_for_no_request_disturbs_no_other(transport: str) -> None:
    acts = [READ, READ, write(error(None, -32700, "Parse error"), error(99, -32603, "?"), answer(1, {}), answer(2, {}))]
    async with facing(transport, acts) as faced:
        await asyncio.gather(faced.client.ping(), faced.client.ping())

        assert 2 == len(faced.faults)
