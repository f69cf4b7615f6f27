"""The JSON-RPC 2.0 messages. Params and results stay as they came until someone admits them."""

from typing import TYPE_CHECKING, Any, TypeAlias, final

from msgspec import UNSET, Raw, Struct, UnsetType

RequestId: TypeAlias = int | str
"""A request's id. `1` and `"1"` are different ids; booleans, fractions and null are none. Spec: basic, Requests"""

# msgspec cannot build a decoder for a recursive alias, and at run time any decoded JSON fits.
if TYPE_CHECKING:
    JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"
else:
    JsonValue = Any

JsonObject: TypeAlias = dict[str, JsonValue]

Payload: TypeAlias = Raw | Struct | JsonValue | UnsetType
"""Params or a result in transit: raw JSON from a wire, a typed struct handed over in memory, or plain JSON."""


@final
class Request(Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """A message that wants an answer."""

    id: RequestId
    method: str
    params: Payload = UNSET


@final
class Notification(Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """A message that is never answered."""

    method: str
    params: Payload = UNSET


@final
class Response(Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """The successful answer to a request."""

    id: RequestId
    result: Payload


@final
class ErrorObject(Struct, frozen=True):
    """Why a request failed. `data` is `UNSET` where the peer sent none: `null` is a value."""

    code: int
    message: str
    data: JsonValue | UnsetType = UNSET


@final
class ErrorResponse(Struct, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """The unsuccessful answer to a request.

    Where the id could not be read it is None, or `UNSET` to be sent without one; one that came is None in either case.
    """

    id: RequestId | None | UnsetType
    error: ErrorObject


@final
class InvalidMessage(Struct, frozen=True):
    """What came instead of a message.

    Args:
        number: the JSON-RPC error number that describes it, -32700 or -32600.
        reason: what is wrong with it, naming the member.
        id: its id where one could be read, so that the caller that waits for it need not hang.
        sample: its first bytes, for a log.
        answers: it looks like an answer rather than a request, so the caller that waits for `id` can be told.
    """

    number: int
    reason: str
    id: RequestId | None = None
    sample: bytes = b""
    answers: bool = False


@final
class Batch(Struct, frozen=True):
    """Several messages in one frame, as one revision of the handshake era allows. Spec: basic, Batching"""

    messages: tuple["Request | Notification | Response | ErrorResponse | InvalidMessage", ...]


Message: TypeAlias = Request | Notification | Response | ErrorResponse | InvalidMessage | Batch
"""What a transport hands to its handler."""
