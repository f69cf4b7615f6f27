"""Who a call comes from."""

from suaveplan_mcp.jsonrpc.messages import JsonObject, Request
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.era import OpenEra
from suaveplan_mcp.protocol.handshake import HandshakeEra
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import V2025_06_18
from suaveplan_mcp.types.capabilities import ClientCapabilities, RootsCapability
from suaveplan_mcp.types.implementation import Implementation

HELLO: JsonObject = {
    "protocolVersion": V2025_06_18,
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "c", "version": "1"},
}
WELCOME: JsonObject = {
    "protocolVersion": V2025_06_18,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "2"},
}


def facts(caller: Caller) -> tuple[object, ...]:
    return caller.revision, caller.info, caller.capabilities, caller.log_level


def test_nothing_is_known_of_a_caller_before_it_says_something() -> None:
    caller = HandshakeEra("server", METHODS).admit_request(Request(0, "ping"))[2]

    assert (None, None, ClientCapabilities(), None) == facts(caller)


def test_caller_is_the_client_that_opened_the_connection() -> None:
    era = HandshakeEra("server", METHODS)

    caller = era.admit_request(Request(0, "initialize", HELLO))[2]

    expected = Implementation(name="c", version="1"), ClientCapabilities(roots=RootsCapability())
    assert (V2025_06_18, *expected, None) == facts(caller)


def test_all_calls_of_a_connection_share_their_caller() -> None:
    era = HandshakeEra("server", METHODS)
    first = era.admit_request(Request(0, "ping"))[2]
    era.admit_request(Request(1, "initialize", HELLO))

    assert first is era.admit_request(Request(2, "tools/list"))[2]
    assert V2025_06_18 == first.revision


def test_server_that_calls_is_known_by_name_and_can_be_asked_nothing() -> None:
    era = HandshakeEra("client", METHODS)
    era.admit_result("initialize", WELCOME)

    caller = era.admit_request(Request(0, "ping"))[2]

    assert (V2025_06_18, Implementation(name="s", version="2"), ClientCapabilities(), None) == facts(caller)


def test_caller_of_plain_json_rpc_is_unknown() -> None:
    caller = OpenEra("server", {"ask"}).admit_request(Request(0, "ask"))[2]

    assert (None, None, ClientCapabilities(), None) == facts(caller)
