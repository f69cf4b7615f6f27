"""The official SDK's client with our server: every callback it has, every revision it can negotiate."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client

from tests.interop.conftest import Reach
from tests.interop.peers import ENVIRONMENT, HANDSHAKE_REVISIONS, Target

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

TOOLS = (
    "add birthday call_back count count_in_turn fill_in grow introduce "
    "places recall refuse shout show speak think touch visit wait"
)


@pytest.fixture
def server(transport: str, reach: Reach) -> Target:
    """Return what connects to our server."""
    return reach("ours", transport)


def _transport(server: Target) -> AbstractAsyncContextManager[Any]:
    if isinstance(server, str):
        return sse_client(server)
    return stdio_client(StdioServerParameters(command=server[0], args=server[1:], env=ENVIRONMENT))


def _client(server: Target, **options: Any) -> Client:
    return Client(_transport(server), **{"mode": "legacy", **options})


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    return block.text


async def _pages(list_page: Any, attribute: str) -> list[Any]:
    items: list[Any] = []
    page = await list_page()
    items += getattr(page, attribute)
    while page.next_cursor is not None:
        page = await list_page(cursor=page.next_cursor)
        items += getattr(page, attribute)
    return items


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_connects_and_learns_what_the_server_is(server: Target, mode: str) -> None:
    async with _client(server, mode=mode, client_info=types.Implementation(name="theirs", version="1")) as client:
        assert "2025-11-25" == client.protocol_version
        assert client.server_info is not None
        assert ("ours", "1.0") == (client.server_info.name, client.server_info.version)
        assert "Ask for anything." == client.instructions
        await client.send_ping()
        introduced = await client.call_tool("introduce")

    assert {"name": "theirs", "revision": "2025-11-25", "declared": []} == introduced.structured_content


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_every_revision_of_the_handshake_can_be_negotiated(server: Target, revision: str) -> None:
    async with _transport(server) as (read, write), ClientSession(read, write) as session:
        params = types.InitializeRequestParams(
            protocol_version=revision,
            capabilities=types.ClientCapabilities(),
            client_info=types.Implementation(name="theirs", version="1"),
        )
        agreed = await session.send_request(types.InitializeRequest(params=params), types.InitializeResult)
        session.adopt(agreed)
        await session.send_notification(types.InitializedNotification())

        assert revision == agreed.protocol_version
        assert "3" == _text(await session.call_tool("add", {"a": 1, "b": 2}))
        assert "introduce" in {tool.name for tool in await _session_tools(session)}
        assert "≤ hello 🎉" == (await session.read_resource("mem://greeting")).contents[0].text
        assert "Hello!" == (await session.get_prompt("greet", {"name": "Ada"})).messages[1].content.text


async def _session_tools(session: ClientSession) -> list[types.Tool]:
    async def page(cursor: str | None = None) -> types.ListToolsResult:
        return await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))

    return await _pages(page, "tools")


async def test_every_list_is_read_page_by_page(server: Target) -> None:
    async with _client(server) as client:
        tools = {tool.name: tool for tool in await _pages(client.list_tools, "tools")}
        resources = {resource.uri for resource in await _pages(client.list_resources, "resources")}
        templates = await _pages(client.list_resource_templates, "resource_templates")
        prompts = {prompt.name: prompt for prompt in await _pages(client.list_prompts, "prompts")}

    assert set(TOOLS.split()) <= tools.keys()
    assert "Addition" == tools["add"].title
    assert tools["add"].annotations.read_only_hint
    assert ["name"] == tools["birthday"].output_schema["required"]
    assert {"mem://greeting", "mem://bytes", "mem://many"} <= resources
    assert ["mem://city/{name}"] == [template.uri_template for template in templates]
    assert {"name": True, "tone": False} == {a.name: bool(a.required) for a in prompts["greet"].arguments}


async def test_tools_are_called_and_their_results_fit_their_schemas(server: Target) -> None:
    async with _client(server) as client:
        # With the schemas at hand it checks the structured results against them.
        await _pages(client.list_tools, "tools")
        added = await client.call_tool("add", {"a": 1, "b": 2})
        born = await client.call_tool("birthday", {"person": {"name": "Ada"}})
        shouted = await client.call_tool("shout", {"text": "≤ 🎉 ä"})

    assert ("3", {"result": 3}) == (_text(added), added.structured_content)
    assert {"name": "Ada", "age": 37} == born.structured_content
    assert "≤ 🎉 Ä" == _text(shouted)


async def test_content_of_every_kind_arrives(server: Target) -> None:
    async with _client(server) as client:
        blocks = (await client.call_tool("show")).content

    assert ["text", "image", "audio", "resource_link", "resource"] == [block.type for block in blocks]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"), [("refuse", {"reason": "not today"}, "not today"), ("add", {"a": "one"}, "a")]
)
async def test_a_call_that_fails_is_an_error_result(
    server: Target, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with _client(server) as client:
        result = await client.call_tool(tool, arguments)

    assert result.is_error
    assert said in result.content[0].text


async def test_what_is_not_there_is_an_error_with_the_number_of_the_specification(server: Target) -> None:
    async with _client(server) as client:
        numbers: list[int] = []
        for ask in (client.call_tool("nowhere"), client.get_prompt("nowhere"), client.read_resource("mem://nowhere")):
            with pytest.raises(MCPError) as refused:
                await ask
            numbers.append(refused.value.code)

    assert [-32602, -32602, -32002] == numbers


async def test_progress_is_heard_in_order(server: Target) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with _client(server) as client:
        await client.call_tool("count", {"upto": 3}, progress_callback=hear)

    assert [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")] == sorted(heard)


async def test_log_messages_of_the_level_are_heard(server: Target) -> None:
    heard: asyncio.Queue[types.LoggingMessageNotificationParams] = asyncio.Queue()

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.put_nowait(params)

    async with _client(server, logging_callback=hear) as client:
        await client.set_logging_level("warning")
        await client.call_tool("speak")
        only = await heard.get()
        await client.set_logging_level("debug")
        await client.call_tool("speak")
        first = await heard.get()

    assert ("warning", "louder", "speaker") == (only.level, only.data, only.logger)
    assert ("debug", {"step": 1}) == (first.level, first.data)


async def test_the_server_asks_its_model(server: Target) -> None:
    async def answer(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        (message,) = params.messages
        assert ("Be brief.", 10, 0.5) == (params.system_prompt, params.max_tokens, params.temperature)
        text = types.TextContent(type="text", text=message.content.text[::-1])
        return types.CreateMessageResult(role="assistant", content=text, model="mirror", stop_reason="endTurn")

    async with _client(server, sampling_callback=answer) as client:
        assert "mirror: olleh" == _text(await client.call_tool("think", {"question": "hello"}))
        assert ["sampling"] == (await client.call_tool("introduce")).structured_content["declared"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            types.ElicitResult(action="accept", content={"name": "Ada", "count": 4}),
            "accept [('count', 4), ('name', 'Ada')]",
        ),
        (types.ElicitResult(action="decline"), "decline"),
        (types.ElicitResult(action="cancel"), "cancel"),
    ],
    ids=["accept", "decline", "cancel"],
)
async def test_the_server_asks_its_user(server: Target, answer: types.ElicitResult, told: str) -> None:
    asked: list[Any] = []

    async def fill_in(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params)
        return answer

    async with _client(server, elicitation_callback=fill_in) as client:
        assert told == _text(await client.call_tool("fill_in"))

    assert "Who are you?" == asked[0].message
    assert ["name"] == asked[0].requested_schema["required"]


async def test_the_server_sends_its_user_to_an_address(server: Target) -> None:
    asked: list[Any] = []
    completed: asyncio.Queue[str] = asyncio.Queue()

    async def visit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept")

    async def hear(message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            completed.put_nowait(message.params.elicitation_id)

    async with _client(server, elicitation_callback=visit, message_handler=hear) as client:
        assert "accept" == _text(await client.call_tool("visit"))
        assert "look-1" == await completed.get()

    assert ("https://example.org/look", "look-1") == (asked[0].url, asked[0].elicitation_id)


async def test_the_server_asks_for_its_roots_and_pings_it(server: Target) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="Work")])

    async with _client(server, list_roots_callback=roots) as client:
        assert ["Work file:///work"] == (await client.call_tool("places")).structured_content["result"]
        assert "it is there" == _text(await client.call_tool("call_back"))
        await client.send_roots_list_changed()
        await client.send_ping()


async def test_asking_for_what_it_did_not_declare_fails_the_tool(server: Target) -> None:
    async with _client(server) as client:
        for tool in ("fill_in", "places"):
            assert (await client.call_tool(tool)).is_error


async def test_an_error_of_a_callback_is_an_error_result_of_the_tool(server: Target) -> None:
    async def roots(_: Any) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="the disk is away")

    async with _client(server, list_roots_callback=roots) as client:
        result = await client.call_tool("places")

    assert result.is_error
    assert "-32000" in result.content[0].text


async def test_a_call_that_is_given_up_ends_at_the_server(server: Target) -> None:
    started = asyncio.Event()

    async def hear(*_: Any) -> None:
        started.set()

    async with _client(server) as client:
        before = len((await client.call_tool("recall")).structured_content["result"])
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: client.call_tool("wait", progress_callback=hear))
            await started.wait()
            group.cancel_scope.cancel()
        while before == len((await client.call_tool("recall")).structured_content["result"]):
            await asyncio.sleep(0)


async def test_resources_are_read(server: Target) -> None:
    async with _client(server) as client:
        (text,) = (await client.read_resource("mem://greeting")).contents
        (blob,) = (await client.read_resource("mem://bytes")).contents
        (city,) = (await client.read_resource("mem://city/Oslo")).contents

    assert ("≤ hello 🎉", "text/plain") == (text.text, text.mime_type)
    assert "AAECAw==" == blob.blob
    assert "Oslo is a city" == city.text


async def test_prompts_are_filled_in(server: Target) -> None:
    async with _client(server) as client:
        filled = await client.get_prompt("greet", {"name": "Ada"})
        with pytest.raises(MCPError, match="name"):
            await client.get_prompt("greet")

    assert [("user", "Greet Ada in a warm way."), ("assistant", "Hello!")] == [
        (message.role, message.content.text) for message in filled.messages
    ]


async def test_arguments_are_completed(server: Target) -> None:
    template = types.ResourceTemplateReference(type="ref/resource", uri="mem://city/{name}")
    prompt = types.PromptReference(type="ref/prompt", name="greet")
    async with _client(server) as client:
        cities = await client.complete(template, {"name": "name", "value": "Ber"})
        tones = await client.complete(prompt, {"name": "tone", "value": "c"}, {"name": "Ada"})

    assert ["Berlin", "Bern"] == cities.completion.values
    assert ["cAda"] == tones.completion.values


async def test_it_hears_that_lists_and_resources_have_changed(server: Target) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        heard.put_nowait(message.method)

    async with _client(server, message_handler=hear) as client:
        await client.subscribe_resource("mem://greeting")
        await client.call_tool("touch", {"uri": "mem://bytes"})
        await client.call_tool("touch", {"uri": "mem://greeting"})
        assert "notifications/resources/updated" == await heard.get()
        await client.unsubscribe_resource("mem://greeting")
        await client.call_tool("touch", {"uri": "mem://greeting"})
        await client.call_tool("grow")
        changed = {await heard.get() for _ in range(3)}

    assert {f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts")} == changed
