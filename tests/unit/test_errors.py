"""The codes, the exceptions, and the table between codes and JSON-RPC numbers."""

import pickle

import pytest
from msgspec import UNSET

from suaveplan_mcp.errors import (
    HANDSHAKE_NUMBERS,
    MCP_CODES,
    STATELESS_NUMBERS,
    ErrorNumbers,
    MCPError,
    MCPProtocolError,
    MCPTransportError,
    SuaveplanError,
    code_for,
    define_codes,
    number_for,
)

LEAVES = (
    "PROTOCOL_INVALID",
    "METHOD_NOT_FOUND",
    "INVALID_PARAMS",
    "INTERNAL_ERROR",
    "UNAUTHORIZED",
    "REQUEST_CANCELLED",
    "TIMEOUT",
    "TRANSPORT_CLOSED",
    "TRANSPORT_ERROR",
    "NOT_INITIALIZED",
    "ALREADY_CONNECTED",
    "DUPLICATE_REGISTRATION",
    "NOT_FOUND",
    "PROTOCOL_VERSION_MISMATCH",
    "HANDLER_FAILED",
)


@pytest.mark.requirement("error-codes-have-one-registry")
def test_every_code_stands_under_its_namespace() -> None:
    assert tuple(f"MCP.{leaf}" for leaf in LEAVES) == tuple(MCP_CODES)
    assert "MCP.UNAUTHORIZED" == MCP_CODES.UNAUTHORIZED


@pytest.mark.requirement("error-codes-have-one-registry")
def test_the_codes_are_the_fifteen_that_are_promised() -> None:
    assert LEAVES == MCP_CODES.leaves
    assert 15 == len(MCP_CODES)


def test_a_code_is_told_from_other_text() -> None:
    assert "MCP.TIMEOUT" in MCP_CODES
    assert "TIMEOUT" not in MCP_CODES


@pytest.mark.requirement("error-codes-have-one-registry")
def test_an_unknown_code_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="MCP has no code 'NOPE'"):
        _ = MCP_CODES.NOPE


def test_a_set_of_codes_answers_to_no_private_name() -> None:
    assert not hasattr(MCP_CODES, "__wrapped__")


@pytest.mark.requirement("error-codes-have-one-registry")
def test_another_package_can_define_its_own_codes() -> None:
    codes = define_codes("SHOP", ["SOLD_OUT"])

    assert ("SHOP", "SHOP.SOLD_OUT") == (codes.namespace, codes.SOLD_OUT)


@pytest.mark.requirement("error-codes-have-one-registry")
def test_an_error_carries_code_message_cause_and_context() -> None:
    cause = ValueError("underneath")

    error = SuaveplanError("MCP.NOT_FOUND", "no tool 'x'", cause=cause, context={"tool": "x"})

    assert ("MCP.NOT_FOUND", "no tool 'x'", {"tool": "x"}) == (error.code, error.message, error.context)
    assert cause is error.cause
    assert cause is error.__cause__
    assert "no tool 'x'" == str(error)


def test_an_error_without_a_cause_or_context_says_so() -> None:
    error = SuaveplanError("MCP.TIMEOUT", "too late")

    assert (None, None, {}) == (error.cause, error.__cause__, error.context)


def test_the_context_of_an_error_is_its_own_copy() -> None:
    context: dict[str, object] = {"tool": "x"}
    error = SuaveplanError("MCP.NOT_FOUND", "no tool", context=context)

    context["tool"] = "y"

    assert {"tool": "x"} == error.context


@pytest.mark.parametrize("kind", [MCPError, MCPTransportError, MCPProtocolError])
def test_every_error_shows_its_kind_and_code(kind: type[MCPError]) -> None:
    assert f"{kind.__name__}('MCP.TIMEOUT', 'too late')" == repr(kind(MCP_CODES.TIMEOUT, "too late"))


@pytest.mark.requirement("error-codes-have-one-registry")
@pytest.mark.parametrize("kind", [MCPError, MCPTransportError, MCPProtocolError])
def test_every_error_is_caught_as_the_librarys_own(kind: type[MCPError]) -> None:
    with pytest.raises(SuaveplanError):
        raise kind(MCP_CODES.TIMEOUT, "too late")


def test_an_error_that_arose_here_has_no_number_and_no_data() -> None:
    error = MCPError(MCP_CODES.TIMEOUT, "too late")

    assert error.jsonrpc_code is None
    assert UNSET is error.data


def test_null_as_the_data_of_an_error_is_not_the_absence_of_data() -> None:
    error = MCPError(MCP_CODES.INTERNAL_ERROR, "failed", jsonrpc_code=-32603, data=None)

    assert (-32603, None) == (error.jsonrpc_code, error.data)


def test_an_error_from_a_peer_keeps_cause_and_context_too() -> None:
    cause = OSError("gone")

    error = MCPTransportError(MCP_CODES.TRANSPORT_ERROR, "write failed", cause=cause, context={"bytes": 3})

    assert (cause, {"bytes": 3}) == (error.__cause__, error.context)


@pytest.mark.requirement("error-codes-have-one-registry")
@pytest.mark.parametrize(
    ("leaf", "number"),
    [
        ("PROTOCOL_INVALID", -32600),
        ("METHOD_NOT_FOUND", -32601),
        ("INVALID_PARAMS", -32602),
        ("INTERNAL_ERROR", -32603),
        ("UNAUTHORIZED", -32001),
        ("REQUEST_CANCELLED", -32002),
        ("NOT_INITIALIZED", -32600),
        ("ALREADY_CONNECTED", -32600),
        ("NOT_FOUND", -32602),
        ("PROTOCOL_VERSION_MISMATCH", -32602),
    ],
)
def test_a_code_has_its_number_in_the_handshake_era(leaf: str, number: int) -> None:
    assert number == number_for(getattr(MCP_CODES, leaf))


@pytest.mark.parametrize(
    ("leaf", "number"),
    [
        ("PROTOCOL_INVALID", -32600),
        ("METHOD_NOT_FOUND", -32601),
        ("INVALID_PARAMS", -32602),
        ("UNAUTHORIZED", -31001),
        ("REQUEST_CANCELLED", -31002),
        ("NOT_FOUND", -32602),
        ("PROTOCOL_VERSION_MISMATCH", -32022),
    ],
)
def test_a_code_has_its_number_in_the_stateless_era(leaf: str, number: int) -> None:
    assert number == number_for(getattr(MCP_CODES, leaf), "tools/call", STATELESS_NUMBERS)


@pytest.mark.parametrize("numbers", [HANDSHAKE_NUMBERS, STATELESS_NUMBERS])
@pytest.mark.parametrize("code", [MCP_CODES.HANDLER_FAILED, MCP_CODES.TIMEOUT, "SHOP.SOLD_OUT"])
def test_a_code_without_a_number_goes_out_as_an_internal_error(numbers: ErrorNumbers, code: str) -> None:
    assert -32603 == number_for(code, "tools/call", numbers)


@pytest.mark.parametrize(
    ("method", "numbers", "number"),
    [
        ("resources/read", HANDSHAKE_NUMBERS, -32002),
        ("resources/read", STATELESS_NUMBERS, -32602),
        ("tools/call", HANDSHAKE_NUMBERS, -32602),
        (None, HANDSHAKE_NUMBERS, -32602),
    ],
)
def test_only_reading_in_the_handshake_era_has_a_number_of_its_own_for_not_found(
    method: str | None, numbers: ErrorNumbers, number: int
) -> None:
    assert number == number_for(MCP_CODES.NOT_FOUND, method, numbers)


@pytest.mark.requirement("error-codes-have-one-registry")
@pytest.mark.parametrize(
    ("number", "leaf"),
    [
        (-32700, "PROTOCOL_INVALID"),
        (-32600, "PROTOCOL_INVALID"),
        (-32601, "METHOD_NOT_FOUND"),
        (-32602, "INVALID_PARAMS"),
        (-32603, "INTERNAL_ERROR"),
        (-32001, "UNAUTHORIZED"),
        (-32002, "REQUEST_CANCELLED"),
        (-31001, "INTERNAL_ERROR"),
        (-32022, "PROTOCOL_VERSION_MISMATCH"),
        (42, "INTERNAL_ERROR"),
    ],
)
def test_a_number_means_its_code(number: int, leaf: str) -> None:
    assert getattr(MCP_CODES, leaf) == code_for(number)


@pytest.mark.parametrize(
    ("number", "leaf"),
    [
        (-32601, "METHOD_NOT_FOUND"),
        (-31001, "UNAUTHORIZED"),
        (-31002, "REQUEST_CANCELLED"),
        (-32022, "PROTOCOL_VERSION_MISMATCH"),
        (-32001, "INTERNAL_ERROR"),
        (-32002, "INTERNAL_ERROR"),
    ],
)
def test_numbers_of_the_handshake_era_mean_nothing_in_the_stateless_one(number: int, leaf: str) -> None:
    assert getattr(MCP_CODES, leaf) == code_for(number, "tools/call", None, STATELESS_NUMBERS)


def test_readers_of_either_era_take_the_older_number_for_not_found() -> None:
    assert MCP_CODES.NOT_FOUND == code_for(-32002, "resources/read", None, STATELESS_NUMBERS)


def test_one_number_means_not_found_to_a_reader_and_cancelled_to_everyone_else() -> None:
    assert ("MCP.NOT_FOUND", "MCP.REQUEST_CANCELLED") == (
        code_for(-32002, "resources/read"),
        code_for(-32002, "tools/call"),
    )


@pytest.mark.parametrize(
    ("method", "data", "code"),
    [
        ("resources/read", {"uri": "mem://nowhere"}, "MCP.NOT_FOUND"),
        ("resources/read", {"reason": "no URI"}, "MCP.INVALID_PARAMS"),
        ("resources/read", "uri", "MCP.INVALID_PARAMS"),
        ("resources/subscribe", {"uri": "mem://nowhere"}, "MCP.INVALID_PARAMS"),
    ],
)
def test_wrong_params_that_name_the_resource_mean_not_found_to_a_reader(method: str, data: object, code: str) -> None:
    assert code == code_for(-32602, method, data)


@pytest.mark.parametrize("numbers", [HANDSHAKE_NUMBERS, STATELESS_NUMBERS])
def test_unauthorized_and_cancelled_survive_the_way_there_and_back(numbers: ErrorNumbers) -> None:
    codes = [MCP_CODES.UNAUTHORIZED, MCP_CODES.REQUEST_CANCELLED]

    assert codes == [code_for(number_for(code, "tools/call", numbers), "tools/call", None, numbers) for code in codes]


def test_the_stateless_eras_new_numbers_keep_out_of_the_reserved_range() -> None:
    own = {
        STATELESS_NUMBERS.number_of[MCP_CODES.UNAUTHORIZED],
        STATELESS_NUMBERS.number_of[MCP_CODES.REQUEST_CANCELLED],
    }

    assert set() == own & set(range(-32768, -31999))


def test_an_error_survives_a_pickle_with_all_it_carries() -> None:
    error = MCPTransportError(MCP_CODES.TIMEOUT, "too late", jsonrpc_code=4, data={"a": 1}, context={"b": 2})

    assert vars(error) == vars(pickle.loads(pickle.dumps(error)))
