"""Both eras on one connection: each request says itself to which it belongs."""

from collections.abc import Collection
from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import decode, encode

from suaveplan_mcp.errors import HANDSHAKE_NUMBERS, MCP_CODES, STATELESS_NUMBERS, MCPError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Notification, Payload, Request, RequestId
from suaveplan_mcp.jsonrpc.records import CallReceived
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.methods import METHODS
from suaveplan_mcp.protocol.revisions import HANDSHAKE_REVISIONS, LATEST_HANDSHAKE, V2026_07_28
from suaveplan_mcp.protocol.stateless import StatelessEra
from suaveplan_mcp.server.eras import ERAS, ServerEras, require_eras
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.types.implementation import Implementation
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY, SERVER_INFO_KEY
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult
from tests.unit.server.peers import ask, code_of, serving

WHO: JsonObject = {PROTOCOL_VERSION_KEY: V2026_07_28, CLIENT_CAPABILITIES_KEY: {}}
HELLO: JsonObject = {
    "protocolVersion": LATEST_HANDSHAKE,
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "c", "version": "1"},
}
SPEAKING = [{PROTOCOL_VERSION_KEY: V2026_07_28}, {CLIENT_CAPABILITIES_KEY: {}}]


class Noting(StatelessEra):
    """The rules of the stateless era, which note the params of the request they were last asked about."""

    noted: Payload = UNSET

    def admit_request(self, request: Request) -> tuple[Payload, RequestId | None, Caller]:
        self.noted = request.params
        return super().admit_request(request)


def eras(
    *, greeted: bool = False, accepted: Collection[str] = HANDSHAKE_REVISIONS, served: Collection[str] = METHODS
) -> ServerEras:
    """Return the rules of a connection, after `initialize` or before it."""
    era = ServerEras(served, StatelessEra("server", served, info=Implementation(name="s", version="1")), accepted)
    if greeted:
        era.admit_request(Request(0, "initialize", HELLO))
    return era


def request(method: str = "tools/list", *, meta: Any = WHO, **params: Any) -> Request:
    """Return a request from a wire."""
    return Request(1, method, Raw(encode({**params, "_meta": meta})))


def refusal_of(era: ServerEras, asked: Request) -> MCPError:
    with pytest.raises(MCPError) as caught:
        era.admit_request(asked)
    return caught.value


def call_of(method: str, caller: object) -> CallReceived[object]:
    return CallReceived(1, method, None, None, caller)


def plain(value: Payload) -> Any:
    return decode(encode(value))


# To which era a request belongs


@pytest.mark.parametrize("greeted", [False, True])
def test_a_request_that_speaks_for_itself_is_served_whatever_came_before(*, greeted: bool) -> None:
    era = eras(greeted=greeted)
    _, token, caller = era.admit_request(request(meta={**WHO, "progressToken": 7}))

    assert (7, V2026_07_28, None) == (token, caller.revision, caller.info)
    assert caller is not era.caller


def test_such_a_request_leaves_the_handshake_as_it_is() -> None:
    era = eras()
    era.admit_request(request("server/discover"))
    assert (None, False) == (era.revision, era.initialized)

    era.admit_request(Request(2, "initialize", HELLO))
    era.admit_request(request())
    assert (LATEST_HANDSHAKE, LATEST_HANDSHAKE) == (era.revision, era.caller.revision)


@pytest.mark.parametrize("meta", [{}, None, {"progressToken": 7}, {"io.modelcontextprotocol/logLevel": "error"}])
def test_any_other_request_belongs_to_the_handshake(meta: JsonObject | None) -> None:
    era = eras(greeted=True)

    assert era.caller is era.admit_request(request(meta=meta))[2]
    assert MCP_CODES.NOT_INITIALIZED == refusal_of(eras(), request(meta=meta)).code


def test_params_are_decoded_once_for_both_eras() -> None:
    rules = Noting("server", METHODS)
    params, _, _ = ServerEras(METHODS, rules).admit_request(request("tools/call", name="t"))

    assert CallToolRequestParams(name="t", meta={**WHO}) == params
    assert params is rules.noted
    assert params is eras().admit_request(Request(1, "tools/call", params))[0]


@pytest.mark.parametrize("meta", SPEAKING)
def test_a_request_that_speaks_only_half_is_refused_by_the_rules_of_the_era_it_means(meta: JsonObject) -> None:
    error = refusal_of(eras(greeted=True), request(meta=meta))

    (missing,) = WHO.keys() - meta.keys()
    assert (-32602, f"_meta.{missing}") == (error.jsonrpc_code, error.context["path"])


@pytest.mark.parametrize(
    ("meta", "number"), [(WHO, -32602), ({**WHO, PROTOCOL_VERSION_KEY: "2099-01-01"}, -32022), ({}, None)]
)
def test_malformed_params_are_refused_as_the_era_of_the_request_has_it(meta: JsonObject, number: int | None) -> None:
    error = refusal_of(eras(greeted=True), request("tools/call", meta=meta, name=42))

    # Without a number of its own an error goes out with that of the handshake.
    assert number == error.jsonrpc_code


@pytest.mark.parametrize("method", ["no/such", "notifications/cancelled", "resources/read"])
def test_a_method_that_is_none_here_is_refused_as_the_era_of_the_request_has_it(method: str) -> None:
    served = {"initialize", "tools/list", "notifications/cancelled"}

    modern = refusal_of(eras(greeted=True, served=served), request(method))
    assert (MCP_CODES.METHOD_NOT_FOUND, -32601) == (modern.code, modern.jsonrpc_code)
    legacy = refusal_of(eras(greeted=True, served=served), request(method, meta={}))
    assert (MCP_CODES.METHOD_NOT_FOUND, None) == (legacy.code, legacy.jsonrpc_code)


@pytest.mark.parametrize("asked", [request("ping"), request("logging/setLevel", level="error")])
def test_a_method_of_the_handshake_does_not_speak_for_itself(asked: Request) -> None:
    assert -32601 == refusal_of(eras(greeted=True), asked).jsonrpc_code


def test_a_request_that_neither_speaks_nor_was_announced_is_told_both() -> None:
    error = refusal_of(eras(), Request(1, "tools/list"))

    assert f"tools/list came before initialize, and without _meta.{PROTOCOL_VERSION_KEY}" == error.message
    described = eras().describe(error, "tools/list")
    path, reason = f"_meta.{PROTOCOL_VERSION_KEY}", "is missing, and no initialize came before"
    assert (-32602, {"code": error.code, "path": path, "reason": reason}) == (described.code, described.data)


def test_a_notification_that_comes_too_early_is_dropped() -> None:
    with pytest.raises(MCPError, match="notifications/initialized came before initialize"):
        eras().admit_notification(Notification("notifications/initialized"))


# Where the handshake is switched off


@pytest.mark.parametrize("params", [HELLO, Raw(encode(HELLO))])
def test_without_the_handshake_initialize_is_told_what_is_spoken_here(params: Payload) -> None:
    error = refusal_of(eras(accepted=()), Request(1, "initialize", params))

    assert (-32022, {"supported": [V2026_07_28], "requested": LATEST_HANDSHAKE}) == (error.jsonrpc_code, error.context)


@pytest.mark.parametrize("method", ["tools/list", "no/such"])
def test_without_the_handshake_every_request_must_speak_for_itself(method: str) -> None:
    error = refusal_of(eras(accepted=()), Request(1, method))

    assert (-32602, f"_meta.{PROTOCOL_VERSION_KEY}") == (error.jsonrpc_code, error.context["path"])
    assert -32602 == refusal_of(eras(accepted=()), Request(1, "tools/call", Raw(b'{"name":5}'))).jsonrpc_code
    assert V2026_07_28 == eras(accepted=()).admit_request(request())[2].revision


# What goes out


@pytest.mark.parametrize("greeted", [False, True])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/tools/list_changed", {"_meta": {"a": 1}}),
        ("notifications/subscriptions/acknowledged", {"notifications": {}}),
        ("notifications/progress", {"progressToken": 1, "progress": 1}),
    ],
)
def test_a_notification_of_either_era_may_be_sent_at_any_time(
    method: str, params: JsonObject, *, greeted: bool
) -> None:
    assert params == plain(eras(greeted=greeted).seal_params(method, params, None))


def test_a_notification_that_fits_neither_era_is_refused() -> None:
    with pytest.raises(MCPError, match="Invalid request parameters"):
        eras().seal_params("notifications/subscriptions/acknowledged", {}, None)
    with pytest.raises(MCPError, match="Method not found: no/such"):
        eras(greeted=True).seal_params("no/such", {}, None)


def test_a_request_of_the_server_needs_the_handshake_and_nothing_else() -> None:
    assert UNSET is eras(greeted=True).seal_params("roots/list", None, None)
    with pytest.raises(MCPError) as caught:
        eras().seal_params("roots/list", None, None)

    assert (MCP_CODES.NOT_INITIALIZED, "roots/list came before initialize") == (
        caught.value.code,
        caught.value.message,
    )


@pytest.mark.parametrize("caller", [None, Caller(), Caller(LATEST_HANDSHAKE)])
def test_an_answer_to_the_handshake_says_nothing_of_its_kind(caller: object) -> None:
    result = CallToolResult(content=[])

    assert result is eras(greeted=True).seal_result(call_of("tools/call", caller), result)
    assert HANDSHAKE_NUMBERS == eras().numbers_for(caller)


def test_an_answer_to_a_request_that_spoke_for_itself_is_complete() -> None:
    era, caller = eras(greeted=True), Caller(V2026_07_28)
    sealed = era.seal_result(call_of("tools/call", caller), CallToolResult(content=[]))

    meta = {SERVER_INFO_KEY: {"name": "s", "version": "1"}}
    assert {"content": [], "resultType": "complete", "_meta": meta} == plain(sealed)
    assert STATELESS_NUMBERS == era.numbers_for(caller)


@pytest.mark.parametrize(("meta", "number"), [(WHO, -31001), ({}, -32001)])
async def test_an_error_goes_out_with_the_number_of_the_era_of_its_request(meta: JsonObject, number: int) -> None:
    server = MCPServer()

    @server.tool
    def locked() -> None:
        raise MCPError(MCP_CODES.UNAUTHORIZED, "no key")

    async with serving(server) as peer:
        error = await ask(peer, "tools/call", {"name": "locked", "_meta": meta})

        assert (number, MCP_CODES.UNAUTHORIZED) == code_of(error)


# Which eras a server serves


@pytest.mark.parametrize("chosen", [ERAS, ["stateless"], {"handshake"}])
def test_a_server_serves_both_eras_or_one(chosen: Collection[str]) -> None:
    assert chosen is require_eras(chosen)


@pytest.mark.parametrize("chosen", [(), [], "stateless", ["session"], ["handshake", V2026_07_28]])
def test_a_server_serves_no_other_era(chosen: Collection[str]) -> None:
    with pytest.raises(MCPError) as caught:
        require_eras(chosen)

    expected = {"path": "eras", "reason": f"expected some of handshake, stateless, not {chosen!r}"}
    assert (MCP_CODES.INVALID_PARAMS, expected) == (caught.value.code, caught.value.context)
