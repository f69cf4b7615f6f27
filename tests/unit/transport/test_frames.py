"""Message to frame and back."""

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPProtocolError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Notification
from suaveplan_mcp.transport.frames import decode_frame, encode_frame


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
