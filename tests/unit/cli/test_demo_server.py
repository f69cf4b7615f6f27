"""The demo's server, asked by a client in the same process."""

import asyncio
import sys
import threading
from base64 import b64decode
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from suaveplan_mcp import MCP_CODES, AbortController, MCPError, connect
from suaveplan_mcp.cli import demo_watching
from suaveplan_mcp.cli.demo_walk import SERVER_FILE
from suaveplan_mcp.targets import Connection
from suaveplan_mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    EmbeddedResource,
    ImageContent,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

Load = Callable[..., ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return what loads the server file for a folder, as `suaveplan-mcp run` does."""

    def load_server(folder: Path, watched: Path | None = None) -> ModuleType:
        monkeypatch.setenv("SUAVEPLAN_DEMO_FOLDER", str(folder))
        monkeypatch.delenv("SUAVEPLAN_DEMO_WATCHED", raising=False)
        if watched is not None:
            monkeypatch.setenv("SUAVEPLAN_DEMO_WATCHED", str(watched))
        spec = spec_from_file_location("suaveplan_mcp.cli.demo_server", SERVER_FILE)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "a.txt").write_text("one two\nthree\n", "utf-8")
    (path / "b.bin").write_bytes(b"\0\1\2")
    (path / "c").write_bytes("ü\n".encode("latin-1"))
    return path.resolve()


@pytest.fixture
def connection(load: Load, folder: Path) -> Connection:
    return connect(load(folder).server)


def _data(result: CallToolResult) -> dict[str, Any]:
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def _said(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


# Resources


async def test_every_file_is_a_resource(connection: Connection, folder: Path) -> None:
    async with connection as client:
        listed = [(each.uri, each.name, each.mime_type, each.size) for each in await client.refresh_resources()]

    assert [
        ((folder / "a.txt").as_uri(), "a.txt", "text/plain", 14),
        ((folder / "b.bin").as_uri(), "b.bin", "application/octet-stream", 3),
        ((folder / "c").as_uri(), "c", None, 2),
        ("demo://fingerprint", "fingerprint", "application/octet-stream", None),
    ] == listed


async def test_text_is_read_as_text(connection: Connection, folder: Path) -> None:
    async with connection as client:
        (contents,) = (await client.read_resource((folder / "a.txt").as_uri())).contents

    assert ("one two\nthree\n", "text/plain") == (contents.text, contents.mime_type)


async def test_text_without_a_known_ending_is_plain(connection: Connection, folder: Path) -> None:
    (folder / "c").write_text("text", "utf-8")
    async with connection as client:
        (contents,) = (await client.read_resource("folder:///c")).contents

    assert ("text", "text/plain") == (contents.text, contents.mime_type)


async def test_what_is_no_text_is_read_as_bytes(connection: Connection) -> None:
    async with connection as client:
        (contents,) = (await client.read_resource("folder:///c")).contents

    assert ("ü\n".encode("latin-1"), "application/octet-stream") == (
        b64decode(contents.blob or ""),
        contents.mime_type,
    )


async def test_a_file_that_is_too_new_to_be_listed_is_read_by_its_path(connection: Connection, folder: Path) -> None:
    (folder / "new é%20.txt").write_text("new", "utf-8")
    async with connection as client:
        (contents,) = (await client.read_resource("folder:///new%20%C3%A9%2520.txt")).contents

    assert ("new", (folder / "new é%20.txt").as_uri()) == (contents.text, contents.uri)


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("folder:///nowhere", MCP_CODES.NOT_FOUND),
        ("folder:///.hidden", MCP_CODES.NOT_FOUND),
        ("folder:///link", MCP_CODES.NOT_FOUND),
        ("folder:///../secret", MCP_CODES.INVALID_PARAMS),
        ("folder:////etc/hosts", MCP_CODES.INVALID_PARAMS),
        ("folder:///%2e%2e/secret", MCP_CODES.INVALID_PARAMS),
        ("file:///secret", MCP_CODES.NOT_FOUND),
    ],
)
async def test_nothing_but_the_folder_is_read(connection: Connection, folder: Path, uri: str, code: str) -> None:
    (folder / ".hidden").write_text("hidden", "utf-8")
    (folder.parent / "secret").write_text("secret", "utf-8")
    (folder / "link").symlink_to(folder.parent / "secret")
    async with connection as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)

    assert code == caught.value.code


async def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load(folder)

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.FOLDER, "read", refuse)
    async with connect(module.server) as client:
        with pytest.raises(MCPError, match="Permission denied") as caught:
            await client.read_resource("folder:///a.txt")

    assert MCP_CODES.INTERNAL_ERROR == caught.value.code


async def test_the_fingerprint_tells_folders_apart(load: Load, folder: Path) -> None:
    digests: set[str | None] = set()
    for size in (1, 2):
        (folder / "a.txt").write_text("x" * size, "utf-8")
        async with connect(load(folder).server) as client:
            digests.add((await client.read_resource("demo://fingerprint")).contents[0].blob)

    assert [32, 32] == [len(b64decode(digest or "")) for digest in digests]


async def test_a_change_of_the_watched_file_is_told_and_logged(
    load: Load, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_watching, "INTERVAL", 0.001)
    watched, told = tmp_path / "watched.txt", asyncio.Event()
    watched.write_text("old", "utf-8")
    logs: list[LoggingMessageNotificationParams] = []
    async with connect(load(folder, watched).server, protocol="handshake", on_log=logs.append) as client:
        client.events.on("resource:updated", lambda _: told.set())
        await client.set_log_level("debug")
        await client.subscribe_resource("demo://watched")
        watched.write_text("changed", "utf-8")
        await told.wait()
        await client.ping()
        result = client.updated_resource("demo://watched")

    assert result is not None
    assert "changed" == result.contents[0].text
    assert "watched.txt has changed" == logs[0].data


# Tools


async def test_files_are_listed_by_a_pattern(connection: Connection) -> None:
    async with connection as client:
        result = await client.call_tool("list_files", {"pattern": "*.t?t"})

    assert {"files": [{"name": "a.txt", "size": 14}], "complete": True} == result.structured_content


async def test_a_summary_is_returned_and_logged(load: Load, folder: Path) -> None:
    logs: list[LoggingMessageNotificationParams] = []
    async with connect(load(folder).server, protocol="handshake", on_log=logs.append) as client:
        result = await client.call_tool("summarise")

    assert isinstance(result.structured_content, dict)
    assert (3, 2, 3) == tuple(result.structured_content[name] for name in ("files", "lines", "words"))
    assert ["counted 2 lines in 1 text files"] == [log.data for log in logs]


async def test_a_search_finds_lines_and_reports_every_file(connection: Connection) -> None:
    progress: list[ProgressNotificationParams] = []
    async with connection as client:
        result = await client.call_tool("search", {"text": "T"}, on_progress=progress.append)

    lines = [{"file": "a.txt", "line": 1, "text": "one two"}, {"file": "a.txt", "line": 2, "text": "three"}]
    assert {"matches": lines, "files_searched": 3, "complete": True} == result.structured_content
    assert [0, 1, 2, 3] == [report.progress for report in progress]


async def test_a_search_takes_regular_expressions_when_told_to(connection: Connection) -> None:
    async with connection as client:
        as_text = await client.call_tool("search", {"text": "t.o"})
        as_pattern = await client.call_tool("search", {"text": "t.o", "regex": True})

    assert [0, 1] == [len(_data(result)["matches"]) for result in (as_text, as_pattern)]


async def test_a_broken_regular_expression_is_explained(connection: Connection) -> None:
    async with connection as client:
        result = await client.call_tool("search", {"text": "(", "regex": True})

    assert result.is_error
    assert "'(' is no regular expression" in _said(result)


async def test_a_search_ends_when_there_are_too_many_matches(load: Load, folder: Path) -> None:
    (folder / "a.txt").write_text("line\n" * 51, "utf-8")
    async with connect(load(folder).server) as client:
        found = _data(await client.call_tool("search", {"text": "line"}))

    assert (50, 1, False) == (len(found["matches"]), found["files_searched"], found["complete"])


async def test_a_search_ends_when_the_caller_gives_it_up(load: Load, folder: Path) -> None:
    module, controller = load(folder), AbortController()
    given_up, ended, searched = threading.Event(), threading.Event(), list[int]()

    def find_nothing(*_: object) -> list[object]:
        assert given_up.wait(10)
        return []

    def note_result(_: object, files_searched: int, complete: bool) -> str:  # noqa: FBT001
        searched.append(files_searched)
        ended.set()
        return f"complete: {complete}"

    vars(module).update(find_lines=find_nothing, SearchResult=note_result)
    async with connect(module.server) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(
                "search", {"text": "t"}, signal=controller.signal, on_progress=lambda _: controller.abort()
            )
        # The server has read of it by the time it answers.
        await client.ping()
        given_up.set()
        assert await asyncio.to_thread(ended.wait, 10)

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
    assert [1] == searched


async def test_slow_reading_comes_to_an_end(load: Load, folder: Path) -> None:
    module = load(folder)
    progress: list[ProgressNotificationParams] = []
    vars(module)["PAUSE"] = 0.001
    async with connect(module.server) as client:
        result = await client.call_tool("read_slowly", {"seconds": 0.004}, on_progress=progress.append)

    assert "2 lines" == _said(result)
    assert [(1, 4), (2, 4), (3, 4), (4, 4)] == [(report.progress, report.total) for report in progress]


async def test_slow_reading_stops_when_the_caller_gives_it_up(load: Load, folder: Path) -> None:
    logs: list[LoggingMessageNotificationParams] = []
    controller = AbortController()
    async with connect(load(folder).server, protocol="handshake", on_log=logs.append) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("read_slowly", signal=controller.signal, on_progress=lambda _: controller.abort())
        await client.ping()

    assert MCP_CODES.REQUEST_CANCELLED == caught.value.code
    assert ["read_slowly was stopped at step 1 of 600"] == [log.data for log in logs]


# Tools that ask


async def test_a_description_is_what_the_clients_model_says(connection: Connection) -> None:
    asked: list[str] = []

    def answer(params: CreateMessageRequestParams) -> str:
        content = params.messages[0].content
        asked.append(content.text if isinstance(content, TextContent) else "")
        return "It counts."

    connection.client.set_sampling_provider(answer)
    async with connection as client:
        of_file = await client.call_tool("describe", {"path": "a.txt"})
        of_folder = await client.call_tool("describe")

    assert ["unknown: It counts."] * 2 == [_said(of_file), _said(of_folder)]
    assert ["one two\nthree\n", "a.txt\nb.bin\nc"] == [text.partition("\n\n")[2] for text in asked]


async def test_what_is_no_text_is_not_described(connection: Connection) -> None:
    async with connection as client:
        result = await client.call_tool("describe", {"path": "b.bin"})

    assert (True, "Error: 'b.bin' is no text") == (result.is_error, _said(result))


async def test_a_model_that_answers_with_a_picture_is_not_understood(connection: Connection) -> None:
    picture = ImageContent(data="AAAA", mime_type="image/png")
    answer = CreateMessageResult(role="assistant", content=picture, model="painter")
    connection.client.set_sampling_provider(lambda: answer)
    async with connection as client:
        result = await client.call_tool("describe")

    assert (True, "Error: the model answered with something else than text") == (result.is_error, _said(result))


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ({"action": "accept", "content": {"count": 2, "smallest_first": True}}, ["b.bin", "a.txt"]),
        ({"action": "accept", "content": {}}, ["a.txt", "b.bin", "c"]),
        ({"action": "decline"}, []),
    ],
)
async def test_the_largest_files_are_shown_as_the_user_wants(
    connection: Connection, answer: dict[str, object], names: list[str]
) -> None:
    connection.client.set_elicitation_provider(lambda: answer)
    async with connection as client:
        result = await client.call_tool("show_largest")

    assert names == [file["name"] for file in _data(result)["files"]]


@pytest.mark.parametrize(
    ("root", "is_inside"),
    [("/folder", True), ("/folder/", True), ("", True), ("/folder2", False), ("/folder/a.txt", False)],
)
async def test_roots_are_compared_with_the_folder(
    connection: Connection, folder: Path, root: str, *, is_inside: bool
) -> None:
    uri = folder.parent.as_uri() + root
    connection.client.set_roots_provider(lambda: [uri])
    async with connection as client:
        result = await client.call_tool("check_roots")

    assert {"roots": [uri], "folder_is_inside": is_inside} == result.structured_content


async def test_the_folder_is_a_root_of_the_servers_own(load: Load, folder: Path) -> None:
    async with connect(load(folder).server, protocol="handshake") as client:
        roots = await client.refresh_roots()

    assert [(folder.as_uri(), "folder")] == [(root.uri, root.name) for root in roots]


# Prompts


async def test_the_introduction_names_the_files(connection: Connection) -> None:
    async with connection as client:
        (message,) = (await client.get_prompt("introduce_folder", {"audience": "a cook"})).messages

    assert isinstance(message.content, TextContent)
    assert "Introduce a folder with these files to a cook:\n\na.txt\nb.bin\nc" == message.content.text


async def test_the_explanation_encloses_the_file(connection: Connection) -> None:
    async with connection as client:
        text, enclosed = (await client.get_prompt("explain_file", {"path": "a.txt"})).messages

    assert isinstance(text.content, TextContent)
    assert isinstance(enclosed.content, EmbeddedResource)
    assert "Explain a.txt to a newcomer." == text.content.text
    assert "one two\nthree\n" == enclosed.content.resource.text


async def test_nothing_outside_the_folder_is_explained(connection: Connection, folder: Path) -> None:
    (folder.parent / "secret").write_text("secret", "utf-8")
    async with connection as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("explain_file", {"path": "../secret"})

    assert MCP_CODES.NOT_FOUND == caught.value.code


@pytest.mark.parametrize(
    "reference", [PromptReference(name="explain_file"), ResourceTemplateReference(uri="folder:///{+path}")]
)
async def test_names_that_begin_with_what_is_typed_are_suggested_first(
    load: Load, folder: Path, reference: PromptReference | ResourceTemplateReference
) -> None:
    for name in ("abc", "BCD", "cab"):
        (folder / name).touch()
    async with connect(load(folder).server) as client:
        result = await client.complete(reference, {"name": "path", "value": "b"})

    assert ["BCD", "b.bin", "abc", "cab"] == result.completion.values


def test_a_relative_folder_is_served_from_where_the_server_was_started(
    load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    assert folder == load(Path()).FOLDER.root
