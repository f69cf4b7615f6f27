"""The JSON-RPC messages as values."""

import pytest
from msgspec import UNSET, Raw, Struct

from suaveplan_mcp.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    Response,
)

MESSAGES = [
    Request(1, "ping"),
    Notification("notifications/initialized"),
    Response(1, {}),
    ErrorResponse(None, ErrorObject(-32700, "unreadable")),
    InvalidMessage(-32600, "no method"),
    Batch((Request(1, "ping"),)),
]


def test_an_integer_and_its_digits_are_different_ids() -> None:
    assert Request(1, "ping") != Request("1", "ping")


def test_messages_are_equal_when_their_members_are() -> None:
    assert Request(1, "ping", Raw(b"{}")) == Request(1, "ping", Raw(b"{}"))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_cannot_be_changed(message: Struct) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        setattr(message, message.__struct_fields__[0], None)


def test_params_and_error_data_are_absent_unless_given() -> None:
    absent = [Request(1, "ping").params, Notification("x").params, ErrorObject(1, "m").data]

    assert [UNSET] * 3 == absent


def test_null_is_a_value_of_error_data() -> None:
    assert ErrorObject(1, "m", None) != ErrorObject(1, "m")


def test_an_invalid_message_has_no_id_and_answers_nothing_unless_that_was_read() -> None:
    message = InvalidMessage(-32700, "unreadable")

    assert (None, b"", False) == (message.id, message.sample, message.answers)
