"""Names, sizes and words of the source, as far as a machine can judge them."""

import ast
import re

import pytest

from tests.architecture.source import ROOT, SOURCE, Module, modules

# "About 400 lines, types 600, functions 50": a tenth more is still about.
MODULE_LINES = 440
TYPES_MODULE_LINES = 660
FUNCTION_LINES = 55

DRAWERS = re.compile(r"(^|_)(utils?|helpers?|common|shared|misc|core|managers?)(_|$)")
DATE = re.compile(r"20\d\d-\d\d-\d\d")
# Written in two parts, so that this file does not contain what it looks for.
COVERAGE_COMMENT = re.compile("pragma:" + r"\s*no\b")

ANY_FREE_ROOMS = frozenset({"jsonrpc", "framing", "types", "protocol"})
# The one name that stands for "any JSON" has to be `Any` where a value is decoded.
ANY_ALLOWED = frozenset({"jsonrpc/messages.py"})


def _functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _exceptions(module: Module) -> list[str]:
    return [
        node.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and any(re.search(r"(Error|Exception)$", ast.unparse(base)) for base in node.bases)
    ]


def test_only_the_revisions_file_contains_a_date() -> None:
    found = [
        f"{module.place}:{number} {line.strip()}"
        for module in modules()
        if module.place != "protocol/revisions.py"
        for number, line in enumerate(module.text.splitlines(), 1)
        if DATE.search(line)
    ]

    assert [] == found


@pytest.mark.requirement("every-branch-is-reached")
def test_no_comment_takes_code_out_of_the_coverage() -> None:
    paths = [path for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*.py")]

    assert [] == [str(path) for path in paths if COVERAGE_COMMENT.search(path.read_text("utf-8"))]


def test_no_file_or_folder_is_a_drawer() -> None:
    names = [path for path in SOURCE.rglob("*") if path.is_dir() or path.suffix == ".py"]

    assert [] == [str(path.relative_to(SOURCE)) for path in names if DRAWERS.search(path.stem.lower())]


def test_every_module_can_be_read_in_one_sitting() -> None:
    lengths = {module.place: len(module.text.splitlines()) for module in modules()}
    limits = {place: TYPES_MODULE_LINES if place.startswith("types/") else MODULE_LINES for place in lengths}

    assert {} == {place: length for place, length in lengths.items() if length > limits[place]}


def test_every_function_fits_on_a_screen() -> None:
    long = {
        f"{module.place}:{function.name}": length
        for module in modules()
        for function in _functions(module)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    }

    assert {} == long


def test_every_module_says_what_it_is_for() -> None:
    assert [] == [module.place for module in modules() if not ast.get_docstring(module.tree)]


@pytest.mark.requirement("every-branch-is-reached")
def test_every_folder_is_a_package() -> None:
    # Without its own `__init__.py` a folder would be passed over by coverage and by the import contracts.
    folders = {path.parent for path in SOURCE.rglob("*.py")}

    assert [] == [str(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_every_error_is_named_error() -> None:
    names = [f"{module.place} {name}" for module in modules() for name in _exceptions(module)]

    assert [] == [name for name in names if not name.endswith("Error")]


def test_the_protocol_is_typed_without_any() -> None:
    found = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if module.room in ANY_FREE_ROOMS and module.place not in ANY_ALLOWED
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
    ]

    assert [] == found


@pytest.mark.parametrize("name", ["utils", "http_helpers", "core", "session_manager", "shared"])
def test_a_drawer_is_recognised_by_its_name(name: str) -> None:
    assert DRAWERS.search(name)


@pytest.mark.parametrize("name", ["scoring", "corelation", "sharedness", "encoding"])
def test_an_ordinary_name_is_no_drawer(name: str) -> None:
    assert not DRAWERS.search(name)
