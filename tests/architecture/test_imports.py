"""What universal modules may import: the part of the rules that import-linter cannot express."""

import ast
import sys
import tomllib

import pytest

from tests.architecture.source import (
    MACHINE_ROOMS,
    PACKAGE,
    ROOT,
    SANS_IO_ROOMS,
    Module,
    dotted,
    is_within,
    modules,
    universal_modules,
)

MACHINE = frozenset(
    "_socket _ssl _thread asyncio.subprocess builtins.open codecs.open ctypes fcntl fileinput ftplib getpass glob "
    "http io.FileIO io.open mmap msvcrt multiprocessing os pathlib platform poplib pty resource select selectors "
    "shutil signal smtplib socket socketserver ssl subprocess sys tempfile termios threading tty urllib.request "
    "webbrowser winreg wsgiref xmlrpc".split()
)
SANS_IO = frozenset("asyncio concurrent logging queue random sched socket ssl subprocess threading time".split())

# asyncio is for futures and tasks. These of its names open something or wait by a clock that was not passed in.
MACHINE_ASYNCIO = frozenset(
    "connect_accepted_socket connect_read_pipe connect_write_pipe create_connection create_datagram_endpoint "
    "create_server create_subprocess_exec create_subprocess_shell create_unix_connection create_unix_server "
    "open_connection open_unix_connection run sleep start_server start_unix_server subprocess_exec subprocess_shell "
    "timeout timeout_at wait_for".split()
)

# Which universal modules may import which distribution; the key is a module or a folder of the package.
THIRD_PARTY = {
    "": {"msgspec"},
    "telemetry.py": {"opentelemetry"},
    "auth/": {"cryptography", "joserfc"},
}

# Where a module may be named at run time, with the reason.
LATE_BINDING = {
    "__init__.py": "the shop window loads a name when it is first asked for",
    "server/entrances.py": "`MCPServer.run()` and `sse_app` reach `serving`: people expect them on the server",
    "server/signatures/optional_libraries.py": "pydantic and jsonschema-rs load only where a signature needs them",
    "telemetry.py": "OpenTelemetry's API is loaded only where somebody has configured its SDK",
}


def _third_party(module: Module) -> set[str]:
    return set[str]().union(*(names for place, names in THIRD_PARTY.items() if module.place.startswith(place)))


def _calls(module: Module) -> list[tuple[str, int]]:
    return [(dotted(node.func), node.lineno) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]


@pytest.mark.requirement("universal-code-stays-pure")
def test_universal_modules_import_nothing_bound_to_the_machine() -> None:
    found = [
        f"{module.place}:{line} {name}"
        for module in universal_modules()
        for name, line in module.imports()
        if is_within(name, MACHINE)
    ]

    assert [] == found


@pytest.mark.requirement("universal-code-stays-pure")
def test_sans_io_rooms_import_no_loop_clock_or_chance() -> None:
    found = [
        f"{module.place}:{line} {name}"
        for module in modules()
        if module.room in SANS_IO_ROOMS
        for name, line in module.imports()
        if is_within(name, SANS_IO)
    ]

    assert [] == found


@pytest.mark.requirement("universal-code-stays-pure")
def test_universal_modules_import_only_the_distributions_granted_to_them() -> None:
    found = [
        f"{module.place}:{line} {name}"
        for module in universal_modules()
        for name, line in module.imports()
        if (top := name.split(".")[0]) not in sys.stdlib_module_names
        and top != PACKAGE
        and top not in _third_party(module)
    ]

    assert [] == found


@pytest.mark.requirement("universal-code-stays-pure")
def test_universal_modules_use_asyncio_for_futures_and_tasks_only() -> None:
    used = [
        (module.place, node.lineno, node.attr)
        for module in universal_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and (dotted(node.value) == "asyncio" or "loop" in dotted(node.value))
    ]
    imported = [
        (module.place, line, name.removeprefix("asyncio."))
        for module in universal_modules()
        for name, line in module.imports()
        if name.startswith("asyncio.")
    ]

    assert [] == [use for use in used + imported if use[2] in MACHINE_ASYNCIO]


@pytest.mark.requirement("universal-code-stays-pure")
def test_universal_modules_open_and_print_nothing() -> None:
    found = [
        f"{module.place}:{line} {name}()"
        for module in universal_modules()
        for name, line in _calls(module)
        if name in {"open", "print", "input", "breakpoint", "exec", "eval"}
    ]

    assert [] == found


def test_only_the_listed_modules_name_a_module_at_run_time() -> None:
    found = {
        module.place
        for module in universal_modules()
        for name, _ in [*module.imports(), *_calls(module)]
        if name == "__import__" or name.startswith(("importlib.import", "pkgutil.", "runpy."))
    }

    assert set() == found - LATE_BINDING.keys()


def test_every_import_is_absolute_and_at_the_top_of_its_module() -> None:
    relative = [f"{m.place}:{line} {name}" for m in modules() for name, line in m.imports() if name.startswith(".")]
    inside = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        for function in ast.walk(module.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert [] == relative + inside


def test_the_import_contracts_speak_of_the_same_rooms_as_these_tests() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    sans_io, machine = (contract for contract in contracts if contract["type"] == "forbidden")
    excepted = {rule.split(" ")[0].split(".")[1] for rule in machine["ignore_imports"]}

    assert SANS_IO_ROOMS == {name.split(".")[1] for name in sans_io["source_modules"]}
    assert MACHINE_ROOMS - {"__main__"} == excepted
