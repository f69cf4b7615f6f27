"""Prompts: registering, listing, filling in."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.types.content import AudioContent, ImageContent, TextContent
from suaveplan_mcp.types.prompts import GetPromptResult, PromptArgument, PromptMessage
from tests.unit.server.peers import ask, code_of, record_faults, serving, settle

HELLO: Any = {"role": "user", "content": {"type": "text", "text": "hello"}}


def _with(value: object, **fields: Any) -> MCPServer:
    server = MCPServer()
    server.register_prompt(lambda: value, name="p", **fields)
    return server


async def _get(server: MCPServer, name: str = "p", **arguments: str) -> Any:
    async with serving(server) as peer:
        return await ask(peer, "prompts/get", {"name": name, "arguments": arguments} if arguments else {"name": name})


def greet(who: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        who: the one to greet.
    """
    return f"hello {who} " * times


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_prompts_are_registered_listed_and_taken_away_like_tools() -> None:
    server = MCPServer()
    prompt = server.register_prompt(greet)

    assert [prompt] == server.list_prompts()
    with pytest.raises(MCPError) as twice:
        server.register_prompt(greet)
    server.unregister_prompt("greet")
    with pytest.raises(MCPError) as missing:
        server.unregister_prompt("greet")
    assert (MCP_CODES.DUPLICATE_REGISTRATION, MCP_CODES.NOT_FOUND) == (twice.value.code, missing.value.code)
    assert [] == server.list_prompts()


@pytest.mark.requirement("every-branch-is-reached")
async def test_optional_fields_are_listed_where_they_are_given() -> None:
    server = MCPServer()
    icons: Any = [{"src": "x.png"}]
    server.register_prompt(greet, title="Greet", icons=icons, meta={"k": 0})
    server.register_prompt(lambda: "", name="plain")
    async with serving(server) as peer:
        assert {
            "prompts": [
                {
                    "name": "greet",
                    "title": "Greet",
                    "description": "Greet somebody.",
                    "arguments": [
                        {"name": "who", "description": "the one to greet.", "required": True},
                        {"name": "times", "required": False},
                    ],
                    "icons": [{"src": "x.png"}],
                    "_meta": {"k": 0},
                },
                {"name": "plain"},
            ],
            "ttlMs": 0,
            "cacheScope": "public",
        } == await ask(peer, "prompts/list")


async def test_lists_come_in_pages() -> None:
    server = MCPServer(page_size=1)
    for name in "ab":
        server.register_prompt(lambda: "", name=name)
    async with serving(server) as peer:
        first = await ask(peer, "prompts/list")
        second = await ask(peer, "prompts/list", {"cursor": first["nextCursor"]})

        assert ["a", "b"] == [page["prompts"][0]["name"] for page in (first, second)]


async def test_arguments_are_read_as_the_types_of_the_handler() -> None:
    server = MCPServer()
    server.register_prompt(greet)

    result = await _get(server, "greet", who="Ada", times="2")

    assert "Greet somebody." == result["description"]
    assert "hello Ada hello Ada " == result["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    ("arguments", "at_fault"), [({"times": "2"}, "who"), ({"who": "a", "times": "x"}, "times"), ({"x": "1"}, "x")]
)
async def test_an_argument_that_does_not_fit_is_named(arguments: dict[str, str], at_fault: str) -> None:
    server = MCPServer()
    server.register_prompt(greet)

    error = await _get(server, "greet", **arguments)

    assert ((-32602, MCP_CODES.INVALID_PARAMS), at_fault) == (code_of(error), error.data["path"])
    with pytest.raises(MCPError) as caught:
        await server.get_prompt_messages("greet", arguments)
    assert MCP_CODES.INVALID_PARAMS == caught.value.code


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hello", [HELLO]),
        (TextContent(text="hello"), [HELLO]),
        (PromptMessage(role="user", content=TextContent(text="hello")), [HELLO]),
        (HELLO, [HELLO]),
        (["hello", {**HELLO, "role": "assistant"}], [HELLO, {**HELLO, "role": "assistant"}]),
        (
            (ImageContent(data="aGk=", mime_type="image/png"),),
            [{"role": "user", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}],
        ),
        ([], []),
        ("", [{"role": "user", "content": {"type": "text", "text": ""}}]),
    ],
)
async def test_every_value_becomes_messages(value: object, messages: Any) -> None:
    assert {"messages": messages} == await _get(_with(value))


@pytest.mark.parametrize(
    "value",
    [
        GetPromptResult(description="own", messages=[PromptMessage(role="user", content=TextContent(text="hello"))]),
        {"description": "own", "messages": [HELLO]},
    ],
)
async def test_a_whole_result_is_the_result(value: object) -> None:
    assert {"description": "own", "messages": [HELLO]} == await _get(_with(value, description="registered"))


@pytest.mark.parametrize("value", [None, 5, object(), {"role": "user"}, {"messages": [{"role": "robot"}]}, [object()]])
async def test_a_value_that_cannot_be_sent_is_reported_here_and_told_as_a_failure_there(value: object) -> None:
    server = _with(value)
    faults = record_faults(server)

    error = await _get(server)

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert "prompt `p` returned a value that cannot be sent" in str(faults[0].error)


async def test_a_prompt_that_does_not_exist_is_named_in_the_error() -> None:
    error = await _get(MCPServer())

    assert (-32602, {"code": MCP_CODES.NOT_FOUND, "prompt": "p"}) == (error.code, error.data)


async def test_the_text_of_an_exception_stays_here() -> None:
    async def fail() -> None:
        raise ValueError("secret path /etc/x")

    server = MCPServer()
    server.register_prompt(fail)
    faults = record_faults(server)

    error = await _get(server, "fail")

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert "secret path /etc/x" in str(faults[0].error)
    with pytest.raises(MCPError) as caught:
        await server.get_prompt_messages("fail")
    assert (MCP_CODES.HANDLER_FAILED, "secret path /etc/x") == (caught.value.code, str(caught.value.cause))


async def test_an_error_raised_as_the_answer_passes_unchanged() -> None:
    async def refuse() -> None:
        raise MCPError(MCP_CODES.INVALID_PARAMS, "bad id", data={"field": "id"})

    server = MCPServer()
    server.register_prompt(refuse)

    error = await _get(server, "refuse")

    assert (-32602, "bad id", {"field": "id"}) == (error.code, error.message, error.data)


async def test_messages_are_given_here_as_well() -> None:
    server = MCPServer()
    server.register_prompt(greet)

    (message,) = await server.get_prompt_messages("greet", {"who": "Ada"})

    assert TextContent(text="hello Ada ") == message.content
    await server.stop()


async def test_what_is_registered_and_taken_away_is_told_to_clients() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        server.register_prompt(greet)
        server.unregister_prompt("greet")
        await peer.expect_notification("notifications/prompts/list_changed")
        await settle()
        assert 2 == len(peer.seen)


@pytest.mark.parametrize(("revision", "kind"), [("2024-11-05", "text"), ("2025-03-26", "audio")])
async def test_content_that_the_revision_does_not_know_becomes_text(revision: str, kind: str) -> None:
    server = MCPServer()

    @server.prompt
    def hum() -> AudioContent:
        return AudioContent(data="AA==", mime_type="audio/wav")

    async with serving(server, revision=revision) as peer:
        result = await ask(peer, "prompts/get", {"name": "hum"})
        assert kind == result["messages"][0]["content"]["type"]


async def test_arguments_may_be_advertised_in_other_words_than_the_handlers() -> None:
    server = MCPServer()
    prompt = server.register_prompt(
        {
            "name": "greet",
            "handler": greet,
            "arguments": [{"name": "who", "description": "A name."}, {"name": "times", "required": True}],
        }
    )

    assert prompt.arguments is not None
    assert [("who", "A name.", True), ("times", None, True)] == [
        (each.name, each.description, each.required) for each in prompt.arguments
    ]
    assert [prompt] == server.list_prompts()
    assert (
        "hello Ada hello Ada " == (await _get(server, "greet", who="Ada", times="2"))["messages"][0]["content"]["text"]
    )
    with pytest.raises(MCPError, match="times"):
        await server.get_prompt_messages("greet", {"who": "Ada"})


async def test_a_handler_that_takes_anything_gets_the_arguments_that_are_advertised() -> None:
    server = MCPServer()

    def collect(**arguments: str) -> str:
        return ", ".join(f"{name}={value}" for name, value in arguments.items())

    server.register_prompt(collect, arguments=[{"name": "a", "required": True}, PromptArgument(name="b")])

    assert "a=1, b=2" == (await _get(server, "collect", a="1", b="2"))["messages"][0]["content"]["text"]
    with pytest.raises(MCPError, match="c"):
        await server.get_prompt_messages("collect", {"a": "1", "c": "3"})


async def test_no_arguments_at_all_may_be_advertised() -> None:
    server = MCPServer()

    def answer(times: int = 1) -> str:
        return "x" * times

    assert None is server.register_prompt(answer, arguments=[]).arguments
    with pytest.raises(MCPError, match="no argument of that name"):
        await server.get_prompt_messages("answer", {"times": "2"})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([{"name": "who"}, {"name": "whom"}], "parameter `whom`: the handler has no parameter of that name"),
        ([{"name": "times"}], "parameter `who`: the handler cannot do without it"),
        ([{"name": "who", "required": False}], "parameter `who`: the handler cannot do without it"),
        ([{"title": "Who"}], "name"),
    ],
)
def test_advertised_arguments_that_the_handler_cannot_serve_are_refused(arguments: Any, reason: str) -> None:
    with pytest.raises(RegistrationError, match=reason):
        MCPServer().register_prompt(greet, arguments=arguments)
