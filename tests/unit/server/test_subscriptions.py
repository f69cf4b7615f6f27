"""Listen streams: what is acknowledged, what is told to whom, and how they end."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.jsonrpc.messages import ErrorObject, ErrorResponse, JsonObject, Notification, Response
from suaveplan_mcp.protocol.revisions import V2026_07_28
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.in_flight import SENT, Sent
from suaveplan_mcp.server.authorization import AuthorizationRequest
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.local_calls import LocalCall
from suaveplan_mcp.server.subscriptions import END_GRACE, LISTEN, ListenStream, SubscriptionLimits, Subscriptions
from suaveplan_mcp.testing import FakeClock, ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.capabilities import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from suaveplan_mcp.types.meta import SUBSCRIPTION_ID_KEY
from suaveplan_mcp.types.resources import ReadResourceRequestParams
from suaveplan_mcp.types.subscriptions import SubscriptionFilter, SubscriptionsListenRequestParams
from tests.unit.server.peers import outcome, settle

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"
CANCELLED = "notifications/cancelled"

EVERYTHING = ServerCapabilities(
    tools=ToolsCapability(list_changed=True),
    prompts=PromptsCapability(list_changed=True),
    resources=ResourcesCapability(list_changed=True, subscribe=True),
)
META: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": V2026_07_28,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def subscriptions(capabilities: ServerCapabilities = EVERYTHING, **options: Any) -> Subscriptions:
    return Subscriptions(lambda: capabilities, **options)


@asynccontextmanager
async def serving(subscriptions: Subscriptions) -> AsyncGenerator[ScriptedPeer]:
    """Give a client of a server that has nothing but listen streams."""
    table = HandlerTable()
    table.register(LISTEN, subscriptions.handle_listen, exempt=True)
    near, far = InMemoryTransport.pair()
    dispatcher = JsonRpcDispatcher(near, era=StatelessEra("server", table), side="server", handlers=table)
    peer = ScriptedPeer(far)
    try:
        yield peer
    finally:
        await dispatcher.close()


def listen(peer: ScriptedPeer, id: int | str, wanted: Any) -> None:
    peer.request(id, LISTEN, {"_meta": META, "notifications": wanted})


async def honoured(peer: ScriptedPeer) -> Any:
    """Return the filter of an acknowledgement that comes next."""
    return params_of(await peer.expect_notification(ACKNOWLEDGED))["notifications"]


def params_of(message: Any) -> Any:
    assert isinstance(message, Notification)
    return message.params


def heard(peer: ScriptedPeer, id: int | str) -> list[Any]:
    """Return what came for one subscription beside its acknowledgement: methods, with the URI where there is one."""
    notices = [message for message in peer.seen if isinstance(message, Notification)]
    own = [notice for notice in notices if repr(params_of(notice)["_meta"][SUBSCRIPTION_ID_KEY]) == repr(id)]
    assert ACKNOWLEDGED == own[0].method
    return [params_of(notice).get("uri", notice.method) for notice in own[1:]]


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"toolsListChanged": True}, {"toolsListChanged": True}),
        ({"promptsListChanged": True, "toolsListChanged": False}, {"promptsListChanged": True}),
        ({"resourcesListChanged": True, "moonPhase": True}, {"resourcesListChanged": True}),
        ({"resourceSubscriptions": ["a:1", "a:2", "a:1"]}, {"resourceSubscriptions": ["a:1", "a:2"]}),
    ],
)
async def test_the_acknowledgement_comes_first_and_says_what_will_be_sent(wanted: Any, expected: Any) -> None:
    async with serving(subscriptions()) as peer:
        listen(peer, 0, wanted)
        first = await peer.expect_notification(ACKNOWLEDGED)

        assert {"_meta": {SUBSCRIPTION_ID_KEY: 0}, "notifications": expected} == params_of(first)


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
@pytest.mark.parametrize(
    "capabilities",
    [
        ServerCapabilities(),
        ServerCapabilities(tools=ToolsCapability(), prompts=PromptsCapability(), resources=ResourcesCapability()),
    ],
)
async def test_what_the_server_does_not_declare_is_left_out(capabilities: ServerCapabilities) -> None:
    everything = {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a:1"],
    }
    async with serving(subscriptions(capabilities)) as peer:
        listen(peer, 1, everything)

        assert {} == await honoured(peer)


@pytest.mark.requirement("the-end-of-a-listen-stream-says-whether-it-was-meant")
@pytest.mark.parametrize("wanted", [{}, {"toolsListChanged": False}, {"resourceSubscriptions": []}])
async def test_a_stream_that_could_bring_nothing_is_acknowledged_and_ended(wanted: Any) -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, "s", wanted)

        assert {} == await honoured(peer)
        cancelled = await peer.expect_notification(CANCELLED)
        assert "nothing of what was asked for can be sent" == params_of(cancelled)["reason"]
        result = outcome(await peer.expect_response("s"))
        assert {"resultType": "complete", "_meta": {SUBSCRIPTION_ID_KEY: "s"}} == result
        assert 0 == len(streams)


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_a_filter_is_required() -> None:
    async with serving(subscriptions()) as peer:
        peer.request(1, LISTEN, {"_meta": META})
        error = outcome(await peer.expect_response(1))

        assert isinstance(error, ErrorObject)
        assert -32602 == error.code


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_each_stream_hears_what_it_asked_for_under_its_own_id() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 1, {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]})
        listen(peer, "1", {"promptsListChanged": True, "resourcesListChanged": True})
        await settle()
        for method in (TOOLS, PROMPTS, RESOURCES):
            streams.tell_list_changed(method)
        for uri in ("a:1", "a:2", "a:1/below"):
            streams.tell_updated(uri)
        await settle()

        assert [TOOLS, "a:1"] == heard(peer, 1)
        assert [PROMPTS, RESOURCES] == heard(peer, "1")


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_a_burst_is_told_once_and_a_change_after_it_again() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True, "resourceSubscriptions": ["a:1", "a:2"]})
        await settle()
        for _ in range(1000):
            streams.tell_list_changed(TOOLS)
            streams.tell_updated("a:1")
            streams.tell_updated("a:2")
        await settle()
        streams.tell_updated("a:1")
        await settle()

        assert [TOOLS, "a:1", "a:2", "a:1"] == heard(peer, 0)


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_a_change_may_be_told_of_in_any_thread() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 0, {"resourceSubscriptions": ["a:1"]})
        await settle()
        thread = threading.Thread(target=streams.tell_updated, args=("a:1",))
        thread.start()
        thread.join()
        await settle()

        assert ["a:1"] == heard(peer, 0)


def test_a_change_after_the_loop_has_closed_is_told_to_nobody() -> None:
    async def make() -> ListenStream:
        return ListenStream(LocalCall(LISTEN), SubscriptionFilter(tools_list_changed=True))

    with asyncio.Runner() as runner:
        stream = runner.run(make())

    stream.tell(TOOLS)


class SlowPeer:
    """A peer that takes messages, and reads when it is told to."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.read = asyncio.Event()

    def post_notification(self, method: str, params: Any = None, *, delivery: Any = None) -> Sent:
        del delivery
        self.sent.append(getattr(params, "uri", method))
        return SENT if self.read.is_set() else Sent(self._wait)

    async def _wait(self) -> None:
        await self.read.wait()


def a_call(peer: Any) -> LocalCall:
    call = LocalCall(LISTEN)
    call.peer = peer
    return call


def wanting(*uris: str) -> SubscriptionsListenRequestParams:
    return SubscriptionsListenRequestParams(notifications=SubscriptionFilter(resource_subscriptions=list(uris)))


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_a_client_that_does_not_read_is_told_later_and_once() -> None:
    streams, peer = subscriptions(), SlowPeer()
    task = asyncio.create_task(streams.handle_listen(wanting("a:1", "a:2"), a_call(peer)))
    await settle()
    for _ in range(100):
        streams.tell_updated("a:1")
        streams.tell_updated("a:2")
        await settle(2)

    assert [ACKNOWLEDGED] == peer.sent
    peer.read.set()
    await settle()
    assert [ACKNOWLEDGED, "a:1", "a:2"] == peer.sent
    task.cancel()
    await asyncio.wait((task,))


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_one_publish_reaches_listen_streams() -> None:
    streams, connections = subscriptions(), Connections()
    connections.tell_soon(TOOLS)
    connections.tell_updated("a:1")
    connections.publish_to(streams)
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]})
        await settle()
        connections.tell_soon(TOOLS)
        connections.tell_updated("a:1")
        await settle()

        assert [TOOLS, "a:1"] == heard(peer, 0)


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
@pytest.mark.parametrize("waiting", [False, True])
async def test_a_resource_that_the_caller_may_not_read_is_not_promised(*, waiting: bool) -> None:
    asked: list[str] = []

    async def answer(*, allowed: bool) -> bool:
        return allowed

    def authorize(request: AuthorizationRequest) -> Any:
        asked.append(request.method)
        assert isinstance(request.params, ReadResourceRequestParams)
        allowed = request.params.uri != "a:secret"
        return answer(allowed=allowed) if waiting else allowed

    streams = subscriptions(authorizer=lambda: authorize)
    async with serving(streams) as peer:
        listen(peer, 0, {"resourceSubscriptions": ["a:secret", "a:1"]})

        assert {"resourceSubscriptions": ["a:1"]} == await honoured(peer)
        assert ["resources/read", "resources/read"] == asked
        streams.tell_updated("a:secret")
        await settle()
        assert [] == heard(peer, 0)


async def test_while_the_authorizer_thinks_nothing_is_sent() -> None:
    decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    streams = subscriptions(authorizer=lambda: lambda _: decided)
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]})
        await settle()
        streams.tell_list_changed(TOOLS)
        await settle()

        assert (1, []) == (len(streams), peer.seen)
        decided.set_result(True)
        assert {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]} == await honoured(peer)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (SubscriptionLimits(max_subscriptions=2), "max_subscriptions"),
        (SubscriptionLimits(per_connection=2), "per_connection"),
        (SubscriptionLimits(uris_in_all=2), "uris_in_all"),
    ],
)
@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_one_stream_too_many_is_refused_by_the_name_of_the_limit(limits: SubscriptionLimits, name: str) -> None:
    async with serving(subscriptions(limits=limits)) as peer:
        for id in range(3):
            listen(peer, id, {"resourceSubscriptions": ["a:1"]})
        error = await response(peer, 2)

        assert isinstance(error, ErrorObject)
        assert f"the limit is 2 ({name}" in error.message
        # There is room again as soon as one of them is over.
        peer.notify(CANCELLED, {"requestId": 0})
        listen(peer, 3, {"resourceSubscriptions": ["a:1"]})
        await settle()
        assert [] == heard(peer, 3)


@pytest.mark.requirement("a-listen-stream-brings-what-was-asked-for-and-nothing-else")
async def test_too_many_resources_for_one_stream_are_refused() -> None:
    async with serving(subscriptions(limits=SubscriptionLimits(uris=2))) as peer:
        listen(peer, 0, {"resourceSubscriptions": ["a:1", "a:2", "a:3"]})
        error = await response(peer, 0)

        assert isinstance(error, ErrorObject)
        assert "uris" in error.message


async def response(peer: ScriptedPeer, id: int) -> Any:
    """Return what answers a request, whatever comes before."""
    while True:
        message = await peer.receive()
        if isinstance(message, Response | ErrorResponse) and message.id == id:
            return outcome(message)


@pytest.mark.requirement("the-end-of-a-listen-stream-says-whether-it-was-meant")
async def test_a_client_that_cancels_is_not_answered_and_hears_no_more() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True})
        await settle()
        peer.notify(CANCELLED, {"requestId": 0})
        streams.tell_list_changed(TOOLS)
        await settle()

        assert ([], 0) == (heard(peer, 0), len(streams))
        assert not any(isinstance(message, Response) for message in peer.seen)


@pytest.mark.requirement("the-end-of-a-listen-stream-says-whether-it-was-meant")
async def test_the_end_of_a_connection_ends_its_streams() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True})
        listen(peer, 1, {"toolsListChanged": True})
        await settle()

        assert 2 == len(streams)
    assert 0 == len(streams)


@pytest.mark.requirement("the-end-of-a-listen-stream-says-whether-it-was-meant")
async def test_a_server_that_stops_sends_what_is_due_then_the_answer_of_every_stream() -> None:
    streams = subscriptions()
    async with serving(streams) as peer:
        listen(peer, 0, {"toolsListChanged": True})
        listen(peer, "0", {"toolsListChanged": True})
        await settle()
        streams.tell_list_changed(TOOLS)
        await streams.end("good night")

        assert [TOOLS, CANCELLED] == heard(peer, 0) == heard(peer, "0")
        answers = [message for message in peer.seen if isinstance(message, Response)]
        assert [0, "0"] == [answer.id for answer in answers]
        cancelled = next(m for m in peer.seen if isinstance(m, Notification) and m.method == CANCELLED)
        assert ("good night", 0) == (params_of(cancelled)["reason"], params_of(cancelled)["requestId"])
        assert 0 == len(streams)


@pytest.mark.requirement("the-end-of-a-listen-stream-says-whether-it-was-meant")
async def test_stopping_waits_no_longer_than_its_grace_for_a_client_that_does_not_read() -> None:
    clock = FakeClock()
    streams, peer = subscriptions(timers=clock), SlowPeer()
    call = a_call(peer)
    listening: Any = asyncio.create_task(streams.handle_listen(wanting("a:1"), call))
    call.task = listening
    await settle()
    stopping = asyncio.create_task(streams.end())
    await clock.advance_async(END_GRACE / 2)
    early = stopping.done()
    await clock.advance_async(END_GRACE / 2)

    assert (False, True) == (early, stopping.done())
    listening.cancel()
    await asyncio.wait((listening,))
    assert [] == clock.pending


async def test_stopping_without_streams_is_done_at_once() -> None:
    await subscriptions().end()
