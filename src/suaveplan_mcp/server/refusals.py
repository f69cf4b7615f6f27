"""The errors of registering and calling a handler: whose fault, where, and what was expected."""

from msgspec import DecodeError

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.complaints import ROOT, explain


class RegistrationError(MCPError):
    """A callable cannot be registered. It is the programmer's mistake and never crosses a wire.

    Args:
        function: the name of the callable.
        problem: what is wrong with it, and what would be right.
        parameter: the parameter at fault, `"return"` for the return annotation, None for the callable as a whole.
        cause: the exception behind it.
    """

    def __init__(
        self, function: str, problem: str, *, parameter: str | None = None, cause: BaseException | None = None
    ) -> None:
        place = f"`{function}`" if parameter is None else f"`{function}`, parameter `{parameter}`"
        super().__init__(
            MCP_CODES.INVALID_PARAMS,
            f"Cannot register {place}: {problem}",
            cause=cause,
            context={"function": function, "parameter": parameter},
        )


class InvalidArgumentsError(MCPError):
    """A caller sent arguments that a handler does not take.

    Args:
        handler: what was called, such as "tool `add`".
        path: where, such as `"a.b[0]"`; `"(root)"` for the arguments as a whole.
        reason: what was expected there and what came.
        cause: the exception behind it.
    """

    def __init__(self, handler: str, path: str, reason: str, *, cause: BaseException | None = None) -> None:
        super().__init__(
            MCP_CODES.INVALID_PARAMS,
            f"Invalid arguments for {handler}: {path}: {reason}",
            data={"code": MCP_CODES.INVALID_PARAMS, "path": path, "reason": reason},
            cause=cause,
            context={"handler": handler, "path": path, "reason": reason},
        )
        self.path = path
        self.reason = reason


class InvalidResultError(MCPError):
    """A handler returned what it may not return. The message is for the server's own log.

    Args:
        handler: what was called, such as "tool `add`".
        reason: what is wrong with the value, naming its type or its field.
        cause: the exception behind it.
    """

    def __init__(self, handler: str, reason: str, *, cause: BaseException | None = None) -> None:
        super().__init__(
            MCP_CODES.HANDLER_FAILED,
            f"{handler} returned a value that cannot be sent: {reason}",
            cause=cause,
            context={"handler": handler, "reason": reason},
        )


class MismatchError(ValueError):
    """A value does not fit its type. The caller knows what it was for, and turns this into one of the errors above.

    Args:
        path: where, such as `"a.b[0]"`, or `ROOT`.
        reason: what was expected there and what came.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def format_path(steps: list[str | int]) -> str:
    """Write the way to a value: `["a", "b", 0]` gives `"a.b[0]"`, no steps give `ROOT`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".") or ROOT


def mismatch_of(error: DecodeError | RecursionError) -> MismatchError:
    """Read what msgspec says of a value that it cannot decode."""
    return MismatchError(*explain(error))
