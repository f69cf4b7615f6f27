"""Handlers that are run anew for every round of questions, for clients that are asked in results."""

import asyncio
import sys
from base64 import urlsafe_b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw, Struct

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.jsonrpc.messages import ErrorObject, JsonObject
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.runtime.in_flight import InboundCall
from suaveplan_mcp.runtime.threads import WorkerThreads
from suaveplan_mcp.server.asking import AskError, elicitation, roots, sampling
from suaveplan_mcp.server.client_requests import ClientRequests
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.input_rounds import InputNeededError, InputRounds, Run, needed_in
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.testing import ScriptedPeer
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.in_memory import InMemoryTransport
from suaveplan_mcp.transport.streamable_http.authentication import Principal
from suaveplan_mcp.types.capabilities import ClientCapabilities, ElicitationCapability, RootsCapability
from suaveplan_mcp.types.input_required import InputRequiredResult
from suaveplan_mcp.types.tools import CallToolRequestParams
from tests.unit.server.peers import EVERYTHING, ask, record_faults, text_of

NAME: Any = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}, "required": ["name"]}
ADA: JsonObject = {"action": "accept", "content": {"name": "Ada"}}

REVISION = "2026-07-28"


class Client:
    """A client of the stateless era, played by hand."""

    def __init__(self, peer: ScriptedPeer, capabilities: JsonObject = EVERYTHING) -> None:
        self.peer = peer
        self.capabilities = capabilities

    async def ask(self, method: str, **params: Any) -> Any:
        meta = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        return await ask(self.peer, method, {**params, "_meta": meta})

    async def call(self, tool: str, required: Any = None, **responses: Any) -> Any:
        """Call a tool, with responses and the state of an input-required result where there are some."""
        return await self.ask("tools/call", name=tool, **_echo(required, responses))


def _echo(required: Any, responses: Any) -> Any:
    given = {"inputResponses": responses} if responses else {}
    return given if required is None else {**given, "requestState": required["requestState"]}


@asynccontextmanager
async def stateless_client(server: MCPServer, capabilities: JsonObject = EVERYTHING) -> AsyncGenerator[Client]:
    near, far = InMemoryTransport.pair()
    await server.attach(near)
    yield Client(ScriptedPeer(far), capabilities)
    await server.stop()


@pytest.fixture
def server() -> MCPServer:
    server = MCPServer()

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("What is your name?", NAME, key="user_name")
        return f"{answer.action}: Hello, {(answer.content or {}).get('name')}!"

    @server.tool
    async def twice(ctx: Context) -> str:
        first = await ctx.elicit("One?", NAME)
        second = await ctx.elicit("Two?", NAME)
        return f"{first.content} {second.content}"

    return server


def error_of(answer: Any) -> tuple[int, Any]:
    assert isinstance(answer, ErrorObject)
    return answer.code, answer.data


@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_a_question_ends_the_call_with_an_input_required_result(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        required = await client.call("greet")

        assert "input_required" == required["resultType"]
        request = required["inputRequests"]["user_name"]
        assert ("elicitation/create", "What is your name?") == (request["method"], request["params"]["message"])
        assert isinstance(required["requestState"], str)


@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_the_call_that_brings_the_answer_is_completed(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        required = await client.call("greet")
        result = await client.call("greet", required, user_name=ADA)

        assert "complete" == result["resultType"]
        assert "accept: Hello, Ada!" == text_of(result)


async def test_an_answer_without_a_state_speaks_for_itself(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        assert "accept: Hello, Ada!" == text_of(await client.call("greet", None, user_name=ADA))


@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_what_was_answered_before_need_not_be_sent_again(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        first = await client.call("twice")
        second = await client.call("twice", first, **{"elicitation-1": ADA})

        assert ["elicitation-2"] == list(second["inputRequests"])
        assert first["requestState"] != second["requestState"]
        bo = {"action": "accept", "content": {"name": "Bo"}}
        assert "{'name': 'Ada'} {'name': 'Bo'}" == text_of(await client.call("twice", second, **{"elicitation-2": bo}))


@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"other": ADA},
        {"user_name": {"action": "accept", "content": {"name": 5}}},
        {"user_name": {"action": "accept", "content": {"name": "too long a name"}}},
        {"user_name": {"action": "accept", "content": {}}},
        {"user_name": {"action": "perhaps"}},
        {"user_name": "nonsense"},
        {"user_name": None},
        {"user_name": {"roots": []}},
    ],
)
@pytest.mark.requirement("what-is-no-answer-is-asked-again")
async def test_what_is_missing_or_no_answer_is_asked_again(server: MCPServer, responses: Any) -> None:
    async with stateless_client(server) as client:
        required = await client.call("greet")
        again = await client.call("greet", required, **responses)

        assert required["inputRequests"] == again["inputRequests"]
        assert "accept: Hello, Ada!" == text_of(await client.call("greet", again, user_name=ADA))


@pytest.mark.requirement("what-is-no-answer-is-asked-again")
async def test_answers_to_what_was_not_asked_are_ignored(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        first = await client.call("twice")
        second = await client.call("twice", first, **{"elicitation-1": ADA, "elicitation-2": ADA, "more": 5})

        assert ["elicitation-2"] == list(second["inputRequests"])


async def test_an_answer_belongs_to_its_question_and_not_to_its_key_alone(server: MCPServer) -> None:
    questions = iter(["Red?", "Blue?", "Blue?", "Green?"])

    @server.tool
    async def fickle(ctx: Context) -> str:
        await ctx.elicit(next(questions), NAME, key="colour")
        await ctx.elicit("Sure?", NAME)
        return "sure"

    async with stateless_client(server) as client:
        red = await client.call("fickle")
        blue = await client.call("fickle", red, colour=ADA)
        sure = await client.call("fickle", blue, colour=ADA)
        green = await client.call("fickle", sure, **{"elicitation-1": ADA})

        asked = [next(iter(r["inputRequests"].values()))["params"]["message"] for r in (red, blue, sure, green)]
        assert ["Red?", "Blue?", "Sure?", "Green?"] == asked


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_prompts_and_resources_ask_in_results(server: MCPServer, method: str) -> None:
    async def handler(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", NAME, key="who")).content)

    server.register_prompt(handler, name="who")
    server.register_resource({"uri": "test://who", "handler": handler})
    target = {"name": "who"} if method == "prompts/get" else {"uri": "test://who"}
    async with stateless_client(server) as client:
        required = await client.ask(method, **target)
        result = await client.ask(method, **target, **_echo(required, {"who": ADA}))

        assert "input_required" == required["resultType"]
        assert "Ada" in str(result)


@pytest.mark.requirement("stateless-clients-are-asked-in-results")
async def test_what_is_asked_at_once_comes_in_one_result(server: MCPServer) -> None:
    @server.tool
    async def together(ctx: Context) -> int:
        some = await asyncio.gather(ctx.elicit("a", NAME), ctx.sample("b"))
        return len(await ctx.ask({"c": roots(), "d": sampling("d"), "e": elicitation("e", NAME)})) + len(some)

    async with stateless_client(server) as client:
        required = await client.call("together")

        assert ["elicitation-1", "sampling-1"] == list(required["inputRequests"])
        spoken = {"role": "assistant", "content": {"type": "text", "text": "b"}, "model": "m"}
        required = await client.call("together", required, **{"elicitation-1": ADA, "sampling-1": spoken})
        assert ["c", "d", "e"] == list(required["inputRequests"])
        result = await client.call("together", required, c={"roots": []}, d=spoken, e=ADA)
        assert 5 == result["structuredContent"]


async def test_of_several_only_what_is_missing_is_asked_again(server: MCPServer) -> None:
    @server.tool
    async def together(ctx: Context) -> int:
        return len(await ctx.ask({"a": roots(), "b": elicitation("b", NAME)}))

    async with stateless_client(server) as client:
        required = await client.call("together", await client.call("together"), a={"roots": []})

        assert ["b"] == list(required["inputRequests"])
        assert 2 == (await client.call("together", required, b=ADA))["structuredContent"]


@pytest.mark.requirement("request-state-is-sealed")
@pytest.mark.parametrize("change", ["tool", "arguments", "text"])
async def test_a_state_that_is_not_for_this_request_is_refused(server: MCPServer, change: str) -> None:
    ran: list[str] = []

    @server.tool
    async def other(ctx: Context) -> str:
        ran.append("other")
        return "other"

    @server.tool
    async def add(ctx: Context, a: int) -> str:
        await ctx.elicit("Sure?", NAME, key="user_name")
        ran.append("add")
        return str(a)

    @server.tool
    async def without_context() -> str:
        ran.append("without_context")
        return "without context"

    async with stateless_client(server) as client:
        state = (await client.call("greet"))["requestState"]
        if change == "text":
            requests = [{"name": "greet", "requestState": f"{state[:-4]}AAAA"}]
        elif change == "arguments":
            state = (await client.ask("tools/call", name="add", arguments={"a": 1}))["requestState"]
            requests = [{"name": "add", "requestState": state, "arguments": {"a": 2}}]
        else:
            requests = [{"name": name, "requestState": state} for name in ("other", "without_context", "twice")]
        for request in requests:
            number, data = error_of(await client.ask("tools/call", inputResponses={"user_name": ADA}, **request))
            assert (-32602, "requestState") == (number, data["path"])
    assert [] == ran


async def test_no_arguments_are_the_same_however_they_are_written(server: MCPServer) -> None:
    async with stateless_client(server) as client:
        state = (await client.call("greet"))["requestState"]
        answered = {"inputResponses": {"user_name": ADA}, "requestState": state}

        for arguments in ({}, {"arguments": None}, {"arguments": {}}):
            assert "Ada" in text_of(await client.ask("tools/call", name="greet", **arguments, **answered))


async def test_the_order_of_arguments_does_not_matter(server: MCPServer) -> None:
    @server.tool
    async def add(ctx: Context, a: int, b: int) -> int:
        await ctx.elicit("Sure?", NAME)
        return a + b

    async with stateless_client(server) as client:
        required = await client.ask("tools/call", name="add", arguments={"a": 1, "b": 2})
        echoed = _echo(required, {"elicitation-1": ADA})

        result = await client.ask("tools/call", name="add", arguments={"b": 2, "a": 1}, **echoed)
        assert 3 == result["structuredContent"]


@pytest.mark.requirement("declared-capabilities-are-respected")
@pytest.mark.parametrize(
    ("asked", "capabilities", "required"),
    [
        (elicitation("?"), {}, {"elicitation": {}}),
        (elicitation("?"), {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (elicitation("?", url="https://a.example"), {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (sampling("?"), {"elicitation": {}}, {"sampling": {}}),
        (roots(), {"sampling": {}}, {"roots": {}}),
    ],
)
async def test_a_client_that_did_not_declare_enough_learns_what_is_missing(
    server: MCPServer, asked: Any, capabilities: Any, required: Any
) -> None:
    @server.tool
    async def curious(ctx: Context) -> None:
        await ctx.ask({"a": elicitation("fine"), "b": asked} if "elicitation" in capabilities else {"b": asked})

    async with stateless_client(server, capabilities) as client:
        number, data = error_of(await client.call("curious"))

        assert (-32021, required) == (number, data["requiredCapabilities"])


async def test_the_name_of_a_visit_is_nothing_for_this_era(server: MCPServer) -> None:
    visits = iter(range(9))

    @server.tool
    async def pay(ctx: Context) -> str:
        url = "https://pay.example/1"
        return (await ctx.elicit("Pay.", url=url, elicitation_id=f"visit-{next(visits)}", key="pay")).action

    async with stateless_client(server) as client:
        required = await client.call("pay")

        assert {"mode": "url", "message": "Pay.", "url": "https://pay.example/1"} == required["inputRequests"]["pay"][
            "params"
        ]
        assert "accept" == text_of(await client.call("pay", required, pay={"action": "accept"}))


@pytest.mark.requirement("declared-capabilities-are-respected")
async def test_nothing_is_asked_in_other_methods() -> None:
    server, refused = MCPServer(), list[AskError]()

    @server.completion
    async def complete(params: Any, ctx: Context) -> list[str]:
        with pytest.raises(AskError) as caught:
            await ctx.list_roots()
        refused.append(caught.value)
        return []

    server.register_prompt(lambda word: word, name="p")
    async with stateless_client(server) as client:
        ref, argument = {"type": "ref/prompt", "name": "p"}, {"name": "word", "value": ""}
        result = await client.ask("completion/complete", ref=ref, argument=argument)

        assert "complete" == result["resultType"]
    assert MCP_CODES.METHOD_NOT_FOUND == refused[0].code
    assert "nothing can be asked in completion/complete" in refused[0].message
    assert "only while it calls a tool, gets a prompt or reads a resource" in refused[0].message


@pytest.mark.requirement("handlers-let-questions-pass")
async def test_a_handler_that_swallows_a_question_fails(server: MCPServer) -> None:
    @server.tool
    async def greedy(ctx: Context) -> str:
        try:
            return (await ctx.elicit("?", NAME)).action
        except BaseException:
            return "wrong"

    @server.tool
    async def gatherer(ctx: Context) -> str:
        return str(await asyncio.gather(ctx.elicit("?", NAME), return_exceptions=True))

    @server.prompt
    async def greedy_prompt(ctx: Context) -> str:
        return await greedy(ctx)

    faults = record_faults(server)
    async with stateless_client(server) as client:
        for tool in ("greedy", "gatherer"):
            result = await client.call(tool)
            assert result["isError"]
            assert "went on though its client has not answered yet" in text_of(result)
        assert -32603 == error_of(await client.ask("prompts/get", name="greedy_prompt"))[0]
    assert 1 == len(faults)


@pytest.mark.requirement("handlers-let-questions-pass")
async def test_what_else_a_handler_raises_is_its_answer(server: MCPServer) -> None:
    @server.tool
    async def unlucky(ctx: Context) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_wait(ctx.elicit("?", NAME)))
            group.create_task(_fail())

    @server.tool
    async def careless(ctx: Context) -> None:
        try:
            await ctx.elicit("?", NAME)
        finally:
            raise ValueError("cleaning up failed")

    async with stateless_client(server) as client:
        assert (await client.call("unlucky"))["isError"]
        assert "Error: cleaning up failed" == text_of(await client.call("careless"))


async def _wait(answer: Any) -> None:
    await answer


async def _fail() -> None:
    raise ValueError("no luck")


def test_a_group_of_questions_is_a_question() -> None:
    one, other = InputNeededError(None), InputNeededError(None)  # pyright: ignore[reportArgumentType]
    group = BaseExceptionGroup("all", [BaseExceptionGroup("some", [one]), other])

    assert one is needed_in(group)
    assert needed_in(BaseExceptionGroup("mixed", [group, ValueError()])) is None


@pytest.mark.requirement("handlers-let-questions-pass")
async def test_a_group_of_tasks_may_ask(server: MCPServer) -> None:
    @server.tool
    async def grouped(ctx: Context) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(_wait(ctx.elicit("One?", NAME)))
            group.create_task(_wait(ctx.list_roots()))
        return "both"

    async with stateless_client(server) as client:
        required = await client.call("grouped")

        assert ["elicitation-1", "roots-1"] == list(required["inputRequests"])
        answers = {"elicitation-1": ADA, "roots-1": {"roots": []}}
        assert "both" == text_of(await client.call("grouped", required, **answers))


@pytest.mark.requirement("rounds-are-limited")
async def test_a_call_that_asks_too_often_fails_and_names_the_limit(server: MCPServer) -> None:
    @server.tool
    async def insatiable(ctx: Context) -> None:
        while True:
            await ctx.elicit("More?", NAME)

    async with stateless_client(server) as client:
        required = await client.call("insatiable")
        for number in range(1, 16):
            required = await client.call("insatiable", required, **{f"elicitation-{number}": ADA})
            assert [f"elicitation-{number + 1}"] == list(required["inputRequests"])
        error = await client.call("insatiable", required, **{"elicitation-16": ADA})

        assert -32603 == error.code
        assert "asked its client 16 times already (max_rounds)" in error.message


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_rounds": 0}, "max_rounds"),
        ({"state_keys": [b"short"]}, "state_keys[0]"),
        ({"state_ttl": -1}, "state_ttl"),
        ({"max_state_bytes": 0}, "max_state_bytes"),
    ],
)
def test_options_that_cannot_be_are_refused_and_named(options: Any, named: str) -> None:
    with pytest.raises(MCPError) as caught:
        MCPServer(**options)

    assert named == caught.value.context["path"]


@pytest.mark.requirement("rounds-are-limited")
async def test_the_limits_are_those_of_the_server() -> None:
    server = MCPServer(max_rounds=1, max_state_bytes=300)

    @server.tool
    async def insatiable(ctx: Context, padding: int = 0) -> None:
        for number in range(padding + 2):
            await ctx.elicit("More?", NAME, key=f"{number}{'x' * 300 * padding}")

    async with stateless_client(server) as client:
        required = await client.call("insatiable")
        error = await client.call("insatiable", required, **{"0": ADA})
        assert "1 times already (max_rounds)" in error.message
        error = await client.ask("tools/call", name="insatiable", arguments={"padding": 1})
        assert "may have 300 (max_state_bytes)" in error.message


@pytest.mark.requirement("something-is-done-once-in-all-rounds")
async def test_what_was_done_once_stays_done_and_is_read_by_nobody(server: MCPServer) -> None:
    done: list[int] = []

    def work() -> str:
        done.append(1)
        return "a secret"

    @server.tool
    async def careful(ctx: Context) -> list[Any]:
        value = await ctx.once("work", work)
        await ctx.elicit("One?", NAME)
        return [value, await ctx.once("work", work)]

    async with stateless_client(server) as client:
        required = await client.call("careful")
        result = await client.call("careful", required, **{"elicitation-1": ADA})

        assert ["a secret", "a secret"] == result["structuredContent"]
        assert [1] == done


@pytest.mark.requirement("something-is-done-once-in-all-rounds")
async def test_what_is_being_done_once_is_finished_before_the_client_is_asked(server: MCPServer) -> None:
    done: list[int] = []

    async def slowly() -> int:
        for _ in range(10):
            await asyncio.sleep(0)
        done.append(1)
        return len(done)

    @server.tool
    async def parallel(ctx: Context) -> list[Any]:
        value, _ = await asyncio.gather(ctx.once("slow", slowly), ctx.elicit("One?", NAME))
        return [value]

    async with stateless_client(server) as client:
        required = await client.call("parallel")
        assert [1] == done
        result = await client.call("parallel", required, **{"elicitation-1": ADA})

        assert [1] == result["structuredContent"] == done


async def test_a_question_inside_what_is_done_once_is_asked(server: MCPServer) -> None:
    @server.tool
    async def nested(ctx: Context) -> list[Any]:
        async def work() -> str:
            return (await ctx.elicit("One?", NAME)).action

        return list(await asyncio.gather(ctx.once("a", work), ctx.once("a", work)))

    async with stateless_client(server) as client:
        required = await client.call("nested")
        result = await client.call("nested", required, **{"elicitation-1": ADA})

        assert ["accept", "accept"] == result["structuredContent"]


async def test_what_the_server_answers_itself_is_kept_and_read_by_nobody(server: MCPServer) -> None:
    thoughts: list[str] = []

    def think(_: object) -> Any:
        thoughts.append("a secret thought")
        return {"role": "assistant", "content": {"type": "text", "text": thoughts[-1]}, "model": "own"}

    server.set_sampling_provider(think)

    @server.tool
    async def thoughtful(ctx: Context) -> str:
        answer: Any = await ctx.sample("hm")
        await ctx.elicit("One?", NAME)
        return answer.content.text

    async with stateless_client(server, {"elicitation": {}}) as client:
        required = await client.call("thoughtful")

        assert ["elicitation-1"] == list(required["inputRequests"])
        assert b"secret" not in urlsafe_b64decode(required["requestState"] + "==")
        result = await client.call("thoughtful", required, **{"elicitation-1": ADA})
        assert "a secret thought" == text_of(result)
        assert 1 == len(thoughts)


async def test_without_the_library_that_encrypts_nothing_is_done_once(
    server: MCPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    server.set_sampling_provider(lambda params: {})

    @server.tool
    async def careful(ctx: Context) -> None:
        await ctx.once("work", lambda: 1)

    @server.tool
    async def thoughtful(ctx: Context) -> None:
        await ctx.sample("hm")

    async with stateless_client(server, {}) as client:
        for tool in ("careful", "thoughtful"):
            assert "pip install 'suaveplan-mcp[auth]'" in text_of(await client.call(tool))


# Principals


class User(Struct):
    id: str
    session: int = 0


class Nobody:
    """A principal of which nothing can be told."""


def a_run(rounds: InputRounds, principal: object, state: str | None = None, revision: str = REVISION) -> Run:
    declared = ClientCapabilities(roots=RootsCapability(), elicitation=ElicitationCapability())
    params = CallToolRequestParams(name="t", arguments=Raw(b'{"b":1.5,"a":[null]}'), request_state=state)
    call = InboundCall(0, "tools/call", params, None, Caller(revision, None, declared))
    call.delivery = Delivery(principal=principal)
    run = rounds.begin(call)
    assert run is not None
    return run


async def ended(run: Run) -> InputRequiredResult:
    with pytest.raises(InputNeededError) as caught:
        await run.ask([roots()])
    return await caught.value.result()


@pytest.mark.requirement("request-state-is-sealed")
@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        ("ada", "ada", "bo"),
        (None, None, "bo"),
        (["ada"], ["ada"], ["bo"]),
        ({"sub": "ada", "exp": 1}, {"sub": "ada", "exp": 2}, {"sub": "bo", "exp": 1}),
        ({"sub": "ada", "iss": "a"}, {"sub": "ada", "iss": "a"}, {"sub": "ada", "iss": "b"}),
        (User("ada", 1), User("ada", 2), User("bo", 1)),
        (Principal("ada"), Principal("ada", frozenset({"more"}), {"exp": 1}), Principal("ada", claims={"iss": "b"})),
    ],
)
async def test_a_state_is_good_for_one_principal_only(first: object, same: object, other: object) -> None:
    rounds = InputRounds(ClientRequests(Connections(), WorkerThreads()))
    state = (await ended(a_run(rounds, first))).request_state

    a_run(rounds, same, state)
    for principal, revision in ((other, REVISION), (same, "2026-12-31")):
        with pytest.raises(MCPError) as caught:
            a_run(rounds, principal, state, revision)
        assert "requestState" == caught.value.context["path"]


async def test_a_principal_of_whom_nothing_can_be_told_cannot_be_asked() -> None:
    rounds = InputRounds(ClientRequests(Connections(), WorkerThreads()))

    with pytest.raises(MCPError, match="nothing tells its principal, a Nobody, from others"):
        await ended(a_run(rounds, Nobody()))
