"""What a server offers, by name and in the order it was registered."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from suaveplan_mcp.errors import MCP_CODES, MCPError

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Keeps the registrations of one kind.

    Args:
        kind: what errors call one of them, such as "tool".
        changed: called after every change.
        key: what `data` of the error for a missing one calls the key; the kind by default.
    """

    __slots__ = ("_changed", "_items", "_key", "_kind")

    def __init__(self, kind: str, changed: Callable[[], None], key: str | None = None) -> None:
        self._kind = kind
        self._key = key or kind
        self._items: dict[str, Item] = {}
        self._changed = changed

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """Iterate over them in the order they were registered."""
        return iter(tuple(self._items.values()))

    def add(self, key: str, item: Item) -> None:
        """Register one.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`, the key is taken.
        """
        if key in self._items:
            text = f"a {self._kind} {key!r} is registered already; unregister it first"
            raise MCPError(MCP_CODES.DUPLICATE_REGISTRATION, text, context={self._key: key})
        self._items[key] = item
        self._changed()

    def remove(self, key: str) -> None:
        """Take one away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        if self._items.pop(key, None) is None:
            raise self.missing(key)
        self._changed()

    def get(self, key: str) -> Item | None:
        """Return one, or None."""
        return self._items.get(key)

    def find(self, key: str) -> Item:
        """Return one.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        item = self._items.get(key)
        if item is None:
            raise self.missing(key)
        return item

    def missing(self, key: str) -> MCPError:
        """Return the error for a key that is not registered."""
        data = {"code": MCP_CODES.NOT_FOUND, self._key: key}
        return MCPError(MCP_CODES.NOT_FOUND, f"there is no {self._kind} {key!r}", data=data, context={self._key: key})
