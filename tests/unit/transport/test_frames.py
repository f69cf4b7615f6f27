"""Message to frame and back."""

from typing import get_args

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.jsonrpc.messages import Batch, InvalidMessage, Message, Notification
from suaveplan_mcp.transport.frames import MESSAGE_TYPES, check_limit, decode_frame, encode_frame, to_message


def test_a_message_is_written_as_json() -> None:
    assert b'{"jsonrpc":"2.0","method":"ping"}' == encode_frame(Notification("ping"))


def test_a_frame_is_read_as_a_message() -> None:
    assert Notification("ping") == decode_frame(b'{"jsonrpc":"2.0","method":"ping"}')


def _ring() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "named"), [(object(), "object"), ("\ud800", "surrogates"), (_ring(), "recursion"), ({(1,): 2}, "tuple")]
)
def test_a_value_without_json_form_is_refused_by_name(value: object, named: str) -> None:
    with pytest.raises(MCPProtocolError, match=named) as raised:
        encode_frame(Notification("ping", {"a": value}))  # pyright: ignore[reportArgumentType]
    assert MCP_CODES.PROTOCOL_INVALID == raised.value.code
    assert isinstance(raised.value.cause, Exception)


def test_a_frame_over_the_limit_names_the_limit_and_the_setting() -> None:
    reason = "a frame of 70 bytes is over the limit of 64 bytes (`max_frame_bytes`)"

    assert InvalidMessage(-32600, reason, None, b"{") == decode_frame(FrameTooLarge(64, 70, b"{"))


def test_a_limit_that_no_message_can_keep_is_refused() -> None:
    assert 1 == check_limit(1)
    with pytest.raises(ValueError, match="`max_frame_bytes` must be at least 1, but is 0"):
        check_limit(0)


def test_the_types_of_messages_are_all_that_a_message_can_be() -> None:
    assert set(get_args(Message)) == MESSAGE_TYPES


@pytest.mark.parametrize("message", [Notification("ping"), InvalidMessage(-32600, "odd"), Batch(())])
def test_a_message_is_itself(message: Message) -> None:
    assert message is to_message(message)


def test_a_dict_with_the_members_of_a_message_becomes_one() -> None:
    assert Notification("ping") == to_message({"jsonrpc": "2.0", "method": "ping"})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("ping", "a value of type str is no message"),
        (None, "a value of type NoneType is no message"),
        ({"method": "ping"}, "the dict is no message: .*`jsonrpc`"),
        ({"jsonrpc": "2.0", "method": "ping", "params": object()}, "cannot be written as JSON: .*object"),
    ],
)
def test_what_is_no_message_is_refused(value: object, reason: str) -> None:
    with pytest.raises(MCPProtocolError, match=reason) as raised:
        to_message(value)
    assert MCP_CODES.PROTOCOL_INVALID == raised.value.code
