"""The names people import from the root, which may not change."""

import ast
import importlib
import subprocess
import sys
import tomllib
from types import ModuleType

import pytest

from tests.architecture.source import PACKAGE, SOURCE, modules

CONTRACT = frozenset(
    "MCPServer MCPClient JsonRpcDispatcher Transport InMemoryTransport create_stdio_transport "
    "create_http_sse_transport create_streamable_http_transport SuaveplanError MCPError MCPTransportError "
    "MCPProtocolError MCP_CODES define_codes AbortController AbortSignal EventBus Context connect run types "
    "testing".split()
)
# Two names are ordinary words, so only their own room can define them.
HOMES = {"connect": "targets", "run": "serving"}


def _defined(tree: ast.Module) -> set[str]:
    """Return the names that a module defines itself at its top level."""
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return names


def _existing() -> set[str]:
    """Return the contract's names for which there is something to export by now."""
    rooms = {module.room for module in modules()}
    found = {name for name in ("types", "testing") if name in rooms}
    for module in modules():
        names = _defined(module.tree) & CONTRACT
        found |= {name for name in names if HOMES.get(name, module.room) == module.room}
    return found


def _root() -> ModuleType:
    return importlib.import_module(PACKAGE)


def test_the_root_exports_the_contract_and_nothing_else() -> None:
    assert sorted(_existing()) == sorted(_root().__all__)


def test_every_exported_name_is_there() -> None:
    root = _root()

    assert [] == [name for name in root.__all__ if getattr(root, name, None) is None]


def test_completion_offers_every_exported_name() -> None:
    assert set() == set(_root().__all__) - set(dir(_root()))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="MCPSever"):
        _root().MCPSever  # noqa: B018 - reading the attribute is the test


def test_a_star_import_brings_every_exported_name() -> None:
    code = f"from {PACKAGE} import *; import {PACKAGE} as root; print(sorted(set(root.__all__) - set(globals())))"
    child = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    assert "[]" == child.stdout.strip()


def test_the_package_is_marked_as_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]

    assert project["version"] == _root().__version__
