"""Reading the server's resources and following those that change. Spec: server/resources"""

from collections.abc import Collection, Iterator

from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.types.resources import ReadResourceRequestParams, ReadResourceResult


class Subscriptions:
    """The resources a client has subscribed to on one connection, and what they last contained."""

    __slots__ = ("_contents", "_uris")

    def __init__(self) -> None:
        self._uris: set[str] = set()
        self._contents: dict[str, ReadResourceResult] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the resources that are followed, as they are now."""
        return iter(tuple(self._uris))

    def __contains__(self, uri: object) -> bool:
        """Tell whether a resource is followed itself."""
        return uri in self._uris

    def add(self, uri: str) -> None:
        """Follow a resource."""
        self._uris.add(uri)

    def discard(self, uri: str) -> None:
        """Follow a resource no longer, and forget what it contained."""
        self._uris.discard(uri)
        self._contents.pop(uri, None)

    def cover(self, uri: str) -> bool:
        """Tell whether a resource, or one that it lies below, is followed. Spec: server/resources, Subscriptions"""
        return find_above(uri, self._uris) is not None

    def contents(self, uri: str) -> ReadResourceResult | None:
        """Return what a resource contained after its last change; None where it has not changed since."""
        return self._contents.get(uri)

    async def read_again(self, connection: ServerConnection, uri: str) -> None:
        """Read a resource that has changed.

        Raises:
            MCPError: the server refused or failed.
        """
        result: ReadResourceResult = await connection.request("resources/read", ReadResourceRequestParams(uri=uri))
        # Of those below a resource there may be any number, so they are not kept.
        if uri in self._uris:
            self._contents[uri] = result


def find_above(uri: str, uris: Collection[str]) -> str | None:
    """Return the one of `uris` that is a resource, or that it lies below; None where there is none."""
    if uri in uris:
        return uri
    return next((above for above in uris if uri.startswith(above.rstrip("/") + "/")), None)
