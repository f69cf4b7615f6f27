"""Text of a request as the value of an HTTP header, and back. Spec: basic/transports/streamable-http, Value Encoding"""

import re
from base64 import b64decode, b64encode
from typing import Final

from suaveplan_mcp.errors import HEADER_MISMATCH, MCP_CODES, MCPError

_START: Final = "=?base64?"
_END: Final = "?="
# A tab inside would be legal, but there are parsers that trim or replace it.
_PLAIN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_RECEIVED: Final = re.compile(r"[\t -~]*")
_PADDING: Final = " \t"
_SHOWN: Final = 100


class HeaderValueError(ValueError):
    """A text cannot be a header's value, or a header's value stands for no text."""


def encode_header_value(text: str) -> str:
    """Return what carries `text` in a header: itself, or its base64 where it would not arrive as it is.

    Args:
        text: any text; control characters never leave here as they are.

    Raises:
        HeaderValueError: it has half of a surrogate pair, which is no text.

    Spec: basic/transports/streamable-http, Value Encoding
    """
    if _PLAIN.fullmatch(text) is not None and not (text.startswith(_START) and text.endswith(_END)):
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise HeaderValueError(f"character {error.start} is half of a surrogate pair") from error
    return f"{_START}{b64encode(encoded).decode()}{_END}"


def decode_header_value(value: str) -> str:
    """Return the text that a header carries.

    Base64 must be exactly what encoding gives: what a lenient reader would take for the same text, a strict one on the
    way would not.

    Args:
        value: as it came, each byte a character; whitespace around it is not part of it.

    Raises:
        HeaderValueError: it holds a character that no header may, or base64 that is none.

    Spec: basic/transports/streamable-http, Value Encoding
    """
    value = value.strip(_PADDING)
    if _RECEIVED.fullmatch(value) is None:
        raise HeaderValueError("it holds a character that is neither visible ASCII nor a space")
    if not (value.startswith(_START) and value.endswith(_END)) or len(value) < len(_START) + len(_END):
        return value
    encoded = value[len(_START) : -len(_END)]
    try:
        data = b64decode(encoded, validate=True)
        if b64encode(data).decode() == encoded:
            return data.decode()
    except ValueError as error:
        raise HeaderValueError("it is marked as base64, but holds none of any text in UTF-8") from error
    raise HeaderValueError("it is marked as base64, but is not written as base64 is")


def header_mismatch(text: str) -> MCPError:
    """Return the error for headers that do not agree with the request they came with.

    Args:
        text: which header, and what is wrong with it.

    Spec: basic/transports/streamable-http, Server Validation
    """
    return MCPError(
        MCP_CODES.PROTOCOL_INVALID,
        f"Header mismatch: {text}",
        jsonrpc_code=HEADER_MISMATCH,
        data={"code": MCP_CODES.PROTOCOL_INVALID},
    )


def show(text: str) -> str:
    """Return a text of a peer's as an error message quotes it: escaped, and cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
