"""Suggestions for arguments."""

from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.types.completion import CompleteRequestParams, CompleteResult, Completion
from tests.unit.server.peers import ask, code_of, record_faults, serving

PROMPT: Any = {"type": "ref/prompt", "name": "greet"}
TEMPLATE: Any = {"type": "ref/resource", "uri": "mem://{id}"}
MANY = [str(number) for number in range(150)]


async def _complete(server: MCPServer, ref: Any = PROMPT, argument: str = "who", **more: Any) -> Any:
    async with serving(server) as peer:
        params = {"ref": ref, "argument": {"name": argument, "value": "a"}, **more}
        result = await ask(peer, "completion/complete", params)
        return result["completion"] if isinstance(result, dict) else result


@pytest.mark.requirement("every-branch-is-reached")
async def test_without_anyone_to_ask_nothing_is_suggested() -> None:
    assert {"values": []} == await _complete(MCPServer())
    assert {"values": []} == await _complete(MCPServer(), TEMPLATE)


async def test_an_argument_has_a_function_of_its_own() -> None:
    server = MCPServer()

    @server.completion("greet", "who")
    def people(typed: str) -> list[str]:
        return [f"{typed}da", f"{typed}lan"]

    assert {"values": ["ada", "alan"], "total": 2} == await _complete(server)
    assert {"values": []} == await _complete(server, argument="other")


async def test_a_variable_of_a_template_has_one_too_and_it_learns_what_is_settled() -> None:
    server, seen = MCPServer(), list[Any]()

    @server.completion("mem://{id}", "id")
    async def ids(typed: str, settled: Mapping[str, str], ctx: Context) -> tuple[str, ...]:
        seen.extend([typed, dict(settled), ctx.request_id])
        return ("x",)

    context = {"arguments": {"b": "2"}}
    assert ["x"] == (await _complete(server, TEMPLATE, "id", context=context))["values"]
    assert ["a", {"b": "2"}, "asked"] == seen
    await _complete(server, TEMPLATE, "id")
    assert {} == seen[4]


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_a_provider_completes_whatever_has_no_function() -> None:
    server, seen = MCPServer(), list[CompleteRequestParams]()

    def provide(params: CompleteRequestParams) -> list[str]:
        seen.append(params)
        return ["provided"]

    server.set_completion_provider(provide)
    server.completion("greet", "how")(lambda typed: ["own"])

    assert ["provided"] == (await _complete(server))["values"]
    assert ["own"] == (await _complete(server, argument="how"))["values"]
    assert ["who"] == [params.argument.name for params in seen]
    server.set_completion_provider(None)
    assert [] == (await _complete(server))["values"]


async def test_the_decorator_without_parentheses_makes_the_provider() -> None:
    server = MCPServer()

    @server.completion
    async def provide(params: CompleteRequestParams) -> list[str]:
        return [params.argument.value]

    assert ["a"] == (await _complete(server))["values"]


@pytest.mark.parametrize(
    ("value", "completion"),
    [
        ([], {"values": [], "total": 0}),
        ([1, "b"], {"values": ["1", "b"], "total": 2}),
        (MANY, {"values": MANY[:100], "total": 150, "hasMore": True}),
        (Completion(values=["a"], has_more=True), {"values": ["a"], "hasMore": True}),
        (Completion(values=MANY), {"values": MANY[:100], "total": 150, "hasMore": True}),
        (CompleteResult(completion=Completion(values=["a"])), {"values": ["a"]}),
        ({"values": MANY, "total": 900}, {"values": MANY[:100], "total": 900, "hasMore": True}),
        ({"completion": {"values": ["a"]}}, {"values": ["a"]}),
    ],
)
async def test_every_value_becomes_suggestions_and_no_more_than_a_hundred(value: object, completion: Any) -> None:
    server = MCPServer()
    server.set_completion_provider(lambda _: value)

    assert completion == await _complete(server)


@pytest.mark.parametrize("value", [None, "text", 5, {"values": 5}, {"values": [object()]}])
async def test_a_value_that_is_none_is_reported_here_and_told_as_a_failure_there(value: object) -> None:
    server = MCPServer()
    server.set_completion_provider(lambda _: value)
    faults = record_faults(server)

    error = await _complete(server)

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert "returned a value that cannot be sent" in str(faults[0].error)


async def test_the_text_of_an_exception_stays_here() -> None:
    def fail(_: CompleteRequestParams) -> None:
        raise ValueError("secret path /etc/x")

    server = MCPServer()
    server.set_completion_provider(fail)
    faults = record_faults(server)

    error = await _complete(server)

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert "secret path /etc/x" in str(faults[0].error)


def test_an_argument_is_completed_by_one_function() -> None:
    server = MCPServer()
    server.completion("greet", "who")(lambda typed: [typed])

    with pytest.raises(MCPError, match="'who' of 'greet' has a completion already") as caught:
        server.completion("greet", "who")(lambda typed: [typed])

    assert MCP_CODES.DUPLICATE_REGISTRATION == caught.value.code


@pytest.mark.parametrize("handler", [lambda: ["none"], lambda a, b, c: []])
def test_a_function_that_takes_something_else_is_refused(handler: Any) -> None:
    with pytest.raises(RegistrationError, match="takes 1 or 2 parameters beside a context"):
        MCPServer().completion("greet", "who")(handler)


def test_a_provider_takes_the_params_and_no_more() -> None:
    with pytest.raises(RegistrationError, match="takes 1 parameters? beside a context"):
        MCPServer().set_completion_provider(lambda a, b: [])


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"type": "ref/prompt", "name": "other"}, "prompt 'other'"),
        ({"type": "ref/resource", "uri": "a:b"}, "resource 'a:b'"),
    ],
)
async def test_what_is_not_there_has_nothing_to_complete(ref: Any, name: str) -> None:
    server = _furnished()

    error = await _complete(server, ref)

    assert (-32602, MCP_CODES.INVALID_PARAMS) == code_of(error)
    assert ("ref", f"there is no {name}") == (error.data["path"], error.data["reason"])
    server.set_completion_provider(lambda _: ["asked"])
    assert ["asked"] == (await _complete(server, ref))["values"]


@pytest.mark.parametrize(
    "ref",
    [PROMPT, TEMPLATE, {"type": "ref/resource", "uri": "mem://fixed"}, {"type": "ref/prompt", "name": "completed"}],
)
async def test_what_is_there_may_have_nothing_to_suggest(ref: Any) -> None:
    server = _furnished()
    server.completion("completed", "argument")(lambda typed: [typed])

    assert {"values": []} == await _complete(server, ref)


def _furnished() -> MCPServer:
    server = MCPServer()
    server.register_prompt(lambda who: who, name="greet")
    server.register_resource(lambda: "", uri="mem://fixed", name="fixed")
    server.register_resource(lambda id: id, uri="mem://{id}", name="item")
    return server
