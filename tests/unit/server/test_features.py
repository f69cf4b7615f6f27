"""Every way to register what a server offers."""

from collections.abc import Mapping
from typing import Any

import pytest

from suaveplan_mcp.errors import MCP_CODES, MCPError
from suaveplan_mcp.server.mcp_server import MCPServer
from suaveplan_mcp.server.prompts import PromptDefinition
from suaveplan_mcp.server.refusals import RegistrationError
from suaveplan_mcp.server.resources import ResourceDefinition
from suaveplan_mcp.server.tools import ToolDefinition


def handler() -> str:
    return "done"


@pytest.mark.parametrize("kind", ["tool", "prompt"])
def test_a_decorator_gives_the_function_back_with_and_without_parentheses(kind: str) -> None:
    server = MCPServer()
    decorator: Any = getattr(server, kind)

    assert handler is decorator(handler)
    assert handler is decorator("positional")(handler)
    assert handler is decorator(name="named", title="T")(handler)
    assert handler is decorator(None, name="none")(handler)

    listed = server.list_tools() if kind == "tool" else server.list_prompts()
    assert ["handler", "positional", "named", "none"] == [each.name for each in listed]


def test_a_resource_is_decorated_with_its_uri_or_without_parentheses() -> None:
    server = MCPServer()

    assert handler is server.resource(handler)
    assert handler is server.resource("mem://a")(handler)
    assert handler is server.resource(uri="mem://b", name="b")(handler)

    assert ["resource://handler", "mem://a", "mem://b"] == [each.uri for each in server.list_resources()]
    assert ["handler", "handler", "b"] == [each.name for each in server.list_resources()]


def test_a_template_is_decorated_with_its_variables() -> None:
    server = MCPServer()

    @server.resource("mem://{id}", mime_type="text/plain")
    def item(id: str) -> str:
        return id

    assert ["mem://{id}"] == [each.uri_template for each in server.list_resource_templates()]
    assert "a" == item("a")


def test_a_callable_object_without_a_name_is_a_resource_as_well() -> None:
    class Reader:
        def __call__(self) -> str:
            return "read"

    server, reader = MCPServer(), Reader()

    assert reader is server.resource(reader)
    assert ["resource://resource"] == [each.uri for each in server.list_resources()]


def test_a_completion_is_decorated_with_what_it_completes_or_without_parentheses() -> None:
    server = MCPServer()

    def complete(typed: str) -> list[str]:
        return [typed]

    assert complete is server.completion("greet", "who")(complete)
    assert complete is server.completion(complete)


@pytest.mark.parametrize(
    ("decorate", "problem"),
    [
        (lambda server: server.tool(5), "a tool is a function or another callable object"),
        (lambda server: server.resource()(handler), "the field 'uri' is missing"),
        (lambda server: server.resource("mem://a", colour="red")(handler), "there is no field 'colour'"),
        (lambda server: server.completion("greet"), "a completion provider is a function or another callable object"),
    ],
)
def test_a_decorator_that_is_used_wrongly_says_so(decorate: Any, problem: str) -> None:
    with pytest.raises(RegistrationError, match=problem) as caught:
        decorate(MCPServer())

    assert MCP_CODES.INVALID_PARAMS == caught.value.code


FORMS: list[Any] = [
    lambda kind, fields: ((kind(handler=handler, **fields),), {}),
    lambda kind, fields: (({"handler": handler, **fields},), {}),
    lambda kind, fields: ((handler,), fields),
    lambda kind, fields: ((), {"handler": handler, **fields}),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_registration_may_be_given_in_every_form(form: Any) -> None:
    server = MCPServer()

    def given(kind: type, **fields: Any) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        return form(kind, fields)

    args, fields = given(ToolDefinition, title="T")
    assert ("handler", "T") == ((tool := server.register_tool(*args, **fields)).name, tool.title)
    args, fields = given(PromptDefinition, title="T")
    assert ("handler", "T") == ((prompt := server.register_prompt(*args, **fields)).name, prompt.title)
    args, fields = given(ResourceDefinition, uri="mem://a", title="T")
    assert ("handler", "T") == ((resource := server.register_resource(*args, **fields)).name, resource.title)


@pytest.mark.parametrize("kind", ["tool", "resource", "prompt", "root"])
def test_what_was_never_registered_cannot_be_taken_away(kind: str) -> None:
    with pytest.raises(MCPError) as caught:
        getattr(MCPServer(), f"unregister_{kind}")("nothing")

    assert MCP_CODES.NOT_FOUND == caught.value.code


def test_lists_are_handed_out_as_copies() -> None:
    server = MCPServer()
    server.register_tool(handler)

    server.list_tools().clear()

    assert 1 == len(server.list_tools())
