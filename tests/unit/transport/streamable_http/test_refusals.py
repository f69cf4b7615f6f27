"""Answers that no handler has a part in."""

from typing import Any

from msgspec import UNSET

from suaveplan_mcp.transport.streamable_http.refusals import error_frame, respond_empty, respond_json


async def test_an_error_has_the_id_of_what_it_answers_or_none() -> None:
    error = b'"error":{"code":-32600,"message":"no"}}'
    assert b'{"jsonrpc":"2.0","id":"a",' + error == error_frame(-32600, "no", "a")
    assert b'{"jsonrpc":"2.0",' + error == error_frame(-32600, "no", UNSET)


async def test_a_client_that_is_gone_does_not_mind() -> None:
    async def send(message: Any) -> None:
        raise OSError("gone")

    await respond_json(send, 200, b"{}")
    await respond_empty(send, 202)
