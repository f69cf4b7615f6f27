"""Look at a callable once, when it is registered, so that a call has nothing left to find out."""

import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.signatures.docstrings import parse_docstring

Handler: TypeAlias = Callable[..., object]

EMPTY: Final = inspect.Parameter.empty
"""Stands for an annotation or a default that is not there."""

_REFUSED_KINDS: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "arguments come by name, so it may not be positional-only",
    inspect.Parameter.VAR_POSITIONAL: "arguments come by name, so `*{name}` would never get any",
    inspect.Parameter.VAR_KEYWORD: "`**{name}` does not say which arguments there are; name them or give a schema",
}


class Parameter(Struct, frozen=True):
    """One parameter that a caller fills.

    Args:
        name: its name in Python.
        annotation: its type with string annotations resolved and `Annotated` kept; `EMPTY` for none.
        default: `EMPTY` for none.
        description: what its annotation or else the docstring says of it, empty for nothing.
    """

    name: str
    annotation: Any = EMPTY
    default: Any = EMPTY
    description: str = ""

    @property
    def required(self) -> bool:
        """Tell whether a call without it fails."""
        return self.default is EMPTY


class CallableShape(Struct, frozen=True):
    """Everything about a handler that a call needs.

    Args:
        function: what is called.
        kind: what it is registered as: "tool", "prompt", "resource".
        name: the given name, else one derived from the callable.
        description: the docstring without its sections on parameters and results, None for none.
        is_async: it is a coroutine function, so it runs on the loop and never in a thread.
        parameters: those a caller fills, in order; not the context, nothing that a `functools.partial` has bound.
        context_parameter: the parameter that gets the context, None where the handler wants none.
        accepts_any: it has a `**` parameter.
        returns: its return type, resolved; `EMPTY` for none.
        fresh_defaults: what makes the defaults that calls may not share.
    """

    function: Handler
    kind: str
    name: str
    description: str | None
    is_async: bool
    parameters: tuple[Parameter, ...]
    context_parameter: str | None
    accepts_any: bool
    returns: Any
    fresh_defaults: tuple[tuple[str, Callable[[], object]], ...] = ()

    @property
    def label(self) -> str:
        """What errors call it, such as "tool `add`"."""
        return f"{self.kind} `{self.name}`"

    def invoke(self, arguments: dict[str, object], context: object) -> object:
        """Call the handler without awaiting what it returns.

        Args:
            arguments: by name; the dictionary is used up.
            context: for the parameter annotated with it.

        Returns:
            What the handler returns. An awaitable one must be awaited on the loop, even where `is_async` is False: a
            plain function may hand on a coroutine that it was given.
        """
        for name, make in self.fresh_defaults:
            if name not in arguments:
                arguments[name] = make()
        if self.context_parameter is not None:
            arguments[self.context_parameter] = context
        return self.function(**arguments)


def inspect_callable(
    fn: object, *, kind: str, name: str | None, context_type: type, accepts_any: bool = False
) -> CallableShape:
    """Find out how a callable is called.

    Functions, coroutine functions, bound methods, static methods, `functools.partial`, decorated functions that keep
    `__wrapped__`, and objects with a plain or coroutine `__call__` will do. What a `functools.partial` binds is hidden
    from callers: they can neither see nor change it.

    Args:
        fn: the callable.
        kind: what it is to be: "tool", "prompt", "resource".
        name: how it is registered, None to take the callable's own name.
        context_type: the class whose annotation asks for the context.
        accepts_any: allow a `**` parameter, because a schema says which arguments there are.

    Raises:
        RegistrationError: it cannot be called by name with typed arguments; the error names the parameter.
    """
    function: Any = cast("Any", fn).__func__ if isinstance(fn, staticmethod) else fn
    base: Any = function
    while isinstance(base, functools.partial):
        base = base.func
    label = _label(base, kind, name)
    # What really runs: a plain object is called through its class.
    entry: Handler = base if inspect.isroutine(base) else type(base).__call__
    if inspect.isgeneratorfunction(entry) or inspect.isasyncgenfunction(entry):
        raise RegistrationError(label, "it is a generator; collect what it yields and return that")
    signature = _signature(function, label)
    namespace = _Namespace(base, label, context_type)
    bound: Mapping[str, object] = function.keywords if isinstance(function, functools.partial) else {}
    parameters = [
        _parameter(parameter, namespace.resolve(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name not in bound and _is_named(parameter, label, accepts_any=accepts_any)
    ]
    contexts = [parameter.name for parameter in parameters if _asks_for(parameter.annotation, context_type)]
    if len(contexts) > 1:
        raise RegistrationError(label, f"`{contexts[0]}` is the context already", parameter=contexts[1])
    described = parse_docstring(inspect.cleandoc(entry.__doc__ or base.__doc__ or ""))
    filled = [_described(each, described.parameters) for each in parameters if each.name not in contexts]
    return CallableShape(
        function=cast("Handler", function),
        kind=kind,
        name=label,
        description=described.description or None,
        is_async=inspect.iscoroutinefunction(entry),
        parameters=tuple(filled),
        context_parameter=contexts[0] if contexts else None,
        accepts_any=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values()),
        returns=namespace.resolve("return", signature.return_annotation),
        fresh_defaults=tuple(_fresh_defaults(signature, filled)),
    )


def _label(base: Any, kind: str, name: str | None) -> str:
    """Return the name of a callable, and refuse what has none or is no callable."""
    own_name: str = getattr(base, "__name__", None) or type(base).__name__
    if not callable(base) or inspect.isclass(base):
        what = f"the class `{own_name}`" if inspect.isclass(base) else f"an object of type `{type(base).__name__}`"
        raise RegistrationError(name or own_name, f"a {kind} is a function or another callable object, not {what}")
    if name is None and own_name == "<lambda>":
        raise RegistrationError(own_name, f"a lambda has no name; give the {kind} one with `name=`")
    return name or own_name


def copier_of(default: object) -> Callable[[], object] | None:
    """Return what makes a fresh copy of a mutable default for each call; None where calls may share it."""
    try:
        hash(default)
    except TypeError:
        return functools.partial(copy.deepcopy, default)
    return None


def union_members(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of an annotation, `Annotated` taken off; one that is no union is its only alternative."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return tuple(member for each in get_args(annotation) for member in union_members(each))
    return (annotation,)


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    """Read a parameter; what pydantic's `Field` says as a default belongs to the annotation."""
    default = parameter.default
    if not _is_field(default) or default.default_factory is not None:
        return Parameter(parameter.name, annotation, default)
    annotated = Annotated[Any if annotation is EMPTY else annotation, default]
    return Parameter(parameter.name, annotated, EMPTY if default.is_required() else default.default)


def _is_field(default: Any) -> bool:
    return hasattr(default, "default_factory") and hasattr(default, "get_default")


def _fresh_defaults(
    signature: inspect.Signature, parameters: Iterable[Parameter]
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what makes the defaults that the function itself may not give: mutable ones, and pydantic's `Field`."""
    for each in parameters:
        default = signature.parameters[each.name].default
        copier = functools.partial(default.get_default, call_default_factory=True) if _is_field(default) else None
        copier = copier or copier_of(default)
        if copier is not None and not each.required:
            yield each.name, copier


def _described(parameter: Parameter, sentences: Mapping[str, str]) -> Parameter:
    """Add what is said of a parameter: in its annotation, by msgspec's `Meta` or pydantic's `Field`, else in prose."""
    said = [getattr(each, "description", None) for each in getattr(parameter.annotation, "__metadata__", ())]
    description = next(filter(None, reversed(said)), sentences.get(parameter.name, ""))
    return Parameter(parameter.name, parameter.annotation, parameter.default, description)


def _signature(function: Handler, label: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise RegistrationError(label, "its parameters cannot be inspected", cause=error) from error
    except NameError as error:
        # Where annotations are evaluated lazily, asking for the signature evaluates them all.
        raise RegistrationError(label, f"an annotation cannot be resolved: {error}", cause=error) from error


def _is_named(parameter: inspect.Parameter, label: str, *, accepts_any: bool) -> bool:
    """Tell whether a parameter takes one named argument, and refuse those that take none."""
    if accepts_any and parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return False
    problem = _REFUSED_KINDS.get(parameter.kind)
    if problem is not None:
        raise RegistrationError(label, problem.format(name=parameter.name), parameter=parameter.name)
    return True


def _asks_for(annotation: Any, context_type: type) -> bool:
    """Tell whether an annotation is the context's class, perhaps optional or annotated."""
    members = [get_origin(member) or member for member in union_members(annotation)]
    return any(inspect.isclass(member) and issubclass(member, context_type) for member in members)


class _Namespace:
    """The names that a callable's string annotations can see."""

    def __init__(self, base: object, label: str, context_type: type) -> None:
        function = _innermost(base)
        self._label = label
        self._globals: dict[str, Any] = getattr(function, "__globals__", {})
        # A name that a handler imports for its type checker only. The context's is known all the same.
        self._locals: dict[str, Any] = (
            {} if context_type.__name__ in self._globals else {context_type.__name__: context_type}
        )
        self._locals.update(_closure(function))

    def resolve(self, name: str, annotation: Any) -> Any:
        """Return the type that an annotation stands for, strings at any depth evaluated."""
        if annotation is EMPTY:
            return EMPTY
        holder = SimpleNamespace(__annotations__={name: annotation})
        try:
            return get_type_hints(holder, self._globals, self._locals, include_extras=True)[name]
        except Exception as error:
            problem = f"its annotation {annotation!r} cannot be resolved when it is registered: {error}"
            raise RegistrationError(self._label, problem, parameter=name, cause=error) from error


def _innermost(function: Any) -> object:
    """Return the function in whose module the annotations were written."""
    while True:
        if isinstance(function, functools.partial):
            function = cast("Handler", function.func)
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function):
            function = type(function).__call__
        else:
            return function


def _closure(function: object) -> dict[str, Any]:
    names: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found: dict[str, Any] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            # Not assigned yet: the function that is being decorated, for one.
            continue
    return found
