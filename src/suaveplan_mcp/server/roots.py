"""Roots of a server's own, told to clients that know the word. Spec: client/roots, turned round"""

from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.server.registering import wire_form
from suaveplan_mcp.server.registry import Registry
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.roots import ListRootsResult, Root


class Roots:
    """The folders and files a server works in, under an experimental capability of ours."""

    __slots__ = ("registry",)

    def __init__(self) -> None:
        self.registry: Registry[Root] = Registry("root", _tell_nobody, key="uri")

    def register(self, root: Root) -> Root:
        """Register a root.

        Returns:
            It as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`; or `INVALID_PARAMS`, a field is of the wrong type.
        """
        checked = wire_form(str(root.uri), root)
        self.registry.add(checked.uri, checked)
        return checked

    def listed(self) -> list[Root]:
        """Return the roots in the order they were registered."""
        return list(self.registry)

    async def handle_list(self, params: RequestParams, call: InboundCall) -> ListRootsResult:
        """Answer `roots/list`."""
        return ListRootsResult(roots=self.listed())


def _tell_nobody() -> None:
    """Do nothing: the protocol has no notice for roots of a server."""
