"""A callable as a prompt: the arguments it advertises and how they are read. Spec: server/prompts"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from suaveplan_mcp.server.refusals import InvalidArgumentsError, MismatchError, RegistrationError
from suaveplan_mcp.server.signatures.signature import CallableShape, inspect_callable
from suaveplan_mcp.server.signatures.text_values import text_reader
from suaveplan_mcp.types.prompts import PromptArgument


class PromptSignature:
    """A prompt as callers see it, and the way from their text to the handler.

    Args:
        shape: the handler.
        description: what callers read.

    Raises:
        RegistrationError: an annotation is of no known type.
    """

    __slots__ = ("_readers", "_required", "arguments", "description", "shape")

    def __init__(self, shape: CallableShape, description: str | None) -> None:
        self.shape = shape
        self.description = description
        self._readers = {parameter.name: text_reader(shape, parameter) for parameter in shape.parameters}
        self._required = tuple(parameter.name for parameter in shape.parameters if parameter.required)
        self.arguments = [
            PromptArgument(name=each.name, description=each.description or None, required=each.required)
            for each in shape.parameters
        ]

    @classmethod
    def from_callable(
        cls,
        fn: object,
        *,
        context_type: type,
        name: str | None = None,
        description: str | None = None,
        accepts_any: bool = False,
    ) -> "PromptSignature":
        """Make a prompt of a callable whose parameters are the arguments.

        Args:
            fn: the callable.
            context_type: the class whose annotation asks for the context.
            name: the prompt's name, None to take the callable's.
            description: None to take the docstring's.
            accepts_any: allow a `**` parameter, because `advertise` will say which arguments there are.

        Raises:
            RegistrationError: the callable cannot be a prompt.
        """
        shape = inspect_callable(fn, kind="prompt", name=name, context_type=context_type, accepts_any=accepts_any)
        return cls(shape, description or shape.description)

    def advertise(self, arguments: Iterable[PromptArgument]) -> None:
        """Tell callers of these arguments instead of the handler's parameters.

        Args:
            arguments: one that is required must be given, even where the handler has a default; one that does not say
                is required where the handler has none.

        Raises:
            RegistrationError: the handler does not take one of them, or needs one that callers need not give.
        """
        self.arguments = [
            each if each.required is not None else replace(each, required=each.name in self._required)
            for each in arguments
        ]
        required = {each.name for each in self.arguments if each.required}
        for each in self.arguments:
            if each.name not in self._readers and not self.shape.accepts_any:
                raise RegistrationError(
                    self.shape.name, "the handler has no parameter of that name", parameter=each.name
                )
        for name in self._required:
            if name not in required:
                raise RegistrationError(
                    self.shape.name, "the handler cannot do without it; advertise it as required", parameter=name
                )
        self._readers = {each.name: self._readers.get(each.name, str) for each in self.arguments}
        self._required = tuple(each.name for each in self.arguments if each.required)

    @property
    def name(self) -> str:
        """The prompt's name."""
        return self.shape.name

    def decode(self, arguments: Mapping[str, str] | None) -> dict[str, object]:
        """Read the arguments of a call.

        Raises:
            InvalidArgumentsError: one is missing, unknown or of the wrong type; the error names it.
        """
        values: dict[str, object] = {}
        for name, text in (arguments or {}).items():
            reader = self._readers.get(name)
            if reader is None:
                raise InvalidArgumentsError(self.shape.label, name, "there is no argument of that name")
            try:
                values[name] = reader(text)
            except MismatchError as error:
                raise InvalidArgumentsError(self.shape.label, name, error.reason, cause=error) from error
        for name in self._required:
            if name not in values:
                raise InvalidArgumentsError(self.shape.label, name, "this argument is required")
        return values
