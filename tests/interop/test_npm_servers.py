"""Our client with the servers from npm: every tool is called, every resource read, every prompt filled in.

Nothing is left out in silence: a tool, resource template or prompt without an entry in the tables fails its test.
"""

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from suaveplan_mcp import MCPError, connect
from suaveplan_mcp.events import FaultReported
from suaveplan_mcp.types.elicitation import ElicitRequestParams
from tests.interop.peers import DEADLINE, HANDSHAKE_REVISIONS, needs_node, node_command

pytestmark = needs_node

# For each tool, in the order they are called: its arguments, and what must be in the text of its answer. `FOLDER` is
# the folder that the server may use.
Calls = dict[str, tuple[dict[str, Any], str]]

EVERYTHING: Calls = {
    "echo": ({"message": "≤ 🎉"}, "Echo: ≤ 🎉"),
    "get-annotated-message": ({"messageType": "error", "includeImage": True}, "Error: Operation failed"),
    "get-env": ({}, "PATH"),
    "get-resource-links": ({"count": 2}, "2 resource links"),
    "get-resource-reference": ({"resourceType": "Blob", "resourceId": 2}, "Resource 2"),
    "get-roots-list": ({}, "file:///work"),
    "get-structured-content": ({"location": "Chicago"}, "temperature"),
    "get-sum": ({"a": 1, "b": 2.5}, "3.5"),
    "get-tiny-image": ({}, "image"),
    "gzip-file-as-resource": ({"name": "x.gz", "data": "data:text/plain,x", "outputType": "resource"}, ""),
    "simulate-research-query": ({"topic": "bees"}, "requires task augmentation"),
    "toggle-simulated-logging": ({}, "Started simulated"),
    "toggle-subscriber-updates": ({}, "Started simulated resource updated"),
    "trigger-elicitation-request": ({}, "Name: Ada"),
    "trigger-long-running-operation": ({"duration": 0.1, "steps": 2}, "completed"),
    "trigger-sampling-request": ({"prompt": "Well?"}, "the model says"),
    "trigger-url-elicitation": ({"url": "https://example.org/look", "elicitationId": "look-1"}, "look-1"),
}
FILESYSTEM: Calls = {
    "write_file": ({"path": "FOLDER/b.txt", "content": "≤ 🎉\nthree\nthree\n"}, "Successfully wrote"),
    "read_file": ({"path": "FOLDER/b.txt"}, "≤ 🎉"),
    "read_text_file": ({"path": "FOLDER/b.txt", "tail": 2}, "three"),
    "read_media_file": ({"path": "FOLDER/pixel.png"}, ""),
    "read_multiple_files": ({"paths": ["FOLDER/b.txt", "FOLDER/absent"]}, "ENOENT"),
    "edit_file": ({"path": "FOLDER/b.txt", "edits": [{"oldText": "three\nthree", "newText": "3"}]}, "+3"),
    "create_directory": ({"path": "FOLDER/sub"}, "Successfully created"),
    "move_file": ({"source": "FOLDER/b.txt", "destination": "FOLDER/sub/b.txt"}, "Successfully moved"),
    "list_directory": ({"path": "FOLDER"}, "[DIR] sub"),
    "list_directory_with_sizes": ({"path": "FOLDER", "sortBy": "size"}, "Total: 1 files, 1 directories"),
    "directory_tree": ({"path": "FOLDER"}, '"children"'),
    "search_files": ({"path": "FOLDER", "pattern": "**/*.txt"}, "sub/b.txt"),
    "get_file_info": ({"path": "FOLDER/pixel.png"}, "isFile: true"),
    "list_allowed_directories": ({}, "FOLDER"),
}
MEMORY: Calls = {
    "create_entities": (
        {"entities": [{"name": n, "entityType": "person", "observations": ["counts"]} for n in ("Ada", "Charles")]},
        "Charles",
    ),
    "create_relations": ({"relations": [{"from": "Ada", "to": "Charles", "relationType": "knows"}]}, "knows"),
    "add_observations": ({"observations": [{"entityName": "Ada", "contents": ["writes"]}]}, "writes"),
    "read_graph": ({}, "relations"),
    "search_nodes": ({"query": "writes"}, "Ada"),
    "open_nodes": ({"names": ["Charles"]}, "counts"),
    "delete_observations": ({"deletions": [{"entityName": "Ada", "observations": ["writes"]}]}, "deleted"),
    "delete_relations": ({"relations": [{"from": "Ada", "to": "Charles", "relationType": "knows"}]}, "deleted"),
    "delete_entities": ({"entityNames": ["Ada"]}, "deleted"),
}
SEQUENTIAL_THINKING: Calls = {
    "sequentialthinking": (
        {"thought": "≤ 🎉", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1, "isRevision": False},
        '"thoughtHistoryLength": 1',
    ),
}
CALLS = {
    "server-everything": EVERYTHING,
    "server-filesystem": FILESYSTEM,
    "server-memory": MEMORY,
    "server-sequential-thinking": SEQUENTIAL_THINKING,
}
# Tools whose answer is an error result, as it should be.
FAILING = {"simulate-research-query"}

# For each template of `server-everything`, a URI that it describes; for each prompt, its arguments.
TEMPLATES = {
    "demo://resource/dynamic/text/{resourceId}": "demo://resource/dynamic/text/3",
    "demo://resource/dynamic/blob/{resourceId}": "demo://resource/dynamic/blob/3",
}
PROMPTS = {
    "simple-prompt": {},
    "args-prompt": {"city": "Oslo", "state": "Norway"},
    "completable-prompt": {"department": "Engineering", "name": "Alice"},
    "resource-prompt": {"resourceType": "Blob", "resourceId": "1"},
}


def _answer_user(params: ElicitRequestParams) -> object:
    return "accept" if params.mode == "url" else {"name": "Ada"}


def _connect(package: str, folder: Path, target: str | None = None, **options: Any) -> Any:
    """Return a connection whose client has every provider, and reports every fault to its list `faults`."""
    arguments = {"server-everything": ["stdio"], "server-filesystem": [str(folder)]}.get(package, [])
    environment = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    connection: Any = connect(target or node_command(package, *arguments), env=environment, **options)
    client = connection.client
    client.set_sampling_provider(lambda _: "the model says")
    client.set_elicitation_provider(_answer_user, url=True)
    client.set_roots_provider(lambda _: ["file:///work"])
    client.faults = []
    client.events.on("fault:reported", lambda fault: client.faults.append(_of(fault)))
    return connection


def _of(fault: FaultReported) -> str:
    return fault.fault


def _placed(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace("FOLDER", str(folder)))


async def _call_all(client: Any, calls: Calls, folder: Path) -> dict[str, Any]:
    """Call every tool, look at each answer, and return them."""
    listed = {tool.name: tool for tool in await client.refresh_tools()}
    assert sorted(calls) == sorted(listed), "a tool came or went: bring the table up to date"
    results: dict[str, Any] = {}
    for name, (arguments, said) in calls.items():
        result = results[name] = await client.call_tool(name, _placed(arguments, folder))
        text = "\n".join(block.text for block in result.content if hasattr(block, "text"))
        assert (name in FAILING) == bool(result.is_error), text
        assert _placed(said, folder) in text
        if listed[name].output_schema is not None:
            validate(result.structured_content, listed[name].output_schema)
    return results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one file that is no text."""
    (tmp_path / "pixel.png").write_bytes(b"\x89PNG")
    return tmp_path


@pytest.mark.parametrize("package", ["server-memory", "server-sequential-thinking", "server-everything"])
async def test_every_tool_of_a_server_is_called(package: str, folder: Path) -> None:
    async with _connect(package, folder, prefetch=True) as client:
        await _until_complete(client, CALLS[package])
        results = await _call_all(client, CALLS[package], folder)

    assert [] == client.faults
    if package == "server-everything":
        kinds = {block.type for result in results.values() for block in result.content}
        assert {"text", "image", "resource", "resource_link"} == kinds


async def _until_complete(client: Any, calls: Calls) -> None:
    """Wait for the tools that a server adds once it knows what the client declared."""
    changed = asyncio.Event()
    client.events.on("list:changed", lambda _: changed.set())
    while not calls.keys() <= {tool.name for tool in client.tools()}:
        await changed.wait()
        changed.clear()


async def test_every_tool_of_the_filesystem_server_is_called_in_the_folder_that_is_a_root(folder: Path) -> None:
    connection = _connect("server-filesystem", folder)
    connection.client.set_roots_provider(lambda _: [folder])
    async with connection as client:
        results = await _call_all(client, FILESYSTEM, folder)
        outside = await client.call_tool("read_text_file", {"path": "/etc/hostname"})

    assert "image" == results["read_media_file"].content[0].type
    assert outside.is_error
    assert "outside allowed directories" in outside.content[0].text
    assert [] == client.faults


async def test_the_filesystem_server_follows_the_roots_when_they_change(folder: Path) -> None:
    roots = [folder]
    asked: asyncio.Queue[None] = asyncio.Queue()

    def list_roots(_: object) -> list[Path]:
        asked.put_nowait(None)
        return roots

    connection = _connect("server-filesystem", folder)
    connection.client.set_roots_provider(list_roots)
    (folder / "other").mkdir()
    async with connection as client:
        await asked.get()
        roots[:] = [folder / "other"]
        await client.send_roots_list_changed()
        await asked.get()
        allowed = await _wait_for_text(client, "list_allowed_directories", str(folder / "other"))

    assert allowed.endswith(f"\n{folder / 'other'}")


async def _wait_for_text(client: Any, tool: str, wanted: str) -> str:
    while wanted not in (text := (await client.call_tool(tool)).content[0].text):
        await asyncio.sleep(0)
    return text


@pytest.mark.parametrize("package", ["server-memory", "server-everything"])
async def test_every_resource_is_read(package: str, folder: Path) -> None:
    async with _connect(package, folder) as client:
        resources = await client.refresh_resources()
        templates = [template.uri_template for template in await client.refresh_resource_templates()]
        uris = [resource.uri for resource in resources] + [TEMPLATES[template] for template in templates]
        contents = {uri: (await client.read_resource(uri)).contents for uri in uris}

    assert resources
    assert all(content.text or content.blob for (content,) in contents.values())
    assert [] == client.faults


async def test_every_prompt_is_filled_in_and_completed(folder: Path) -> None:
    async with _connect("server-everything", folder) as client:
        prompts = {prompt.name: prompt for prompt in await client.refresh_prompts()}
        filled = {name: await client.get_prompt(name, PROMPTS[name]) for name in prompts}
        departments = await client.complete(
            {"type": "ref/prompt", "name": "completable-prompt"}, {"name": "department", "value": "E"}
        )
        people = await client.complete(
            {"type": "ref/prompt", "name": "completable-prompt"},
            {"name": "name", "value": "B"},
            {"arguments": {"department": "Engineering"}},
        )

    assert PROMPTS.keys() == prompts.keys()
    assert "Oslo, Norway" in filled["args-prompt"].messages[0].content.text
    assert "resource" == filled["resource-prompt"].messages[1].content.type
    assert ["Engineering"] == departments.completion.values
    assert ["Bob"] == people.completion.values
    assert [] == client.faults


async def test_what_is_not_there_is_reported(folder: Path) -> None:
    async with _connect("server-everything", folder) as client:
        unknown = await client.call_tool("nowhere")
        wrong = await client.call_tool("get-sum", {"a": "one", "b": 2})
        with pytest.raises(MCPError, match="nowhere not found"):
            await client.read_resource("demo://nowhere")
        with pytest.raises(MCPError, match="nowhere not found"):
            await client.get_prompt("nowhere")

    assert unknown.is_error
    assert "expected number" in wrong.content[0].text


async def test_progress_and_cancellation(folder: Path) -> None:
    heard: list[tuple[float, float | None]] = []
    progressed = asyncio.Event()
    async with _connect("server-everything", folder) as client:
        await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.1, "steps": 2},
            on_progress=lambda progress: heard.append((progress.progress, progress.total)),
        )
        given_up = asyncio.ensure_future(
            client.call_tool(
                "trigger-long-running-operation",
                {"duration": 0.5, "steps": 50},
                on_progress=lambda _: progressed.set(),
            )
        )
        await progressed.wait()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        await client.ping()

    assert [(1, 2), (2, 2)] == heard


async def test_a_tool_that_runs_as_a_task_is_followed_to_its_result(folder: Path) -> None:
    params = {"name": "simulate-research-query", "arguments": {"topic": "bees"}, "task": {"ttl": 60_000}}
    async with _connect("server-everything", folder, prefetch=True) as client:
        await _until_complete(client, EVERYTHING)
        task = (await client.request("tools/call", params)).task
        listed = (await client.request("tasks/list")).tasks
        seen = await client.request("tasks/get", {"taskId": task.task_id})
        result = await client.request("tasks/result", {"taskId": task.task_id})

    assert [task.task_id] == [each.task_id for each in listed]
    assert "working" == seen.status
    assert "bees" in bytes(result.raw).decode()
    assert [] == client.faults


async def test_a_subscribed_resource_is_read_again(folder: Path) -> None:
    updated: asyncio.Queue[str] = asyncio.Queue()
    uri = "demo://resource/dynamic/text/1"
    async with _connect("server-everything", folder) as client:
        client.events.on("resource:updated", lambda event: updated.put_nowait(event.uri))
        await client.subscribe_resource(uri)
        # The first update comes at once.
        await client.call_tool("toggle-subscriber-updates")

        assert uri == await updated.get()
        assert "Resource 1" in client.updated_resource(uri).contents[0].text
        await client.unsubscribe_resource(uri)


async def test_log_messages_are_heard(folder: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with _connect("server-everything", folder, on_log=lambda params: heard.put_nowait(params.data)) as client:
        await client.set_log_level("debug")
        await client.subscribe_resource("demo://resource/dynamic/text/1")
        assert "Received Subscribe Resource request" in await heard.get()


async def test_an_address_that_must_be_visited_first_is_an_error_with_the_address(folder: Path) -> None:
    arguments = {"url": "https://example.org/look", "elicitationId": "look-1", "errorPath": True}
    async with _connect("server-everything", folder, prefetch=True) as client:
        await _until_complete(client, EVERYTHING)
        with pytest.raises(MCPError) as required:
            await client.call_tool("trigger-url-elicitation", arguments)

    assert -32042 == required.value.jsonrpc_code
    (elicitation,) = required.value.data["elicitations"]
    assert ("url", "https") == (elicitation["mode"], elicitation["url"][:5])


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_every_revision_of_the_handshake_can_be_pinned(revision: str, folder: Path) -> None:
    async with _connect("server-everything", folder, protocol=revision) as client:
        assert revision == client.protocol_version
        assert "Echo: hello" == (await client.call_tool("echo", {"message": "hello"})).content[0].text


@contextmanager
def _everything_over_sse() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        node_command("server-everything", "sse"),
        env={**os.environ, "PORT": str(port)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if re.search(r"running on port", line):
                break
        yield f"http://127.0.0.1:{port}/sse"
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


async def test_every_tool_is_called_over_http_with_server_sent_events(folder: Path) -> None:
    with _everything_over_sse() as url:
        async with _connect("server-everything", folder, url, prefetch=True) as client:
            await _until_complete(client, EVERYTHING)
            await _call_all(client, EVERYTHING, folder)

    assert [] == client.faults
