"""The demo's server: the files of one folder, offered in every way that a server has.

It is an ordinary server file, and a place to copy from. What it does with files is in its neighbours `demo_files.py`,
`demo_reports.py` and `demo_watching.py`. Serve a folder of yours with it:

    SUAVEPLAN_DEMO_FOLDER=~/notes suaveplan-mcp run demo_server.py
"""

import asyncio
import hashlib
import os
import re
from base64 import b64encode
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct, convert

from suaveplan_mcp import MCP_CODES, Context, MCPError, MCPServer
from suaveplan_mcp.cli.demo_files import FoundFile, ServedFolder, mime_type_of, text_of
from suaveplan_mcp.cli.demo_reports import (
    FileList,
    FileSize,
    Match,
    SearchResult,
    Summary,
    count_lines_in_turn,
    find_lines,
    list_largest,
    summarise_folder,
)
from suaveplan_mcp.cli.demo_watching import FileWatch
from suaveplan_mcp.types import BlobResourceContents, EmbeddedResource, TextContent, TextResourceContents

FOLDER: Final = ServedFolder(Path(os.environ.get("SUAVEPLAN_DEMO_FOLDER", ".")))
"""What is served, as it was when the server started."""

MOST_MATCHES: Final = 50
EXCERPT_LENGTH: Final = 2_000
PAUSE: Final = 0.1

server = MCPServer(
    "suaveplan-mcp-demo",
    "1.0.0",
    "Look around with `summarise` and `list_files`, find text with `search`, read files as resources.",
    title="The files of one folder",
    page_size=50,
)
server.register_root(FOLDER.root.as_uri(), name=FOLDER.root.name)


# Resources: each file under its own URI, any file by its path, and bytes that are always there.


def read_file(path: Path) -> TextResourceContents | BlobResourceContents:
    """Read a file of the folder, as text where it is text."""
    try:
        content = FOLDER.read(path)
    except FileNotFoundError as error:
        raise MCPError(MCP_CODES.NOT_FOUND, str(error)) from error
    except OSError as error:
        # The text of an `MCPError` reaches the client. Of any other exception it learns only that there was one.
        raise MCPError(MCP_CODES.INTERNAL_ERROR, f"the file cannot be read: {error}") from error
    uri, mime_type, text = path.as_uri(), mime_type_of(path), text_of(content)
    if text is not None:
        return TextResourceContents(uri=uri, mime_type=mime_type or "text/plain", text=text)
    blob = b64encode(content).decode()
    return BlobResourceContents(uri=uri, mime_type=mime_type or "application/octet-stream", blob=blob)


def offer_file(file: FoundFile) -> None:
    """Offer one file as a resource."""
    read = partial(read_file, file.path)
    server.register_resource(read, uri=file.path.as_uri(), name=file.name, mime_type=file.mime_type, size=file.size)


for found in FOLDER.files:
    offer_file(found)


@server.resource("folder:///{+path}")
def file_in_folder(path: str) -> TextResourceContents | BlobResourceContents:
    """Read a file by its path in the folder, also one that is too new, or one too many, to be listed."""
    # A path with `..` never comes here: the server refuses it. A link that leads out is refused by `FOLDER`.
    return read_file(FOLDER.root / path)


@server.resource("demo://fingerprint", mime_type="application/octet-stream")
def fingerprint() -> bytes:
    """Compute the SHA-256 of the names and sizes of all files: 32 bytes, and no text."""
    lines = (f"{file.size} {file.name}\n" for file in FOLDER.files)
    return hashlib.sha256("".join(lines).encode()).digest()


def offer_watched_file(path: Path) -> None:
    """Offer a file that another program changes, and tell those who subscribe to it when it has changed."""

    def tell() -> None:
        server.mark_resource_updated("demo://watched")
        server.emit_log("debug", f"{path.name} has changed", "watch")

    watch = FileWatch(path, tell)
    server.register_resource(lambda: path.read_text("utf-8"), uri="demo://watched", name="watched")
    server.events.on("connection:opened", lambda _: watch.start())
    server.events.on("connection:closed", lambda _: watch.stop())


if "SUAVEPLAN_DEMO_WATCHED" in os.environ:
    offer_watched_file(Path(os.environ["SUAVEPLAN_DEMO_WATCHED"]))


# Tools. The arguments and their types become the schema; a plain function runs in a thread.


@server.tool
def list_files(pattern: str = "*") -> FileList:
    """List the files of the folder.

    Args:
        pattern: which of them, as a shell writes it; `*` stands for slashes too.
    """
    files = [FileSize(file.name, file.size) for file in FOLDER.files if fnmatchcase(file.name, pattern)]
    return FileList(files, FOLDER.complete)


@server.tool
def summarise(ctx: Context) -> Summary:
    """Count files, lines and words, and name the largest files."""
    summary = summarise_folder(FOLDER)
    ctx.log("info", f"counted {summary.lines} lines in {summary.text_files} text files", "summarise")
    return summary


@server.tool
def search(text: str, ctx: Context, *, regex: bool = False) -> SearchResult:
    """Find lines in all text files, without regard to case.

    Args:
        text: what to look for.
        ctx: takes the progress.
        regex: whether `text` is a regular expression.
    """
    try:
        wanted = re.compile(text if regex else re.escape(text), re.IGNORECASE)
    except re.error as error:
        # What a tool raises becomes an error result. A model reads it, so it should say what to do better.
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    matches: list[Match] = []
    searched, total = 0, len(FOLDER.files)
    while searched < total and len(matches) <= MOST_MATCHES and not ctx.signal.aborted:
        file = FOLDER.files[searched]
        ctx.progress(searched, total, file.name)
        matches += find_lines(FOLDER, file, wanted)
        searched += 1
    ctx.progress(searched, total, "done")
    return SearchResult(matches[:MOST_MATCHES], searched, FOLDER.complete and len(matches) <= MOST_MATCHES)


@server.tool
async def read_slowly(ctx: Context, seconds: float = 60) -> str:
    """Read file after file, again and again, with a pause after each: time enough to change one's mind.

    Args:
        ctx: takes the progress.
        seconds: how long.
    """
    steps = round(seconds / PAUSE)
    step, lines = 0, 0
    try:
        for step in range(1, steps + 1):
            ctx.progress(step, steps, f"{lines} lines so far")
            lines += count_lines_in_turn(FOLDER, step)
            await asyncio.sleep(PAUSE)
    except asyncio.CancelledError:
        ctx.log("notice", f"read_slowly was stopped at step {step} of {steps}", "read_slowly")
        raise
    return f"{lines} lines"


# Tools that ask the client: its model, its user, its roots.


@server.tool
async def describe(ctx: Context, path: str = "") -> str:
    """Let the client's model describe a file.

    Args:
        ctx: asks the client.
        path: the file's path in the folder; without it the list of files is described.
    """
    text = "\n".join(file.name for file in FOLDER.files)
    if path:
        text, _ = FOLDER.read_lines(FOLDER.root / path)
    if text is None:
        raise ValueError(f"{path!r} is no text")
    answer = await ctx.sample(
        f"Describe this in one sentence.\n\n{text[:EXCERPT_LENGTH]}",
        system_prompt="You describe files to people who have not seen them.",
        max_tokens=200,
    )
    if not isinstance(answer.content, TextContent):
        raise ValueError("the model answered with something else than text")
    return f"{answer.model}: {answer.content.text}"


class Wish(Struct):
    """The form that `show_largest` has the user fill in."""

    count: Annotated[int, Meta(ge=1, le=10, description="How many files?")] = 3
    smallest_first: Annotated[bool, Meta(description="The smallest of them first?")] = False


@server.tool
async def show_largest(ctx: Context) -> FileList:
    """Ask the user how many of the largest files to show, and show them."""
    answer = await ctx.elicit("How many of the largest files do you want to see?", Wish)
    if answer.action != "accept":
        return FileList([], complete=False)
    wish = convert(answer.content, Wish)
    files = list_largest(FOLDER, wish.count)
    return FileList(files[::-1] if wish.smallest_first else files, FOLDER.complete)


class RootsCheck(Struct):
    """What `check_roots` returns."""

    roots: list[str]
    folder_is_inside: bool


@server.tool
async def check_roots(ctx: Context) -> RootsCheck:
    """Ask the client which places this server may work in, and whether its folder is one of them."""
    roots = [root.uri for root in await ctx.list_roots()]
    folder = FOLDER.root.as_uri().rstrip("/") + "/"
    return RootsCheck(roots, any(folder.startswith(root.rstrip("/") + "/") for root in roots))


# Prompts, and what completes their arguments.


@server.prompt
def introduce_folder(audience: str = "a newcomer") -> str:
    """Ask for an introduction to the folder.

    Args:
        audience: whom to introduce it to.
    """
    names = "\n".join(file.name for file in FOLDER.files)
    return f"Introduce a folder with these files to {audience}:\n\n{names[:EXCERPT_LENGTH]}"


@server.prompt
def explain_file(path: str, audience: str = "a newcomer") -> list[str | EmbeddedResource]:
    """Ask for an explanation of one file, which is enclosed.

    Args:
        path: the file's path in the folder.
        audience: whom to explain it to.
    """
    return [f"Explain {path} to {audience}.", EmbeddedResource(resource=read_file(FOLDER.root / path))]


@server.completion("explain_file", "path")
@server.completion("folder:///{+path}", "path")
def complete_path(typed: str) -> list[str]:
    """Suggest the files whose path contains what is typed, those that begin with it first."""
    names = [file.name for file in FOLDER.files if typed.lower() in file.name.lower()]
    return sorted(names, key=lambda name: (not name.lower().startswith(typed.lower()), name))
