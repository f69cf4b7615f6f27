"""A callable as a resource or a resource template: which URIs reach it, and what it gets of them.

Spec: server/resources
"""

from collections.abc import Mapping

from suaveplan_mcp.server.refusals import InvalidArgumentsError, MismatchError, RegistrationError
from suaveplan_mcp.server.signatures.signature import CallableShape, inspect_callable
from suaveplan_mcp.server.signatures.text_values import text_reader
from suaveplan_mcp.server.signatures.uri_template import URI, TemplateError, UriTemplate


class TemplateSignature:
    """A resource's URIs as callers see them, and the way from a URI to the handler.

    A URI without variables is a template that matches itself; its handler takes no arguments. A parameter `uri` gets
    the whole URI where the template has no variable of that name.

    Args:
        shape: the handler.
        template: the URIs that reach it.
        description: what callers read.

    Raises:
        RegistrationError: the handler's parameters are not the template's variables, or an annotation is of no known
            type.
    """

    __slots__ = ("_readers", "_required", "_takes_uri", "description", "shape", "template")

    def __init__(self, shape: CallableShape, template: UriTemplate, description: str | None) -> None:
        names, variables = {parameter.name for parameter in shape.parameters}, set(template.variables)
        self._takes_uri = URI in names and URI not in variables
        if self._takes_uri:
            variables.add(URI)
        for name in sorted(names ^ variables):
            lacking = "has no variable of that name" if name in names else "has a variable that the handler lacks"
            raise RegistrationError(shape.name, f"the template {template.text!r} {lacking}", parameter=name)
        self.shape = shape
        self.template = template
        self.description = description
        self._readers = {parameter.name: text_reader(shape, parameter) for parameter in shape.parameters}
        required = {parameter.name for parameter in shape.parameters if parameter.required}
        self._required = tuple(name for name in template.variables if name in required)

    @classmethod
    def from_callable(
        cls,
        fn: object,
        uri_template: str,
        *,
        context_type: type,
        name: str | None = None,
        description: str | None = None,
        guard: bool = True,
    ) -> "TemplateSignature":
        """Make a resource of a callable whose parameters are the variables of a template.

        Args:
            fn: the callable.
            uri_template: the template, or a plain URI.
            context_type: the class whose annotation asks for the context.
            name: the resource's name, None to take the callable's.
            description: None to take the docstring's.
            guard: refuse values that would lead out of a folder, as `UriTemplate` does.

        Raises:
            RegistrationError: the callable cannot be a resource, or the template is malformed.
        """
        shape = inspect_callable(fn, kind="resource", name=name, context_type=context_type)
        try:
            template = UriTemplate(uri_template, guard=guard)
        except TemplateError as error:
            raise RegistrationError(shape.name, str(error), cause=error) from error
        return cls(shape, template, description or shape.description)

    @property
    def name(self) -> str:
        """The resource's name."""
        return self.shape.name

    @property
    def is_template(self) -> bool:
        """Whether there are variables; without any it is one resource."""
        return bool(self.template.variables)

    def match(self, uri: str) -> dict[str, str] | None:
        """Read the variables out of a URI, decoded but still text; None if the URI is none of this template's.

        Raises:
            InvalidArgumentsError: the URI fits, but an escape in it is malformed or a value leads out of its folder.
        """
        try:
            return self.template.match(uri)
        except MismatchError as error:
            raise InvalidArgumentsError(self.shape.label, error.path, error.reason, cause=error) from error

    def decode(self, values: Mapping[str, str], uri: str) -> dict[str, object]:
        """Read what `match` found as the types that the handler asks for.

        Args:
            values: by name.
            uri: what was matched.

        Raises:
            InvalidArgumentsError: a value does not fit, or one that the query left out has no default.
        """
        arguments: dict[str, object] = {}
        if self._takes_uri:
            values = {**values, URI: uri}
        for name, text in values.items():
            try:
                arguments[name] = self._readers[name](text)
            except MismatchError as error:
                reason = f"`{name}`: {error.reason}"
                raise InvalidArgumentsError(self.shape.label, URI, reason, cause=error) from error
        for name in self._required:
            if name not in arguments:
                raise InvalidArgumentsError(self.shape.label, URI, f"`{name}` is missing from the query")
        return arguments

    def expand(self, **values: str) -> str:
        """Write the URI of the given values; see `UriTemplate.expand`."""
        return self.template.expand(**values)
