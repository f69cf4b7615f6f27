"""The client's facade: one method for everything that can be done with a server."""

from collections.abc import Iterable, Mapping
from typing import Unpack, cast

from msgspec import UNSET, UnsetType

from suaveplan_mcp.client.arguments import Meta, RequestOptions, copy_meta, require_text
from suaveplan_mcp.client.changes import Changes
from suaveplan_mcp.client.completion import complete_params
from suaveplan_mcp.client.lifecycle import ClientLifecycle
from suaveplan_mcp.client.listen_streams import ListenStream, make_filter
from suaveplan_mcp.client.listening import Listening
from suaveplan_mcp.client.logging import level_params
from suaveplan_mcp.client.pagination import page_params
from suaveplan_mcp.client.prompts import get_params
from suaveplan_mcp.client.providers import ProviderFunction
from suaveplan_mcp.client.stateless import DISCOVER
from suaveplan_mcp.client.tools import call_params, take_result
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import OnProgress
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.completion import (
    CompleteRequestParams,
    CompleteResult,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from suaveplan_mcp.types.logging import LoggingLevel
from suaveplan_mcp.types.prompts import GetPromptResult, ListPromptsResult, Prompt
from suaveplan_mcp.types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from suaveplan_mcp.types.roots import ListRootsResult, Root
from suaveplan_mcp.types.tools import CallToolResult, ListToolsResult, Tool


class MCPClient(ClientLifecycle):
    """Talk to one MCP server at a time.

    What it can be made with, and how it is opened and closed, is written at `ClientLifecycle`. Every request takes
    `meta`, the `_meta` of its params, and the `RequestOptions` (`signal`, `timeout`, `total_timeout`, `on_progress`,
    `headers`), and raises what `request` raises.
    """

    async def ping(self, *, meta: Meta = None, **options: Unpack[RequestOptions]) -> None:
        """Ask whether the server is there; in the stateless era, which has no ping, by asking what it is.

        Spec: basic/utilities/ping, server/discover
        """
        method = DISCOVER if self._require_connection().stateless else "ping"
        await self.request(method, RequestParams(meta=copy_meta(meta)), **options)

    # Tools

    async def call_tool(
        self,
        name: str,
        arguments: object = None,
        *,
        signal: AbortSignal | None = None,
        timeout: float | None | UnsetType = UNSET,  # noqa: ASYNC109  restarted by progress, which no scope can do
        total_timeout: float | None | UnsetType = UNSET,
        on_progress: OnProgress | None = None,
        meta: Meta = None,
        headers: Mapping[str, str] | None = None,
    ) -> CallToolResult:
        """Call a tool. Spec: server/tools

        Args:
            name: the tool.
            arguments: a dict, or anything msgspec writes as a JSON object; the empty object by default.
            signal: gives the call up when it is aborted.
            timeout: seconds of silence to bear, the client's by default; None bears any, 0 none at all.
            total_timeout: seconds to bear in all.
            on_progress: called for every report of progress, before the result is returned.
            meta: `_meta` of the params.
            headers: what goes out as HTTP headers with this one call, where the transport has any.

        Returns:
            What the tool said; `is_error` tells whether it failed.

        Raises:
            MCPError: see `request`; `INVALID_PARAMS`, naming the argument that cannot be sent.
        """
        connection = self._require_connection()
        result: CallToolResult = await connection.request(
            "tools/call",
            call_params(name, arguments, meta),
            timeout=timeout,
            total_timeout=total_timeout,
            signal=signal,
            on_progress=on_progress,
            headers=headers,
        )
        return take_result(result)

    def tools(self) -> list[Tool]:
        """Return the tools as they were last listed."""
        return self._lists.tools.copy()

    async def refresh_tools(self) -> list[Tool]:
        """List all tools anew; none where the server offers none. Raises what `request` raises."""
        return await self._lists.tools.refresh(self._require_connection())

    async def list_tools(
        self, cursor: str | None = None, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> ListToolsResult:
        """Get one page of the tools; the cached list stays as it is."""
        return await self.request("tools/list", page_params(cursor, meta), **options)

    # Resources

    async def read_resource(
        self, uri: str, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> ReadResourceResult:
        """Read a resource. Spec: server/resources"""
        params = ReadResourceRequestParams(uri=require_text("uri", uri), meta=copy_meta(meta))
        return await self.request("resources/read", params, **options)

    async def subscribe_resource(self, uri: str, *, meta: Meta = None, **options: Unpack[RequestOptions]) -> None:
        """Follow a resource: after every change it is read again, then `resource:updated` is emitted.

        In the stateless era all resources that are followed share one listen stream, which is opened again when it is
        lost; of `meta` and the options only `timeout` has a meaning there. Spec: basic/patterns/subscriptions

        Raises:
            MCPError: see `request`; `NOT_FOUND`, a server of the stateless era does not tell of this resource.
        """
        changes = self._changes
        if changes is not None and self._require_connection().stateless:
            await self._follow(changes.listening, require_text("uri", uri), options.get("timeout", UNSET))
            return
        params = SubscribeRequestParams(uri=require_text("uri", uri), meta=copy_meta(meta))
        subscribing = self.request("resources/subscribe", params, **options)
        # The first notice may come before the answer.
        self._subscriptions.add(uri)
        try:
            await subscribing
        except BaseException:
            self._subscriptions.discard(uri)
            raise

    async def unsubscribe_resource(self, uri: str, *, meta: Meta = None, **options: Unpack[RequestOptions]) -> None:
        """Follow a resource no longer."""
        changes = self._changes
        if changes is not None and self._require_connection().stateless:
            self._subscriptions.discard(require_text("uri", uri))
            await changes.listening.leave(uri)
            return
        params = UnsubscribeRequestParams(uri=require_text("uri", uri), meta=copy_meta(meta))
        unsubscribing = self.request("resources/unsubscribe", params, **options)
        self._subscriptions.discard(uri)
        await unsubscribing

    async def _follow(self, listening: Listening, uri: str, patience: float | None | UnsetType) -> None:
        known = uri in self._subscriptions
        self._subscriptions.add(uri)
        try:
            await listening.follow(uri, patience)
        except BaseException:
            if not known:
                self._subscriptions.discard(uri)
            raise

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = (),
        timeout: float | None | UnsetType = UNSET,
        meta: Meta = None,
        headers: Mapping[str, str] | None = None,
    ) -> ListenStream:
        """Listen for changes: `async with client.listen(tools=True) as stream: async for notice in stream: …`.

        Entering waits for the server's acknowledgement, `stream.honoured`, and raises what `ListenStream.open` raises.
        The loop is over when the server ends the stream, for which `stream.ended` has the reason, and raises when the
        stream is lost. Only in the stateless era. Spec: basic/patterns/subscriptions

        Args:
            tools: hear when the list of tools changes.
            prompts: hear when that of the prompts does.
            resources: hear when that of the resources does.
            uris: the resources of which to hear when one of them changes.
            timeout: seconds to wait for the acknowledgement, the client's by default; None waits for ever.
            meta: `_meta` of the params.
            headers: what goes out as HTTP headers with this one request, where the transport has any.

        Raises:
            MCPError: `NOT_INITIALIZED`; `INVALID_PARAMS`, there is nothing to listen for.
        """
        self._require_connection()
        wanted = make_filter(tools=tools, prompts=prompts, resources=resources, uris=uris)
        streams = cast("Changes", self._changes).streams
        return streams.listen(wanted, timeout=timeout, meta=meta, headers=headers)

    def updated_resource(self, uri: str) -> ReadResourceResult | None:
        """Return what a subscribed resource contained after its last change; None where it has not changed since."""
        return self._subscriptions.contents(uri)

    def resources(self) -> list[Resource]:
        """Return the resources as they were last listed."""
        return self._lists.resources.copy()

    async def refresh_resources(self) -> list[Resource]:
        """List all resources anew; none where the server offers none."""
        return await self._lists.resources.refresh(self._require_connection())

    async def list_resources(
        self, cursor: str | None = None, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> ListResourcesResult:
        """Get one page of the resources."""
        return await self.request("resources/list", page_params(cursor, meta), **options)

    def resource_templates(self) -> list[ResourceTemplate]:
        """Return the resource templates as they were last listed."""
        return self._lists.resource_templates.copy()

    async def refresh_resource_templates(self) -> list[ResourceTemplate]:
        """List all resource templates anew; none where the server offers none."""
        return await self._lists.resource_templates.refresh(self._require_connection())

    async def list_resource_templates(
        self, cursor: str | None = None, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> ListResourceTemplatesResult:
        """Get one page of the resource templates."""
        return await self.request("resources/templates/list", page_params(cursor, meta), **options)

    # Prompts, completion, logging

    async def get_prompt(
        self, name: str, args: Mapping[str, str] | None = None, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> GetPromptResult:
        """Get the messages of a prompt; its arguments are strings. Spec: server/prompts"""
        return await self.request("prompts/get", get_params(name, args, meta), **options)

    def prompts(self) -> list[Prompt]:
        """Return the prompts as they were last listed."""
        return self._lists.prompts.copy()

    async def refresh_prompts(self) -> list[Prompt]:
        """List all prompts anew; none where the server offers none."""
        return await self._lists.prompts.refresh(self._require_connection())

    async def list_prompts(
        self, cursor: str | None = None, *, meta: Meta = None, **options: Unpack[RequestOptions]
    ) -> ListPromptsResult:
        """Get one page of the prompts."""
        return await self.request("prompts/list", page_params(cursor, meta), **options)

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference | CompleteRequestParams | Mapping[str, object],
        argument: CompletionArgument | Mapping[str, str] | None = None,
        context: CompletionContext | Mapping[str, object] | None = None,
        *,
        meta: Meta = None,
        **options: Unpack[RequestOptions],
    ) -> CompleteResult:
        """Get suggestions for an argument that is being typed. Spec: server/utilities/completion

        Args:
            ref: the prompt or resource template, as a struct or a dict; or the whole request, and nothing else.
            argument: its argument, with what is typed so far.
            context: the arguments that are already settled.
            meta: `_meta` of the params.
            options: see `RequestOptions`.
        """
        params = complete_params(ref, argument, context, meta)
        return await self.request("completion/complete", params, **options)

    async def set_log_level(self, level: LoggingLevel, *, meta: Meta = None, **options: Unpack[RequestOptions]) -> None:
        """Ask for log messages at a level or above; in the stateless era every request from now on asks for them.

        Spec: server/utilities/logging
        """
        connection, params = self._require_connection(), level_params(level, meta)
        if connection.stateless:
            connection.want_logs(params.level)
        else:
            await self.request("logging/setLevel", params, **options)
        self._log_level = level

    # Roots of the server's own

    def roots(self) -> list[Root]:
        """Return the server's roots as they were last listed; only a server of this library has any."""
        return self._lists.roots.copy()

    async def refresh_roots(self) -> list[Root]:
        """List the server's roots anew; none where it did not announce any."""
        return await self._lists.roots.refresh(self._require_connection())

    async def list_roots(self, *, meta: Meta = None, **options: Unpack[RequestOptions]) -> ListRootsResult:
        """Ask for the server's roots; the cached list stays as it is."""
        return await self.request("roots/list", RequestParams(meta=copy_meta(meta)), **options)

    # What the server may ask for

    def set_sampling_provider(
        self, provider: ProviderFunction | None, *, tools: bool = False, context: bool = False
    ) -> None:
        """Let `provider` answer where the server asks for a model. Spec: client/sampling

        Like every provider it is a coroutine function, or a plain one, which runs in a worker thread; it takes the
        params, or the params and the call; and it is set before connecting, since the server is told of it then.

        Args:
            provider: returns a `CreateMessageResult`, a dict of that shape, or the text of the answer. None takes the
                present one away.
            tools: whether the model may use tools.
            context: whether it honours `include_context`.

        Raises:
            MCPError: `ALREADY_CONNECTED`, the server was told that the client cannot do this.
        """
        self._callbacks.set_sampling(provider, tools=tools, context=context)

    def set_roots_provider(self, provider: ProviderFunction | None) -> None:
        """Let `provider` say which places the server may work in. Spec: client/roots

        Args:
            provider: returns any number of roots, each a `Root`, a dict of that shape, a `file://` URI or a path.
        """
        self._callbacks.set_roots(provider)

    def set_elicitation_provider(
        self, provider: ProviderFunction | None, *, form: bool = True, url: bool = False
    ) -> None:
        """Let `provider` answer where the server asks for the user. Spec: client/elicitation

        Args:
            provider: returns an `ElicitResult`, a dict of that shape, `"accept"`, `"decline"` or `"cancel"`, or a dict
                with what the user filled in. Defaults of the form are added, and what does not fit it is not sent.
            form: whether it can show forms.
            url: whether it can send the user to an address.
        """
        self._callbacks.set_elicitation(provider, form=form, url=url)

    def set_completion_provider(self, provider: ProviderFunction | None) -> None:
        """Let `provider` complete arguments for a server that asks, which only one of this library does.

        Args:
            provider: returns a `CompleteResult`, a `Completion`, a dict of either shape, or a list of strings.
        """
        self._callbacks.set_completion(provider)

    async def send_roots_list_changed(self) -> None:
        """Tell the server that the roots are others now; in the stateless era it asks whenever it wants to know.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, the server was not told that there are roots.
        """
        connection = self._require_connection()
        if not connection.stateless:
            self._callbacks.require_declared_roots()
            await connection.notify("notifications/roots/list_changed")
