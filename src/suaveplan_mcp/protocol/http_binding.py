"""What a request of the stateless era says in HTTP headers beside its body, and whether the two agree.

Spec: basic/transports/streamable-http, Request Metadata
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import DecodeError, Raw, Struct, UnsetType, field
from msgspec.json import Decoder

from suaveplan_mcp.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MCP_CODES,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_REVISION,
    MCPError,
)
from suaveplan_mcp.jsonrpc.messages import JsonValue, Message, Notification, Payload, Request
from suaveplan_mcp.protocol.header_values import HeaderValueError, decode_header_value, encode_header_value, show
from suaveplan_mcp.protocol.header_values import header_mismatch as header_mismatch
from suaveplan_mcp.protocol.param_headers import PREFIX, ParamHeader, check_param_headers, read_arguments
from suaveplan_mcp.protocol.stateless import is_modern as is_modern
from suaveplan_mcp.types.base import WireStruct
from suaveplan_mcp.types.meta import PROTOCOL_VERSION_KEY
from suaveplan_mcp.types.tools import CallToolRequestParams

PROTOCOL_VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
SESSION_ID: Final = "mcp-session-id"
PARAM_PREFIX: Final = PREFIX.lower()

_NAMED_BY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
        "tasks/get": "taskId",
        "tasks/update": "taskId",
        "tasks/cancel": "taskId",
    }
)
"""The member of the params that `Mcp-Name` repeats, by method."""

_SINGLE: Final = frozenset({PROTOCOL_VERSION, METHOD, NAME})
_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType({"name": "name", "uri": "uri", "taskId": "task_id"})

_STATUSES: Final[Mapping[int, int]] = MappingProxyType(
    {
        METHOD_NOT_FOUND: 404,
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        MISSING_CAPABILITY: 400,
        UNSUPPORTED_REVISION: 400,
    }
)


class _Sender(WireStruct, frozen=True, kw_only=True):
    """What is read of `_meta`."""

    revision: JsonValue = field(name=PROTOCOL_VERSION_KEY, default=None)


class _Envelope(WireStruct, frozen=True, kw_only=True):
    """What is read of params that are still JSON: the arguments of a call may be large and are skipped."""

    meta: _Sender | None = field(name="_meta", default=None)
    name: JsonValue = None
    uri: JsonValue = None
    task_id: JsonValue = None


_envelope: Final = Decoder(_Envelope)


def revision_of(message: Message) -> str | None:
    """Return the revision that a request or notification names itself, None where it names none.

    Spec: basic, `_meta`
    """
    if not isinstance(message, Request | Notification):
        return None
    params = message.params
    if isinstance(params, Raw):
        envelope = _read(params)
        revision = None if envelope is None or envelope.meta is None else envelope.meta.revision
    else:
        meta: JsonValue = params.get("_meta") if isinstance(params, dict) else getattr(params, "meta", None)
        revision = meta.get(PROTOCOL_VERSION_KEY) if isinstance(meta, dict) else None
    return revision if isinstance(revision, str) else None


def request_headers(message: Request | Notification, revision: str) -> dict[str, str]:
    """Return the headers that go out with a message of the stateless era; names are in lower case.

    Args:
        message: what is sent.
        revision: the one it names in its `_meta`.

    Raises:
        MCPError: `INVALID_PARAMS`, its method, or what it is about, cannot be written into a header.

    Spec: basic/transports/streamable-http, Standard Request Headers
    """
    headers = {PROTOCOL_VERSION: _plain("revision", revision), METHOD: _plain("method", message.method)}
    member = _NAMED_BY.get(message.method)
    name = None if member is None else _member(message.params, member)
    if isinstance(name, str):
        try:
            headers[NAME] = encode_header_value(name)
        except HeaderValueError as error:
            raise _unsendable(f"the {member} of {message.method} {show(name)}", str(error)) from error
    return headers


def status_of(number: int) -> int:
    """Return the HTTP status that an answer with this JSON-RPC error number has.

    Spec: basic/transports/streamable-http, Protocol Version Header and Server Validation
    """
    return _STATUSES.get(number, 200)


def find_repeated(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the name of a header that may come once and came twice, None where there is none.

    Joined with a comma the values may read like one that agrees with the body, while somebody on the way went by the
    first of them or the last.

    Args:
        headers: names and values as they came, such as an ASGI scope has them.

    Spec: basic/transports/streamable-http, Server Validation
    """
    seen: set[str] = set()
    for raw_name, _ in headers:
        name = raw_name.decode("latin-1").lower()
        if name in _SINGLE or name.startswith(PARAM_PREFIX):
            if name in seen:
                return name
            seen.add(name)
    return None


class HttpBinding:
    """Compares the headers of one HTTP request with what its body says; a `Binding` of `StatelessEra`.

    Args:
        headers: those of the request, names in lower case; none that came twice, which `find_repeated` tells.
        param_headers: tells which arguments of a tool travel as headers; none for a tool that is not known.
    """

    __slots__ = ("_headers", "_param_headers")

    def __init__(self, headers: Mapping[str, str], param_headers: Callable[[str], tuple[ParamHeader, ...]]) -> None:
        self._headers = headers
        self._param_headers = param_headers

    def check_revision(self, revision: str) -> None:
        """Make sure that `MCP-Protocol-Version` says what `_meta` says.

        Raises:
            MCPError: -32020.

        Spec: basic/transports/streamable-http, Protocol Version Header
        """
        self._compare("MCP-Protocol-Version", PROTOCOL_VERSION, revision)

    def check_method(self, method: str) -> None:
        """Make sure that `Mcp-Method` names the method.

        Raises:
            MCPError: -32020.

        Spec: basic/transports/streamable-http, Standard Request Headers
        """
        self._compare("Mcp-Method", METHOD, method)

    def check_params(self, method: str, params: WireStruct) -> None:
        """Make sure that `Mcp-Name`, and the headers of a tool's arguments, say what the params say.

        Raises:
            MCPError: -32020.

        Spec: basic/transports/streamable-http, Server Validation
        """
        member = _NAMED_BY.get(method)
        name = None if member is None else getattr(params, _ATTRIBUTES[member], None)
        if isinstance(name, str):
            self._compare_encoded("Mcp-Name", NAME, name)
        if isinstance(params, CallToolRequestParams):
            found = self._param_headers(params.name)
            if found:
                check_param_headers(found, self._headers, read_arguments(params.arguments))

    def _compare(self, shown: str, header: str, expected: str) -> None:
        value = self._require(shown, header).strip(" \t")
        if value != expected:
            raise _differs(shown, value, expected)

    def _compare_encoded(self, shown: str, header: str, expected: str) -> None:
        value = self._require(shown, header)
        try:
            carried = decode_header_value(value)
        except HeaderValueError as error:
            raise header_mismatch(f"{shown} is malformed: {error}") from error
        if carried != expected:
            raise _differs(shown, carried, expected)

    def _require(self, shown: str, header: str) -> str:
        value = self._headers.get(header)
        if value is None:
            raise header_mismatch(f"{shown} is missing")
        return value


def _differs(shown: str, value: str, expected: str) -> MCPError:
    return header_mismatch(f"{shown} is {show(value)}, but the body says {show(expected)}")


def _plain(what: str, text: str) -> str:
    """Return a text that goes into a header without being encoded."""
    if text and text.isascii() and text.isprintable() and " " not in text:
        return text
    raise _unsendable(f"the {what} {show(text)}", "only visible ASCII can be there")


def _unsendable(what: str, reason: str) -> MCPError:
    return MCPError(MCP_CODES.INVALID_PARAMS, f"{what} cannot be sent in a header: {reason}")


def _member(params: Payload, name: str) -> JsonValue | UnsetType:
    """Return a member of params of any form."""
    if isinstance(params, dict):
        return params.get(name)
    envelope: Payload | None = _read(params) if isinstance(params, Raw) else params
    value: JsonValue = getattr(envelope, _ATTRIBUTES[name], None) if isinstance(envelope, Struct) else None
    return value


def _read(params: Raw) -> _Envelope | None:
    try:
        return _envelope.decode(params)
    except (DecodeError, RecursionError):
        return None
