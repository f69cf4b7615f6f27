"""What the server listed, kept until it is listed again."""

import asyncio
from functools import partial
from typing import Generic, TypeVar

from suaveplan_mcp.client.connection import ServerConnection
from suaveplan_mcp.client.pagination import collect_pages
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.types.base import Received
from suaveplan_mcp.types.prompts import Prompt
from suaveplan_mcp.types.resources import Resource, ResourceTemplate
from suaveplan_mcp.types.roots import Root
from suaveplan_mcp.types.tools import Tool

Item = TypeVar("Item", bound=Received)


class CachedList(Generic[Item]):
    """One list of the server's.

    Args:
        method: the method that lists.
        attribute: where a page has its items.
        max_pages: how many pages are too many to be true.
    """

    __slots__ = ("_attribute", "_items", "_max_pages", "method")

    def __init__(self, method: str, attribute: str, max_pages: int) -> None:
        self.method = method
        self._attribute = attribute
        self._max_pages = max_pages
        self._items: list[Item] = []

    def copy(self) -> list[Item]:
        """Return the items as they were last listed, in a list of the caller's own."""
        return list(self._items)

    async def refresh(self, connection: ServerConnection) -> list[Item]:
        """List anew and return the items; without the capability for it the list is empty and nothing is asked.

        Raises:
            MCPError: the server refused, failed, or its pages do not end; what was listed before stays.
        """
        if connection.offers(self.method):
            self._items = await collect_pages(
                partial(connection.request, fresh=True), self.method, self._attribute, self._max_pages
            )
        else:
            self._items = []
        return self.copy()


class CachedLists:
    """All lists of one server.

    Args:
        max_pages: how many pages of one list are too many to be true.
    """

    __slots__ = ("prompts", "resource_templates", "resources", "roots", "tools")

    def __init__(self, max_pages: int) -> None:
        self.tools: CachedList[Tool] = CachedList("tools/list", "tools", max_pages)
        self.resources: CachedList[Resource] = CachedList("resources/list", "resources", max_pages)
        self.resource_templates: CachedList[ResourceTemplate] = CachedList(
            "resources/templates/list", "resource_templates", max_pages
        )
        self.prompts: CachedList[Prompt] = CachedList("prompts/list", "prompts", max_pages)
        self.roots: CachedList[Root] = CachedList("roots/list", "roots", max_pages)

    async def fill(self, connection: ServerConnection) -> None:
        """List everything the server offers, all at once; a list that fails stays empty and is reported."""

        async def attempt(cached: CachedList[Item]) -> None:
            try:
                await cached.refresh(connection)
            except MCPError as error:
                # Where the connection has ended, the caller that opens it is told that instead.
                if not connection.closed:
                    connection.report(f"{cached.method} failed: {error.message}", error)

        await asyncio.gather(
            attempt(self.tools),
            attempt(self.resources),
            attempt(self.resource_templates),
            attempt(self.prompts),
            attempt(self.roots),
        )
