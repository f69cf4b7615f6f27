"""Resources and templates: registering, listing, reading, watching."""

from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.runtime.abort import AbortController
from suaveplan_mcp.server import resources
from suaveplan_mcp.server.context import Context
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.types.resources import (
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)
from tests.unit.server.peers import ask, code_of, join, record_faults, serving, settle


def _with(value: object, uri: str = "mem://x", **fields: Any) -> MCPServer:
    server = MCPServer()
    server.register_resource(lambda: value, uri=uri, name="x", **fields)
    return server


async def _read(server: MCPServer, uri: str = "mem://x") -> Any:
    async with serving(server) as peer:
        return await ask(peer, "resources/read", {"uri": uri})


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_resources_are_registered_listed_and_taken_away_like_tools() -> None:
    server = MCPServer()
    server.register_resource(lambda: "a", uri="mem://a", name="a")
    template = server.register_resource({"uri": "mem://{id}", "name": "any", "handler": lambda id: id})

    assert ["mem://a"] == [resource.uri for resource in server.list_resources()]
    assert isinstance(template, ResourceTemplate)
    assert [template] == server.list_resource_templates()
    handlers: dict[str, Any] = {"mem://a": lambda: "", "mem://{id}": lambda id: id}
    for uri, handler in handlers.items():
        with pytest.raises(MCPError) as twice:
            server.register_resource(handler, uri=uri, name="b")
        assert MCP_CODES.DUPLICATE_REGISTRATION == twice.value.code
    server.unregister_resource("mem://a")
    server.unregister_resource("mem://{id}")
    with pytest.raises(MCPError) as missing:
        server.unregister_resource("mem://a")
    assert MCP_CODES.NOT_FOUND == missing.value.code
    assert ([], []) == (server.list_resources(), server.list_resource_templates())


@pytest.mark.requirement("every-branch-is-reached")
async def test_optional_fields_are_listed_where_they_are_given() -> None:
    server = MCPServer()
    fields: Any = {
        "description": "Data.",
        "title": "Data",
        "mime_type": "text/csv",
        "annotations": {"priority": 0.5},
        "icons": [{"src": "x.png"}],
        "meta": {"k": None},
    }
    server.register_resource(lambda: "a", uri="mem://a", name="a", size=3, **fields)
    server.register_resource(lambda id: id, uri="mem://{id}", name="t", **fields)
    server.register_resource(lambda: "b", uri="mem://b", name="b")
    listed = {
        "description": "Data.",
        "title": "Data",
        "mimeType": "text/csv",
        "annotations": {"priority": 0.5},
        "icons": [{"src": "x.png"}],
        "_meta": {"k": None},
    }
    async with serving(server) as peer:
        assert {
            "resources": [{"uri": "mem://a", "name": "a", "size": 3, **listed}, {"uri": "mem://b", "name": "b"}],
            "ttlMs": 0,
            "cacheScope": "public",
        } == await ask(peer, "resources/list")
        assert {
            "resourceTemplates": [{"uriTemplate": "mem://{id}", "name": "t", **listed}],
            "ttlMs": 0,
            "cacheScope": "public",
        } == await ask(peer, "resources/templates/list")


async def test_lists_come_in_pages() -> None:
    server = MCPServer(page_size=1)
    for name in "ab":
        server.register_resource(lambda: "", uri=f"mem://{name}", name=name)
        server.register_resource(lambda id: id, uri=f"mem://{name}/{{id}}", name=name)
    async with serving(server) as peer:
        for method, member in (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")):
            first = await ask(peer, method)
            second = await ask(peer, method, {"cursor": first["nextCursor"]})
            assert ["a", "b"] == [page[member][0]["name"] for page in (first, second)]
            assert "nextCursor" not in second
            assert (-32602, MCP_CODES.INVALID_PARAMS) == code_of(await ask(peer, method, {"cursor": ""}))


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("hi", {"mimeType": "text/plain", "text": "hi"}),
        ("", {"mimeType": "text/plain", "text": ""}),
        (b"\xfb\xff\xfe\x3e\x3f", {"mimeType": "application/octet-stream", "blob": "+//+Pj8="}),
        (bytearray(b"text"), {"mimeType": "application/octet-stream", "blob": "dGV4dA=="}),
        (memoryview(b""), {"mimeType": "application/octet-stream", "blob": ""}),
        ({"a": [1, None]}, {"mimeType": "application/json", "text": '{"a":[1,null]}'}),
        ([], {"mimeType": "application/json", "text": "[]"}),
        (["a", "b"], {"mimeType": "application/json", "text": '["a","b"]'}),
        (None, {"mimeType": "application/json", "text": "null"}),
        (0, {"mimeType": "application/json", "text": "0"}),
        ({"contents": [1]}, {"mimeType": "application/json", "text": '{"contents":[1]}'}),
        ({"contents": [], "more": 1}, {"mimeType": "application/json", "text": '{"contents":[],"more":1}'}),
    ],
)
async def test_every_value_is_one_content(value: object, content: Any) -> None:
    assert [{"uri": "mem://x", **content}] == (await _read(_with(value)))["contents"]


@pytest.mark.parametrize("value", ["hi", b"hi", {"a": 1}])
async def test_the_mime_type_is_that_of_the_registration(value: object) -> None:
    assert "text/x" == (await _read(_with(value, mime_type="text/x")))["contents"][0]["mimeType"]


async def test_a_list_that_holds_contents_is_several_in_order() -> None:
    part = TextResourceContents(uri="mem://x/1", text="one")

    contents = (await _read(_with([part, b"two", "three", {"n": 4}])))["contents"]

    assert [("mem://x/1", "one"), ("mem://x", "dHdv"), ("mem://x", "three"), ("mem://x", '{"n":4}')] == [
        (each["uri"], each.get("text", each.get("blob"))) for each in contents
    ]


@pytest.mark.parametrize(
    "value",
    [
        ReadResourceResult(contents=[TextResourceContents(uri="mem://y", text="t")], meta={"k": 0}),
        {"contents": [{"uri": "mem://y", "text": "t"}], "_meta": {"k": 0}},
    ],
)
async def test_a_whole_result_is_the_result(value: object) -> None:
    assert {"contents": [{"uri": "mem://y", "text": "t"}], "_meta": {"k": 0}} == await _read(_with(value))


@pytest.mark.parametrize("value", [object(), [b"", object()], {"contents": [{"text": "no uri"}]}])
async def test_a_value_that_cannot_be_sent_is_reported_here_and_told_as_a_failure_there(value: object) -> None:
    server = _with(value)
    faults = record_faults(server)

    error = await _read(server)

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert [MCP_CODES.HANDLER_FAILED] == [getattr(fault.error, "code", None) for fault in faults]
    with pytest.raises(MCPError, match="resource `x` returned a value that cannot be sent"):
        await server.read_resource("mem://x")
    await server.stop()


async def test_a_resource_that_does_not_exist_is_named_in_the_error() -> None:
    error = await _read(MCPServer(), "mem://none")

    assert (-32002, {"code": MCP_CODES.NOT_FOUND, "uri": "mem://none"}) == (error.code, error.data)
    with pytest.raises(MCPError) as caught:
        await MCPServer().read_resource("mem://none")
    assert MCP_CODES.NOT_FOUND == caught.value.code


async def test_the_text_of_an_exception_stays_here() -> None:
    def fail() -> None:
        raise ValueError("secret path /etc/x")

    server = MCPServer()
    server.register_resource(fail, uri="mem://x")
    faults = record_faults(server)

    error = await _read(server)

    assert ((-32603, MCP_CODES.INTERNAL_ERROR), "Internal error") == (code_of(error), error.message)
    assert "secret path /etc/x" in str(faults[0].error)
    with pytest.raises(MCPError) as caught:
        await server.read_resource("mem://x")
    assert (MCP_CODES.HANDLER_FAILED, "secret path /etc/x") == (caught.value.code, str(caught.value.cause))
    await server.stop()


async def test_an_error_raised_as_the_answer_passes_unchanged() -> None:
    async def refuse() -> None:
        raise MCPError("APP.CUSTOM", "not today", jsonrpc_code=4001, data=0)

    server = MCPServer()
    server.register_resource(refuse, uri="mem://x")

    error = await _read(server)

    assert (4001, "not today", 0) == (error.code, error.message, error.data)


async def test_what_a_handler_could_not_ask_is_its_own_failure() -> None:
    async def curious(ctx: Context) -> str:
        return (await ctx.sample("hi")).model

    server = MCPServer()
    server.register_resource(curious, uri="mem://x")

    assert (-32603, MCP_CODES.INTERNAL_ERROR) == code_of(await _read(server))


@pytest.mark.parametrize(
    ("uri", "value"),
    [("item/%C2%A7%20141", "§ 141"), ("item/a%2Fb", "a/b"), ("item/a+b", "a+b"), ("item/%2520", "%20")],
)
async def test_variables_are_decoded_once(uri: str, value: str) -> None:
    server = MCPServer()

    @server.resource("res://item/{id}")
    async def item(id: str) -> str:
        return id

    result = await _read(server, f"res://{uri}")

    assert [{"uri": f"res://{uri}", "mimeType": "text/plain", "text": value}] == result["contents"]


async def test_a_malformed_escape_is_refused_and_a_slash_does_not_match() -> None:
    server = MCPServer()
    server.register_resource(lambda id: id, uri="res://item/{id}", name="item")

    assert (-32602, "uri") == (
        (malformed := await _read(server, "res://item/%ZZ")).code,
        malformed.data["path"],
    )
    assert (-32002, MCP_CODES.NOT_FOUND) == code_of(await _read(server, "res://item/a/b"))


@pytest.mark.parametrize("path", ["/a/../../etc/passwd", "/%2e%2e%2fetc", "..%5c..", "//etc/passwd", "a%00b"])
async def test_a_path_cannot_escape_unless_the_guard_is_off(path: str) -> None:
    guarded, open_ = MCPServer(), MCPServer()
    guarded.register_resource(lambda path: path, uri="file:///{+path}", name="f")
    open_.register_resource(lambda path: path, uri="file:///{+path}", name="f", guard=False)

    assert -32602 == (await _read(guarded, f"file:///{path}")).code
    assert "contents" in await _read(open_, f"file:///{path}")


async def test_variables_have_the_types_of_the_handler() -> None:
    server = MCPServer()

    @server.resource("res://{number}{?full}")
    async def item(number: int, *, full: bool = False) -> dict[str, Any]:
        return {"number": number, "full": full}

    assert '{"number":7,"full":true}' == (await _read(server, "res://7?full=true"))["contents"][0]["text"]
    assert -32602 == (await _read(server, "res://seven")).code


async def test_a_handler_must_take_the_variables_of_its_template() -> None:
    with pytest.raises(RegistrationError, match="parameter `id`"):
        MCPServer().register_resource(lambda: "", uri="res://{id}", name="x")


async def test_an_exact_uri_comes_before_a_template() -> None:
    server = MCPServer()
    server.register_resource(lambda id: f"template {id}", uri="mem://{id}", name="t")
    server.register_resource(lambda: "exact", uri="mem://x", name="x")

    assert "exact" == (await _read(server))["contents"][0]["text"]
    assert "template y" == (await _read(server, "mem://y"))["contents"][0]["text"]


@pytest.mark.requirement("a-server-registers-and-serves-features")
async def test_a_subscribed_client_is_told_of_an_update_and_no_other() -> None:
    server = _with("v")
    watching, other = await join(server), await join(server)
    assert {} == await ask(watching, "resources/subscribe", {"uri": "mem://x"})
    assert {} == await ask(other, "resources/subscribe", {"uri": "mem://y"})

    server.mark_resource_updated("mem://x")
    update = await watching.expect_notification("notifications/resources/updated")
    assert {"uri": "mem://x"} == update.params

    assert {} == await ask(watching, "resources/unsubscribe", {"uri": "mem://x"})
    assert {} == await ask(watching, "resources/unsubscribe", {"uri": "mem://never"})
    server.mark_resource_updated("mem://x")
    await settle()
    assert (5, 2) == (len(watching.seen), len(other.seen))
    await server.stop()


@pytest.mark.requirement("every-branch-is-reached")
async def test_an_update_before_the_start_is_told_to_nobody() -> None:
    server = _with("v")
    server.mark_resource_updated("mem://x")
    peer = await join(server)
    assert {} == await ask(peer, "resources/subscribe", {"uri": "mem://x"})
    heard = len(peer.seen)
    await settle()
    assert heard == len(peer.seen)

    server.mark_resource_updated("mem://x")
    await peer.expect_notification("notifications/resources/updated")
    await settle()
    assert heard + 1 == len(peer.seen)
    await server.stop()


async def test_what_is_registered_and_taken_away_is_told_to_clients() -> None:
    server = MCPServer()
    async with serving(server) as peer:
        server.register_resource(lambda: "", uri="mem://x", name="x")
        server.register_resource(lambda id: id, uri="mem://{id}", name="t")
        await peer.expect_notification("notifications/resources/list_changed")
        await settle()
        assert 2 == len(peer.seen)


async def test_what_depends_on_the_caller_is_private() -> None:
    server = MCPServer()

    @server.resource("mem://own")
    async def own(ctx: Context) -> str:
        return str(ctx.principal)

    server.register_resource(lambda: "", uri="mem://all", name="all")

    assert (0, "private") == ((result := await _read(server, "mem://own"))["ttlMs"], result["cacheScope"])
    assert "public" == (await _read(server, "mem://all"))["cacheScope"]


async def test_a_resource_is_read_here_as_well() -> None:
    server, controller = _with("here"), AbortController()

    result = await server.read_resource("mem://x", signal=controller.signal, meta={"a": 1})

    assert "here" == result.contents[0].text
    assert isinstance(server.list_resources()[0], Resource)
    await server.stop()


async def test_one_client_cannot_watch_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SUBSCRIPTIONS", 2)
    async with serving(MCPServer()) as peer:
        for uri in ("a:1", "a:2", "a:2"):
            assert {} == await ask(peer, "resources/subscribe", {"uri": uri})
        error = await ask(peer, "resources/subscribe", {"uri": "a:3"})
        assert "too many subscriptions: one connection may have 2 at once" == error.message
        assert {} == await ask(peer, "resources/unsubscribe", {"uri": "a:1"})
        assert {} == await ask(peer, "resources/subscribe", {"uri": "a:3"})


@pytest.mark.parametrize("key", ["uri", "uri_template", "uriTemplate"])
async def test_a_template_may_be_registered_under_the_name_that_the_wire_has_for_its_uri(key: str) -> None:
    server = MCPServer()
    definition: dict[str, Any] = {key: "mem://{id}", "name": "any", "handler": lambda uri, id: f"{id} of {uri}"}
    template = server.register_resource(definition)

    assert isinstance(template, ResourceTemplate)
    assert "mem://{id}" == template.uri_template
    result = await _read(server, "mem://7")
    assert "7 of mem://7" == result["contents"][0]["text"]


async def test_a_template_may_be_named_by_keyword() -> None:
    server = MCPServer()
    server.register_resource(lambda id: id, uri_template="mem://{id}", name="any")

    assert ["mem://{id}"] == [template.uri_template for template in server.list_resource_templates()]
