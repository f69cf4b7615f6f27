"""Every error of the library, the 15 codes, and the one table between codes and JSON-RPC numbers.

Nothing may be imported here but the standard library's typing and msgspec's `UNSET`: every other room imports this one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import UNSET, Raw, UnsetType


class Codes:
    """A closed set of error codes, read as attributes: `CODES.NOT_FOUND == "MCP.NOT_FOUND"`."""

    __slots__ = ("_values", "namespace")

    def __init__(self, namespace: str, leaves: Iterable[str]) -> None:
        """Build the set; use `define_codes`."""
        self.namespace = namespace
        self._values = {leaf: f"{namespace}.{leaf}" for leaf in leaves}

    def __getattr__(self, leaf: str) -> str:
        """Return the code of `leaf`.

        Raises:
            AttributeError: there is no such leaf.
        """
        if leaf.startswith("_"):
            raise AttributeError(leaf)
        try:
            return self._values[leaf]
        except KeyError:
            raise AttributeError(f"{self.namespace} has no code {leaf!r}") from None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the codes in the order they were defined."""
        return iter(self._values.values())

    def __len__(self) -> int:
        """Return how many codes there are."""
        return len(self._values)

    def __contains__(self, code: object) -> bool:
        """Tell whether `code` (with its namespace) is one of the set."""
        return code in self._values.values()

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names without the namespace, in the order they were defined."""
        return tuple(self._values)


def define_codes(namespace: str, leaves: Iterable[str]) -> Codes:
    """Define a set of error codes under one namespace.

    Args:
        namespace: the part before the dot, such as `"MCP"`.
        leaves: the upper-case names.

    Returns:
        The codes as attributes; each value is `"NAMESPACE.LEAF"`.
    """
    return Codes(namespace, leaves)


MCP_CODES: Final = define_codes(
    "MCP",
    [
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
    ],
)


class SuaveplanError(Exception):
    """The base of every error this library raises on purpose.

    Args:
        code: one of a `Codes` set, such as `MCP_CODES.NOT_FOUND`.
        message: one sentence for a person, naming the field, limit or setting at fault.
        cause: the exception behind it; also set as `__cause__`.
        context: facts for a program, such as `{"tool": "echo"}`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        cause: BaseException | None = None,
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.cause = cause
        self.context: dict[str, object] = dict(context or {})
        if cause is not None:
            self.__cause__ = cause

    def __repr__(self) -> str:
        """Show the code beside the message."""
        return f"{type(self).__name__}({self.code!r}, {self.message!r})"

    def __reduce__(self) -> "tuple[object, ...]":
        """Allow copies and pickles: a subclass may be made from other arguments than it keeps."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[SuaveplanError], args: tuple[object, ...], attributes: dict[str, object]) -> SuaveplanError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class MCPError(SuaveplanError):
    """Something went wrong in an MCP exchange.

    Raise one in a handler to answer with that error: `jsonrpc_code` and `data`, when given, reach the peer unchanged.
    An error that a peer answered with is `received`: what it says was said to this side, and is not to be passed on.

    Args:
        code: one of `MCP_CODES`.
        message: one sentence for a person.
        jsonrpc_code: the number on the wire.
        data: the `data` member on the wire; `UNSET` where there is none, since `null` is a value.
        cause: the exception behind it.
        context: facts for a program.

    Attributes:
        received: whether a peer answered with it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        jsonrpc_code: int | None = None,
        data: object = UNSET,
        cause: BaseException | None = None,
        context: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(code, message, cause=cause, context=context)
        self.jsonrpc_code = jsonrpc_code
        self.data: object | UnsetType | Raw = data
        self.received = False


class MCPTransportError(MCPError):
    """The way to the peer failed or was closed."""


class MCPProtocolError(MCPError):
    """One side broke the rules of the protocol; the message says which rule and whose fault."""


PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_REVISION: Final = -32022

# The handshake era gives one number two meanings; only the method tells them apart.
_RESOURCE_NOT_FOUND: Final = -32002
_READ: Final = "resources/read"


class ErrorNumbers(NamedTuple):
    """How one era writes the codes as JSON-RPC numbers, and what it takes the numbers of a peer for.

    Args:
        number_of: code to number; a code that is absent goes out as -32603.
        code_of: number to code; a number that is absent means `INTERNAL_ERROR`.
        not_found: what the reader of a resource is answered where there is none.
    """

    number_of: Mapping[str, int]
    code_of: Mapping[int, str]
    not_found: int


_COMMON: Final = {
    MCP_CODES.PROTOCOL_INVALID: INVALID_REQUEST,
    MCP_CODES.METHOD_NOT_FOUND: METHOD_NOT_FOUND,
    MCP_CODES.INVALID_PARAMS: INVALID_PARAMS,
    MCP_CODES.INTERNAL_ERROR: INTERNAL_ERROR,
    MCP_CODES.NOT_INITIALIZED: INVALID_REQUEST,
    MCP_CODES.ALREADY_CONNECTED: INVALID_REQUEST,
    MCP_CODES.NOT_FOUND: INVALID_PARAMS,
    MCP_CODES.PROTOCOL_VERSION_MISMATCH: INVALID_PARAMS,
}

_COMMON_CODES: Final = {
    PARSE_ERROR: MCP_CODES.PROTOCOL_INVALID,
    INVALID_REQUEST: MCP_CODES.PROTOCOL_INVALID,
    METHOD_NOT_FOUND: MCP_CODES.METHOD_NOT_FOUND,
    INVALID_PARAMS: MCP_CODES.INVALID_PARAMS,
    INTERNAL_ERROR: MCP_CODES.INTERNAL_ERROR,
    UNSUPPORTED_REVISION: MCP_CODES.PROTOCOL_VERSION_MISMATCH,
}

HANDSHAKE_NUMBERS: Final = ErrorNumbers(
    number_of={**_COMMON, MCP_CODES.UNAUTHORIZED: -32001, MCP_CODES.REQUEST_CANCELLED: -32002},
    code_of={**_COMMON_CODES, -32001: MCP_CODES.UNAUTHORIZED, -32002: MCP_CODES.REQUEST_CANCELLED},
    not_found=_RESOURCE_NOT_FOUND,
)
"""The numbers of the handshake era. A server of the other era may answer one of it that it does not speak it.

Spec: basic, Responses
"""

STATELESS_NUMBERS: Final = ErrorNumbers(
    number_of={
        **_COMMON,
        MCP_CODES.UNAUTHORIZED: -31001,
        MCP_CODES.REQUEST_CANCELLED: -31002,
        MCP_CODES.PROTOCOL_VERSION_MISMATCH: UNSUPPORTED_REVISION,
    },
    code_of={
        **_COMMON_CODES,
        -31001: MCP_CODES.UNAUTHORIZED,
        -31002: MCP_CODES.REQUEST_CANCELLED,
        HEADER_MISMATCH: MCP_CODES.PROTOCOL_INVALID,
        # What the client would have to offer is a method that it does not serve.
        MISSING_CAPABILITY: MCP_CODES.METHOD_NOT_FOUND,
    },
    not_found=INVALID_PARAMS,
)
"""The numbers of the stateless era, whose policy keeps new codes out of -32768…-32000. Spec: basic, Error Codes"""


def number_for(code: str, method: str | None = None, numbers: ErrorNumbers = HANDSHAKE_NUMBERS) -> int:
    """Return the JSON-RPC number that carries `code` in the answer to `method`.

    Args:
        code: one of `MCP_CODES`.
        method: the method that is answered.
        numbers: the table of the era, `HANDSHAKE_NUMBERS` or `STATELESS_NUMBERS`.
    """
    if code == MCP_CODES.NOT_FOUND and method == _READ:
        return numbers.not_found
    return numbers.number_of.get(code, INTERNAL_ERROR)


def code_for(
    number: int, method: str | None = None, data: object = None, numbers: ErrorNumbers = HANDSHAKE_NUMBERS
) -> str:
    """Return the code that a JSON-RPC number means in the answer to `method`.

    For a resource that does not exist peers of either era may answer as the other one has it: with -32002, or with
    -32602 and the URI in the data. Spec: server/resources, Error Handling

    Args:
        number: the `error.code` a peer sent; an unknown one means `INTERNAL_ERROR`.
        method: the method that was asked.
        data: the `error.data` a peer sent.
        numbers: the table of the era, `HANDSHAKE_NUMBERS` or `STATELESS_NUMBERS`.
    """
    names_uri = isinstance(data, dict) and "uri" in data
    if method == _READ and (number == _RESOURCE_NOT_FOUND or (number == INVALID_PARAMS and names_uri)):
        return MCP_CODES.NOT_FOUND
    return numbers.code_of.get(number, MCP_CODES.INTERNAL_ERROR)
