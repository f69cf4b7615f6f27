"""A real client and a real server, over every transport that lives in one process."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.logging import LoggingMessageNotificationParams
from tests.e2e.walk import be_asked, use_prompts, use_resources, use_tools, walked_server, walking_client
from tests.e2e.wires import WIRES, Wire, connected, errors, methods

pytestmark = [
    pytest.mark.requirement("one-walk-passes-the-whole-method-surface"),
    pytest.mark.parametrize("make_wire", WIRES),
]

MakeWire = Callable[[], Wire]


async def test_the_walk_passes_every_method_without_an_error(make_wire: MakeWire) -> None:
    logs: list[LoggingMessageNotificationParams] = []
    server, client = walked_server(), walking_client(prefetch=False, on_log=logs.append)
    async with connected(server, client, make_wire) as wire:
        assert client.initialized
        await use_tools(client)
        await use_resources(server, client)
        await use_prompts(client)
        await be_asked(server, client)
        await client.set_log_level("warning")
        await client.ping()

    assert not client.initialized
    assert [] == errors(wire)
    assert ["thought about it"] == [log.data for log in logs]
    assert [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/read",
        "resources/subscribe",
        "resources/read",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "tools/call",
        "roots/list",
        "logging/setLevel",
        "ping",
    ] == methods(wire.sent)
    assert [
        "notifications/progress",
        "notifications/progress",
        "notifications/progress",
        "notifications/resources/updated",
        "roots/list",
        "sampling/createMessage",
        "notifications/message",
        "sampling/createMessage",
        "roots/list",
    ] == methods(wire.received)


async def test_progress_and_cancellation_propagate(make_wire: MakeWire) -> None:
    server, client = walked_server(), walking_client(prefetch=False)
    completed: dict[str, str] = {}
    server.events.on("request:completed", lambda event: completed.__setitem__(event.method, event.outcome))
    ended = asyncio.Event()
    async with connected(server, client, make_wire) as wire:
        controller = AbortController()
        server.events.on("request:completed", lambda _: ended.set())
        with pytest.raises(MCPError, match="never mind") as caught:
            # The first report of progress says that the handler runs.
            await client.call_tool(
                "wait", signal=controller.signal, on_progress=lambda _: controller.abort("never mind")
            )
        await ended.wait()

        assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
        assert "cancelled" == completed["tools/call"]
        assert {"result": 1} == (await client.call_tool("count", {"upto": 1})).structured_content

    cancelled: Any = next(m for m in wire.sent if getattr(m, "method", "") == "notifications/cancelled")
    call: Any = next(m for m in wire.sent if getattr(m, "method", "") == "tools/call")
    assert {"requestId": call.id, "reason": "never mind"} == cancelled.params
    assert [] == errors(wire)
    assert call.id not in [getattr(message, "id", None) for message in wire.received]


async def test_resource_subscriptions_deliver_updates(make_wire: MakeWire) -> None:
    server, client, value = MCPServer(), walking_client(), ["old"]
    server.register_resource(lambda: value[0], uri="mem://x", name="x", inline=True)
    async with connected(server, client, make_wire) as wire:
        assert ["mem://x"] == [resource.uri for resource in client.resources()]
        await client.subscribe_resource("mem://x")
        for new in ("newer", "newest"):
            updated = asyncio.Event()
            client.events.once("resource:updated", lambda _, updated=updated: updated.set())
            value[0] = new
            server.mark_resource_updated("mem://x")
            await updated.wait()
            known = client.updated_resource("mem://x")
            assert known is not None
            assert new == known.contents[0].text
        await client.unsubscribe_resource("mem://x")
        server.mark_resource_updated("mem://x")
        await client.ping()

    assert 2 == methods(wire.received).count("notifications/resources/updated")
    assert [] == errors(wire)


async def test_changed_lists_are_followed(make_wire: MakeWire) -> None:
    server, client = walked_server(), walking_client()
    async with connected(server, client, make_wire) as wire:
        assert 4 == len(client.tools())
        changed = asyncio.Event()
        client.events.once("list:changed", lambda _: changed.set())
        for name in ("one", "two", "three"):
            server.register_tool(lambda: None, name=name)
        await changed.wait()

        assert ["one", "two", "three"] == [tool.name for tool in client.tools()][4:]

    assert 1 == methods(wire.received).count("notifications/tools/list_changed")
    assert [] == errors(wire)


async def test_a_server_that_goes_away_ends_the_connection_of_the_client(make_wire: MakeWire) -> None:
    server, client, closed = walked_server(), walking_client(prefetch=False), asyncio.Event()
    client.events.on("connection:closed", lambda _: closed.set())
    async with connected(server, client, make_wire):
        await server.stop()
        await closed.wait()

        assert not client.initialized


async def test_a_client_that_goes_away_is_forgotten_by_the_server(make_wire: MakeWire) -> None:
    server, client, closed = walked_server(), walking_client(prefetch=False), asyncio.Event()
    server.events.on("connection:closed", lambda _: closed.set())
    async with connected(server, client, make_wire):
        await client.disconnect()
        await closed.wait()
        await asyncio.sleep(0)

        assert 0 == server.get_info().connections
