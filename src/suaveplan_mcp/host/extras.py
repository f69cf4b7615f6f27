"""The rooms of this one that need a library of an extra: loaded when something first needs them."""

from importlib import import_module
from types import ModuleType

from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError


def load_http(module: str) -> ModuleType:
    """Load `http_client` or `http_server`.

    Args:
        module: its name in this room.

    Raises:
        MissingLibraryError: the library it stands on is not installed; the message names the extra.
    """
    try:
        return import_module(f"suaveplan_mcp.host.{module}")
    except ModuleNotFoundError as error:
        problem = f"HTTP needs {error.name}, which is not installed: pip install 'suaveplan-mcp[http]'"
        raise MissingLibraryError(problem) from error
