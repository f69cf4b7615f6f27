"""Who sends a request, as far as its headers tell. Spec: basic/authorization, Access Token Usage"""

from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

Authenticate: TypeAlias = Callable[[Mapping[str, str]], Awaitable[object | None]]
"""Takes the headers of a request, names in lower case; returns who sent it, None where that is not shown."""

_NO_CLAIMS: Final[Mapping[str, object]] = MappingProxyType({})


class Principal(Struct, frozen=True):
    """Somebody who has shown who they are.

    Args:
        subject: their name, the same with every request.
        scopes: what they were granted.
        claims: what else is known of them, such as the claims of a token.
    """

    subject: str
    scopes: frozenset[str] = frozenset()
    claims: Mapping[str, object] = _NO_CLAIMS


def require_bearer_token(token: str) -> Authenticate:
    """Return what lets those in who know one fixed token; each of them is the principal `bearer`.

    Args:
        token: what they send as `Authorization: Bearer …`.

    Raises:
        ValueError: no header can carry that token.
    """
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("`bearer_token` must be some visible ASCII characters without a space")
    expected = token.encode()
    bearer = Principal("bearer")

    async def authenticate(headers: Mapping[str, str]) -> Principal | None:
        scheme, _, shown = headers.get("authorization", "").strip().partition(" ")
        # Compared in full whatever is shown, so that the time it takes tells nothing of the token.
        known = compare_digest(shown.strip().encode(), expected)
        return bearer if known and scheme.lower() == "bearer" else None

    return authenticate


def challenge(headers: Mapping[str, str]) -> str:
    """Return the `WWW-Authenticate` of a request that has not shown who sent it. Spec: RFC 6750, 3"""
    return 'Bearer error="invalid_token"' if "authorization" in headers else "Bearer"
