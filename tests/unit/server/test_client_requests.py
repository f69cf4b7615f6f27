"""What a server asks its clients, and only where they can be asked."""

import asyncio
import functools
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.jsonrpc.messages import JsonObject, Response
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.asking import AskError, elicitation, roots, sampling
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.roots import Root
from suaveplan_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from suaveplan_mcp.types.tools import Tool
from tests.unit.server.peers import EVERYTHING, call, join, outcome, record_faults, serving, settle, text_of

SAMPLE: Any = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}
MESSAGE: Any = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
FORM: Any = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]}


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_the_model_of_the_only_client_is_asked() -> None:
    server = MCPServer()
    async with serving(server, capabilities=EVERYTHING) as peer:
        asking = asyncio.create_task(server.create_sampling_message(SAMPLE))
        request = await peer.expect_request("sampling/createMessage")
        peer.respond(request.id, MESSAGE)

        assert SAMPLE == request.params
        assert TextContent(text="hello") == (await asking).content


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_the_only_client_is_asked_for_its_roots() -> None:
    server = MCPServer()
    async with serving(server, capabilities=EVERYTHING) as peer:
        asking = asyncio.create_task(server.list_client_roots())
        request = await peer.expect_request("roots/list")
        peer.respond(request.id, {"roots": [{"uri": "file:///a"}]})

        assert [Root(uri="file:///a")] == await asking


@pytest.mark.requirement("every-branch-is-reached")
async def test_an_aborted_signal_takes_the_question_back() -> None:
    server, controller = MCPServer(), AbortController()
    async with serving(server, capabilities=EVERYTHING) as peer:
        asking = [
            asyncio.create_task(server.create_sampling_message(SAMPLE, signal=controller.signal)),
            asyncio.create_task(server.list_client_roots(signal=controller.signal)),
        ]
        requests: list[Any] = [await peer.receive() for _ in asking]
        controller.abort("never mind")

        for task in asking:
            with pytest.raises(MCPError, match="never mind"):
                await task
        cancelled: list[Any] = [(await peer.expect_notification("notifications/cancelled")).params for _ in requests]
        assert [request.id for request in requests] == [params["requestId"] for params in cancelled]


@pytest.mark.requirement("every-branch-is-reached")
async def test_without_a_client_nobody_can_be_asked() -> None:
    server = MCPServer()

    for asking in (server.create_sampling_message(SAMPLE), server.list_client_roots()):
        with pytest.raises(MCPError, match="no client is connected") as caught:
            await asking
        assert MCP_CODES.NOT_INITIALIZED == caught.value.code


async def test_of_two_clients_neither_is_asked() -> None:
    server = MCPServer()
    for _ in range(2):
        await join(server, capabilities=EVERYTHING)

    with pytest.raises(MCPError, match="2 clients are connected; ask the one behind a call") as caught:
        await server.list_client_roots()

    assert MCP_CODES.NOT_INITIALIZED == caught.value.code
    await server.stop()


async def test_malformed_params_are_refused_here() -> None:
    with pytest.raises(AskError, match="maxTokens"):
        await MCPServer().create_sampling_message({"messages": []})


async def test_use_of_a_tool_without_its_result_is_not_asked_about() -> None:
    use = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
    params = {"messages": [{"role": "assistant", "content": use}], "maxTokens": 1}
    server = MCPServer()
    peer = await join(server, capabilities=EVERYTHING)

    with pytest.raises(AskError, match="messages: the results of the last tool uses are missing") as caught:
        await server.create_sampling_message(params)

    assert MCP_CODES.INVALID_PARAMS == caught.value.code
    assert "sampling/createMessage" not in [getattr(message, "method", None) for message in peer.seen]
    await server.stop()


@pytest.mark.parametrize(
    ("ask", "capabilities", "lacking"),
    [
        (roots(), {}, "roots"),
        (sampling("hi"), {}, "sampling"),
        (sampling("hi", tools=[Tool(name="t", input_schema={})]), {"sampling": {}}, "sampling.tools"),
        (sampling("hi", include_context="thisServer"), {"sampling": {}}, "sampling.context"),
        (elicitation("?"), {}, "elicitation"),
        (elicitation("?"), {"elicitation": {"url": {}}}, "elicitation.form"),
        (elicitation("?", url="https://a.example"), {"elicitation": {}}, "elicitation.url"),
        (elicitation("?", url="https://a.example"), {"elicitation": {"form": {}}}, "elicitation.url"),
    ],
)
async def test_a_client_is_never_asked_what_it_has_not_declared(
    ask: Any, capabilities: JsonObject, lacking: str
) -> None:
    server, raised = MCPServer(), list[AskError]()

    @server.tool
    async def curious(ctx: Context) -> None:
        try:
            await ctx.ask({"q": ask})
        except AskError as error:
            raised.append(error)
            raise

    async with serving(server, capabilities=capabilities) as peer:
        result = await call(peer, "curious")

        assert f"Error: {ask.method} cannot be asked here: the client has not declared `{lacking}`" == text_of(result)
        assert MCP_CODES.METHOD_NOT_FOUND == raised[0].code
        assert {"method": ask.method, "capability": lacking} == raised[0].context
        assert 2 == len(peer.seen)


@pytest.mark.parametrize(
    ("ask", "capabilities"),
    [
        (elicitation("?"), {"elicitation": {}}),
        (elicitation("?"), {"elicitation": {"form": {}}}),
        (elicitation("?", url="https://a.example"), {"elicitation": {"url": {}}}),
        (sampling("hi", tools=[Tool(name="t", input_schema={})]), {"sampling": {"tools": {}}}),
        (roots(), {"roots": {}}),
    ],
)
async def test_a_client_is_asked_what_it_has_declared(ask: Any, capabilities: JsonObject) -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.ask({"q": ask})

    async with serving(server, capabilities=capabilities) as peer:
        peer.request(1, "tools/call", {"name": "curious"})

        await peer.expect_request(ask.method)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({"action": "accept", "content": {"n": 4}}, "content.n: 4 is more than 3"),
        ({"action": "accept"}, "content.n: this field is required"),
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_not_believed(answer: Any, place: str) -> None:
    server, faults = MCPServer(), list[Any]()

    @server.tool
    async def curious(ctx: Context) -> None:
        try:
            await ctx.elicit("How many?", FORM)
        except AskError as error:
            faults.append(error.code)
            raise

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        request = await peer.expect_request("elicitation/create")
        peer.respond(request.id, answer)
        result = outcome(await peer.expect_response(1))

        assert f"Error: the answer to elicitation/create does not fit the form: {place}" == text_of(result)
        assert [MCP_CODES.PROTOCOL_INVALID] == faults


async def test_a_malformed_answer_fails_the_tool_and_not_the_clients_call() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.list_roots()

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        request = await peer.expect_request("roots/list")
        peer.respond(request.id, {"roots": 5})

        assert "the result of roots/list is malformed at roots" in text_of(outcome(await peer.expect_response(1)))


async def test_what_a_peer_answers_as_an_error_stops_at_the_tool() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.sample("hi")

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        request = await peer.expect_request("sampling/createMessage")
        peer.fail(request.id, -1, "the user said no", {"why": None})
        result = outcome(await peer.expect_response(1))

        assert "Error: a request that the tool made failed: MCP.INTERNAL_ERROR (-1)" == text_of(result)


async def test_what_a_peer_answers_as_an_error_is_no_answer_of_a_resource_either() -> None:
    server = MCPServer()

    @server.resource("mem://curious")
    async def curious(ctx: Context) -> str:
        return str(await ctx.sample("hi"))

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "resources/read", {"uri": "mem://curious"})
        request = await peer.expect_request("sampling/createMessage")
        peer.fail(request.id, -1, "the user said no", {"why": None})
        error = outcome(await peer.expect_response(1))

        assert (-32603, "Internal error") == (error.code, error.message)


@pytest.mark.requirement("every-branch-is-reached")
async def test_the_servers_own_provider_answers_for_a_client_that_cannot_sample() -> None:
    server, seen = MCPServer(), list[CreateMessageRequestParams]()

    def provide(params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(text="from here"), model="own")

    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("hi")).model

    server.set_sampling_provider(provide)
    async with serving(server) as peer:
        assert "own" == text_of(await call(peer, "think"))
        assert 2 == len(peer.seen)
        server.set_sampling_provider(None)
        assert "has not declared `sampling`" in text_of(await call(peer, "think"))
    assert TextContent(text="hi") == seen[0].messages[0].content


async def test_the_clients_own_model_comes_before_the_servers_provider() -> None:
    server = MCPServer()
    server.set_sampling_provider(lambda _: MESSAGE)
    async with serving(server, capabilities=EVERYTHING) as peer:
        asking = asyncio.create_task(server.create_sampling_message(SAMPLE))
        request = await peer.expect_request("sampling/createMessage")
        peer.respond(request.id, {**MESSAGE, "model": "the client's"})

        assert "the client's" == (await asking).model


async def test_the_provider_answers_where_no_client_is_connected() -> None:
    server = MCPServer()

    async def provide(_: CreateMessageRequestParams) -> Any:
        return MESSAGE

    server.set_sampling_provider(provide)

    assert "m" == (await server.create_sampling_message(SAMPLE)).model


def call_later(function: Any, params: CreateMessageRequestParams) -> Any:
    return function(params)


async def test_a_plain_provider_may_hand_on_a_coroutine() -> None:
    server = MCPServer()

    async def provide(_: CreateMessageRequestParams) -> Any:
        return MESSAGE

    server.set_sampling_provider(functools.partial(call_later, provide))

    assert "m" == (await server.create_sampling_message(SAMPLE)).model
    await server.stop()


async def test_nonsense_from_the_provider_is_refused() -> None:
    server = MCPServer()
    server.set_sampling_provider(lambda _: {"role": "assistant"})

    with pytest.raises(MCPError, match="the result of sampling/createMessage is malformed") as caught:
        await server.create_sampling_message(SAMPLE)

    assert MCP_CODES.PROTOCOL_INVALID == caught.value.code
    await server.stop()


async def test_several_questions_go_out_at_once_and_come_back_by_their_keys() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> list[str]:
        answers = await ctx.ask({"where": roots(), "what": sampling("hi")})
        return [f"{key}: {type(answer).__name__}" for key, answer in answers.items()]

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        first = await peer.expect_request("roots/list")
        second = await peer.expect_request("sampling/createMessage")
        peer.respond(second.id, MESSAGE)
        peer.respond(first.id, {"roots": []})
        result = outcome(await peer.expect_response(1))

        assert {"result": ["where: ListRootsResult", "what: CreateMessageResult"]} == result["structuredContent"]


async def test_nothing_is_asked_where_not_everything_can_be() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.ask({"where": roots(), "what": sampling("hi")})

    async with serving(server, capabilities={"roots": {}}) as peer:
        assert "has not declared `sampling`" in text_of(await call(peer, "curious"))
        assert 2 == len(peer.seen)


async def test_where_one_question_fails_the_others_are_taken_back() -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.ask({"where": roots(), "what": sampling("hi")})

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        first = await peer.expect_request("roots/list")
        second = await peer.expect_request("sampling/createMessage")
        peer.fail(first.id, -5, "no")
        messages: list[Any] = [await peer.receive(), await peer.receive()]

        assert [True] == [outcome(message)["isError"] for message in messages if isinstance(message, Response)]
        assert [second.id] == [m.params["requestId"] for m in messages if hasattr(m, "params")]


async def test_nothing_asked_is_nothing_answered() -> None:
    server = MCPServer()

    @server.tool
    async def idle(ctx: Context) -> int:
        return len(await ctx.ask({}))

    assert 0 == (await server.invoke_tool("idle")).structured_content


async def test_a_call_in_this_process_has_nobody_to_ask_but_the_provider() -> None:
    server = MCPServer()

    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("hi")).model

    refused: Any = await server.invoke_tool("think")
    server.set_sampling_provider(lambda _: MESSAGE)
    answered: Any = await server.invoke_tool("think")

    assert "Error: sampling/createMessage cannot be asked here: the call has no client behind it" == (
        refused.content[0].text
    )
    assert "m" == answered.content[0].text
    await server.stop()


async def test_a_question_is_taken_back_with_the_call_it_was_asked_for() -> None:
    server, seen = MCPServer(), list[type[BaseException]]()

    @server.tool
    def curious(ctx: Context) -> None:
        try:
            ctx.list_roots().wait()
        except MCPError as error:
            seen.append(type(error))
            raise

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "curious"})
        request = await peer.expect_request("roots/list")
        peer.notify("notifications/cancelled", {"requestId": 1})
        params: Any = (await peer.expect_notification("notifications/cancelled")).params

        assert request.id == params["requestId"]
        while not seen:
            await asyncio.sleep(0)
        assert [MCPError] == seen


async def test_a_client_that_goes_away_fails_the_question() -> None:
    server = MCPServer()
    faults = record_faults(server)
    peer = await join(server, capabilities=EVERYTHING)
    asking = asyncio.create_task(server.list_client_roots())
    await peer.expect_request("roots/list")
    await peer.transport.close()

    with pytest.raises(MCPTransportError) as caught:
        await asking

    assert MCP_CODES.TRANSPORT_CLOSED == caught.value.code
    await settle()
    assert [] == faults
    await server.stop()


async def _greeted(server: MCPServer) -> ScriptedPeer:
    """Attach a client that has its answer to `initialize` and has not yet said that it is ready."""
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    peer = ScriptedPeer(far)
    info: JsonObject = {"name": "c", "version": "1"}
    peer.request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": EVERYTHING, "clientInfo": info})
    await peer.expect_response(0)
    return peer


def _curious() -> MCPServer:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> str:
        ctx.log("info", "asking")
        return (await ctx.list_roots())[0].uri

    return server


async def test_a_client_is_asked_nothing_before_it_says_that_it_is_ready() -> None:
    server = _curious()
    peer = await _greeted(server)
    peer.request(1, "tools/call", {"name": "curious"})
    await peer.expect_notification("notifications/message")
    await settle()
    assert 2 == len(peer.seen)

    peer.notify("notifications/initialized")
    request = await peer.expect_request("roots/list")
    peer.respond(request.id, {"roots": [{"uri": "file:///a"}]})

    assert "file:///a" == text_of(outcome(await peer.expect_response(1)))
    await server.stop()


async def _awaited(answer: Any) -> Any:
    return await answer


async def test_a_question_that_waits_for_the_client_ends_with_its_call() -> None:
    server, seen, never = MCPServer(), list[str](), asyncio.Event()

    @server.tool
    async def curious(ctx: Context) -> None:
        asking = asyncio.ensure_future(_awaited(ctx.list_roots()))
        try:
            await never.wait()
        finally:
            seen.append(await outcome_of(asking))
            seen.append(await outcome_of(ctx.list_roots()))

    async def outcome_of(asking: Any) -> str:
        with pytest.raises(MCPError) as caught:
            await asking
        return caught.value.code

    peer = await _greeted(server)
    peer.request(1, "tools/call", {"name": "curious"})
    await settle()
    peer.notify("notifications/cancelled", {"requestId": 1})
    await settle()
    peer.notify("notifications/initialized")
    await settle()

    assert [MCP_CODES.REQUEST_CANCELLED] * 2 == seen
    assert 1 == len(peer.seen)
    await server.stop()


async def test_a_client_that_says_twice_that_it_is_ready_does_no_harm() -> None:
    server = _curious()
    peer = await _greeted(server)
    peer.request(1, "tools/call", {"name": "curious"})
    await peer.expect_notification("notifications/message")
    await settle()

    peer.notify("notifications/initialized")
    peer.notify("notifications/initialized")

    request = await peer.expect_request("roots/list")
    peer.respond(request.id, {"roots": [{"uri": "file:///a"}]})
    assert "file:///a" == text_of(outcome(await peer.expect_response(1)))
    await server.stop()


async def test_a_client_that_is_not_ready_is_not_the_only_client() -> None:
    server = MCPServer()
    peer = await _greeted(server)

    with pytest.raises(MCPError, match="no client is connected"):
        await server.list_client_roots()
    peer.notify("notifications/initialized")
    await settle()
    asking = asyncio.create_task(server.list_client_roots())
    peer.respond((await peer.expect_request("roots/list")).id, {"roots": []})

    assert [] == await asking
    await server.stop()


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (
            elicitation("?", {"type": "object", "properties": {"n": {"type": "array", "items": {"enum": ["a"]}}}}),
            "requestedSchema.properties.n: revision 2025-06-18 has no choices of several",
        ),
        (elicitation("?", url="https://a.example"), "url: revision 2025-06-18 has no addresses to visit"),
        (
            sampling("hi", tools=[Tool(name="t", input_schema={})]),
            "tools: revision 2025-06-18 has no tools in sampling",
        ),
    ],
)
async def test_a_client_is_never_asked_what_its_revision_does_not_know(ask: Any, problem: str) -> None:
    server = MCPServer()

    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.ask({"q": ask})

    async with serving(server, capabilities=EVERYTHING, revision="2025-06-18") as peer:
        assert f"Error: this cannot be asked: {problem}" == text_of(await call(peer, "curious"))
        assert 2 == len(peer.seen)


async def test_a_question_to_the_model_is_asked_in_the_words_of_the_revision() -> None:
    server = MCPServer()
    async with serving(server, capabilities=EVERYTHING, revision="2024-11-05") as peer:
        audio: Any = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
        question: Any = {"messages": [{"role": "user", "content": audio}], "maxTokens": 5}
        asking = asyncio.create_task(server.create_sampling_message(question))
        request: Any = await peer.expect_request("sampling/createMessage")
        peer.respond(request.id, MESSAGE)
        await asking

        assert "text" == request.params["messages"][0]["content"]["type"]


async def test_every_visit_has_a_name_of_its_own() -> None:
    server = MCPServer()

    @server.tool
    async def send(ctx: Context) -> None:
        address = "https://a.example/x"
        await ctx.ask({name: elicitation("?", url=address, elicitation_id=given) for name, given in VISITS})

    async with serving(server, capabilities=EVERYTHING) as peer:
        peer.request(1, "tools/call", {"name": "send"})
        requests: list[Any] = [await peer.expect_request("elicitation/create") for _ in VISITS]

        names = [request.params["elicitationId"] for request in requests]
        assert ("given", 3) == (names[2], len(set(names)))


VISITS = [("a", None), ("b", None), ("c", "given")]
