"""`docs/explanation/walk.md` names every file that a call passes, and the functions in their order."""

import ast
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import pytest
from msgspec.json import decode

from suaveplan_mcp import InMemoryTransport, MCPClient, MCPServer, create_stdio_transport
from suaveplan_mcp.host.platform import PLATFORM
from suaveplan_mcp.jsonrpc.codec import encode_message
from suaveplan_mcp.testing import RecordingTransport
from tests.architecture.source import ROOT, SOURCE
from tests.docs.blocks import read_blocks

PAGE = (ROOT / "docs" / "explanation" / "walk.md").read_text("utf-8")
ROWS = re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", PAGE, re.MULTILINE)

Place = tuple[str, str]


def _greeter() -> MCPServer:
    server = MCPServer("greeter", "1.0")

    @server.tool
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    return server


@contextmanager
def _calls_of_the_package(places: list[Place]) -> Generator[None]:
    """Note every function of the package that is entered or resumed in this thread."""
    prefix = f"{SOURCE}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(prefix):
            file = frame.f_code.co_filename.removeprefix(prefix).replace(os.sep, "/")
            places.append((file, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


async def _trace_a_call() -> list[Place]:
    """Call a tool over two pipes and return where the call has been. A call before it has filled the caches."""
    server, places = _greeter(), list[Place]()
    (to_client, from_server), (to_server, from_client) = os.pipe(), os.pipe()
    near = create_stdio_transport(readable=PLATFORM.open_reader(to_client), writable=PLATFORM.open_writer(from_client))
    far = create_stdio_transport(readable=PLATFORM.open_reader(to_server), writable=PLATFORM.open_writer(from_server))
    await server.start(far)
    async with MCPClient(prefetch=False) as client:
        await client.connect(near)
        await client.call_tool("greet", {"name": "Eve"})
        with _calls_of_the_package(places):
            await client.call_tool("greet", {"name": "Ada"})
    await server.stop()
    return places


def _is_at(place: Place, row: Place) -> bool:
    return place[0] == row[0] and (place[1] == row[1] or place[1].startswith(f"{row[1]}."))


def _names(file: str) -> set[str]:
    """Return the functions and classes of a file by their qualified names."""
    names: set[str] = set()
    for node in ast.parse((SOURCE / file).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            names |= {node.name, *(f"{node.name}.{each.name}" for each in inner)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return names


def test_everything_the_page_names_exists() -> None:
    assert len(ROWS) > 40
    assert [] == [f"{file} {name}" for file, name in ROWS if not (SOURCE / file).is_file() or name not in _names(file)]
    assert {"Era.describe", "Era.interpret"} <= _names("protocol/era.py")


@pytest.mark.skipif(os.name != "posix", reason="the page follows the streams of POSIX systems")
async def test_the_call_passes_the_files_of_the_page_and_no_others() -> None:
    passed = {file for file, _ in await _trace_a_call()}

    assert sorted(passed) == sorted({file for file, _ in ROWS})


@pytest.mark.skipif(os.name != "posix", reason="the page follows the streams of POSIX systems")
async def test_the_functions_run_in_the_order_of_the_page() -> None:
    places = iter(await _trace_a_call())
    out_of_order = [row for row in ROWS if not any(_is_at(place, row) for place in places)]

    # What follows the first one that is not found cannot be found either.
    assert [] == out_of_order[:1]


async def test_the_lines_of_the_page_are_what_goes_over_the_wire() -> None:
    near, far = InMemoryTransport.pair()
    server, recording = _greeter(), RecordingTransport(near)
    await server.start(far)
    async with MCPClient(prefetch=False) as client:
        await client.connect(recording)
        await client.call_tool("greet", {"name": "Ada"})
    await server.stop()
    shown = [decode(block.code) for block in read_blocks(PAGE) if block.language == "json"]

    assert shown == [decode(encode_message(messages[-1])) for messages in (recording.sent, recording.received)]


def test_a_class_is_passed_where_one_of_its_methods_is() -> None:
    places = [("a.py", "Second"), ("a.py", "Second.__init__"), ("a.py", "SecondHand"), ("b.py", "Second")]

    assert [True, True, False, False] == [_is_at(place, ("a.py", "Second")) for place in places]
