"""What a browser is told."""

from typing import Any

import pytest

from suaveplan_mcp.transport.streamable_http.cors import is_preflight, preflight_headers, share_with


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("OPTIONS", {"origin"}),
        ("OPTIONS", {"access-control-request-method"}),
        ("POST", {"origin", "access-control-request-method"}),
    ],
)
def test_only_what_a_browser_asks_beforehand_is_a_preflight(method: str, names: set[str]) -> None:
    assert is_preflight("OPTIONS", {"origin": "x", "access-control-request-method": "x"})
    assert not is_preflight(method, dict.fromkeys(names, "x"))


def test_headers_that_are_asked_for_are_allowed_by_name_and_once() -> None:
    asked = "Mcp-Param-Region, content-type,, x y"
    allowed = dict(preflight_headers({"access-control-request-headers": asked}))[b"access-control-allow-headers"]

    names = allowed.decode().split(", ")
    assert (1, "mcp-param-region") == (names.count("content-type"), names[-1])


async def test_only_the_start_of_a_response_is_shared() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    start = {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]}
    body = {"type": "http.response.body", "body": b""}
    shared = share_with("https://a.example", send)
    await shared(start)
    await shared(body)

    assert ([(b"a", b"b")], body) == (start["headers"], sent[1])
    assert {b"a", b"vary", b"access-control-allow-origin", b"access-control-expose-headers"} == {
        name for name, _ in sent[0]["headers"]
    }
