"""The places a client lets a server work in. Spec: client/roots"""

from typing import ClassVar, Literal

from msgspec import field

from suaveplan_mcp.jsonrpc.messages import JsonObject
from suaveplan_mcp.types.base import Received, RequestParams, Result, WireStruct


class Root(Received, frozen=True, kw_only=True):
    """Name a place.

    Args:
        uri: a `file:` address.
        name: for people.

    Spec: client/roots
    """

    uri: str
    name: str | None = None
    meta: JsonObject | None = field(name="_meta", default=None)


class ListRootsRequest(WireStruct, frozen=True, kw_only=True, tag_field="method", tag="roots/list"):
    """Ask for the roots from inside an input-required result.

    Spec: basic/patterns/mrtr
    """

    method: ClassVar[Literal["roots/list"]] = "roots/list"
    params: RequestParams | None = None


class ListRootsResult(Result, frozen=True, kw_only=True):
    """Give the roots.

    Spec: client/roots
    """

    roots: list[Root]
