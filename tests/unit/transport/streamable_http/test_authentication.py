"""One fixed token, and what is said to those who do not have it."""

import pytest

from suaveplan_mcp.transport.streamable_http.authentication import Principal, challenge, require_bearer_token


@pytest.mark.parametrize("authorization", ["Bearer abc", "bearer abc", "BEARER  abc "])
async def test_whoever_shows_the_token_is_let_in(authorization: str) -> None:
    assert Principal("bearer") == await require_bearer_token("abc")({"authorization": authorization})


@pytest.mark.requirement("an-endpoint-knows-whom-it-lets-in")
@pytest.mark.parametrize("authorization", ["", "abc", "Bearer", "Bearer ab", "Bearer abcd", "Basic abc", "Bearer äbc"])
async def test_nobody_else_is(authorization: str) -> None:
    assert None is await require_bearer_token("abc")({"authorization": authorization})


async def test_nothing_shown_is_nobody() -> None:
    assert None is await require_bearer_token("abc")({})


@pytest.mark.parametrize("token", ["", "a b", "ä", "a\n"])
def test_a_token_must_fit_into_a_header(token: str) -> None:
    with pytest.raises(ValueError, match="`bearer_token` must be"):
        require_bearer_token(token)


def test_a_wrong_token_is_called_so() -> None:
    assert ("Bearer", 'Bearer error="invalid_token"') == (challenge({}), challenge({"authorization": "x"}))


def test_a_principal_needs_no_more_than_a_name() -> None:
    assert (frozenset[str](), {}) == (Principal("a").scopes, dict(Principal("a").claims))
