"""What a server offers, and every way to register it. Spec: server/index"""

from collections.abc import Callable, Mapping
from typing import TypeVar, Unpack, cast, overload

from suaveplan_mcp.server.completion import Completions, Reference
from suaveplan_mcp.server.connections import Connections
from suaveplan_mcp.server.paging import Listing
from suaveplan_mcp.server.prompts import PromptDefinition, PromptFields, PromptMembers, Prompts
from suaveplan_mcp.server.registering import definition_of
from suaveplan_mcp.server.resources import ResourceDefinition, ResourceFields, ResourceMembers, Resources
from suaveplan_mcp.server.roots import Roots
from suaveplan_mcp.server.running import Runner
from suaveplan_mcp.server.tools import ToolDefinition, ToolFields, ToolMembers, Tools
from suaveplan_mcp.types.completion import PromptReference
from suaveplan_mcp.types.prompts import Prompt
from suaveplan_mcp.types.resources import Resource, ResourceTemplate
from suaveplan_mcp.types.roots import Root
from suaveplan_mcp.types.tools import Tool

Function = TypeVar("Function", bound=Callable[..., object])

# What the wire calls the URI of a template.
_RESOURCE_ALIASES = {"uri_template": "uri"}


class ServerFeatures:
    """The tools, resources, prompts, completions and roots of a server.

    They may be registered and taken away at any time; clients that are connected are told.

    Args:
        connections: who is told.
        runner: runs the handlers.
        listing: how lists are answered.
        reveal_tool_errors: whether the text of an exception that a tool raises reaches the caller.
    """

    def __init__(
        self,
        connections: Connections,
        runner: Runner,
        listing: Listing,
        *,
        reveal_tool_errors: bool,
    ) -> None:
        self._tools = Tools(connections, runner, listing, reveal_errors=reveal_tool_errors)
        self._resources = Resources(connections, runner, listing)
        self._prompts = Prompts(connections, runner, listing)
        self._completions = Completions(runner, self._is_known)
        self._roots = Roots()

    # Registering by decorator

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(self, given: str | None = None, /, **fields: Unpack[ToolFields]) -> Callable[[Function], Function]: ...
    def tool(self, given: object = None, /, **fields: object) -> object:
        """Register the decorated function as a tool; the function stays as it is.

        Args:
            given: the function, without parentheses; or the tool's name, None to take the function's.
            fields: see `ToolDefinition`.
        """
        return _decorate(self._register_tool, given, "name", fields)

    @overload
    def resource(self, function: Function, /) -> Function: ...
    @overload
    def resource(self, uri: str, /, **fields: Unpack[ResourceFields]) -> Callable[[Function], Function]: ...
    @overload
    def resource(self, /, *, uri: str, **fields: Unpack[ResourceFields]) -> Callable[[Function], Function]: ...
    def resource(self, given: object = None, /, **fields: object) -> object:
        """Register the decorated function as the resource at a URI, or as a template where it has variables.

        Args:
            given: the URI or URI template; or, without parentheses, the function, whose URI is then
                `resource://NAME`.
            fields: see `ResourceDefinition`.
        """
        if callable(given):
            fields["uri"] = f"resource://{getattr(given, '__name__', 'resource')}"
        return _decorate(self._register_resource, given, "uri", fields)

    @overload
    def prompt(self, function: Function, /) -> Function: ...
    @overload
    def prompt(self, given: str | None = None, /, **fields: Unpack[PromptFields]) -> Callable[[Function], Function]: ...
    def prompt(self, given: object = None, /, **fields: object) -> object:
        """Register the decorated function as a prompt; the function stays as it is.

        Args:
            given: the function, without parentheses; or the prompt's name, None to take the function's.
            fields: see `PromptDefinition`.
        """
        return _decorate(self._register_prompt, given, "name", fields)

    @overload
    def completion(self, function: Function, /) -> Function: ...
    @overload
    def completion(self, reference: str, argument: str, /) -> Callable[[Function], Function]: ...
    def completion(self, given: object, argument: str | None = None, /) -> object:
        """Let the decorated function complete an argument of a prompt or a variable of a resource template.

        It takes what is typed so far and, where it has a second parameter, the arguments that are settled already.

        Args:
            given: the prompt's name or the URI template; or, without parentheses, a function that completes all that
                has no function of its own, as `set_completion_provider` does.
            argument: the argument or variable.
        """
        if argument is None:
            self._completions.set_provider(cast("Callable[..., object]", given))
            return given

        def decorator(function: Function) -> Function:
            self._completions.register(str(given), argument, function)
            return function

        return decorator

    # Registering by call

    def register_tool(
        self,
        definition: ToolDefinition | Mapping[str, object] | Callable[..., object] | None = None,
        /,
        **fields: Unpack[ToolMembers],
    ) -> Tool:
        """Register a tool.

        Args:
            definition: a `ToolDefinition`, a mapping of its fields, or the handler.
            fields: the fields of a `ToolDefinition`.

        Returns:
            The tool as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`; or `INVALID_PARAMS` where the definition or its handler cannot be used.
        """
        return self._register_tool(definition, fields)

    def unregister_tool(self, name: str) -> None:
        """Take a tool away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        self._tools.registry.remove(name)

    def register_resource(
        self,
        definition: ResourceDefinition | Mapping[str, object] | Callable[..., object] | None = None,
        /,
        **fields: Unpack[ResourceMembers],
    ) -> Resource | ResourceTemplate:
        """Register a resource, or a template where the URI has variables.

        Args:
            definition: a `ResourceDefinition`, a mapping of its fields, or the handler.
            fields: the fields of a `ResourceDefinition`.

        Returns:
            It as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`; or `INVALID_PARAMS` where the definition or its handler cannot be used.
        """
        return self._register_resource(definition, fields)

    def unregister_resource(self, uri: str) -> None:
        """Take a resource or a template away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        self._resources.unregister(uri)

    def register_prompt(
        self,
        definition: PromptDefinition | Mapping[str, object] | Callable[..., object] | None = None,
        /,
        **fields: Unpack[PromptMembers],
    ) -> Prompt:
        """Register a prompt.

        Args:
            definition: a `PromptDefinition`, a mapping of its fields, or the handler.
            fields: the fields of a `PromptDefinition`.

        Returns:
            The prompt as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`; or `INVALID_PARAMS` where the definition or its handler cannot be used.
        """
        return self._register_prompt(definition, fields)

    def unregister_prompt(self, name: str) -> None:
        """Take a prompt away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        self._prompts.registry.remove(name)

    def register_root(self, root: Root | Mapping[str, object] | str | None = None, /, **fields: object) -> Root:
        """Register a root of the server's own.

        Args:
            root: a `Root`, a mapping of its fields, or its URI.
            fields: the fields of a `Root`.

        Returns:
            It as clients see it.

        Raises:
            MCPError: `DUPLICATE_REGISTRATION`; or `INVALID_PARAMS` where it is no root.
        """
        if isinstance(root, str):
            root, fields = None, {"uri": root, **fields}
        return self._roots.register(definition_of(Root, root, fields))

    def unregister_root(self, uri: str) -> None:
        """Take a root away.

        Raises:
            MCPError: `NOT_FOUND`.
        """
        self._roots.registry.remove(uri)

    # What is registered

    def list_tools(self) -> list[Tool]:
        """Return the tools in the order they were registered."""
        return self._tools.listed()

    def list_resources(self) -> list[Resource]:
        """Return the resources in the order they were registered."""
        return self._resources.listed()

    def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the resource templates in the order they were registered."""
        return self._resources.listed_templates()

    def list_prompts(self) -> list[Prompt]:
        """Return the prompts in the order they were registered."""
        return self._prompts.listed()

    def list_roots(self) -> list[Root]:
        """Return the roots in the order they were registered."""
        return self._roots.listed()

    def set_completion_provider(self, provider: Callable[..., object] | None) -> None:
        """Let a function complete all that has no function of its own; it takes the `CompleteRequestParams`."""
        self._completions.set_provider(provider)

    def _is_known(self, reference: Reference) -> bool:
        if isinstance(reference, PromptReference):
            prompts = self._prompts.registry
            return len(prompts) == 0 or prompts.get(reference.name) is not None
        return self._resources.is_known(reference.uri)

    def _register_tool(self, definition: object, fields: Mapping[str, object]) -> Tool:
        return self._tools.register(definition_of(ToolDefinition, definition, fields))

    def _register_resource(self, definition: object, fields: Mapping[str, object]) -> Resource | ResourceTemplate:
        return self._resources.register(definition_of(ResourceDefinition, definition, fields, _RESOURCE_ALIASES))

    def _register_prompt(self, definition: object, fields: Mapping[str, object]) -> Prompt:
        return self._prompts.register(definition_of(PromptDefinition, definition, fields))


def _decorate(
    register: Callable[[object, Mapping[str, object]], object], given: object, key: str, fields: Mapping[str, object]
) -> object:
    """Register what is decorated, whether or not the decorator has parentheses.

    Args:
        register: takes the function and the fields of its definition.
        given: what the decorator got: the function itself, or the value of one field, or nothing.
        key: that field.
        fields: the others.
    """
    if given is not None and not isinstance(given, str):
        register(given, fields)
        return given
    named = fields if given is None else {**fields, key: given}

    def decorator(function: Function) -> Function:
        register(function, named)
        return function

    return decorator
