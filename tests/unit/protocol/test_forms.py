"""Answers to elicitation and the forms they were asked with."""

from typing import Any

import pytest
from msgspec.json import decode, encode

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.protocol.forms import check_answer, with_defaults
from suaveplan_mcp.types.elicitation import (
    ElicitRequestedSchema,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)


def _form(required: list[str] | None = None, **fields: Any) -> ElicitRequestParams:
    schema: Any = {"type": "object", "properties": fields, "required": required or []}
    return decode(encode({"message": "?", "requestedSchema": schema}), type=ElicitRequestParams)


def _schema(**fields: Any) -> ElicitRequestedSchema:
    schema = _form(**fields).requested_schema
    assert schema is not None
    return schema


def _refusal(params: ElicitRequestParams, action: Any = "accept", **content: Any) -> str | None:
    """Return what is wrong with an answer, None where it is accepted."""
    try:
        check_answer(params, ElicitResult(action=action, content=content or None))
    except MCPError as error:
        return str(error.context["reason"])
    return None


CHOICES = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 1, "maxLength": 3}, "äöü"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "string", "oneOf": CHOICES}, "b"),
        ({"type": "string", "enum": ["a"], "enumNames": ["A"]}, "a"),
        ({"type": "string", "format": "email"}, "a@b"),
        ({"type": "string", "format": "uri"}, "mailto:a@b"),
        ({"type": "string", "format": "date"}, "1999-12-31"),
        ({"type": "string", "format": "date-time"}, "1999-12-31T23:59:59.5Z"),
        ({"type": "string", "format": "date-time"}, "1999-12-31t23:59+01:00"),
        ({"type": "integer", "minimum": 0}, 0),
        ({"type": "number", "maximum": 1.5}, 1),
        ({"type": "number"}, -0.5),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1}, ["a"]),
        ({"type": "array", "items": {"anyOf": CHOICES}, "maxItems": 2}, ["r", "b"]),
        ({"type": "array", "items": {"type": "string", "enum": []}}, []),
    ],
)
def test_a_value_that_fits_is_accepted(field: Any, value: Any) -> None:
    assert None is _refusal(_form(["f"], f=field), f=value)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ({"type": "string"}, 1, "Expected `string`, got `int`"),
        ({"type": "string", "minLength": 1}, "", "shorter than 1 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "longer than 1 characters"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "'c' is none of 'a', 'b'"),
        ({"type": "string", "oneOf": CHOICES}, "Red", "'Red' is none of 'r', 'b'"),
        ({"type": "string", "format": "email"}, "nobody", "'nobody' is no email"),
        ({"type": "string", "format": "uri"}, "no scheme", "'no scheme' is no uri"),
        ({"type": "string", "format": "date"}, "31.12.1999", "'31.12.1999' is no date"),
        ({"type": "string", "format": "date-time"}, "1999-12-31", "'1999-12-31' is no date-time"),
        ({"type": "integer"}, 1.5, "Expected `integer`, got `float`"),
        ({"type": "integer"}, True, "Expected `integer`, got `bool`"),
        ({"type": "integer", "minimum": 0}, -1, "-1 is less than 0"),
        ({"type": "number", "maximum": 1.5}, 2, "2 is more than 1.5"),
        ({"type": "number"}, float("nan"), "nan is no number that JSON knows"),
        ({"type": "boolean"}, 0, "Expected `boolean`, got `int`"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "a", "Expected `array`, got `str`"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["a", "c"], "'c' is none of 'a'"),
        ({"type": "array", "items": {"anyOf": CHOICES}, "minItems": 1}, [], "fewer than 1 choices"),
        ({"type": "array", "items": {"anyOf": CHOICES}, "maxItems": 1}, ["r", "b"], "more than 1 choices"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_reason(field: Any, value: Any, reason: str) -> None:
    with pytest.raises(MCPError) as caught:
        check_answer(_form(f=field), ElicitResult(action="accept", content={"f": value}))

    assert (MCP_CODES.INVALID_PARAMS, "content.f", reason) == (
        caught.value.code,
        caught.value.context["path"],
        caught.value.context["reason"],
    )


@pytest.mark.parametrize("content", [None, {}])
def test_a_required_field_must_be_there(content: Any) -> None:
    with pytest.raises(MCPError) as caught:
        check_answer(_form(["f"], f={"type": "string"}), ElicitResult(action="accept", content=content))

    assert ("content.f", "this field is required") == (caught.value.context["path"], caught.value.context["reason"])


def test_a_field_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(MCPError) as caught:
        check_answer(_form(), ElicitResult(action="accept", content={"f": "x"}))

    assert "the form has no such field" == caught.value.context["reason"]


def test_a_form_without_required_fields_may_be_left_empty() -> None:
    form = decode(
        encode({"message": "?", "requestedSchema": {"type": "object", "properties": {}}}), type=ElicitRequestParams
    )

    assert form.requested_schema is not None
    assert None is form.requested_schema.required
    assert None is _refusal(form)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_who_did_not_accept_filled_in_nothing(action: Any) -> None:
    form = _form(["f"], f={"type": "string"})

    assert None is _refusal(form, action, x=1)
    assert "this field is required" == _refusal(form, "accept", x=1)


def test_an_address_asks_for_no_fields() -> None:
    params = ElicitRequestURLParams(mode="url", message="?", url="https://a.example")

    assert None is _refusal(params)
    assert None is _refusal(params, x=1)


def test_defaults_stand_in_for_fields_that_were_left_out() -> None:
    schema = _schema(a={"type": "string", "default": ""}, b={"type": "integer", "default": 0}, c={"type": "boolean"})

    assert {"a": "", "b": 5, "x": 1} == with_defaults(schema, {"b": 5, "x": 1})
