"""The errors of registering and calling a handler."""

import pytest
from msgspec import DecodeError, ValidationError

from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.server.refusals import (
    InvalidArgumentsError,
    InvalidResultError,
    RegistrationError,
    format_path,
    mismatch_of,
)


def test_bad_arguments_carry_code_path_and_reason_to_the_peer() -> None:
    error = InvalidArgumentsError("tool `add`", "a.b[0]", "expected a number")

    assert {"code": MCP_CODES.INVALID_PARAMS, "path": "a.b[0]", "reason": "expected a number"} == error.data
    assert "Invalid arguments for tool `add`: a.b[0]: expected a number" == error.message


def test_a_bad_result_is_the_handlers_failure() -> None:
    assert MCP_CODES.HANDLER_FAILED == InvalidResultError("tool `add`", "it is a socket").code


def test_a_registration_error_names_the_parameter_if_there_is_one() -> None:
    assert "Cannot register `f`: no" == RegistrationError("f", "no").message
    assert "Cannot register `f`, parameter `x`: no" == RegistrationError("f", "no", parameter="x").message


@pytest.mark.parametrize(("steps", "path"), [([], "(root)"), (["a", "b", 0, "c"], "a.b[0].c"), ([0], "[0]")])
def test_a_path_reads_like_python(steps: list[str | int], path: str) -> None:
    assert path == format_path(steps)


@pytest.mark.parametrize(
    ("error", "path", "reason"),
    [
        (ValidationError("Expected `int`, got `str` - at `$.a.b[0]`"), "a.b[0]", "Expected `int`, got `str`"),
        (ValidationError("Expected `int`, got `str` - at `key` in `$.a`"), "a", "Expected `int`, got `str`"),
        (ValidationError("Expected `object`, got `array`"), "(root)", "Expected `object`, got `array`"),
        (ValidationError("Object missing required field `b`"), "b", "Object missing required field `b`"),
        (
            ValidationError("Object contains unknown field `b` - at `$.a[0]`"),
            "a[0].b",
            "Object contains unknown field `b`",
        ),
        (DecodeError("Input data was truncated"), "(root)", "Input data was truncated"),
        (RecursionError("deep"), "(root)", "it is nested too deeply"),
    ],
)
def test_the_place_of_a_fault_is_read_out_of_what_msgspec_says(
    error: DecodeError | RecursionError, path: str, reason: str
) -> None:
    mismatch = mismatch_of(error)

    assert (path, reason) == (mismatch.path, mismatch.reason)
