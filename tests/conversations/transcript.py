"""A tiny language for conversations: what one side says, what the other makes of it, line by line, without a loop.

    client: call ping                an act: call, notify, answer, fail, progress, give up, close
    -> {"id": 0, "method": "ping"}   a frame from the client to the server
    <- {"id": 0, "result": {}}       a frame from the server to the client
    server | called ping 0           what the server made of what arrived

Either side may be ours or be played by the script. A frame from a side of ours must be the next one that it has to
send; a frame to a side of ours arrives there. `"jsonrpc"` is added to objects, also within a batch, and a line after
`->>` or `<<-` is taken literally, as a Python string with escapes. `"..."` in an expected frame stands for any value.
A backslash joins a line with the next one. Nothing may be left unsaid in the end.
"""

import ast
import json
import re
from collections import deque
from typing import Any, NamedTuple

from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.events import Side
from suaveplan_mcp.jsonrpc.codec import decode_message, encode_message
from suaveplan_mcp.jsonrpc.connection import JsonRpcConnection
from suaveplan_mcp.jsonrpc.messages import Message, Request
from suaveplan_mcp.jsonrpc.records import (
    BatchReceived,
    CallCancelled,
    CallReceived,
    MessageRefused,
    NotificationReceived,
    OutboundRequest,
    ProgressReceived,
    Record,
    RequestFailed,
    RequestSucceeded,
)
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import LATEST_HANDSHAKE

Happening = Record[OutboundRequest, CallReceived[object]]

_LINE = re.compile(r"(client|server): (.+)|(->>|<<-|->|<-) (.+)|(client|server) \| (.+)")


def hello(revision: str = LATEST_HANDSHAKE) -> str:
    """Return the params of `initialize`."""
    return f'{{"protocolVersion": "{revision}", "capabilities": {{}}, "clientInfo": {{"name": "c", "version": "1"}}}}'


def welcome(revision: str = LATEST_HANDSHAKE) -> str:
    """Return the result of `initialize`."""
    return f'{{"protocolVersion": "{revision}", "capabilities": {{}}, "serverInfo": {{"name": "s", "version": "1"}}}}'


class Speaker:
    """One side of ours: a connection under the rules of the handshake era, and what it has still to say.

    Args:
        side: which side it is.
        revision: the revision it has agreed on already; None before the handshake.
    """

    def __init__(self, side: Side, revision: str | None = None) -> None:
        self.era = era = HandshakeEra(side, METHODS)
        if revision is not None and side == "server":
            era.admit_request(Request(0, "initialize", json.loads(hello(revision))))
        elif revision is not None:
            era.admit_result("initialize", json.loads(welcome(revision)))
        self.connection: JsonRpcConnection[OutboundRequest, CallReceived[object]] = JsonRpcConnection(era, CallReceived)
        self.unsent: deque[bytes] = deque()
        self.happened: deque[str] = deque()
        self._ours: dict[Any, OutboundRequest] = {}
        self._theirs: dict[Any, CallReceived[object]] = {}

    def hear(self, frame: bytes) -> None:
        """Let a frame arrive."""
        record = self.connection.receive(decode_message(frame))
        self.happened.append(self._take(record))
        if isinstance(record, MessageRefused | CallCancelled | BatchReceived):
            self._say(record.reply)

    def act(self, words: str) -> None:
        """Do something, as the script says it."""
        verb, _, rest = words.partition(" ")
        try:
            getattr(self, f"_{verb}")(*_values(rest))
        except MCPError as error:
            self.happened.append(f"raised {error.code}")

    def _call(self, method: str, params: Any = None, progress: str = "") -> None:
        entry = OutboundRequest(method)
        self._say(self.connection.open(entry, params, progress=progress == "progress"))
        self._ours[entry.id] = entry

    def _notify(self, method: str, params: Any = None) -> None:
        self._say(self.connection.notify(method, params))

    def _answer(self, id_: Any, result: Any) -> None:
        self._say(self.connection.complete(self._theirs[id_], result))

    def _fail(self, id_: Any, code: str, text: str) -> None:
        self._say(self.connection.fail(self._theirs[id_], MCPError(code, text)))

    def _progress(self, id_: Any, value: float, total: float | None = None) -> None:
        self._say(self.connection.report_progress(self._theirs[id_], value, total, None))

    def _give(self, up: str, id_: Any, reason: str | None = None) -> None:
        self._say(self.connection.abandon(self._ours[id_], reason))

    def _close(self) -> None:
        ours, theirs = self.connection.close()
        self.happened.append(f"closed with {len(ours)} and {len(theirs)}")

    def _say(self, message: Message | None) -> None:
        if message is not None:
            self.unsent.append(encode_message(message))

    def _take(self, record: Happening) -> str:
        """Say in a few words what happened."""
        match record:
            case CallReceived():
                self._theirs[record.id] = record
                happened = f"called {record.method} {record.id!r}"
            case RequestSucceeded():
                happened = f"succeeded {record.entry.id!r}"
            case RequestFailed():
                happened = f"failed {record.entry.id!r} {record.error.code}"
            case NotificationReceived():
                happened = f"notified {record.method}"
            case ProgressReceived():
                happened = f"progress of {'nothing' if record.entry is None else repr(record.entry.id)}"
            case CallCancelled():
                happened = f"cancelled {'nothing' if record.call is None else repr(record.call.id)}"
            case BatchReceived():
                happened = ", ".join(self._take(member) for member in record.records)
            case MessageRefused():
                happened = "refused"
            case _:
                happened = "dropped"
        return happened


class _Spoken(NamedTuple):
    text: str
    literal: bool

    def frame(self) -> bytes:
        if self.literal:
            return ast.literal_eval(f'b"{self.text}"')
        return json.dumps(_enveloped(json.loads(self.text))).encode()


def play(script: str, *, client: Speaker | None = None, server: Speaker | None = None) -> None:
    """Play a conversation and fail at the first line that is not as it is written."""
    for number, line in enumerate(script.strip().splitlines(), 1):
        words = line.split("# ")[0].strip()
        if not words:
            continue
        match = _LINE.fullmatch(words)
        assert match is not None, f"line {number} is no line of a transcript: {words}"
        actor, act, arrow, frame, witness, happening = match.groups()
        sides = {"client": client, "server": server}
        if act:
            _of(sides, actor).act(act)
        elif happening:
            happened = _of(sides, witness).happened
            assert [happening] == [happened.popleft() if happened else "nothing"], f"line {number}: {words}"
        else:
            speaker, hearer = (client, server) if arrow.startswith("-") else (server, client)
            spoken = _Spoken(frame, len(arrow) == 3)
            if speaker is not None:
                said = json.loads(speaker.unsent.popleft()) if speaker.unsent else "nothing"
                assert _matches(json.loads(spoken.frame()), said), f"line {number}: {words}\nwas: {said}"
            if hearer is not None:
                hearer.hear(spoken.frame())
    for name, side in (("client", client), ("server", server)):
        if side is not None:
            assert ([], []) == (list(side.unsent), list(side.happened)), f"left unsaid by the {name}"


def _of(sides: dict[str, Speaker | None], name: str) -> Speaker:
    side = sides[name]
    assert side is not None, f"the {name} is played by the script"
    return side


def _values(text: str) -> list[Any]:
    """Read words and JSON values, one after the other."""
    decoder, values, position = json.JSONDecoder(), list[Any](), 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError:
            end = text.find(" ", position)
            end = len(text) if end < 0 else end
            value, position = text[position:end], end
        values.append(value)
        position += 1
    return values


def _enveloped(frame: Any) -> Any:
    if isinstance(frame, list):
        return [_enveloped(member) for member in frame]
    return {"jsonrpc": "2.0", **frame} if isinstance(frame, dict) else frame


def _matches(expected: Any, actual: Any) -> bool:
    if expected == "...":
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(_matches(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_matches, expected, actual))
    return type(expected) is type(actual) and expected == actual
