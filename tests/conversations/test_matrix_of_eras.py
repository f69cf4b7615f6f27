"""Every kind of client with every kind of server over every transport. Spec: basic/versioning, Compatibility Matrix"""

import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from suaveplan_mcp.client.known_servers import KnownServers
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST, LATEST_HANDSHAKE, REVISIONS
from suaveplan_mcp.targets import Target, connect
from tests.architecture.source import SOURCE
from tests.cases.leftovers import nothing_left_behind
from tests.conversations.servers.eras import make_server
from tests.transports.web_server import web_server

FILE = Path(__file__).parent / "servers" / "eras.py"
ENVIRONMENT = {"PYTHONPATH": f"{SOURCE.parent}"}

BOTH, HANDSHAKE, STATELESS = ("handshake", "stateless"), ("handshake",), ("stateless",)

# Transports


@asynccontextmanager
async def in_memory(eras: Sequence[str]) -> AsyncGenerator[Target]:
    yield make_server(eras)


@asynccontextmanager
async def over_stdio(eras: Sequence[str]) -> AsyncGenerator[Target]:
    yield [sys.executable, str(FILE), *eras]


@asynccontextmanager
async def over_streamable_http(eras: Sequence[str]) -> AsyncGenerator[Target]:
    server = make_server(eras)
    async with web_server(server.asgi_app(), server.stop) as root:
        yield f"{root}/mcp"


class Way(NamedTuple):
    """A transport: how to make a server of some eras reachable over it, and which eras it carries so far."""

    serve: Callable[[Sequence[str]], AbstractAsyncContextManager[Target]]
    carries: tuple[str, ...] = BOTH


TRANSPORTS = {
    "in memory": Way(in_memory),
    "stdio": Way(over_stdio),
    "streamable http": Way(over_streamable_http, STATELESS),
}

# Clients and servers

SPOKEN: dict[str, dict[tuple[str, ...], str | None]] = {
    "auto": {BOTH: LATEST, HANDSHAKE: LATEST_HANDSHAKE, STATELESS: LATEST},
    "handshake": {BOTH: LATEST_HANDSHAKE, HANDSHAKE: LATEST_HANDSHAKE, STATELESS: None},
    "stateless": {BOTH: LATEST, HANDSHAKE: None, STATELESS: LATEST},
    LATEST: {BOTH: LATEST, HANDSHAKE: None, STATELESS: LATEST},
    **{old: {BOTH: old, HANDSHAKE: old, STATELESS: None} for old in HANDSHAKE_REVISIONS},
}
"""The revision that a client of some protocol and a server of some eras speak; None where there is none."""


class Cell(NamedTuple):
    """A client, a server, the way between them, and what they speak."""

    protocol: str
    eras: tuple[str, ...]
    way: str
    revision: str | None

    def __str__(self) -> str:
        """Name the cell."""
        return f"{self.protocol} with {' and '.join(self.eras)} over {self.way}"


def _all_cells() -> Iterator[Cell]:
    for protocol, eras, way in product(SPOKEN, (BOTH, HANDSHAKE, STATELESS), TRANSPORTS):
        reachable = tuple(era for era in eras if era in TRANSPORTS[way].carries)
        if reachable:
            yield Cell(protocol, eras, way, SPOKEN[protocol][reachable])


def cells(*, working: bool) -> pytest.MarkDecorator:
    """Run a test for each cell of the matrix that works, or for each that does not."""
    chosen = [cell for cell in _all_cells() if working is (cell.revision is not None)]
    return pytest.mark.parametrize("cell", chosen, ids=str)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be known of any server yet."""
    monkeypatch.setattr("suaveplan_mcp.targets._servers", KnownServers())


async def say(client: MCPClient, text: str) -> object:
    return getattr((await client.call_tool("say", {"text": text})).content[0], "text", None)


def test_the_matrix_is_whole() -> None:
    assert {"auto", "handshake", "stateless", *REVISIONS} == set(SPOKEN)
    assert all({BOTH, HANDSHAKE, STATELESS} == set(row) for row in SPOKEN.values())


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@cells(working=True)
async def test_they_speak_the_newest_revision_that_both_know(cell: Cell) -> None:
    async with nothing_left_behind(), TRANSPORTS[cell.way].serve(cell.eras) as target:
        # The second time the server is known.
        for text in ("hello", "again"):
            async with connect(target, protocol=cell.protocol, name="me", env=ENVIRONMENT) as client:
                assert cell.revision == client.protocol_version
                assert f"{text}, me: {cell.revision}" == await say(client, text)
                assert ["say"] == [tool.name for tool in await client.refresh_tools()]


@pytest.mark.requirement("client-and-server-find-the-newest-revision-that-both-know")
@cells(working=False)
async def test_they_part_with_an_error_that_names_what_they_speak(cell: Cell) -> None:
    asked = {"handshake": LATEST_HANDSHAKE, "stateless": LATEST}.get(cell.protocol, cell.protocol)
    async with nothing_left_behind(), TRANSPORTS[cell.way].serve(cell.eras) as target:
        with pytest.raises(MCPError) as raised:
            async with connect(target, protocol=cell.protocol, env=ENVIRONMENT):
                pass

    assert MCP_CODES.PROTOCOL_VERSION_MISMATCH == raised.value.code
    assert asked in raised.value.message
    # A server of the handshake cannot say that it is one, so the client says what such servers take.
    assert ("`initialize`" if cell.eras == HANDSHAKE else LATEST) in raised.value.message


@pytest.mark.parametrize("way", [name for name, way in TRANSPORTS.items() if "handshake" in way.carries])
async def test_a_client_that_accepts_one_revision_of_each_era_falls_back_to_the_older(way: str) -> None:
    accepted = [HANDSHAKE_REVISIONS[0], LATEST]
    async with (
        nothing_left_behind(),
        TRANSPORTS[way].serve(HANDSHAKE) as target,
        connect(target, protocol="auto", accepted_versions=accepted, env=ENVIRONMENT) as client,
    ):
        assert HANDSHAKE_REVISIONS[0] == client.protocol_version
        assert f"hello, suaveplan-mcp: {HANDSHAKE_REVISIONS[0]}" == await say(client, "hello")


async def test_one_server_serves_both_eras_at_once() -> None:
    server = make_server(BOTH)
    async with (
        nothing_left_behind(),
        connect(server, protocol="handshake") as older,
        connect(server, protocol="stateless") as newer,
    ):
        said = [await say(client, "hello") for client in (older, newer, older)]

    expected = [f"hello, suaveplan-mcp: {revision}" for revision in (LATEST_HANDSHAKE, LATEST, LATEST_HANDSHAKE)]
    assert expected == said
