"""Case 2: a character of several bytes that is cut by a read stays whole."""

import json

import pytest

from suaveplan_mcp.testing import AsgiClient
from tests.cases.peers import (
    FIELD,
    READ,
    RawProcess,
    answer,
    call,
    facing,
    initialize,
    text_of,
    trickle,
)
from tests.cases.servers.field import make_server

TEXT = "a≤b🎉"


@pytest.mark.requirement("case-2-a-character-that-a-read-cuts-stays-whole")
async def test_a_client_reads_it_whole_from_single_bytes() -> None:
    result = {"resultType": "complete", "content": [{"type": "text", "text": TEXT}]}
    async with facing("stdio", [READ, trickle(answer(1, result) + b"\n")]) as faced:
        called = await faced.client.call_tool("echo", {"text": TEXT})

        assert [TEXT] == [getattr(block, "text", None) for block in called.content]
        assert [] == faced.faults


@pytest.mark.requirement("case-2-a-character-that-a-read-cuts-stays-whole")
async def test_a_server_reads_it_whole_from_single_bytes() -> None:
    async with RawProcess.running(FIELD) as server:
        await server.client.ask(initialize())
        for byte in call(1, "echo", {"text": TEXT}) + b"\n":
            await server.write(bytes([byte]))

        assert TEXT == text_of(await server.client.receive())
        assert "≤".encode() in server.output


@pytest.mark.requirement("case-2-a-character-that-a-read-cuts-stays-whole")
async def test_a_server_reads_it_whole_from_a_body_of_single_bytes() -> None:
    server = make_server()
    http = AsgiClient(server.sse_app())
    async with http.open("GET", "/sse") as stream:
        url = (await stream.next_event()).data.decode()
        for message in (initialize(), call(1, "echo", {"text": TEXT})):
            post = http.open("POST", url, headers={"Content-Type": "application/json"}, body=None)
            for byte in message:
                post.send_body(bytes([byte]), more=True)
            post.send_body(b"")
            await post.read()
            await post.finish()
        await stream.next_event()

        assert TEXT == text_of(json.loads((await stream.next_event()).data))
    await server.stop()
