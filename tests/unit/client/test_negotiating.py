"""Opening a connection to a server whose era is not known."""

import asyncio
from collections import deque
from collections.abc import Callable

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.client.negotiating import PATIENCE
from suaveplan_mcp.client.opening import EraName, KnownServer, Verdict
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPProtocolError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Message, Notification, Request
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.base import Delivery, TransportBase
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from tests.unit.client.peers import answer

DISCOVERED: JsonObject = {
    "resultType": "complete",
    "supportedVersions": [LATEST],
    "capabilities": {},
    "ttlMs": 0,
    "cacheScope": "private",
}
UNSUPPORTED: JsonObject = {"supported": [LATEST], "requested": LATEST_HANDSHAKE}


class Opening:
    """A client that is connecting to a peer which is played by hand."""

    def __init__(self, era: EraName | None = None, clock: FakeClock | None = None, **options: float | None) -> None:
        self.verdict = Verdict()
        self.verdict.era = era
        self.client = MCPClient(
            protocol="auto",
            prefetch=False,
            clock=clock,
            timers=clock,
            server=KnownServer(self.verdict),
            **options,  # pyright: ignore[reportArgumentType]  only limits are passed
        )
        self.near, far = InMemoryTransport.pair()
        self.peer = ScriptedPeer(far)
        self.connecting = asyncio.create_task(self.client.connect(self.near))

    async def refuse(self, method: str, number: int, data: JsonObject | None = None) -> None:
        request = await self.peer.expect_request(method)
        self.peer.fail(request.id, number, "made up", data or {})

    async def connected(self) -> str | None:
        """Return the revision that came of it, and disconnect."""
        await self.connecting
        revision = self.client.protocol_version
        await self.client.disconnect()
        return revision

    async def failed(self) -> MCPError:
        """Return the error that came of it; nothing may be left open."""
        with pytest.raises(MCPError) as raised:
            await self.connecting
        assert self.near.closed
        assert not self.client.initialized
        return raised.value

    def methods(self) -> list[str]:
        """Return what the peer was sent."""
        return [each.method for each in self.peer.seen if isinstance(each, Request | Notification)]


async def test_a_server_that_says_what_it_is_is_of_the_newer_era() -> None:
    opening = Opening()

    await answer(opening.peer, "server/discover", DISCOVERED)

    assert LATEST == await opening.connected()
    assert ["server/discover"] == opening.methods()
    assert "stateless" == opening.verdict.era


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.parametrize("number", [-32601, -32600, -32602, -32603, -32700, -32000, 0])
async def test_any_error_but_a_modern_one_is_that_of_an_older_server(number: int) -> None:
    opening = Opening()

    await opening.refuse("server/discover", number)
    request = await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()
    assert isinstance(request.params, dict)
    assert LATEST_HANDSHAKE == request.params["protocolVersion"]
    assert "_meta" not in request.params
    assert "handshake" == opening.verdict.era


async def test_an_error_without_an_id_is_that_of_an_older_server() -> None:
    opening = Opening()

    await opening.peer.expect_request("server/discover")
    opening.peer.fail(None, -32600, "what is this?")
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.parametrize("result", [{}, {"resultType": "complete"}, {"supportedVersions": 1, "capabilities": {}}])
async def test_a_result_that_does_not_say_what_the_server_is_is_that_of_an_older_server(result: JsonObject) -> None:
    opening = Opening()

    await answer(opening.peer, "server/discover", result)
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.parametrize("number", [-32020, -32021, -32022])
async def test_a_modern_error_never_falls_back(number: int) -> None:
    opening = Opening()

    await opening.refuse("server/discover", number)
    error = await opening.failed()

    assert number in (error.jsonrpc_code, getattr(error.__cause__, "jsonrpc_code", None))
    assert ["server/discover"] == opening.methods()
    assert opening.verdict.era is None


async def test_a_newer_server_of_revisions_that_are_not_known_here_is_an_error_that_names_them() -> None:
    opening = Opening()

    await opening.refuse("server/discover", -32022, {"supported": ["2099-01-01"], "requested": LATEST})
    error = await opening.failed()

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == error.code
    assert f"the server speaks 2099-01-01, this client {LATEST}" == error.message
    assert ["server/discover"] == opening.methods()


async def test_a_server_that_names_revisions_of_the_handshake_alone_is_asked_for_one() -> None:
    opening = Opening()

    await opening.refuse("server/discover", -32022, {"supported": [LATEST_HANDSHAKE], "requested": LATEST})
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()
    assert "handshake" == opening.verdict.era


async def test_a_server_that_discovers_revisions_of_the_handshake_alone_is_asked_for_one() -> None:
    opening = Opening()

    await answer(opening.peer, "server/discover", {**DISCOVERED, "supportedVersions": list(HANDSHAKE_REVISIONS)})
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()


# Silence


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@pytest.mark.parametrize(("silence", "patience"), [(60.0, PATIENCE), (None, PATIENCE), (PATIENCE - 1, PATIENCE - 1)])
async def test_a_silent_server_is_an_older_one(silence: float | None, patience: float) -> None:
    clock = FakeClock()
    opening = Opening(clock=clock, timeout=silence, total_timeout=None)
    await opening.peer.expect_request("server/discover")

    await clock.advance_async(patience - 0.1)
    assert ["server/discover"] == opening.methods()

    await clock.advance_async(0.2)
    await opening.peer.expect_notification("notifications/cancelled")
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()
    assert "handshake" == opening.verdict.era


async def test_what_a_slow_server_answers_after_all_disturbs_nothing() -> None:
    clock = FakeClock()
    opening = Opening(clock=clock)
    request = await opening.peer.expect_request("server/discover")
    await clock.advance_async(PATIENCE)
    await opening.peer.expect_notification("notifications/cancelled")

    opening.peer.respond(request.id, DISCOVERED)
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()


async def test_a_newer_server_that_was_only_slow_is_asked_again() -> None:
    clock = FakeClock()
    opening = Opening(clock=clock)
    await opening.peer.expect_request("server/discover")
    await clock.advance_async(PATIENCE)
    await opening.peer.expect_notification("notifications/cancelled")

    await opening.refuse("initialize", -32022, UNSUPPORTED)
    await clock.advance_async(0)
    request = await opening.peer.expect_request("server/discover")
    await clock.advance_async(PATIENCE + 1)
    assert not opening.connecting.done()
    opening.peer.respond(request.id, DISCOVERED)

    assert LATEST == await opening.connected()
    assert "stateless" == opening.verdict.era


async def test_a_server_that_refuses_both_ways_is_the_error_of_connecting() -> None:
    opening = Opening()

    await opening.refuse("server/discover", -32601)
    await opening.refuse("initialize", -32602)
    error = await opening.failed()

    assert (MCP_CODES.INVALID_PARAMS, -32602) == (error.code, error.jsonrpc_code)
    assert ["server/discover", "initialize"] == opening.methods()
    assert opening.verdict.era is None


# The end of a server


async def test_a_server_that_goes_away_over_the_question_will_be_asked_the_other_way() -> None:
    opening = Opening()

    await opening.peer.expect_request("server/discover")
    await opening.peer.transport.close()

    assert isinstance(await opening.failed(), MCPTransportError)
    assert ["server/discover"] == opening.methods()
    assert "handshake" == opening.verdict.era


async def test_a_server_that_answers_and_then_goes_away_will_be_asked_the_other_way() -> None:
    opening = Opening()

    await opening.refuse("server/discover", -32600)
    await opening.peer.expect_request("initialize")
    await opening.peer.transport.close()

    assert isinstance(await opening.failed(), MCPTransportError)
    assert "handshake" == opening.verdict.era


async def test_connecting_that_is_cancelled_leaves_nothing_open() -> None:
    opening = Opening()
    await opening.peer.expect_request("server/discover")

    opening.connecting.cancel()
    await asyncio.wait((opening.connecting,))

    assert opening.connecting.cancelled()
    assert opening.near.closed
    assert opening.verdict.era is None


# What is remembered


@pytest.mark.requirement("a-client-remembers-what-its-server-is")
async def test_a_server_that_is_known_to_be_an_older_one_is_not_asked_what_it_is() -> None:
    opening = Opening("handshake")

    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()
    assert ["initialize", "notifications/initialized"] == opening.methods()
    assert "handshake" == opening.verdict.era


async def test_a_client_remembers_what_its_server_is() -> None:
    opening = Opening()
    await opening.refuse("server/discover", -32601)
    await opening.peer.handshake()
    await opening.connected()

    near, far = InMemoryTransport.pair()
    again, peer = asyncio.create_task(opening.client.connect(near)), ScriptedPeer(far)
    await peer.handshake()
    await again

    assert LATEST_HANDSHAKE == opening.client.protocol_version
    await opening.client.disconnect()


@pytest.mark.requirement("a-client-remembers-what-its-server-is")
@pytest.mark.parametrize("number", [-32601, -32602, -32022])
async def test_a_server_that_has_become_a_newer_one_is_asked_what_it_is(number: int) -> None:
    opening = Opening("handshake")

    await opening.refuse("initialize", number, UNSUPPORTED)
    await answer(opening.peer, "server/discover", DISCOVERED)

    assert LATEST == await opening.connected()
    assert "stateless" == opening.verdict.era


@pytest.mark.requirement("a-client-remembers-what-its-server-is")
async def test_a_server_that_has_become_an_older_one_is_asked_for_a_handshake() -> None:
    opening = Opening("stateless")

    await opening.refuse("server/discover", -32601)
    await opening.peer.handshake()

    assert LATEST_HANDSHAKE == await opening.connected()
    assert "handshake" == opening.verdict.era


async def test_a_known_server_that_goes_away_is_no_longer_known() -> None:
    opening = Opening("handshake")

    await opening.peer.expect_request("initialize")
    await opening.peer.transport.close()

    assert isinstance(await opening.failed(), MCPTransportError)
    assert opening.verdict.era is None


# Over HTTP, where every request is answered, if only with a status


class Failing(TransportBase):
    """A transport whose messages go their own ways, and fail alone."""

    def __init__(self, *failures: MCPError) -> None:
        super().__init__()
        self.started: list[Message] = []
        self._failures = deque(failures)

    def begin(
        self, message: Message, *, delivery: Delivery | None = None, failed: Callable[[MCPError], object]
    ) -> None:
        self.started.append(message)
        failed(self._failures.popleft())

    async def send(self, message: Message, *, delivery: Delivery | None = None) -> None:
        raise AssertionError(f"nothing is to be sent but requests, not {message}")

    async def close(self) -> None:
        self._finish()


def _status(status: int | None) -> MCPTransportError:
    context = {} if status is None else {"status": status}
    return MCPTransportError(MCP_CODES.TRANSPORT_ERROR, f"the server answered {status}", context=context)


@pytest.mark.parametrize(
    ("failure", "methods"),
    [
        (_status(400), ["server/discover", "initialize"]),
        (_status(405), ["server/discover", "initialize"]),
        (_status(500), ["server/discover"]),
        (_status(None), ["server/discover"]),
        (MCPError(MCP_CODES.TIMEOUT, "no answer"), ["server/discover"]),
        (MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, "no JSON"), ["server/discover"]),
    ],
)
async def test_over_http_only_the_status_of_a_bad_request_means_an_older_server(
    failure: MCPError, methods: list[str]
) -> None:
    near = Failing(failure, _status(400))
    client = MCPClient(protocol="auto", prefetch=False)

    with pytest.raises(MCPError):
        await client.connect(near)

    assert methods == [each.method for each in near.started if isinstance(each, Request)]
    assert near.closed
