"""The file in which people name their servers, for any client to read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from msgspec import DecodeError, Struct, ValidationError, convert, field
from msgspec.json import decode

_SERVER_LISTS: Final = ("mcpServers", "servers")


class ServerEntry(Struct, frozen=True):
    """One server of an `mcp.json`: the command that starts it.

    Args:
        command: the program.
        args: its arguments.
        env: variables it gets beside the inherited ones.
        cwd: its working folder.
        url: where it listens, for one that is not started.
        type: how to speak to that URL, where the URL does not tell.
        headers: go out with every request to it.
    """

    command: str | None = None
    args: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = None
    type: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


def read_entry(path: Path) -> ServerEntry:
    """Return the one server of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file; the message says why.
    """
    try:
        content = decode(path.read_bytes())
    except DecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} has no object at its top")
    return only_entry(cast("dict[str, Any]", content), str(path))


def only_entry(content: Mapping[str, Any], source: str) -> ServerEntry:
    """Return the one server of such a file's content; the entry alone is taken as well.

    Args:
        content: the object at its top.
        source: what to call it in an error.

    Raises:
        ValueError: there is not exactly one; the message says what there is.
    """
    servers: object = next((content[key] for key in _SERVER_LISTS if key in content), {"": content})
    try:
        entries = convert(servers, dict[str, ServerEntry])
    except ValidationError as error:
        raise ValueError(f"{source} is no list of servers: {error}") from error
    if len(entries) != 1:
        names = ", ".join(repr(name) for name in entries) or "none"
        raise ValueError(f"{source} must have exactly one server, but has {names}")
    (entry,) = entries.values()
    return entry
