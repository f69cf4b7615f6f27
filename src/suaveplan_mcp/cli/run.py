"""`suaveplan-mcp run FILE[:OBJECT]`: serve the server in a Python file."""

import inspect
import sys
import traceback
from argparse import Namespace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from suaveplan_mcp.cli.parser import UsageError
from suaveplan_mcp.host.stdio import hold_standard_streams, release_standard_streams
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import run, run_http, run_sse, run_stdio

_NAMES: Final = ("server", "mcp", "app")
_OVER_HTTP: Final = ("host", "port", "path", "allowed_host", "allowed_origin")


class ServerFileError(Exception):
    """The file cannot be loaded, or there is no server to be found in it."""


def main(options: Namespace) -> int:
    """Load the file and serve until the input ends.

    Raises:
        UsageError: an option is given that says nothing over this transport.
    """
    if options.transport == "stdio":
        _refuse_http_options(options)
        _run_stdio(options.file, options.max_frame_bytes)
    elif options.transport in ("http", "sse"):
        run_web = run_http if options.transport == "http" else run_sse
        # Nothing comes after, so no thread of the file's own may keep the process alive.
        run_web(
            load_server(options.file),
            host=options.host,
            port=options.port,
            path=options.path,
            allowed_hosts=options.allowed_host,
            allowed_origins=options.allowed_origin,
            max_frame_bytes=options.max_frame_bytes,
        )
    else:
        # It says which transports there are.
        run(load_server(options.file), options.transport)
    return 0


def _refuse_http_options(options: Namespace) -> None:
    for name in _OVER_HTTP:
        if getattr(options, name) not in (None, []):
            raise UsageError(f"--{name.replace('_', '-')} needs an HTTP transport; add --transport http")


def _run_stdio(place: str, max_frame_bytes: int | None) -> None:
    # Before the file is loaded: what it prints, or what it starts, may not get between the messages either.
    hold_standard_streams()
    try:
        run_stdio(load_server(place), max_frame_bytes=max_frame_bytes)
    finally:
        release_standard_streams()


def load_server(place: str) -> MCPServer:
    """Return the server of a file.

    Args:
        place: the file's path, or `FILE:OBJECT` where the server has a name of its own.

    Raises:
        ServerFileError: there is no such file, it cannot be loaded, or there is no server; the message says which.
    """
    file, name = _split(place)
    if not file.is_file():
        raise ServerFileError(f"there is no file {str(file)!r}")
    module = _load(file.resolve())
    return _named_server(module, file, name) if name else _only_server(module, file)


def _split(place: str) -> tuple[Path, str]:
    file, colon, name = place.rpartition(":")
    # A drive letter has a colon as well, but what follows it is no name.
    return (Path(file), name) if colon and name.isidentifier() and not Path(place).exists() else (Path(place), "")


def _load(file: Path) -> ModuleType:
    sys.path.insert(0, str(file.parent))
    name = file.stem if file.stem not in sys.modules else f"{file.stem}_server"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ServerFileError(f"{str(file)!r} is no Python file")
    module = module_from_spec(spec)
    # Where annotations are resolved, the module is looked up by its name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ServerFileError(f"{file} cannot be loaded: {_describe(error, file)}") from error
    return module


def _describe(error: Exception, file: Path) -> str:
    text = f"{type(error).__name__}: {error}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{text} (line {lines[-1]})" if lines else text


def _servers(module: ModuleType) -> dict[str, MCPServer]:
    return {name: value for name, value in vars(module).items() if isinstance(value, MCPServer)}


def _named_server(module: ModuleType, file: Path, name: str) -> MCPServer:
    servers = _servers(module)
    if name in servers:
        return servers[name]
    value: object = getattr(module, name, None)
    if inspect.isroutine(value):
        raise ServerFileError(
            f"{name} is a function in {str(file)!r}; call it there and name what it returns: server = {name}()"
        )
    found = f"{name} is a {type(value).__name__}" if hasattr(module, name) else f"there is no {name}"
    raise ServerFileError(f"{found} in {str(file)!r}; {_candidates(servers)}")


def _only_server(module: ModuleType, file: Path) -> MCPServer:
    servers = _servers(module)
    usual = [servers[name] for name in _NAMES if name in servers]
    distinct = list({id(server): server for server in servers.values()}.values())
    if usual:
        return usual[0]
    if len(distinct) == 1:
        return distinct[0]
    raise ServerFileError(f"which server of {str(file)!r}? {_candidates(servers)}")


def _candidates(servers: dict[str, MCPServer]) -> str:
    if not servers:
        return "it has no MCPServer at its top level"
    return f"its servers are {', '.join(servers)}; write FILE:NAME to choose one"
