"""The package's source as syntax trees, for the tests that read it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "suaveplan_mcp"
SOURCE = ROOT / "src" / PACKAGE

# The rooms that may touch the machine. Every other module is universal: it runs wherever Python does.
MACHINE_ROOMS = frozenset({"host", "targets", "serving", "cli", "testing", "__main__"})
SANS_IO_ROOMS = frozenset({"errors", "jsonrpc", "framing", "types", "events", "protocol"})


@dataclass(frozen=True)
class Module:
    """One source file."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """The path inside the package, such as `jsonrpc/codec.py`."""
        return self.path.relative_to(SOURCE).as_posix()

    @property
    def room(self) -> str:
        """The package or module directly under the root, such as `jsonrpc`."""
        return self.path.relative_to(SOURCE).parts[0].removesuffix(".py")

    @property
    def name(self) -> str:
        """The dotted name, such as `suaveplan_mcp.jsonrpc.codec`."""
        parts = self.path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield every imported name in full, with its line: `from a import b` gives `a.b`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (
                    (f"{'.' * node.level}{node.module or ''}.{alias.name}", node.lineno) for alias in node.names
                )


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the package."""
    paths = sorted(SOURCE.rglob("*.py"))
    return tuple(Module(path, text := path.read_text("utf-8"), ast.parse(text, path)) for path in paths)


def universal_modules() -> tuple[Module, ...]:
    """Return the modules that may not touch the machine."""
    return tuple(module for module in modules() if module.room not in MACHINE_ROOMS)


def is_within(name: str, parents: frozenset[str]) -> bool:
    """Tell whether a dotted name is one of `parents` or lies inside one."""
    parts = name.split(".")
    return any(".".join(parts[:end]) in parents for end in range(1, len(parts) + 1))


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for an attribute chain, and an empty string for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute) if dotted(value):
            return f"{dotted(value)}.{attribute}"
        case _:
            return ""
