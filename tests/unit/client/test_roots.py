"""Telling the server where it may work."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import ErrorResponse
from suaveplan_mcp.types.roots import ListRootsResult, Root
from tests.unit.client.peers import ask, connected, record_faults

requirement = pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")


async def _list(given: object) -> tuple[Any, list[BaseException | None]]:
    client = MCPClient(prefetch=False)
    client.set_roots_provider(lambda: given)
    faults = record_faults(client)
    async with connected(client) as (_, peer):
        answer = await ask(peer, "roots/list", {})
    return answer, [fault.error for fault in faults]


@pytest.mark.requirement("a-client-shakes-hands-and-calls-every-method")
@requirement
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["file:///a"], [{"uri": "file:///a"}]),
        ((Root(uri="file:///a", name="A"),), [{"uri": "file:///a", "name": "A"}]),
        ([{"uri": "file:///a", "name": "A"}], [{"uri": "file:///a", "name": "A"}]),
        ([PurePosixPath("/a")], [{"uri": "file:///a"}]),
        (ListRootsResult(roots=[Root(uri="file:///a")]), [{"uri": "file:///a"}]),
        ({"roots": ["file:///a"]}, [{"uri": "file:///a"}]),
        ([], []),
    ],
)
async def test_a_provider_may_answer_in_every_shape(given: object, expected: list[object]) -> None:
    answer, _ = await _list(given)

    assert {"roots": expected} == answer.result


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "expected roots, got NoneType"),
        ("file:///a", "expected roots, got str"),
        ({}, "expected roots, got NoneType"),
        ([42], "Expected `object`, got `int`"),
        (["https://example.com"], "'https://example.com' is no file:// URI"),
        (["file:/a"], "'file:/a' is no file:// URI"),
        ([Root(uri=5)], "Expected `str`, got `int` - at `$.uri`"),  # pyright: ignore[reportArgumentType]
        ([object()], "Encoding objects of type object is unsupported"),
    ],
)
async def test_what_are_no_roots_is_reported_and_tells_the_peer_nothing(given: object, reason: str) -> None:
    answer, (error,) = await _list(given)

    assert isinstance(answer, ErrorResponse)
    assert (-32603, "Internal error") == (answer.error.code, answer.error.message)
    assert isinstance(error, MCPError)
    assert (MCP_CODES.HANDLER_FAILED, f"the provider for roots/list returned a wrong answer: {reason}") == (
        error.code,
        error.message,
    )
