"""Case 14: what nobody knows is answered if it is a request, and never if it is none."""

import logging

import pytest

from tests.cases.peers import (
    FIELD,
    READ,
    SHOW,
    TRANSPORTS,
    RawProcess,
    answer,
    facing,
    frame,
    initialize,
    list_tools,
    raw_client,
    write,
)
from tests.cases.servers.field import make_server

transports = pytest.mark.parametrize("transport", TRANSPORTS)

UNKNOWN = frame("codex/event", {"msg": {"x": 1}})
ODD = [
    frame("notifications/progress", {"progressToken": "nope", "progress": "NaN"}),
    frame("notifications/progress", {"progressToken": "nope", "progress": 1}),
    frame("notifications/progress"),
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":NaN}}',
    frame("ping"),
    frame("tools/list"),
    frame("initialize"),
    frame("notifications/initialized"),
    frame("notifications/initialized", {"unexpected": True}),
    frame("cancelled", {"id": 1}),
    frame(""),
    frame("rpc.discover"),
]


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@transports
@pytest.mark.parametrize("method", ["invalid/method", "", "tools", "tools/list/", "TOOLS/LIST", "server/discover"])
async def test_an_unknown_method_is_not_found(transport: str, method: str) -> None:
    async with raw_client(transport) as client:
        refused = await client.ask(frame(method, {"x": 1}, id=1))

        assert (1, -32601) == (refused["id"], refused["error"]["code"])


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@transports
async def test_unknown_and_odd_notifications_are_never_answered(transport: str) -> None:
    async with raw_client(transport) as client:
        await client.send(*[UNKNOWN] * 1000)
        assert [] == await client.rest("a thousand")
        for each in ODD:
            await client.send(each)
        answers = await client.rest()

        # NaN is no JSON, so what holds it is no notification.
        assert [-32700] == [each["error"]["code"] for each in answers]
        assert 1 == (await client.ask(list_tools(1)))["id"]


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
async def test_a_thousand_of_one_method_are_one_line_in_the_log() -> None:
    async with RawProcess.running(FIELD) as server:
        await server.client.ask(initialize())
        await server.client.send(*[UNKNOWN] * 1000)
        assert [] == await server.client.rest()
        assert 0 == await server.end()

    lines = [line for line in server.errors.decode().splitlines() if "codex/event" in line]
    assert 1 == len(lines)
    assert 200 > len(lines[0])


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
async def test_a_thousand_methods_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with raw_client("in memory") as client:
        await client.send(*(frame(f"codex/event{number}") for number in range(1000)))
        assert [] == await client.rest()

    assert 100 >= len(caplog.records) > 0


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
async def test_whoever_wants_to_can_see_every_one() -> None:
    server, faults = make_server(), list[str]()
    server.events.on("fault:reported", lambda reported: faults.append(reported.fault))
    async with raw_client("in memory", server) as client:
        await client.send(*[UNKNOWN] * 1000)
        assert [] == await client.rest()

    assert (1000, True) == (len(faults), "codex/event" in faults[0])


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@transports
async def test_a_client_is_not_disturbed_by_them_either(transport: str) -> None:
    odd = [*[UNKNOWN] * 1000, *ODD, frame("notifications/message", {"level": "loud"})]
    acts = [READ, write(*odd, answer(1, {})), READ, write(answer(2, {}))]
    async with facing(transport, acts) as faced:
        await faced.client.ping()
        await faced.client.ping()

        assert 1000 == sum("codex/event" in fault for fault in faced.faults)


@pytest.mark.requirement("case-14-nobody-is-disturbed-by-what-nobody-knows")
@transports
async def test_a_client_says_not_found_to_a_method_it_does_not_serve(transport: str) -> None:
    asked = [frame(method, {}, id=method) for method in ("invalid/method", "tools/list", "sampling/createMessage")]
    acts = [READ, write(*asked), *[READ, SHOW] * len(asked), write(answer(1, {}))]
    async with facing(transport, acts) as faced:
        await faced.client.ping()

    assert [True] * 3 == ["-32601" in shown and "error" in shown for shown in faced.shown]
