"""URI templates both ways: values into a URI, and a URI back into values, in time linear in its length.

Of RFC 6570 this knows `{id}`, `{a,b}`, `{+path}`, `{#part}`, `{.ext}`, `{/part}`, the exploded `{path*}` and
`{/path*}`, and `{?a,b}` at the end. What cannot be read back without doubt is refused: prefixes such as `{id:3}`, two
variables with nothing between them, two that may both contain slashes. Spec: server/resources
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from suaveplan_mcp.server.refusals import MismatchError

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_CONTENT: Final = re.compile(r"(?P<operator>[+#./?]?)(?P<names>[^+#./?].*)")
_NAME: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<explode>\*?)")
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_RESERVED: Final = frozenset(b":/?#[]@!$&'()*+,;=")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_DRIVE: Final = re.compile(r"[A-Za-z]:/")
_RELATIVE_DRIVE: Final = re.compile(r"[A-Za-z]:")

URI: Final = "uri"
"""The path of every fault in a URI: it is the one parameter of `resources/read`."""


class Variable(Struct, frozen=True):
    """A variable outside the query.

    Args:
        name: its name.
        spans: it may contain slashes.
        safe: the bytes that are written as they are.
        stops: the characters that it cannot contain unless they are escaped.
    """

    name: str
    spans: bool
    safe: frozenset[int]
    stops: str


class _Operator(NamedTuple):
    before: str
    between: str
    reserved: bool


_OPERATORS: Final[Mapping[str, _Operator]] = {
    "": _Operator("", ",", reserved=False),
    "+": _Operator("", ",", reserved=True),
    "#": _Operator("#", ",", reserved=True),
    ".": _Operator(".", ".", reserved=False),
    "/": _Operator("/", "/", reserved=False),
}

Part = str | Variable


class TemplateError(ValueError):
    """A URI template is malformed, or a URI could not be read back without doubt."""


class UriTemplate:
    """A compiled template.

    Args:
        text: the template; one without variables stands for exactly one URI.
        guard: refuse values that would lead out of a folder: `..`, an absolute path, a drive, NUL, a backslash between
            segments. Values of the query are no paths and are not looked at.

    Raises:
        TemplateError: the template is malformed.
    """

    __slots__ = ("_guard", "_head", "_middle", "_paths", "_query", "_tail", "text", "variables")

    def __init__(self, text: str, *, guard: bool = True) -> None:
        self.text = text
        self._guard = guard
        parts, self._query = _compile(text)
        variables = [part for part in parts if isinstance(part, Variable)]
        spanning = [variable for variable in variables if variable.spans]
        if len(spanning) > 1:
            raise TemplateError(f"{text!r} has two variables that may contain slashes: no URI says where one ends")
        # One variable takes what the others leave: the one that spans, else the last.
        self._middle = (spanning or variables or [None])[-1]
        split = len(parts) if self._middle is None else parts.index(self._middle)
        self._head, self._tail = parts[:split], parts[split + 1 :]
        self._paths = variables
        self.variables = (*(variable.name for variable in variables), *self._query)
        if len(set(self.variables)) < len(self.variables):
            raise TemplateError(f"{text!r} has a variable twice")

    @property
    def query(self) -> tuple[str, ...]:
        """The variables of the query, any of which a URI may leave out."""
        return self._query

    def match(self, uri: str) -> dict[str, str] | None:
        """Read the variables out of a URI.

        A variable is never empty, and one that may not contain slashes ends at the first of them. Values are decoded
        exactly once. Where the text between two variables could stand in several places, the first counts.

        Returns:
            The values by name, without the variables of the query that the URI leaves out; None if the URI is none of
            this template's.

        Raises:
            MismatchError: the URI fits, but an escape in it is malformed, or a value leads out of its folder.
        """
        path, query = uri, ""
        if self._query:
            path, _, query = uri.partition("?")
        given = _parse_query(query, self._query)
        found: dict[str, str] = {}
        start = _match_forward(self._head, path, found)
        if given is None or start is None:
            return None
        end = _match_backward(self._tail, path, start, found)
        if end is None or not (_take(self._middle, path[start:end], found) if self._middle else start == end):
            return None
        values = {variable.name: decode_percent(found[variable.name]) for variable in self._paths}
        if self._guard:
            for variable in self._paths:
                _check_path(variable, values[variable.name])
        return values | {name: decode_percent(text) for name, text in given.items()}

    def expand(self, **values: str) -> str:
        """Write a URI; `match` gives the values back.

        Args:
            values: one for each variable; those of the query may be left out.

        Raises:
            KeyError: a variable outside the query has no value.
        """
        middle = () if self._middle is None else (self._middle,)
        uri = "".join(
            part if isinstance(part, str) else encode_percent(values[part.name], part.safe)
            for part in (*self._head, *middle, *self._tail)
        )
        query = [f"{name}={encode_percent(values[name])}" for name in self._query if name in values]
        return f"{uri}?{'&'.join(query)}" if query else uri


def encode_percent(text: str, safe: frozenset[int] = _UNRESERVED) -> str:
    """Escape every byte of a text's UTF-8 that is not in `safe`."""
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in text.encode())


def decode_percent(text: str) -> str:
    """Undo `encode_percent`, once; `+` is a plus.

    Raises:
        MismatchError: an escape is malformed, or the bytes are no UTF-8.
    """
    if "%" not in text:
        return text
    pieces: list[bytes] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        if escape[1] is None:
            raise MismatchError(URI, f"malformed escape {text[escape.start() : escape.start() + 3]!r}")
        pieces += (text[end : escape.start()].encode(), bytes.fromhex(escape[1]))
        end = escape.end()
    try:
        return b"".join([*pieces, text[end:].encode()]).decode()
    except UnicodeDecodeError as error:
        raise MismatchError(URI, f"the escapes in {text!r} are no UTF-8") from error


def _compile(text: str) -> tuple[list[Part], tuple[str, ...]]:
    parts: list[Part] = []
    query: list[str] = []
    end = 0
    for expression in _EXPRESSION.finditer(text):
        _add(parts, text[end : expression.start()], text)
        end = expression.end()
        content = _CONTENT.fullmatch(expression[1])
        if content is None:
            raise TemplateError(f"{expression[0]} in {text!r} has no variable")
        names = [_parse_name(name, expression[0], text) for name in content["names"].split(",")]
        if content["operator"] == "?":
            if end != len(text) or any(explode for _, explode in names) or "?" in "".join(_literals(parts)):
                raise TemplateError(f"{expression[0]} in {text!r} must be the end and have plain names")
            query += [name for name, _ in names]
            continue
        operator = _OPERATORS[content["operator"]]
        for index, (name, explode) in enumerate(names):
            _add(parts, operator.between if index else operator.before, text)
            _add(parts, _variable(name, reserved=operator.reserved, explode=explode), text)
    _add(parts, text[end:], text)
    if query:
        parts = [part if isinstance(part, str) else _before_query(part) for part in parts]
    return parts, tuple(query)


def _variable(name: str, *, reserved: bool, explode: bool) -> Variable:
    if reserved:
        return Variable(name, spans=True, safe=_UNRESERVED | _RESERVED, stops="")
    if explode:
        return Variable(name, spans=True, safe=_UNRESERVED | {ord("/")}, stops="?#")
    return Variable(name, spans=False, safe=_UNRESERVED, stops="/?#")


def _before_query(variable: Variable) -> Variable:
    """Keep question marks out of a variable: the first of them begins the query."""
    return replace(variable, safe=variable.safe - {ord("?")})


def _literals(parts: Sequence[Part]) -> Iterator[str]:
    return (part for part in parts if isinstance(part, str))


def _add(parts: list[Part], part: Part, text: str) -> None:
    """Append a part; literals grow together, variables must be kept apart."""
    last = parts[-1] if parts else ""
    if isinstance(part, Variable):
        if isinstance(last, Variable):
            raise TemplateError(f"{text!r} has nothing between `{last.name}` and `{part.name}`")
        parts.append(part)
    elif "{" in part or "}" in part:
        raise TemplateError(f"{text!r} has a brace without its partner")
    elif part and parts and isinstance(last, str):
        parts[-1] = last + part
    elif part:
        parts.append(part)


def _parse_name(name: str, expression: str, text: str) -> tuple[str, bool]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise TemplateError(f"{expression} in {text!r}: `{name}` is no name of a parameter")
    return match["name"], bool(match["explode"])


def _match_forward(parts: Sequence[Part], text: str, found: dict[str, str]) -> int | None:
    """Match parts from the beginning, each variable as short as it can be, and return where they end.

    The shortest is always right: whatever could match with a longer variable also matches with the shortest.
    """
    start = 0
    variable: Variable | None = None
    for part in parts:
        if isinstance(part, Variable):
            variable = part
            continue
        place = 0 if variable is None else text.find(part, start + 1)
        if not text.startswith(part, place) or not _take(variable, text[start:place], found):
            return None
        start = place + len(part)
    return start


def _match_backward(parts: Sequence[Part], text: str, start: int, found: dict[str, str]) -> int | None:
    """Match parts from the end, not reaching before `start`, and return where they begin."""
    end = len(text)
    variable: Variable | None = None
    for part in reversed(parts):
        if isinstance(part, Variable):
            variable = part
            continue
        place = len(text) - len(part) if variable is None else text.rfind(part, start, end - 1)
        if place < start or not text.startswith(part, place):
            return None
        if not _take(variable, text[place + len(part) : end], found):
            return None
        end = place
    return end


def _take(variable: Variable | None, value: str, found: dict[str, str]) -> bool:
    """Note the value of a variable; say no if it cannot have that value."""
    if variable is None:
        return True
    found[variable.name] = value
    return bool(value) and not any(stop in value for stop in variable.stops)


def _parse_query(query: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return the members of a query by name, None if one is unknown or comes twice."""
    given: dict[str, str] = {}
    for member in query.split("&") if query else ():
        name, _, value = member.partition("=")
        if name not in names or name in given:
            return None
        given[name] = value
    return given


def _check_path(variable: Variable, value: str) -> None:
    """Refuse a decoded value that is a way out of a folder."""
    path = value.replace("\\", "/")
    leads_out = path.startswith("/") or ".." in path.split("/") or "\0" in path or _DRIVE.match(path)
    if leads_out or (variable.spans and ("\\" in value or _RELATIVE_DRIVE.match(path))):
        raise MismatchError(URI, f"`{variable.name}` is {value!r}, which leads out of its folder")
