"""Message to frame and back, as every transport that carries bytes does it."""

from typing import Final, cast

from suaveplan_mcp.errors import INVALID_REQUEST, MCP_CODES, MCPProtocolError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.jsonrpc.codec import decode_message, encode_message, identify
from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    Response,
)

MESSAGE_TYPES: Final = frozenset({Request, Notification, Response, ErrorResponse, InvalidMessage, Batch})
"""The types of all messages; none of them has subclasses."""


def encode_frame(message: Message) -> bytes:
    """Write one message as a frame.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, a value inside has no JSON form; the message says of which type it is.
    """
    try:
        return encode_message(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise MCPProtocolError(
            MCP_CODES.PROTOCOL_INVALID, f"the message cannot be written as JSON: {error}", cause=error
        ) from error


def to_message(value: object) -> Message:
    """Return the message that a value is: itself, or what a peer would read where it is one as plain JSON.

    Args:
        value: a message, or a dict with the members of one.

    Raises:
        MCPProtocolError: `PROTOCOL_INVALID`, it is no message; the error says why.
    """
    if type(value) in MESSAGE_TYPES:
        return cast("Message", value)
    if not isinstance(value, dict):
        raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, f"a value of type {type(value).__qualname__} is no message")
    message = decode_message(encode_frame(cast("Message", value)))
    if type(message) is InvalidMessage:
        raise MCPProtocolError(MCP_CODES.PROTOCOL_INVALID, f"the dict is no message: {message.reason}")
    return message


def check_limit(max_frame_bytes: int) -> int:
    """Return a limit on the size of a message.

    Args:
        max_frame_bytes: the most bytes that a message may have.

    Raises:
        ValueError: no message is that short.
    """
    if max_frame_bytes < 1:
        raise ValueError(f"`max_frame_bytes` must be at least 1, but is {max_frame_bytes}")
    return max_frame_bytes


def decode_frame(frame: bytes | FrameTooLarge) -> Message:
    """Read one frame, or say as an `InvalidMessage` what is wrong with it."""
    if isinstance(frame, FrameTooLarge):
        reason = f"a frame of {frame.size} bytes is over the limit of {frame.limit} bytes (`max_frame_bytes`)"
        id_, answers = identify(frame.start, frame.end)
        return InvalidMessage(INVALID_REQUEST, reason, id_, frame.start, answers)
    return decode_message(frame)
