"""The forms in which a registration may be given, and what of it clients are told."""

import re
from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import fields

from suaveplan_mcp.server.refusals import MismatchError, RegistrationError, mismatch_of
from suaveplan_mcp.server.signatures.schema import encode_value
from suaveplan_mcp.types.base import WireStruct

D = TypeVar("D", bound=Struct)
W = TypeVar("W", bound=WireStruct)

_NO_ALIASES: Mapping[str, str] = {}
_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def definition_of(
    kind: type[D], given: object, named: Mapping[str, object], aliases: Mapping[str, str] = _NO_ALIASES
) -> D:
    """Return a definition, whichever way it was given.

    Args:
        kind: the class of the definition.
        given: one already, a mapping of its fields (as the wire writes them will do), a handler, or None.
        named: fields; they come before those of a mapping.
        aliases: other names of fields.

    Raises:
        RegistrationError: a field does not exist, or one that must be there is missing; the error names it.
    """
    if isinstance(given, kind) and not named:
        return given
    members: dict[str, object] = {}
    if isinstance(given, kind):
        members = {name: getattr(given, name) for name in kind.__struct_fields__}
    elif isinstance(given, Mapping):
        members = {_field_name(name): value for name, value in cast("Mapping[str, object]", given).items()}
    elif given is not None:
        members["handler"] = given
    members |= named
    members = {aliases.get(name, name): value for name, value in members.items()}
    known = {field.name: field for field in fields(kind)}
    label = str(members.get("name") or members.get("uri") or kind.__name__)
    for name in members:
        if name not in known:
            raise RegistrationError(label, f"there is no field {name!r}; the fields are {', '.join(known)}")
    for name, field in known.items():
        if field.required and name not in members:
            raise RegistrationError(label, f"the field {name!r} is missing")
    return kind(**members)


def wire_form(label: str, value: W) -> W:
    """Return a copy of what clients will be told, fields given as plain JSON with their types.

    Args:
        label: the name of what is registered, for the error.
        value: as it was put together from a definition, which is not checked yet.

    Raises:
        RegistrationError: a field is of the wrong type or no JSON; the error names it.
    """
    try:
        return decode(encode_value(value), type=type(value))
    except MismatchError as error:
        raise RegistrationError(label, error.reason, cause=error) from error
    except DecodeError as error:
        mismatch = mismatch_of(error)
        raise RegistrationError(label, f"the field `{mismatch.path}`: {mismatch.reason}", cause=error) from error


def _field_name(name: str) -> str:
    return _HUMP.sub("_", name).lower().removeprefix("_")
