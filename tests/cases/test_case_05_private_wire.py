"""Case 5: whatever a tool prints, reads or starts, the wire carries messages alone."""

import os
import signal

import pytest

from tests.cases.peers import FIELD, RawProcess, call, initialize, list_tools, text_of

TOOLS = {
    "child": "0",
    "prints": "done",
    "shell": "0",
    "reads": "end of input",
    "writes_bytes": "done",
    "logs": "done",
    "noisy_child": "done",
    "child_reads_inherited": "0",
}


@pytest.mark.requirement("case-5-tools-cannot-touch-the-wire")
async def test_every_tool_returns_and_the_wire_stays_clean() -> None:
    async with RawProcess.running(FIELD) as server:
        await server.client.ask(initialize())
        for name, said in TOOLS.items():
            assert said == text_of(await server.client.call(name))
        assert 9 == (await server.client.ask(list_tools(9)))["id"]
        assert 0 == await server.end()

    # `RawProcess` fails for a line that is no JSON; what was printed is where people look for it.
    assert [b"printed", b"from a shell", b"bytes for descriptor 1", b"bytes for the buffer"] == [
        line for line in server.errors.splitlines() if line.startswith((b"printed", b"from", b"bytes"))
    ]
    assert b"an inherited stdout" in server.errors


@pytest.mark.requirement("case-5-tools-cannot-touch-the-wire")
async def test_all_of_them_at_once_do_not_disturb_each_other() -> None:
    async with RawProcess.running(FIELD) as server:
        await server.client.ask(initialize())
        await server.client.send(*(call(name, name) for name in TOOLS), list_tools(9))
        answers = [await server.client.receive() for _ in range(len(TOOLS) + 1)]

    assert TOOLS == {each["id"]: text_of(each) for each in answers if each["id"] != 9}


@pytest.mark.requirement("case-5-tools-cannot-touch-the-wire")
@pytest.mark.parametrize("tool", ["leaves_a_child"])
async def test_a_child_that_is_left_behind_does_not_keep_the_wire_open(tool: str) -> None:
    async with RawProcess.running(FIELD) as server:
        await server.client.ask(initialize())
        child = int(text_of(await server.client.call(tool)))
        server.stdin.close()
        try:
            # The end of the output is here although the child still runs.
            with pytest.raises(AssertionError, match="the server has ended"):
                await server.client.receive()
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)
