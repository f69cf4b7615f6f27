"""The TypeScript clients with our server: one walk through everything, and what it saw."""

import json
import subprocess
from functools import cache
from typing import Any

import pytest

from tests.interop.conftest import Reach
from tests.interop.peers import DEADLINE, ENVIRONMENT, HANDSHAKE_REVISIONS, NODE_FOLDER, Target, needs_node

pytestmark = needs_node

LIBRARIES = ["client", "sdk"]
"""The package of today, and the one that most programs still use."""


@cache
def _walk(library: str, server: str, options: str) -> dict[str, Any]:
    """Let a client walk; `server` and `options` are JSON."""
    settings = {"library": library, "env": ENVIRONMENT, "options": json.loads(options), **json.loads(server)}
    walked = subprocess.run(
        ["node", "client.mjs", json.dumps(settings)],
        cwd=NODE_FOLDER,
        capture_output=True,
        check=False,
        text=True,
        timeout=DEADLINE,
    )
    assert not walked.returncode, walked.stderr
    return json.loads(walked.stdout)


def walk(library: str, server: Target, **options: object) -> dict[str, Any]:
    """Return what a client saw on its walk; it walks once."""
    target = {"url": server} if isinstance(server, str) else {"command": server}
    return _walk(library, json.dumps(target), json.dumps(options))


@pytest.fixture(params=LIBRARIES)
def seen(request: pytest.FixtureRequest, transport: str, reach: Reach) -> dict[str, Any]:
    """Return what each client saw over each transport."""
    return walk(request.param, reach("ours", transport))


def _texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


def test_it_connects_and_learns_what_the_server_is(seen: dict[str, Any]) -> None:
    assert {"name": "ours", "title": "Of this library", "version": "1.0"} == seen["server"]
    assert "Ask for anything." == seen["instructions"]
    assert {"name": "theirs", "revision": "2025-11-25", "declared": ["sampling", "elicitation", "roots"]} == seen[
        "introduced"
    ]["structuredContent"]
    assert [] == seen["errors"]


def test_every_list_is_read_page_by_page(seen: dict[str, Any]) -> None:
    tools = {tool["name"]: tool for tool in seen["tools"]}

    assert {"add", "introduce", "wait"} <= tools.keys()
    assert ("Addition", True) == (tools["add"]["title"], tools["add"]["annotations"]["readOnlyHint"])
    assert {"mem://greeting", "mem://bytes", "mem://many"} <= {resource["uri"] for resource in seen["resources"]}
    assert ["mem://city/{name}"] == [template["uriTemplate"] for template in seen["templates"]]
    assert "greet" in {prompt["name"] for prompt in seen["prompts"]}


def test_tools_are_called_and_their_results_fit_their_schemas(seen: dict[str, Any]) -> None:
    assert {"result": 3} == seen["added"]["structuredContent"]
    assert {"name": "Ada", "age": 37} == seen["born"]["structuredContent"]
    assert ["text", "image", "audio", "resource_link", "resource"] == [b["type"] for b in seen["shown"]["content"]]


def test_what_fails_is_an_error_or_an_error_result(seen: dict[str, Any]) -> None:
    assert seen["refused"]["isError"]
    assert "not today" in _texts(seen["refused"])[0]
    assert "no error" == seen["wrong"]
    tool, resource, prompt = (error["code"] for error in seen["missing"])
    # One of them has a class for a resource that is not there, which always bears the number of today.
    assert (-32602, True, -32602) == (tool, resource in {-32002, -32602}, prompt)


def test_progress_and_log_messages_are_heard(seen: dict[str, Any]) -> None:
    logged = [heard["params"] for heard in seen["heard"] if heard["method"] == "notifications/message"]

    assert [{"progress": n, "total": 3, "message": f"at {n}"} for n in (1, 2, 3)] == seen["progress"]
    assert [{"level": "warning", "logger": "speaker", "data": "louder"}] == logged


def test_the_server_asks_it(seen: dict[str, Any]) -> None:
    assert ["mirror: olleh"] == _texts(seen["thought"])
    assert "Be brief." == seen["asked"]["sampling"]["systemPrompt"]
    assert ["it is there"] == _texts(seen["calledBack"])
    assert {"result": ["Work file:///work"]} == seen["places"]["structuredContent"]
    # One of the two adds the defaults of the form, where it is asked to.
    assert "('count', 4), ('name', 'Ada')" in _texts(seen["form"])[0]
    assert ["name"] == seen["asked"]["form"]["requestedSchema"]["required"]
    assert ["accept"] == _texts(seen["visited"])
    assert "https://example.org/look" == seen["asked"]["visit"]["url"]


def test_resources_and_prompts_are_read_and_completed(seen: dict[str, Any]) -> None:
    assert "≤ hello 🎉" == seen["contents"]["mem://greeting"][0]["text"]
    assert "AAECAw==" == seen["contents"]["mem://bytes"][0]["blob"]
    assert "Oslo is a city" == seen["contents"]["mem://city/Oslo"][0]["text"]
    assert ["user", "assistant"] == [message["role"] for message in seen["filled"]["messages"]]
    assert ["Berlin", "Bern"] == seen["completed"]["completion"]["values"]


def test_it_hears_of_changes(seen: dict[str, Any]) -> None:
    methods = [heard["method"] for heard in seen["heard"]]

    assert 1 == methods.count("notifications/resources/updated")
    assert {f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts")} <= set(methods)


def test_a_call_that_is_given_up_ends_at_the_server(seen: dict[str, Any]) -> None:
    # The walk would not have gone on otherwise.
    assert "enough" in seen["givenUp"]["message"]


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_every_revision_of_the_handshake_can_be_negotiated(revision: str, transport: str, reach: Reach) -> None:
    seen = walk("client", reach("ours", transport), supportedProtocolVersions=[revision])

    assert revision in _texts(seen["introduced"])[0]
    assert [] == seen["errors"]


def test_a_client_that_tries_the_stateless_revision_first_falls_back(transport: str, reach: Reach) -> None:
    seen = walk("client", reach("ours", transport), versionNegotiation={"mode": "auto"})

    assert "2025-11-25" in _texts(seen["introduced"])[0]
