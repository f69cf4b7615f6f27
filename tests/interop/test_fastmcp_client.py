"""FastMCP's client with our server: what it does in its own way on top of the official SDK."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Client
from fastmcp.client.client import CallToolResult
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError

from tests.interop.conftest import Reach
from tests.interop.peers import ENVIRONMENT, HANDSHAKE_REVISIONS, Target

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


@pytest.fixture
def server(transport: str, reach: Reach) -> Target:
    """Return what connects to our server."""
    return reach("ours", transport)


def _client(server: Target, **options: Any) -> Client[Any]:
    transport = (
        SSETransport(server)
        if isinstance(server, str)
        else StdioTransport(server[0], server[1:], env=ENVIRONMENT, keep_alive=False)
    )
    return Client(transport, **{"mode": "legacy", **options})


def _text(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_connects_and_learns_what_the_server_is(server: Target, mode: str) -> None:
    async with _client(server, mode=mode) as client:
        assert "2025-11-25" == client.protocol_version
        assert client.server_info is not None
        assert "ours" == client.server_info.name
        assert "Ask for anything." == client.instructions
        assert await client.ping()
        introduced = await client.call_tool("introduce")

    assert "2025-11-25" == introduced.structured_content["revision"]


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_every_revision_of_the_handshake_can_be_negotiated(server: Target, revision: str) -> None:
    async with _client(server, auto_initialize=False) as client:
        params = types.InitializeRequestParams(
            protocol_version=revision,
            capabilities=types.ClientCapabilities(),
            client_info=types.Implementation(name="theirs", version="1"),
        )
        agreed = await client.session.send_request(types.InitializeRequest(params=params), types.InitializeResult)
        client.session.adopt(agreed)
        await client.session.send_notification(types.InitializedNotification())

        assert revision == agreed.protocol_version
        assert "3" == _text(await client.call_tool("add", {"a": 1, "b": 2}))


async def test_every_list_is_read_to_its_end(server: Target) -> None:
    async with _client(server) as client:
        tools = {tool.name for tool in await client.list_tools()}
        resources = {resource.uri for resource in await client.list_resources()}
        templates = [template.uri_template for template in await client.list_resource_templates()]
        prompts = {prompt.name for prompt in await client.list_prompts()}

    assert {"add", "introduce", "touch"} <= tools
    assert {"mem://greeting", "mem://bytes", "mem://many"} <= resources
    assert ["mem://city/{name}"] == templates
    assert {"greet"} <= prompts


async def test_results_become_what_their_schemas_say(server: Target) -> None:
    async with _client(server) as client:
        added = await client.call_tool("add", {"a": 1, "b": 2})
        born = await client.call_tool("birthday", {"person": {"name": "Ada"}})
        recalled = await client.call_tool("recall")
        shown = await client.call_tool("show")

    assert ("Ada", 37) == (born.data.name, born.data.age)
    # It takes a value out of its object only where a server of its own has put it in.
    assert 3 == added.data.result
    assert isinstance(recalled.data.result, list)
    assert ["text", "image", "audio", "resource_link", "resource"] == [block.type for block in shown.content]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [("refuse", {"reason": "not today"}, "not today"), ("add", {"a": "one", "b": 2}, "a")],
)
async def test_a_call_that_fails_raises(server: Target, tool: str, arguments: dict[str, Any], said: str) -> None:
    async with _client(server) as client:
        with pytest.raises(ToolError, match=said):
            await client.call_tool(tool, arguments)
        with pytest.raises(MCPError):
            await client.call_tool("nowhere")


async def test_progress_and_log_messages_are_heard(server: Target) -> None:
    progress: list[tuple[float, float | None, str | None]] = []
    logged: asyncio.Queue[types.LoggingMessageNotificationParams] = asyncio.Queue()

    async def hear_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append((value, total, message))

    async def hear_log(message: types.LoggingMessageNotificationParams) -> None:
        logged.put_nowait(message)

    async with _client(server, progress_handler=hear_progress, log_handler=hear_log) as client:
        await client.call_tool("count", {"upto": 2})
        await client.set_logging_level("debug")
        await client.call_tool("speak")
        levels = {(await logged.get()).level for _ in range(2)}

    assert [(1, 2, "at 1"), (2, 2, "at 2")] == sorted(progress)
    assert {"debug", "warning"} == levels


async def test_the_server_asks_its_model(server: Target) -> None:
    def answer(messages: list[types.SamplingMessage], params: types.CreateMessageRequestParams, _: Any) -> str:
        assert "Be brief." == params.system_prompt
        return messages[0].content.text[::-1]

    async with _client(server, sampling_handler=answer) as client:
        assert "fastmcp-slim: olleh" == _text(await client.call_tool("think", {"question": "hello"}))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "accept [('count', 3), ('name', 'Ada'), ('sure', False)]"),
        (ElicitResult(action="decline"), "decline"),
        (ElicitResult(action="cancel"), "cancel"),
    ],
    ids=["accept", "decline", "cancel"],
)
async def test_the_server_asks_its_user(server: Target, answer: object, told: str) -> None:
    asked: list[str] = []

    async def fill_in(message: str, response_type: Any, *_: Any) -> Any:
        asked.append(message)
        # The form has become a class, made from its schema.
        return answer or response_type(name="Ada")

    async with _client(server, elicitation_handler=fill_in) as client:
        assert told == _text(await client.call_tool("fill_in"))

    assert ["Who are you?"] == asked


async def test_the_server_sends_its_user_to_an_address(server: Target) -> None:
    asked: list[Any] = []

    async def visit(_: str, response_type: Any, params: Any, *__: Any) -> Any:
        asked.append((response_type, params.url))
        return ElicitResult(action="accept")

    async with _client(server, elicitation_handler=visit) as client:
        assert "accept" == _text(await client.call_tool("visit"))

    assert [(None, "https://example.org/look")] == asked


async def test_the_server_asks_for_its_roots_and_pings_it(server: Target) -> None:
    async with _client(server, roots=["file:///work"]) as client:
        assert '["None file:///work"]' == _text(await client.call_tool("places"))
        assert "it is there" == _text(await client.call_tool("call_back"))
        await client.send_roots_list_changed()
        assert await client.ping()


async def test_a_call_that_is_given_up_ends_at_the_server(server: Target) -> None:
    started = asyncio.Event()

    async def hear(*_: Any) -> None:
        started.set()

    async with _client(server) as client:
        before = len((await client.call_tool("recall")).structured_content["result"])
        call = asyncio.ensure_future(client.call_tool("wait", progress_handler=hear))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while before == len((await client.call_tool("recall")).structured_content["result"]):
            await asyncio.sleep(0)


async def test_resources_and_prompts_are_read(server: Target) -> None:
    async with _client(server) as client:
        (text,) = await client.read_resource("mem://greeting")
        (blob,) = await client.read_resource("mem://bytes")
        (city,) = await client.read_resource("mem://city/Oslo")
        filled = await client.get_prompt("greet", {"name": "Ada"})

    assert ["≤ hello 🎉", "AAECAw==", "Oslo is a city"] == [text.text, blob.blob, city.text]
    assert ["user", "assistant"] == [message.role for message in filled.messages]


async def test_arguments_are_completed(server: Target) -> None:
    template = types.ResourceTemplateReference(type="ref/resource", uri="mem://city/{name}")
    async with _client(server) as client:
        cities = await client.complete(template, {"name": "name", "value": "Ber"})

    assert ["Berlin", "Bern"] == cities.values


async def test_it_hears_that_lists_have_changed(server: Target) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        heard.put_nowait(message.method)

    async with _client(server, message_handler=hear) as client:
        await client.call_tool("touch", {"uri": "mem://bytes"})
        await client.call_tool("grow")
        changed = {await heard.get() for _ in range(3)}

    assert {f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts")} == changed
