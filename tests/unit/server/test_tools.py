"""Tools: registering, listing, calling."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pydantic
import pytest
from msgspec import UNSET, Raw
from msgspec.json import decode

from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.protocol.admission import SealedResult
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.param_headers import ParamHeader, ParamHeaderError
from suaveplan_mcp.protocol.revisions import LATEST, LATEST_HANDSHAKE
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.types.base import keep_raw
from suaveplan_mcp.types.content import AudioContent, ImageContent, ResourceLink, TextContent
from suaveplan_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from suaveplan_mcp.types.pagination import PaginatedRequestParams
from suaveplan_mcp.types.tools import CallToolRequestParams, CallToolResult, Tool, ToolAnnotations
from tests.unit.server.peers import a_call, ask, call, code_of, record_faults, serving, text_of

OLD = "2025-06-18"


def _with(*tools: Callable[..., Any], **options: Any) -> MCPServer:
    server = MCPServer(**options)
    for tool in tools:
        server.register_tool(tool)
    return server


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class AddArguments(msgspec.Struct):
    a: int
    b: int = 1


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_a_registered_tool_is_listed_here_and_on_the_wire() -> None:
    server = MCPServer()
    tool = server.register_tool(
        name="echo", description="Say it again.", input_schema={"type": "object"}, handler=lambda **given: given
    )

    assert [tool] == server.list_tools()
    async with serving(server) as peer:
        assert {
            "tools": [{"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}],
            "ttlMs": 0,
            "cacheScope": "public",
        } == await ask(peer, "tools/list")


@pytest.mark.requirement("a-server-registers-and-serves-features")
def test_a_name_that_is_taken_is_refused() -> None:
    server = _with(add)

    with pytest.raises(MCPError, match="a tool 'add' is registered already") as caught:
        server.register_tool(add)

    assert MCP_CODES.DUPLICATE_REGISTRATION == caught.value.code


@pytest.mark.requirement("a-server-registers-and-serves-features")
@pytest.mark.parametrize("schema", [None, AddArguments])
async def test_arguments_that_do_not_fit_are_refused_before_the_handler_runs(schema: object) -> None:
    server, ran = MCPServer(), list[int]()
    server.register_tool(name="add", input_schema=schema, handler=lambda a=0, b=1: ran.append(a + b))

    async with serving(server) as peer:
        with pytest.raises(MCPError) as caught:
            await server.invoke_tool("add", {"a": 1, "b": "x"} if schema else {"c": 1})

        assert MCP_CODES.INVALID_PARAMS == caught.value.code
        assert ("b" if schema else "c") == caught.value.context["path"]
        # Nothing was in flight, so nothing is cancelled: the client heard only the handshake.
        assert ([], 1) == (ran, len(peer.seen))


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_tool_with_a_schema_checks_calls_from_the_wire() -> None:
    server = MCPServer()
    server.register_tool(name="add", input_schema=AddArguments, handler=add)
    async with serving(server, revision=OLD) as peer:
        error = await call(peer, "add", a="x")

        assert ((-32602, MCP_CODES.INVALID_PARAMS), "Invalid request parameters") == (code_of(error), error.message)
        assert ("a", "Expected `int`, got `str`") == (error.data["path"], error.data["reason"])


async def test_from_the_last_handshake_revision_on_the_model_is_told_what_does_not_fit() -> None:
    async with serving(_with(add)) as peer:
        result = await call(peer, "add", a="x")

        assert result["isError"]
        assert "Error: Invalid arguments for tool `add`: a: Expected `int`, got `str`" == text_of(result)


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("arguments", [[1], "text", 5])
@pytest.mark.parametrize("revision", [OLD, LATEST_HANDSHAKE])
async def test_arguments_that_are_no_object_are_at_fault_as_a_whole(arguments: Any, revision: str) -> None:
    async with serving(_with(add), revision=revision) as peer:
        error = await ask(peer, "tools/call", {"name": "add", "arguments": arguments})

        assert (-32602, "(root)") == (error.code, error.data["path"])


@pytest.mark.requirement("every-branch-is-reached")
async def test_the_handler_gets_what_the_schema_made_of_the_arguments() -> None:
    server, seen = MCPServer(), list[object]()

    def take(given: AddArguments) -> None:
        seen.append(given)

    server.register_tool(handler=take, input_schema=AddArguments)
    await server.invoke_tool("take", {"a": 5})
    await server.stop()

    assert [AddArguments(a=5, b=1)] == seen


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("params", [{}, {"arguments": None}, {"arguments": {}}])
async def test_a_call_without_arguments_is_a_call_with_none(params: Any) -> None:
    def nothing() -> str:
        return "ok"

    async with serving(_with(nothing)) as peer:
        assert "ok" == text_of(await ask(peer, "tools/call", {"name": "nothing", **params}))
        assert "isError" in await call(peer, "nothing", extra=1)


async def test_a_tool_without_arguments_has_an_object_schema() -> None:
    server = MCPServer()
    server.register_tool(lambda: None, name="nothing")

    assert "object" == server.list_tools()[0].input_schema["type"]


@pytest.mark.parametrize("given", ["123", '{"a":1}', "null", "true"])
async def test_text_that_looks_like_json_stays_text(given: str) -> None:
    def show(s: str, t: str | None = None, u: str | int = "") -> list[Any]:
        return [s, t, u]

    async with serving(_with(show)) as peer:
        result = await call(peer, "show", s=given, t=given, u=given)

        assert {"result": [given] * 3} == result["structuredContent"]


async def test_a_list_that_arrives_as_text_is_a_clear_error() -> None:
    def take(xs: list[int], d: dict[str, Any] | None = None) -> None:
        """Never runs."""

    async with serving(_with(take)) as peer:
        assert "xs: Expected `array`, got `str`" in text_of(await call(peer, "take", xs="[1,2]"))
        assert "d: Expected `object | null`, got `str`" in text_of(await call(peer, "take", xs=[], d="{}"))


@pytest.mark.requirement("a-server-registers-and-serves-features", "every-branch-is-reached")
@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("secret path /etc/x"), "Error: secret path /etc/x"),
        (ValueError(), "Error: ValueError"),
        (KeyError("k"), "Error: 'k'"),
        (MCPError(MCP_CODES.TIMEOUT, "somebody else was slow"), "Error: somebody else was slow"),
        (MCPTransportError(MCP_CODES.TRANSPORT_CLOSED, "somebody else left"), "Error: somebody else left"),
    ],
)
async def test_what_a_handler_raises_becomes_an_error_result(raised: Exception, text: str) -> None:
    async def fail() -> None:
        raise raised

    server = _with(fail)
    async with serving(server) as peer:
        assert {"content": [{"type": "text", "text": text}], "isError": True} == await call(peer, "fail")
    assert CallToolResult(content=[TextContent(text=text)], is_error=True) == await server.invoke_tool("fail")


async def test_the_text_of_exceptions_can_be_kept_from_callers() -> None:
    def fail() -> None:
        raise ValueError("secret path /etc/x")

    async with serving(_with(fail, reveal_tool_errors=False)) as peer:
        assert "Error: the tool failed" == text_of(await call(peer, "fail"))


@pytest.mark.parametrize(
    ("raised", "number", "data"),
    [
        (
            MCPError(MCP_CODES.INVALID_PARAMS, "bad id", data={"field": "id", "why": [1, {"a": None}]}),
            -32602,
            {"field": "id", "why": [1, {"a": None}]},
        ),
        (MCPError("APP.CUSTOM", "bad id", jsonrpc_code=4001, data=0), 4001, 0),
        (MCPError("APP.CUSTOM", "bad id", jsonrpc_code=4001, data=None), 4001, None),
        (MCPError("APP.CUSTOM", "bad id", jsonrpc_code=4001), 4001, UNSET),
        (MCPError(MCP_CODES.UNAUTHORIZED, "bad id"), -32001, {"code": MCP_CODES.UNAUTHORIZED}),
    ],
)
async def test_an_error_raised_as_the_answer_passes_unchanged(raised: MCPError, number: int, data: Any) -> None:
    async def fail() -> None:
        raise raised

    server = _with(fail)
    async with serving(server) as peer:
        error = await call(peer, "fail")
        with pytest.raises(MCPError) as caught:
            await server.invoke_tool("fail")

        assert (number, "bad id", data) == (error.code, error.message, error.data)
        assert raised is caught.value


async def test_a_tool_that_does_not_exist_is_refused_by_name() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        error = await call(peer, "nothing")
        with pytest.raises(MCPError) as caught:
            await server.invoke_tool("nothing")

        assert (-32602, {"code": MCP_CODES.NOT_FOUND, "tool": "nothing"}) == (error.code, error.data)
        assert MCP_CODES.NOT_FOUND == caught.value.code


async def test_malformed_params_are_refused_in_every_revision() -> None:
    async with serving(_with(add)) as peer:
        error = await ask(peer, "tools/call", {"name": 42})

        assert ((-32602, MCP_CODES.INVALID_PARAMS), "name") == (code_of(error), error.data["path"])


@pytest.mark.parametrize("value", [object(), b"\xff", {"a": object()}])
async def test_a_value_that_cannot_be_sent_is_reported_here_and_told_as_a_failure_there(value: object) -> None:
    server = MCPServer()
    server.register_tool(lambda: value, name="t")
    faults = record_faults(server)
    async with serving(server) as peer:
        error = await call(peer, "t")

        assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
        assert [MCP_CODES.HANDLER_FAILED] == [getattr(fault.error, "code", None) for fault in faults]
        assert "tool `t` returned a value that cannot be sent" in str(faults[0].error)


async def test_structured_content_of_a_whole_result_must_be_json() -> None:
    server, content = MCPServer(), dict[str, Any](a=1)
    server.register_tool(lambda: CallToolResult(content=[], structured_content=content), name="t")
    async with serving(server) as peer:
        assert {"a": 1} == (await call(peer, "t"))["structuredContent"]
        content["a"] = object()
        assert (-32603, MCP_CODES.INTERNAL_ERROR) == code_of(await call(peer, "t"))


@pytest.mark.requirement("every-branch-is-reached")
async def test_a_list_of_content_is_the_content() -> None:
    image = ImageContent(data="+//+Pj8=", mime_type="image/png")

    def mixed() -> list[Any]:
        return ["first", image, {"n": 1}]

    async with serving(_with(mixed)) as peer:
        assert [
            {"type": "text", "text": "first"},
            {"type": "image", "data": "+//+Pj8=", "mimeType": "image/png"},
            {"type": "text", "text": '{"n":1}'},
        ] == (await call(peer, "mixed"))["content"]


FALSY: list[Any] = [[], {}, "", 0, False, None, [[]], [None]]


async def test_falsy_results_stay_distinguishable() -> None:
    server = MCPServer()
    for number, value in enumerate(FALSY):
        server.register_tool(functools.partial(lambda value: value, value), name=f"t{number}")
    async with serving(server) as peer:
        results = [await call(peer, f"t{number}") for number in range(len(FALSY))]

    assert all(isinstance(result["content"], list) for result in results)
    texts = [[block["text"] for block in result["content"]] for result in results]
    assert [["[]"], ["{}"], [""], ["0"], ["false"], [], ["[[]]"], ["[null]"]] == texts
    assert {} == results[1]["structuredContent"]


def _listed() -> list[int]:
    return []


def _number() -> int:
    return 0


def _flag() -> bool:
    return False


def _maybe() -> int | None:
    return None


def _table() -> dict[str, int]:
    return {}


def _bare() -> list:  # pyright: ignore[reportMissingTypeArgument]
    return [1]


@pytest.mark.parametrize(
    ("handler", "here", "wire"),
    [
        (_listed, [], {"result": []}),
        (_number, 0, {"result": 0}),
        (_flag, False, {"result": False}),
        (_maybe, None, {"result": None}),
        (_table, {}, {}),
        (_bare, [1], {"result": [1]}),
    ],
)
async def test_data_is_an_object_for_peers_that_know_nothing_else(handler: Any, here: Any, wire: Any) -> None:
    server = MCPServer()
    server.register_tool(handler, name="t")
    async with serving(server) as peer:
        assert wire == (await call(peer, "t"))["structuredContent"]
        (tool,) = (await ask(peer, "tools/list"))["tools"]
        assert "object" == tool.get("outputSchema", {"type": "object"})["type"]
    assert here == (await server.invoke_tool("t")).structured_content
    await server.stop()


async def test_a_whole_result_without_a_schema_is_wrapped_where_it_is_no_object() -> None:
    server = MCPServer()
    server.register_tool(lambda: CallToolResult(content=[], structured_content=[1]), name="t")
    async with serving(server) as peer:
        assert {"result": [1]} == (await call(peer, "t"))["structuredContent"]


class Node(pydantic.BaseModel):
    name: str
    kids: list["Node"] = []


async def test_a_recursive_type_is_argument_and_result() -> None:
    def copy(node: Node) -> Node:
        return node

    tree = {"name": "a", "kids": [{"name": "b", "kids": []}]}
    async with serving(_with(copy)) as peer:
        assert tree == (await call(peer, "copy", node=tree))["structuredContent"]
        assert "kids[0].name" in text_of(await call(peer, "copy", node={"name": "a", "kids": [{"name": 1}]}))


class Multiplier:
    """Multiply."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def method(self, number: int) -> int:
        return number * self.factor

    @staticmethod
    def static(number: int) -> int:
        return number * 3

    async def __call__(self, number: int) -> int:
        return number * self.factor


async def power(base: int, exponent: int) -> int:
    return base**exponent


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("handler", "name", "arguments", "text"),
    [
        (Multiplier(2), "Multiplier", {"number": 3}, "6"),
        (Multiplier(2).method, "method", {"number": 3}, "6"),
        (Multiplier.static, "static", {"number": 3}, "9"),
        (functools.partial(power, exponent=2), "power", {"base": 3}, "9"),
        (_wrapped(add), "add", {"a": 3}, "4"),
        (_wrapped(power), "power", {"base": 3, "exponent": 1}, "3"),
    ],
)
async def test_every_shape_of_callable_runs_and_is_awaited(handler: Any, name: str, arguments: Any, text: str) -> None:
    server = _with(handler)
    result: Any = await server.invoke_tool(name, arguments)

    assert text == result.content[0].text
    await server.stop()


@pytest.mark.parametrize("handler", [lambda *args: args, lambda **kw: kw, lambda x, /: x])
def test_a_callable_whose_arguments_have_no_names_is_refused_when_it_is_registered(handler: Any) -> None:
    with pytest.raises(RegistrationError, match="Cannot register `t`, parameter"):
        MCPServer().register_tool(handler, name="t")


def test_the_context_shows_in_no_schema() -> None:
    def look(q: str, ctx: Context) -> str:
        return f"{q}{ctx.request_id}"

    assert ["q"] == list(_with(look).list_tools()[0].input_schema["properties"])  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("every-branch-is-reached")
def test_optional_fields_are_listed_where_they_are_given() -> None:
    server = MCPServer()
    server.register_tool(
        {
            "handler": add,
            "title": "Add",
            "annotations": {"readOnlyHint": True},
            "icons": [{"src": "a.png"}],
            "_meta": {"x": 1},
        }
    )
    (tool,) = server.list_tools()

    assert ("Add", "Add two numbers.", {"x": 1}) == (tool.title, tool.description, tool.meta)
    assert ToolAnnotations(read_only_hint=True) == tool.annotations


async def test_lists_come_in_pages() -> None:
    server = MCPServer(page_size=2)
    for name in "abcde":
        server.register_tool(lambda: None, name=name)
    async with serving(server) as peer:
        seen, cursors, params = [], [], {}
        while True:
            page = await ask(peer, "tools/list", params)
            seen += [tool["name"] for tool in page["tools"]]
            cursors.append(page["cacheScope"])
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}

        assert (list("abcde"), ["public"] * 3) == (seen, cursors)
        for cursor in ("", "garbage"):
            assert (-32602, MCP_CODES.INVALID_PARAMS) == code_of(await ask(peer, "tools/list", {"cursor": cursor}))


async def test_the_list_follows_what_is_registered() -> None:
    server = _with(add)
    async with serving(server) as peer:
        assert ["add"] == [tool["name"] for tool in (await ask(peer, "tools/list"))["tools"]]
        server.register_tool(lambda: None, name="more")
        server.unregister_tool("add")
        await peer.expect_notification("notifications/tools/list_changed")
        assert ["more"] == [tool["name"] for tool in (await ask(peer, "tools/list"))["tools"]]
    assert isinstance(server.list_tools()[0], Tool)


async def test_a_whole_result_is_the_result() -> None:
    result = CallToolResult(content=[TextContent(text="x")], meta={"k": 0})

    async def whole() -> CallToolResult:
        return result

    server = _with(whole)
    async with serving(server) as peer:
        assert {"content": [{"type": "text", "text": "x"}], "_meta": {"k": 0}} == await call(peer, "whole")
    assert result == await server.invoke_tool("whole")


@pytest.mark.requirement("every-branch-is-reached")
@pytest.mark.parametrize("raised", [SystemExit(3), BaseExceptionGroup("both", [SystemExit(3)])])
async def test_a_tool_that_would_end_the_process_has_failed_and_is_reported(
    raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    server, text = MCPServer(), f"Error: the tool raised {type(raised).__name__}"

    @server.tool
    async def leave() -> None:
        raise raised

    async with serving(server) as peer:
        assert text == text_of(await call(peer, "leave"))
    variants: list[Any] = [{}, {"signal": AbortController().signal}, {"on_progress": lambda _: None}]
    for options in variants:
        result: Any = await server.invoke_tool("leave", **options)
        assert (True, text) == (result.is_error, result.content[0].text)
    assert ["ERROR"] * 4 == [record.levelname for record in caplog.records]


async def test_what_ends_more_than_a_tool_passes_through_it() -> None:
    server = MCPServer()

    @server.tool
    async def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await server.invoke_tool("stop")


@dataclass
class Point:
    x: int
    y: int = 0


async def test_mutable_defaults_and_dataclasses_are_fresh_for_each_call() -> None:
    def collect(point: Point, seen: list[int] = []) -> list[int]:  # noqa: B006
        seen.append(point.x)
        return seen

    server = _with(collect)
    for _ in range(2):
        assert [1] == (await server.invoke_tool("collect", {"point": {"x": 1}})).structured_content
    await server.stop()


@pytest.mark.parametrize(
    ("revision", "types"),
    [
        ("2024-11-05", ["text", "text", "text"]),
        ("2025-03-26", ["text", "audio", "text"]),
        ("2025-06-18", ["text", "audio", "resource_link"]),
    ],
)
async def test_content_that_the_revision_does_not_know_becomes_text(revision: str, types: list[str]) -> None:
    def media() -> list[Any]:
        return ["x", AudioContent(data="AA==", mime_type="audio/wav"), ResourceLink(uri="mem://a", name="a")]

    async with serving(_with(media), revision=revision) as peer:
        assert types == [block["type"] for block in (await call(peer, "media"))["content"]]


async def test_a_result_from_a_peer_keeps_what_is_not_known_when_its_content_changes() -> None:
    def relay() -> CallToolResult:
        raw = Raw(b'{"content":[{"type":"audio","data":"AA==","mimeType":"a/b"}],"structuredContent":[1],"odd":1}')
        result = decode(raw, type=CallToolResult)
        keep_raw(result, raw)
        return result

    async with serving(_with(relay), revision="2024-11-05") as peer:
        result = await call(peer, "relay")
    assert ("text", {"result": [1]}, 1) == (result["content"][0]["type"], result["structuredContent"], result["odd"])


async def test_the_stateless_era_has_structured_content_bare_and_its_schema_to_match() -> None:
    server = _with(_listed)
    caller = a_call()
    caller.caller = Caller(revision=LATEST)

    sealed = await server._tools.handle_list(PaginatedRequestParams(), caller)
    assert isinstance(sealed, SealedResult)
    listed: Any = decode(sealed.json)
    result = await server._tools.handle_call(CallToolRequestParams(name="_listed"), caller)
    assert isinstance(result, CallToolResult)

    assert {"type": "array", "items": {"type": "integer"}} == listed["tools"][0]["outputSchema"]
    assert b"[" == bytes(cast("Raw", result.structured_content))[:1]


def test_a_tool_must_have_a_name() -> None:
    with pytest.raises(RegistrationError, match="a tool must have a name"):
        MCPServer().register_tool(add, name="")


@pytest.mark.parametrize("name", ["with space", "é", "a,b", "x" * 129])
def test_a_name_that_some_clients_refuse_is_taken_with_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert name == MCPServer().register_tool(add, name=name).name
    assert [f"the name of the tool {name!r}"] == [each.message.partition(" is one")[0] for each in caplog.records]


@pytest.mark.parametrize("name", ["getUser", "DATA_EXPORT_v2", "admin.tools/list", "a-b", "x" * 128])
def test_a_usual_name_is_taken_in_silence(name: str, caplog: pytest.LogCaptureFixture) -> None:
    MCPServer().register_tool(add, name=name)

    assert [] == caplog.records


def _schema(**annotated: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "integer", **annotated}, "b": {"type": "integer"}}}


def test_the_parameters_of_a_tool_that_travel_as_headers_are_found_once_it_is_registered() -> None:
    server = MCPServer()
    server.register_tool(add, name="plain")
    server.register_tool(add, name="routed", input_schema=_schema(**{"x-mcp-header": "First"}))

    assert (ParamHeader("Mcp-Param-First", ("a",), "integer"),) == server._tools.param_headers_of("routed")
    assert [(), ()] == [server._tools.param_headers_of(name) for name in ("plain", "no such tool")]


@pytest.mark.parametrize("annotation", ["", "two words", 5, None])
def test_a_tool_that_puts_a_parameter_into_no_legal_header_is_refused(annotation: object) -> None:
    server = MCPServer()

    with pytest.raises(RegistrationError, match=r"`routed`.*inputSchema\.properties\.a") as caught:
        server.register_tool(add, name="routed", input_schema=_schema(**{"x-mcp-header": annotation}))

    assert isinstance(caught.value.cause, ParamHeaderError)
    assert [] == server.list_tools()


async def test_what_another_peer_answered_to_a_tool_is_not_passed_on() -> None:
    async def pry() -> None:
        error = MCPError(MCP_CODES.NOT_FOUND, "the secret is not here", jsonrpc_code=-32602)
        error.received = True
        raise error

    async with serving(_with(pry)) as peer:
        result = await call(peer, "pry")

    expected = f"Error: a request that the tool made failed: {MCP_CODES.NOT_FOUND} (-32602)"
    assert (True, expected) == (result["isError"], text_of(result))


async def test_a_tool_that_asks_its_client_is_answered_for_with_what_it_asks() -> None:
    async def greet(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", {"type": "object", "properties": {}}, key="who")).content)

    meta = {PROTOCOL_VERSION_KEY: LATEST, CLIENT_CAPABILITIES_KEY: {"elicitation": {}}}
    async with serving(_with(greet)) as peer:
        result = await ask(peer, "tools/call", {"name": "greet", "_meta": meta})

    assert ("input_required", ["who"]) == (result["resultType"], list(result["inputRequests"]))
