"""What is common to every way of opening a connection."""

import pytest
from msgspec.structs import replace

from suaveplan_mcp.client.opening import KnownServer, Verdict, give_up
from suaveplan_mcp.events import ConnectionClosed, EventBus
from suaveplan_mcp.protocol.era import OpenEra
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.peers import SETUP


def test_nothing_is_known_of_a_server_before_it_was_asked() -> None:
    server = KnownServer(Verdict())

    assert (None, None, "") == (server.verdict.era, server.name, server.context)


async def test_a_connection_runs_with_what_the_client_brings() -> None:
    near, far = InMemoryTransport.pair()
    peer, era = ScriptedPeer(far), OpenEra("client", ())
    setup = replace(SETUP, id_generator=lambda: "own")

    dispatcher = setup.dispatch(near, era)
    work = dispatcher.request("anything", timeout=1.0)

    assert (era, setup.callbacks.handlers, setup.events) == (dispatcher.era, dispatcher.handlers, dispatcher.events)
    await dispatcher.close()
    with pytest.raises(Exception, match="closed"):
        await work
    assert [] == peer.seen


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("it is so"), "it is so"), (KeyboardInterrupt(), "connecting was given up")]
)
async def test_what_could_not_be_opened_is_closed_with_the_reason(error: BaseException, reason: str) -> None:
    near, far = InMemoryTransport.pair()
    closed: list[str | None] = []

    def note(event: ConnectionClosed) -> None:
        closed.append(event.reason)

    setup = replace(SETUP, events=EventBus("client"))
    setup.events.on("connection:closed", note)

    await give_up(setup.dispatch(near, OpenEra("client", ())), error)

    assert [reason] == closed
    assert (True, True) == (near.closed, far.closed)
