"""Answers to elicitation: what a form asked for, and whether it was given. Spec: client/elicitation

Both sides check: the client before it sends an answer, the server before it believes one.
"""

import re
from math import isfinite
from typing import Final

from suaveplan_mcp.protocol.admission import invalid_params
from suaveplan_mcp.types.elicitation import (
    ElicitRequestedSchema,
    ElicitRequestParams,
    ElicitResult,
    ElicitValue,
    PrimitiveSchemaDefinition,
)

_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
}

# No more than the looks of each: whether a day or a mailbox exists is not for a form to say.
_FORMATS: Final = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?"),
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S*"),
}


def with_defaults(schema: ElicitRequestedSchema, content: dict[str, ElicitValue]) -> dict[str, ElicitValue]:
    """Return content with the form's defaults in the fields that were left out."""
    defaults = {name: field.default for name, field in schema.properties.items() if field.default is not None}
    return {**defaults, **content}


def check_answer(params: ElicitRequestParams, result: ElicitResult) -> None:
    """Refuse an accepted answer that is not what the form asked for.

    Raises:
        MCPError: `INVALID_PARAMS`, naming the field and what was expected.
    """
    schema = params.requested_schema
    if result.action != "accept" or schema is None:
        return
    content = result.content or {}
    for name in schema.required or ():
        if name not in content:
            raise invalid_params(f"content.{name}", "this field is required")
    for name, value in content.items():
        field = schema.properties.get(name)
        problem = "the form has no such field" if field is None else _problem(field, value)
        if problem is not None:
            raise invalid_params(f"content.{name}", problem)


def _problem(field: PrimitiveSchemaDefinition, value: ElicitValue) -> str | None:
    """Return what is wrong with the value of a field, or None."""
    if type(value) not in _PYTHON_TYPES[field.type]:
        return f"Expected `{field.type}`, got `{type(value).__name__}`"
    if isinstance(value, str):
        return _text_problem(field, value)
    if isinstance(value, list):
        return _list_problem(field, value)
    return _number_problem(field, value)


def _text_problem(field: PrimitiveSchemaDefinition, value: str) -> str | None:
    if field.min_length is not None and len(value) < field.min_length:
        return f"shorter than {field.min_length} characters"
    if field.max_length is not None and len(value) > field.max_length:
        return f"longer than {field.max_length} characters"
    if field.format is not None and _FORMATS[field.format].fullmatch(value) is None:
        return f"{value!r} is no {field.format}"
    choices = field.enum if field.one_of is None else [option.const for option in field.one_of]
    return None if choices is None else _choice_problem(value, choices)


def _number_problem(field: PrimitiveSchemaDefinition, value: float) -> str | None:
    if not isfinite(value):
        return f"{value} is no number that JSON knows"
    if field.minimum is not None and value < field.minimum:
        return f"{value} is less than {field.minimum}"
    if field.maximum is not None and value > field.maximum:
        return f"{value} is more than {field.maximum}"
    return None


def _list_problem(field: PrimitiveSchemaDefinition, values: list[str]) -> str | None:
    if field.min_items is not None and len(values) < field.min_items:
        return f"fewer than {field.min_items} choices"
    if field.max_items is not None and len(values) > field.max_items:
        return f"more than {field.max_items} choices"
    items = field.items
    choices = [] if items is None else items.enum or [option.const for option in items.any_of or ()]
    return next((problem for value in values if (problem := _choice_problem(value, choices))), None)


def _choice_problem(value: str, choices: list[str]) -> str | None:
    return None if value in choices else f"{value!r} is none of {', '.join(map(repr, choices))}"
