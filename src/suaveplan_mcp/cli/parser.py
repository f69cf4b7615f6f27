"""The command line of every command."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Final

_LAST_PORT: Final = 65535
_TARGET: Final = "a Python file with a server in it, an mcp.json with one server, a URL, or a command in quotes"
_VALUES: Final = "an argument as name=value; name:=value takes the value as JSON"


class UsageError(ValueError):
    """The command line cannot be understood."""


def make_parser() -> ArgumentParser:
    """Return the parser; what it returns names the command's module as `command`."""
    parser = ArgumentParser("suaveplan-mcp", description="Serve MCP servers, and use them from a terminal.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    every = ArgumentParser(add_help=False)
    every.add_argument("--debug", action="store_true", help="show where an error comes from")
    limited = ArgumentParser(add_help=False)
    limited.add_argument(
        "--max-frame-bytes", type=int, metavar="BYTES", help="the largest message that is read; 64 MiB by default"
    )
    on_target = ArgumentParser(add_help=False, parents=[every, limited])
    on_target.add_argument("target", metavar="TARGET", help=_TARGET)
    on_target.add_argument("--transport", help="sse, where a URL does not tell that the server speaks HTTP+SSE")
    on_target.add_argument("--stderr", action="store_true", help="show what the server writes to its standard error")
    on_target.add_argument("--json", action="store_true", help="print what the server answered, as JSON")

    run = commands.add_parser("run", parents=[every, limited], help="serve the server in a Python file")
    run.add_argument("file", metavar="FILE[:OBJECT]", help="the file, and the server's name in it")
    run.add_argument("--transport", default="stdio", help="stdio, the default, http or sse")
    run.add_argument("--host", help="where to listen, over HTTP; 127.0.0.1 by default")
    run.add_argument("--port", type=_port, help="likewise; 8000 by default")
    run.add_argument("--path", help="where clients connect, over HTTP; /mcp by default, /sse over sse")
    run.add_argument(
        "--allowed-host", action="append", metavar="NAME", help="a name of the server, over HTTP; once for each"
    )
    run.add_argument(
        "--allowed-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page that may use the server, over HTTP, such as https://app.example.com; once for each",
    )

    commands.add_parser("list", parents=[on_target], help="list what a server offers")

    call = commands.add_parser("call", parents=[on_target], help="call a tool")
    call.add_argument("tool", metavar="TOOL", help="its name")
    call.add_argument("values", metavar="NAME=VALUE", nargs="*", default=[], help=_VALUES)

    read = commands.add_parser("read", parents=[on_target], help="read a resource")
    read.add_argument("uri", metavar="URI", help="its URI")

    prompt = commands.add_parser("prompt", parents=[on_target], help="fill in a prompt")
    prompt.add_argument("name", metavar="NAME", help="its name")
    prompt.add_argument("values", metavar="NAME=VALUE", nargs="*", default=[], help="an argument as name=value")

    demo = commands.add_parser("demo", parents=[every], help="start a server and walk through all it can do")
    demo.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="what it serves; this one by default")

    commands.add_parser("version", parents=[every], help="print the version")
    return parser


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= _LAST_PORT:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is no port; they go from 0 to {_LAST_PORT}")
