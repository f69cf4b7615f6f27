"""One handler asks its client in both eras: by requests of its own, or by input-required results."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.asking import elicitation, roots, sampling
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.serving import asgi_app
from suaveplan_mcp.testing import AsgiFetch
from suaveplan_mcp.transport.streamable_http.client import create_streamable_http_transport
from suaveplan_mcp.types.content import TextContent
from suaveplan_mcp.types.elicitation import ElicitRequestParams
from suaveplan_mcp.types.sampling import CreateMessageRequestParams
from tests.e2e.wires import Wire, connected, in_memory, over_http_sse, over_streams

NAME: Any = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

pytestmark = pytest.mark.requirement("one-handler-asks-in-both-eras")


class Pair:
    """A server, and a client that answers everything; without a wire between them they speak Streamable HTTP."""

    def __init__(self, era: str, make_wire: Callable[[], Wire] | None) -> None:
        self.era = era
        self.make_wire = make_wire
        self.server = MCPServer()
        self.client = MCPClient(protocol=era, prefetch=False)
        self.client.set_elicitation_provider(lambda params: {"name": "Ada"})
        self.client.set_sampling_provider(lambda params: f"{params.messages[-1].content.text}!")
        self.client.set_roots_provider(lambda: ["file:///home"])

    async def call(self, handler: Callable[..., Any]) -> Any:
        """Call a handler as a tool."""
        self.server.register_tool(handler, name="tool")
        async with self.opened() as client:
            return await client.call_tool("tool")

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[MCPClient]:
        if self.make_wire is not None:
            async with connected(self.server, self.client, self.make_wire):
                yield self.client
            return
        fetch = AsgiFetch(asgi_app(self.server))
        async with self.client as client:
            await client.connect(create_streamable_http_transport(endpoint="http://127.0.0.1/mcp", fetch_impl=fetch))
            yield client
        await self.server.stop()


WAYS = [
    ("handshake", in_memory),
    ("handshake", over_streams),
    ("handshake", over_http_sse),
    ("stateless", in_memory),
    ("stateless", over_streams),
    ("stateless", None),
]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{getattr(way[1], '__name__', 'over_http')}")
def pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(*request.param)


def text_of(result: Any) -> str:
    assert not result.is_error, result
    return result.content[0].text


def value_of(result: Any) -> Any:
    """Return structured content as the newest revision has it; the older ones know only objects."""
    content = result.structured_content
    return content["result"] if isinstance(content, dict) and list(content) == ["result"] else content


async def test_the_user_fills_in_a_form(pair: Pair) -> None:
    async def tool(ctx: Context) -> str:
        answer = await ctx.elicit("What is your name?", NAME)
        return f"{answer.action}: Hello, {answer.content!r}"

    assert "accept: Hello, {'name': 'Ada'}" == text_of(await pair.call(tool))


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_what_the_user_refuses_is_no_error(pair: Pair, action: str) -> None:
    pair.client.set_elicitation_provider(lambda params: action)

    async def tool(ctx: Context) -> str:
        answer = await ctx.elicit("What is your name?", NAME)
        return f"{answer.action}, {answer.content}"

    assert f"{action}, None" == text_of(await pair.call(tool))


async def test_the_user_is_sent_to_an_address(pair: Pair) -> None:
    sent_to: list[str | None] = []

    def visit(params: ElicitRequestParams) -> str:
        sent_to.append(params.url)
        return "accept"

    pair.client.set_elicitation_provider(visit, url=True)

    async def tool(ctx: Context) -> str:
        return (await ctx.elicit("Please pay.", url="https://pay.example/1")).action

    assert "accept" == text_of(await pair.call(tool))
    assert ["https://pay.example/1"] == sent_to


async def test_the_model_answers(pair: Pair) -> None:
    async def tool(ctx: Context) -> str:
        content = (await ctx.sample("Paris", max_tokens=5)).content
        assert isinstance(content, TextContent)
        return content.text

    assert "Paris!" == text_of(await pair.call(tool))


async def test_the_roots_are_listed(pair: Pair) -> None:
    async def tool(ctx: Context) -> str:
        return (await ctx.list_roots())[0].uri

    assert "file:///home" == text_of(await pair.call(tool))


async def test_one_question_may_follow_from_another(pair: Pair) -> None:
    async def tool(ctx: Context) -> str:
        text = "a"
        for _ in range(3):
            content = (await ctx.sample(text)).content
            assert isinstance(content, TextContent)
            text = content.text
        return text

    assert "a!!!" == text_of(await pair.call(tool))


async def test_the_same_question_is_asked_again_where_a_handler_asks_it_again(pair: Pair) -> None:
    names = iter(["Al", "Bo", "Adalbert"])
    pair.client.set_elicitation_provider(lambda params: {"name": next(names)})

    async def tool(ctx: Context) -> str:
        while True:
            name = (await ctx.elicit("A longer name?", NAME, key="name")).content or {}
            if len(str(name["name"])) > 2:
                return str(name["name"])

    assert "Adalbert" == text_of(await pair.call(tool))


async def test_several_questions_are_asked_at_once(pair: Pair) -> None:
    async def tool(ctx: Context) -> list[str]:
        answers: Any = await ctx.ask({"who": elicitation("Who?", NAME), "what": sampling("What"), "where": roots()})
        return [answers["who"].content["name"], answers["what"].content.text, answers["where"].roots[0].uri]

    assert ["Ada", "What!", "file:///home"] == value_of(await pair.call(tool))


async def gathering(ctx: Context) -> list[str]:
    who, what = await asyncio.gather(ctx.elicit("Who?", NAME), ctx.sample("What"))
    return [str((who.content or {})["name"]), what.model]


async def grouping(ctx: Context) -> list[str]:
    async def ask() -> str:
        return str(((await ctx.elicit("Who?", NAME)).content or {})["name"])

    async def think() -> str:
        return (await ctx.sample("What")).model

    async with asyncio.TaskGroup() as outer:
        inner = outer.create_task(_grouped(ask))
        what = outer.create_task(think())
    return [inner.result(), what.result()]


async def _grouped(ask: Callable[[], Any]) -> str:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask())
    return asked.result()


@pytest.mark.parametrize("tool", [gathering, grouping])
async def test_questions_may_be_asked_by_several_tasks(pair: Pair, tool: Any) -> None:
    assert ["Ada", "unknown"] == value_of(await pair.call(tool))


async def test_a_plain_handler_asks_from_its_thread(pair: Pair) -> None:
    def tool(ctx: Context) -> str:
        who = ctx.elicit("Who?", NAME).wait()
        where = ctx.list_roots().wait()
        return f"{(who.content or {})['name']} in {where[0].uri}"

    assert "Ada in file:///home" == text_of(await pair.call(tool))


async def test_prompts_and_resources_ask_too(pair: Pair) -> None:
    async def handler(ctx: Context) -> str:
        return str(((await ctx.elicit("Who?", NAME)).content or {})["name"])

    pair.server.register_prompt(handler, name="prompt")
    pair.server.register_resource({"uri": "test://who", "handler": handler})
    async with pair.opened() as client:
        prompt: Any = await client.get_prompt("prompt")
        resource: Any = await client.read_resource("test://who")

    assert "Ada" == prompt.messages[0].content.text
    assert "Ada" == resource.contents[0].text


async def test_a_handler_cleans_up_and_its_own_except_does_not_catch_the_question(pair: Pair) -> None:
    opened = 0

    async def tool(ctx: Context) -> str:
        nonlocal opened
        opened += 1
        try:
            return str((await ctx.elicit("Who?", NAME)).action)
        except Exception as error:
            return f"caught {error!r}"
        finally:
            opened -= 1

    assert "accept" == text_of(await pair.call(tool))
    assert 0 == opened


async def test_something_is_done_once_for_a_call(pair: Pair) -> None:
    done: list[str] = []

    async def pay() -> dict[str, Any]:
        await asyncio.sleep(0)
        done.append("paid")
        return {"receipt": [1, 2.5, None]}

    async def tool(ctx: Context) -> dict[str, Any]:
        receipt = await ctx.once("pay", pay)
        await ctx.elicit("Another?", NAME)
        number = await ctx.once("number", lambda: len(done))
        await ctx.elicit("And another?", NAME)
        return {**receipt, "number": number}

    assert {"receipt": [1, 2.5, None], "number": 1} == value_of(await pair.call(tool))
    assert ["paid"] == done


async def test_a_plain_handler_does_something_once(pair: Pair) -> None:
    done: list[str] = []

    async def pay() -> str:
        done.append("paid")
        return "receipt"

    def tool(ctx: Context) -> str:
        receipt = ctx.once("pay", pay).wait()
        ctx.elicit("Another?", NAME).wait()
        return receipt + ctx.once("pay", pay).wait() + ctx.once("plain", lambda: "plain").wait()

    assert "receiptreceiptplain" == text_of(await pair.call(tool))
    assert ["paid"] == done


async def test_a_key_names_one_question(pair: Pair) -> None:
    async def tool(ctx: Context) -> None:
        await ctx.ask({"who": elicitation("Who?", NAME)})
        await ctx.elicit("Who else?", NAME, key="who")

    result = await pair.call(tool)

    assert result.is_error
    assert "'who' is the key of another question" in result.content[0].text


async def test_the_servers_own_model_answers_for_a_client_without_one(pair: Pair) -> None:
    pair.client.set_sampling_provider(None)
    thoughts: list[CreateMessageRequestParams] = []

    def think(params: CreateMessageRequestParams) -> Any:
        thoughts.append(params)
        return {"role": "assistant", "content": {"type": "text", "text": "own"}, "model": "own"}

    pair.server.set_sampling_provider(think)

    async def tool(ctx: Context) -> list[str]:
        first = await ctx.sample("think")
        await ctx.elicit("Sure?", NAME)
        answers: Any = await ctx.ask({"a": sampling("think on"), "b": elicitation("Really?", NAME)})
        return [first.model, answers["a"].model]

    assert ["own", "own"] == value_of(await pair.call(tool))
    assert 2 == len(thoughts)


async def test_a_client_that_cannot_be_asked_is_not_asked(pair: Pair) -> None:
    pair.client.set_elicitation_provider(None)

    async def tool(ctx: Context) -> None:
        await ctx.elicit("Who?", NAME)

    if pair.era == "handshake":
        result = await pair.call(tool)
        assert "the client has not declared `elicitation`" in result.content[0].text
        return
    with pytest.raises(MCPError, match="needs a client that declares the capability `elicitation`") as caught:
        await pair.call(tool)
    assert -32021 == caught.value.jsonrpc_code
    data: Any = caught.value.data
    assert {"elicitation": {}} == data["requiredCapabilities"]


async def test_a_handler_may_do_without_an_answer(pair: Pair) -> None:
    pair.client.set_elicitation_provider(None)

    async def tool(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", NAME)
        except MCPError as error:
            return error.code
        return "asked"

    assert MCP_CODES.METHOD_NOT_FOUND == text_of(await pair.call(tool))


async def test_what_only_looks_like_an_answer_never_reaches_the_handler(pair: Pair) -> None:
    pair.client.set_elicitation_provider(lambda params: {"action": "accept", "content": {"name": 5}})
    reached: list[str] = []

    async def tool(ctx: Context) -> None:
        await ctx.elicit("Who?", NAME)
        reached.append("handler")

    if pair.era == "handshake":
        assert (await pair.call(tool)).is_error
    else:
        with pytest.raises(MCPError, match="Expected `string`, got `int`"):
            await pair.call(tool)
    assert [] == reached


async def test_a_question_of_a_child_task_that_nobody_waits_for_is_not_lost(pair: Pair) -> None:
    async def tool(ctx: Context) -> str:
        asked = asyncio.ensure_future(ctx.elicit("Who?", NAME))
        await asyncio.wait([asked])
        return asked.result().action

    assert "accept" == text_of(await pair.call(tool))
