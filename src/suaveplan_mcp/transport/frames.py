"""Message to frame and back, as every transport that carries bytes does it."""

from suaveplan_mcp.errors import INVALID_REQUEST, MCP_CODES, MCPProtocolError
from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.jsonrpc.codec import decode_message, encode_message, identify
from suaveplan_mcp.jsonrpc.messages import InvalidMessage, Message


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


def decode_frame(frame: bytes | FrameTooLarge) -> Message:
    """Read one frame, or say as an `InvalidMessage` what is wrong with it."""
    if isinstance(frame, FrameTooLarge):
        reason = f"a frame of {frame.size} bytes is over the limit of {frame.limit} bytes (`max_frame_bytes`)"
        id_, answers = identify(frame.start, frame.end)
        return InvalidMessage(INVALID_REQUEST, reason, id_, frame.start, answers)
    return decode_message(frame)
