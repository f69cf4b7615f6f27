"""The one place where the server loads a library that need not be installed: when something first needs it."""

from importlib import import_module
from types import ModuleType


class MissingLibraryError(ImportError):
    """A library is needed that is not installed; the message names the extra that brings it."""


def load(name: str, extra: str) -> ModuleType:
    """Import an optional library.

    Args:
        name: the module.
        extra: the extra of this package that installs it.

    Raises:
        MissingLibraryError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        problem = f"this needs {name}, which is not installed: pip install 'suaveplan-mcp[{extra}]'"
        raise MissingLibraryError(problem) from error
