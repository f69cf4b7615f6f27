"""States that a client keeps for a server: it can change nothing in them, and nobody else can use them."""

import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from msgspec import Raw

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.request_state import MIN_KEY_BYTES, Memory, RequestStates, _head, _seal
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.testing import FakeClock

KEY, OLD = b"k" * MIN_KEY_BYTES, b"o" * MIN_KEY_BYTES
HERE, ELSEWHERE = b"h" * 32, b"e" * 32
MEMORY = Memory(2, {"a": "digest"}, {"b": ("digest", Raw(b'{"action":"decline"}'))})
SECRET = Memory(1, once={"token": Raw(b'"hidden value"')})

pytestmark = pytest.mark.requirement("request-state-is-sealed")


def bytes_of(state: str) -> bytes:
    return urlsafe_b64decode(state + "=" * (-len(state) % 4))


def refused(states: RequestStates, state: str, binding: bytes = HERE) -> None:
    with pytest.raises(MCPError, match="Invalid request parameters") as caught:
        states.open(state, binding)
    reason = "this cannot be used for this request now; send the request again without it"
    assert {"code": MCP_CODES.INVALID_PARAMS, "path": "requestState", "reason": reason} == caught.value.data


@pytest.mark.parametrize("memory", [Memory(), MEMORY, SECRET, Memory(private=True)])
def test_a_state_gives_back_what_it_was_made_of(memory: Memory) -> None:
    states = RequestStates()

    assert memory == states.open(states.seal(memory, HERE), HERE)


def test_answers_of_the_client_can_be_read_by_it_and_what_was_done_once_cannot() -> None:
    states = RequestStates([KEY])

    assert b"decline" in bytes_of(states.seal(MEMORY, HERE))
    assert b"hidden" not in bytes_of(states.seal(SECRET, HERE))


def test_no_part_of_a_state_can_be_changed() -> None:
    states = RequestStates([KEY])
    data = bytes_of(states.seal(MEMORY, HERE))

    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        refused(states, urlsafe_b64encode(changed).decode().rstrip("="))


@pytest.mark.parametrize(
    "change", [str.upper, lambda s: s + "!", lambda s: s + "=", lambda s: s[:-1], lambda s: "é" + s]
)
def test_a_state_is_written_in_one_way(change: Any) -> None:
    states = RequestStates([KEY])

    refused(states, change(states.seal(MEMORY, HERE)))


@pytest.mark.parametrize("nonsense", ["", "x", "AAAA", "not base64 at all", "A" * 60, "\ud800"])
def test_nonsense_is_refused(nonsense: str) -> None:
    refused(RequestStates([KEY]), nonsense)


def test_a_state_is_good_for_one_request_only() -> None:
    states = RequestStates([KEY])

    refused(states, states.seal(MEMORY, HERE), ELSEWHERE)


def test_a_state_is_good_for_a_while_only() -> None:
    clock = FakeClock(1000.0)
    states = RequestStates([KEY], ttl=60, wall_clock=clock)
    state = states.seal(MEMORY, HERE)
    clock.now = 1060.0
    assert MEMORY == states.open(state, HERE)

    clock.now = 1061.0
    refused(states, state)


def test_replicas_with_the_same_key_open_each_others_states() -> None:
    assert SECRET == RequestStates([KEY]).open(RequestStates([KEY]).seal(SECRET, HERE), HERE)


def test_a_key_that_went_still_opens_while_it_is_in_the_ring() -> None:
    state = RequestStates([OLD]).seal(SECRET, HERE)

    assert SECRET == RequestStates([KEY, OLD]).open(state, HERE)
    refused(RequestStates([KEY]), state)


def test_the_first_key_seals() -> None:
    assert MEMORY == RequestStates([KEY]).open(RequestStates([KEY, OLD]).seal(MEMORY, HERE), HERE)


def test_without_keys_every_server_has_one_of_its_own() -> None:
    one, other = RequestStates(), RequestStates()
    state = one.seal(MEMORY, HERE)

    assert MEMORY == one.open(state, HERE)
    refused(other, state)
    other.seal(MEMORY, HERE)
    refused(other, state)


def test_what_is_sealed_twice_is_encrypted_in_two_ways() -> None:
    states = RequestStates([KEY], wall_clock=lambda: 0.0)

    assert states.seal(SECRET, HERE) != states.seal(SECRET, HERE)
    assert states.seal(MEMORY, HERE) == states.seal(MEMORY, HERE)


def test_too_much_to_remember_is_an_error_that_names_the_limit() -> None:
    states = RequestStates([KEY], max_bytes=100)

    with pytest.raises(
        MCPError, match=r"too long: it would take \d+ bytes, and may have 100 \(max_state_bytes\)"
    ) as caught:
        states.seal(MEMORY, HERE)
    assert MCP_CODES.INTERNAL_ERROR == caught.value.code
    refused(states, RequestStates([KEY]).seal(MEMORY, HERE))


def test_a_state_of_another_version_is_refused() -> None:
    states = RequestStates([KEY])
    head = bytes_of(states.seal(MEMORY, HERE))[: _head.size]
    body = b'{"version": 99}'

    refused(states, urlsafe_b64encode(head + body + _seal(KEY, HERE, head, body)).decode().rstrip("="))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": []}, "state_keys"),
        ({"keys": KEY}, "state_keys"),
        ({"keys": [KEY, b"short"]}, r"state_keys\[1\]"),
        ({"keys": ["k" * MIN_KEY_BYTES]}, r"state_keys\[0\]"),
        ({"ttl": 0}, "state_ttl"),
        ({"ttl": float("inf")}, "state_ttl"),
        ({"ttl": float("nan")}, "state_ttl"),
        ({"max_bytes": 0}, "max_state_bytes"),
    ],
)
def test_options_that_cannot_be_are_named(options: Any, message: str) -> None:
    with pytest.raises(MCPError) as caught:
        RequestStates(**options)

    assert message.replace("\\", "") == caught.value.context["path"]


def test_secrets_need_a_library_that_the_error_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    states = RequestStates([KEY])

    for need in (states.require_secrecy, lambda: states.seal(SECRET, HERE)):
        with pytest.raises(MissingLibraryError, match=r"pip install 'suaveplan-mcp\[auth\]'"):
            need()
    assert MEMORY == states.open(states.seal(MEMORY, HERE), HERE)
