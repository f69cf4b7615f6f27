"""Steps of the demo's walk: the server's tools, and what they ask of the client."""

import re
from typing import Any, Final, TypeVar

from msgspec import Struct, convert

from suaveplan_mcp.cli.demo_reports import LINE_LENGTH, FileList, SearchResult, Summary
from suaveplan_mcp.cli.demo_walk import STAND_IN, Step, Walk, expect, expect_refusal, number
from suaveplan_mcp.errors import MCP_CODES
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.types import CallToolResult, ProgressNotificationParams, TextContent

NAMES: Final = frozenset("list_files summarise search read_slowly describe show_largest check_roots".split())

T = TypeVar("T")


class RootsCheck(Struct):
    """What the tool `check_roots` returns."""

    roots: list[str]
    folder_is_inside: bool


def text_of(result: CallToolResult) -> str:
    """Return what a tool said in words."""
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


async def call(walk: Walk, kind: type[T], tool: str, arguments: object = None, **options: Any) -> T:
    """Call a tool that has to succeed, and return its structured content as the type that it should have."""
    result = await walk.client.call_tool(tool, arguments, **options)
    expect(not result.is_error, f"the tool failed: {text_of(result)}")
    return convert(result.structured_content, kind)


async def list_tools(walk: Walk) -> str:
    """List the tools."""
    tools = await walk.client.refresh_tools()
    expect({tool.name for tool in tools} >= NAMES, f"some of {', '.join(sorted(NAMES))} are missing")
    return f"{len(tools)}: {', '.join(tool.name for tool in tools)}"


async def list_files(walk: Walk) -> str:
    """Call a plain tool, and compare with the resources."""
    answer = await call(walk, FileList, "list_files", {"pattern": "*"})
    expect([file.name for file in answer.files] == [file.name for file in walk.files], "the resources are other files")
    return f"{number(len(answer.files), 'file')}{'' if answer.complete else ', and more'}; the resources are the same"


async def summarise(walk: Walk) -> str:
    """Call a tool that counts, and see that it logs."""
    walk.logs.clear()
    answer = await call(walk, Summary, "summarise")
    counted = answer.text_files + answer.binary_files + answer.unreadable_files
    expect(len(walk.files) == answer.files == counted, f"{counted} of {len(walk.files)} files were counted")
    expect(answer.bytes == sum(file.size or 0 for file in walk.files), "the sizes of the files do not add up")
    log = await walk.wait_for_log("summarise")
    return (
        f"{number(answer.files, 'file')}, {number(answer.bytes, 'byte')}, {number(answer.words, 'word')}; largest: "
        f"{', '.join(file.name for file in answer.largest) or 'none'}; it logged: {log}"
    )


async def search(walk: Walk) -> str:
    """Search for a word that must be there, and follow the progress."""
    word = "demo" if walk.text_file is None else longest_word(walk.text_file.content.decode())
    progress: list[ProgressNotificationParams] = []
    answer = await call(walk, SearchResult, "search", {"text": word}, on_progress=progress.append)
    values = [report.progress for report in progress]
    expect(values == sorted(set(values)), f"the progress does not grow: {values}")
    expect(values[-1:] == [answer.files_searched], f"the last progress is not {answer.files_searched}: {values}")
    expect(answer.matches or walk.text_file is None, f"{word!r} was not found, although it is in a file")
    for match in answer.matches:
        is_cut = len(match.text) == LINE_LENGTH
        expect(is_cut or re.search(word, match.text, re.IGNORECASE), f"{match} does not contain {word!r}")
    found = [f"{match.file}:{match.line}" for match in answer.matches]
    return (
        f"{word!r} is in {number(len(found), 'line')} of {number(answer.files_searched, 'file')}, "
        f"{number(len(progress), 'report')} of progress: {', '.join(found)}"
    )


def longest_word(text: str) -> str:
    """Return the longest word at the beginning of a text; where there is none, what is in every line."""
    return max(re.findall(r"[A-Za-z0-9_]+", text[:1_000]), key=len, default="")


async def fail(walk: Walk) -> str:
    """Call a tool with a value that it cannot use, and without one that it needs."""
    result = await walk.client.call_tool("search", {"text": "(", "regex": True})
    expect(result.is_error and "is no regular expression" in text_of(result), f"{result!r} came instead of an error")
    without = await walk.client.call_tool("search", {})
    expect(without.is_error and "text" in text_of(without), f"{without!r} came instead of an error")
    return f"{text_of(result)}; {text_of(without)}"


async def call_nothing(walk: Walk) -> str:
    """Call a tool that is not there."""
    error = await expect_refusal(MCP_CODES.NOT_FOUND, walk.client.call_tool("no_such_tool"))
    return f"refused with {error.jsonrpc_code}, {error.code}: {error.message}"


async def cancel(walk: Walk) -> str:
    """Call a slow tool, and give it up as soon as it has begun."""
    walk.logs.clear()
    controller = AbortController()

    def stop(report: ProgressNotificationParams) -> None:
        controller.abort(f"it is at {report.progress:g} of {report.total:g}, which is enough")

    slow = walk.client.call_tool("read_slowly", {"seconds": 600}, signal=controller.signal, on_progress=stop)
    error = await expect_refusal(MCP_CODES.REQUEST_CANCELLED, slow)
    expect("notifications/cancelled" in walk.sent, "the server was not told")
    log = await walk.wait_for_log("read_slowly")
    return f"{error.message}; {log}"


# What tools ask of the client


async def sample(walk: Walk) -> str:
    """Call a tool that asks for a model."""
    walk.asked.clear()
    arguments = {} if walk.text_file is None else {"path": walk.text_file.name}
    text = text_of(await walk.client.call_tool("describe", arguments))
    expect("sampling/createMessage" in walk.asked, f"the server did not ask for a model: {text}")
    expect(text == f"{STAND_IN}: {walk.sampled}", f"the tool made something else of the answer: {text}")
    return text


async def elicit(walk: Walk) -> str:
    """Call a tool that asks for the user, who wants two files, the larger one first."""
    walk.asked.clear()
    answer = await call(walk, FileList, "show_largest")
    expect("elicitation/create" in walk.asked, "the server did not ask for the user")
    largest = sorted((file.size or 0 for file in walk.files), reverse=True)[:2]
    expect([file.size for file in answer.files] == largest, f"{answer.files} are not the two largest files")
    return f"the two largest: {', '.join(f'{file.name} ({file.size})' for file in answer.files) or 'there are none'}"


async def ask_for_roots(walk: Walk) -> str:
    """Call a tool that asks for the client's roots, and ask the server for its own."""
    walk.asked.clear()
    answer = await call(walk, RootsCheck, "check_roots")
    expect("roots/list" in walk.asked, "the server did not ask for the roots")
    expect(answer.folder_is_inside and answer.roots == [walk.folder.as_uri()], f"{answer.roots} are other roots")
    own = await walk.client.refresh_roots()
    expect([root.uri for root in own] == answer.roots, f"{own} is not the folder that the server serves")
    return f"{answer.roots[0]}, and the server's folder is inside; it names the same as its own root"


TOOL_STEPS: Final = (
    Step("which tools are there?", list_tools, ("tools/list",)),
    Step("list_files: which files?", list_files, ("tools/call",)),
    Step("summarise: what do they amount to?", summarise, ("tools/call", "notifications/message")),
    Step("search: where is a certain word?", search, ("tools/call", "notifications/progress")),
    Step("search for nonsense, and for nothing", fail, ("tools/call",)),
    Step("a tool that does not exist", call_nothing, ("tools/call",)),
    Step("read_slowly, and enough of it", cancel, ("tools/call", "notifications/cancelled")),
    Step("describe: what would a model say of a file?", sample, ("tools/call", "sampling/createMessage")),
    Step("show_largest: how many, user?", elicit, ("tools/call", "elicitation/create")),
    Step("check_roots: where may the server work?", ask_for_roots, ("tools/call", "roots/list")),
)
