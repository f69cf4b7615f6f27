"""Two connections facing each other over bytes, whatever happens in whatever order, however the bytes are cut."""

import json
from collections.abc import Iterator
from itertools import count
from math import inf, nan
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.framing.lines import LineDecoder, encode_line
from suaveplan_mcp.jsonrpc.codec import encode_message
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Message, RequestId
from suaveplan_mcp.jsonrpc.records import (
    BatchReceived,
    CallCancelled,
    CallReceived,
    MessageDropped,
    MessageRefused,
    OutboundRequest,
    ProgressReceived,
    Record,
    RequestFailed,
    RequestSucceeded,
)
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE, V2025_03_26
from suaveplan_mcp.transport.frames import decode_frame
from suaveplan_mcp.types.base import Received
from suaveplan_mcp.types.progress import ProgressNotificationParams
from tests.conversations.transcript import Speaker

LIMIT = 2000
SIDES: tuple[Side, Side] = ("client", "server")


def ids() -> Iterator[RequestId]:
    """Give every number and every string once."""
    for number in count():
        yield number
        yield str(number)


class Party:
    """One side: its connection, the bytes on the way to it, and all it remembers."""

    def __init__(self, side: Side, revision: str) -> None:
        self.connection: JsonRpcConnection[OutboundRequest, CallReceived[object]] = Speaker(side, revision).connection
        self.connection.next_id = ids().__next__
        self.coming = bytearray()
        self.lines = LineDecoder(LIMIT)
        self.entries: list[OutboundRequest] = []
        self.calls: list[CallReceived[object]] = []
        self.given: dict[RequestId, Any] = {}
        self.taken: dict[int, object] = {}
        self.given_up: set[int] = set()
        self.faults = 0
        self.said: list[bytes] = []
        self.last_progress: dict[RequestId, float] = {}
        self.peer: Party = self

    def say(self, message: Message | None) -> None:
        if message is not None:
            self.said.append(encode_message(message))
            self.peer.coming += encode_line(self.said[-1])

    def hear(self, size: int) -> None:
        """Let the next bytes arrive."""
        chunk = bytes(self.coming[:size])
        del self.coming[:size]
        for line in self.lines.feed(chunk):
            self.take(self.connection.receive(decode_frame(line)))

    def take(self, record: Record[OutboundRequest, CallReceived[object]]) -> None:
        match record:
            case CallReceived():
                self.calls.append(record)
            case RequestSucceeded() | RequestFailed():
                assert id(record.entry) not in self.taken, "taken twice"
                assert id(record.entry) not in self.given_up, "taken after it was given up"
                self.taken[id(record.entry)] = record
            case ProgressReceived(OutboundRequest() as entry, ProgressNotificationParams() as params):
                assert id(entry) not in self.taken, "progress after the answer"
                assert self.last_progress.get(entry.id, -1) < params.progress, "progress went back"
                self.last_progress[entry.id] = params.progress
            case MessageRefused() | CallCancelled():
                self.faults += isinstance(record, MessageRefused)
                self.say(record.reply)
            case BatchReceived():
                for member in record.records:
                    if not isinstance(member, MessageRefused):
                        self.take(member)
                self.say(record.reply)
            case MessageDropped():
                self.faults += 1
            case _:
                pass


class Facing(RuleBasedStateMachine):
    """Two honest sides."""

    honest = True

    @initialize(revision=st.sampled_from([V2025_03_26, LATEST_HANDSHAKE]))
    def begin(self, revision: str) -> None:
        self.client, self.server = (Party(side, revision) for side in SIDES)
        self.client.peer, self.server.peer = self.server, self.client
        self.parties = {"client": self.client, "server": self.server}

    @rule(side=st.sampled_from(SIDES), asks_for=st.sampled_from(["progress", "nothing more"]))
    def call(self, side: Side, asks_for: str) -> None:
        party = self.parties[side]
        entry = OutboundRequest("ping")
        party.say(party.connection.open(entry, {}, progress=asks_for == "progress"))
        party.entries.append(entry)

    @rule(side=st.sampled_from(SIDES), which=st.integers(0, 5), value=st.integers())
    def answer(self, side: Side, which: int, value: int) -> None:
        party = self.parties[side]
        if party.calls:
            call = party.calls[which % len(party.calls)]
            reply = party.connection.complete(call, {"value": value})
            if reply is not None:
                assert call.id not in party.given, "answered twice"
                party.given[call.id] = value
            party.say(reply)

    @rule(side=st.sampled_from(SIDES), which=st.integers(0, 5))
    def fail(self, side: Side, which: int) -> None:
        party = self.parties[side]
        if party.calls:
            call = party.calls[which % len(party.calls)]
            reply = party.connection.fail(call, MCPError(MCP_CODES.NOT_FOUND, "gone"))
            if reply is not None:
                assert call.id not in party.given, "answered twice"
                party.given[call.id] = MCP_CODES.NOT_FOUND
            party.say(reply)

    @rule(
        side=st.sampled_from(SIDES), which=st.integers(0, 5), value=st.sampled_from([0, 1, 1, 2, 2.5, 1e300, inf, nan])
    )
    def progress(self, side: Side, which: int, value: float) -> None:
        party = self.parties[side]
        if party.calls:
            call = party.calls[which % len(party.calls)]
            party.say(party.connection.report_progress(call, abs(value), value, None))

    @rule(side=st.sampled_from(SIDES), which=st.integers(0, 5))
    def give_up(self, side: Side, which: int) -> None:
        party = self.parties[side]
        if party.entries:
            entry = party.entries[which % len(party.entries)]
            notice = party.connection.abandon(entry, "enough")
            if notice is not None:
                party.given_up.add(id(entry))
            party.say(notice)

    @rule(side=st.sampled_from(SIDES), size=st.sampled_from([1, 2, 7, 50, 100_000]), times=st.integers(1, 60))
    def deliver(self, side: Side, size: int, times: int) -> None:
        for _ in range(times):
            self.parties[side].hear(size)

    @invariant()
    def the_tables_hold_what_is_open_and_nothing_else(self) -> None:
        for party in self.parties.values():
            over = party.taken.keys() | party.given_up
            assert {entry.id for entry in party.entries if id(entry) not in over} == set(party.connection._ours)
            assert {call.id for call in party.calls if call.open} == set(party.connection._theirs)
            assert party.connection._ours.keys() >= party.connection._tokens.keys()

    @invariant()
    def the_tables_agree_when_nothing_is_on_its_way(self) -> None:
        if not self.honest or self.client.coming or self.server.coming:
            return
        for party in self.parties.values():
            open_calls = {call.id for call in party.peer.calls if call.open}
            assert {entry.id for entry in party.connection.pending} == open_calls

    def teardown(self) -> None:
        if not hasattr(self, "parties"):
            return
        while self.client.coming or self.server.coming:
            for party in self.parties.values():
                party.hear(100_000)
        if self.honest:
            self._end_honestly()
        for party in self.parties.values():
            party.connection.close()
            assert not party.connection._ours
            assert not party.connection._theirs
            assert not party.connection._tokens
            assert not any(call.open for call in party.calls)

    def _end_honestly(self) -> None:
        for party in self.parties.values():
            for call in party.calls:
                party.say(party.connection.complete(call, {"value": "last"}))
                party.given.setdefault(call.id, "last")
        for party in self.parties.values():
            party.hear(10_000_000)
        for party in self.parties.values():
            for entry in party.entries:
                outcome = party.taken.get(id(entry))
                if id(entry) in party.given_up:
                    assert outcome is None
                elif isinstance(outcome, RequestSucceeded):
                    result: Any = outcome.result
                    assert isinstance(result, Received)
                    assert result.raw is not None
                    assert {"value": party.peer.given[entry.id]} == decode(result.raw)
                else:
                    assert isinstance(outcome, RequestFailed)
                    assert party.peer.given[entry.id] == outcome.error.code
            # The only thing that may go wrong is an answer that crosses with its cancellation.
            assert len(party.given_up) >= party.faults


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "0", "1", "ping", "2.0", "\ud7ff", "x" * 3000]),
    st.just({}),
    st.just([]),
    st.just({"requestId": 0}),
    st.just({"requestId": "0"}),
    st.just({"progressToken": 0, "progress": 1e300}),
    st.just({"_meta": {"progressToken": 0}}),
    st.just({"_meta": {"progressToken": []}}),
    st.just({"code": -32603, "message": "m", "data": {"code": "MCP.TIMEOUT"}}),
)
odd_messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2]),
        "id": odd_values,
        "method": st.one_of(
            st.sampled_from(
                ["ping", "initialize", "tools/list", "notifications/cancelled", "notifications/progress", "nope"]
            ),
            odd_values,
        ),
        "params": odd_values,
        "result": odd_values,
        "error": odd_values,
    },
)
odd_lines = st.one_of(
    st.builds(json.dumps, odd_messages),
    st.builds(json.dumps, st.lists(st.one_of(odd_messages, odd_values), max_size=4)),
    st.builds(json.dumps, odd_values),
    st.text(max_size=20),
    st.sampled_from(
        [
            "[" * 1500,
            '{"jsonrpc":"2.0","id":0,"method":"ping","params":' + "[" * 1500,
            '{"jsonrpc":"2.0","id":0,"method":"ping"',
            "\ufeff",
            '{"a":' * 300,
        ]
    ),
).map(lambda text: text.encode(errors="replace")) | st.binary(max_size=30)


class FacingAnybody(Facing):
    """The same two sides, and somebody who slips lines of his own between theirs."""

    honest = False

    @rule(side=st.sampled_from(SIDES), line=odd_lines)
    def slip_in(self, side: Side, line: bytes) -> None:
        coming = self.parties[side].coming
        # Between two lines, wherever the reading of the present one has come to.
        end = coming.find(b"\n") + 1
        coming[end:end] = b"" if end == 0 and coming else line.replace(b"\n", b" ") + b"\n"

    @rule(side=st.sampled_from(SIDES), which=st.integers(0, 5))
    def repeat(self, side: Side, which: int) -> None:
        party = self.parties[side]
        if party.peer.said:
            self.slip_in(side, party.peer.said[-1 - which % len(party.peer.said)])

    @precondition(lambda self: self.client.coming)
    @rule()
    def lose_a_byte(self) -> None:
        del self.client.coming[:1]


# Forty steps reach every state there is, and both searches together take a few seconds.
search = settings(max_examples=80, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow])
TestFacing = Facing.TestCase
TestFacing.settings = search
TestFacingAnybody = FacingAnybody.TestCase
TestFacingAnybody.settings = search
