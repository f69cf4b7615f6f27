"""Which source of schemas reads a type: msgspec where it can, pydantic where the type involves it or msgspec cannot."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError
from suaveplan_mcp.server.signatures.pydantic_signature import PydanticArguments, PydanticValue
from suaveplan_mcp.server.signatures.schema import (
    ArgumentsCodec,
    StructArguments,
    StructValue,
    ValueCodec,
    involves_pydantic,
    is_pydantic,
)
from suaveplan_mcp.server.signatures.signature import CallableShape, Parameter

_Codec = TypeVar("_Codec")


def arguments_codec(shape: CallableShape) -> ArgumentsCodec:
    """Choose what reads the arguments of a handler; pydantic reads all of them where one involves it.

    Raises:
        RegistrationError: a type is unknown; the error names the parameter.
    """
    try:
        return _arguments(shape.parameters)
    except TypeError as error:
        culprit = next((each.name for each in shape.parameters if _is_unknown(each)), None)
        raise RegistrationError(shape.name, str(error), parameter=culprit, cause=error) from error


def value_codec(shape: CallableShape, annotation: Any, *, parameter: str, outgoing: bool = False) -> ValueCodec:
    """Choose what reads and writes the values of one type.

    Args:
        shape: the handler.
        annotation: the type.
        parameter: the parameter that has it, for errors.
        outgoing: the values go to a caller rather than come from one.

    Raises:
        RegistrationError: the type is unknown; the error names the parameter.
    """
    mode = "serialization" if outgoing else "validation"
    try:
        return _choose(
            lambda: involves_pydantic(annotation),
            lambda: StructValue(annotation),
            lambda: PydanticValue(annotation, mode),
        )
    except TypeError as error:
        raise RegistrationError(shape.name, str(error), parameter=parameter, cause=error) from error


def _arguments(parameters: Sequence[Parameter]) -> ArgumentsCodec:
    return _choose(
        lambda: any(involves_pydantic(each.annotation) or is_pydantic(each.default) for each in parameters),
        lambda: StructArguments(parameters),
        lambda: PydanticArguments(parameters),
    )


def _is_unknown(parameter: Parameter) -> bool:
    try:
        _arguments([parameter])
    except TypeError:
        return True
    return False


def _choose(
    needs_pydantic: Callable[[], bool], by_msgspec: Callable[[], _Codec], by_pydantic: Callable[[], _Codec]
) -> _Codec:
    """Make a codec by the first source that can, and say what both think of a type that neither knows."""
    reasons: list[str] = []
    try:
        if not needs_pydantic():
            return by_msgspec()
    except (TypeError, NameError) as error:
        reasons.append(_last_line(error))
    try:
        return by_pydantic()
    except (TypeError, NameError, MissingLibraryError) as error:
        reasons.append(_last_line(error))
        raise TypeError("; ".join(reasons)) from error


def _last_line(error: Exception) -> str:
    """Return the line of a message that names the type."""
    return str(error).splitlines()[-1]
