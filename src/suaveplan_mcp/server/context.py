"""What a handler gets beside its arguments: the call it answers, and the client behind it.

One `Context` serves every kind of handler and every revision. Plain handlers run in threads, so all that sends
something goes through the event loop's own queue.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar, Unpack, cast

from msgspec.structs import replace

from suaveplan_mcp.jsonrpc.messages import JsonObject, JsonValue, RequestId
from suaveplan_mcp.protocol.caller import Caller
from suaveplan_mcp.protocol.methods import METHODS, lives_in
from suaveplan_mcp.runtime.abort import AbortSignal
from suaveplan_mcp.runtime.in_flight import SENT, InboundCall, Sent
from suaveplan_mcp.server.asking import (
    Answer,
    Ask,
    AskResult,
    Names,
    SamplingOptions,
    elicitation,
    roots,
    sampling,
)
from suaveplan_mcp.server.connections import run_on
from suaveplan_mcp.server.input_rounds import Run
from suaveplan_mcp.server.logging import MESSAGE
from suaveplan_mcp.server.once import Once
from suaveplan_mcp.types.base import RequestParams
from suaveplan_mcp.types.elicitation import ElicitationCompleteNotificationParams, ElicitResult
from suaveplan_mcp.types.logging import LoggingLevel, LoggingMessageNotificationParams
from suaveplan_mcp.types.roots import ListRootsResult, Root
from suaveplan_mcp.types.sampling import CreateMessageResult, SamplingMessage

T = TypeVar("T")

COMPLETE: Final = "notifications/elicitation/complete"

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Outward(Protocol):
    """What a context needs of its server."""

    async def ask(self, call: InboundCall, asks: Sequence[Ask]) -> list[AskResult]:
        """Ask the client behind a call, everything at once."""
        ...

    def message_for(
        self, call: InboundCall, level: LoggingLevel, data: JsonValue, logger: str | None
    ) -> LoggingMessageNotificationParams | None:
        """Return a log message for the client behind a call, or None where it does not want that level."""
        ...

    @property
    def lifespan(self) -> Any:
        """The value of the server's lifespan."""
        ...


class Context:
    """The call a handler answers. Ask for one with a parameter annotated `Context`; it shows in no schema.

    Args:
        call: the call.
        server: what answers for the server.
        run: the run of the handler, where its client can only be asked in the answer to its own request.
    """

    __slots__ = ("_call", "_loop", "_names", "_server", "run")

    def __init__(self, call: InboundCall, server: Outward, run: Run | None = None) -> None:
        self._call = call
        self._server = server
        self.run = run
        # Of the questions that have a key, where each is asked in a request of its own.
        self._names: Names | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def request_id(self) -> RequestId:
        """The id of the request, as the client wrote it."""
        return self._call.id

    @property
    def signal(self) -> AbortSignal:
        """Aborted when the client gives up the call or goes away."""
        return self._call.signal

    @property
    def meta(self) -> JsonObject:
        """The `_meta` of the request; empty where there is none."""
        params = self._call.params
        return (params.meta or {}) if isinstance(params, RequestParams) else {}

    @property
    def client(self) -> Caller | None:
        """What is known of the client: its revision, `info` and capabilities; None for a call made in this process."""
        caller = self._call.caller
        return None if caller.revision is None else caller

    @property
    def lifespan(self) -> Any:
        """What the server's lifespan gave; None where there is none, or the server has not been started."""
        return self._server.lifespan

    @property
    def principal(self) -> object | None:
        """Who is calling, as the transport's authentication established; None where there is none."""
        delivery = self._call.delivery
        return None if delivery is None else delivery.principal

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers of the request, names in lower case; empty where the transport has none."""
        delivery = self._call.delivery
        return _NO_HEADERS if delivery is None else delivery.headers

    def progress(self, value: float, total: float | None = None, message: str | None = None) -> Sent:
        """Report progress, where the client asked for it. May be awaited, and need not be.

        Args:
            value: must grow from report to report; one that does not is left out.
            total: what `value` will be in the end, where that is known.
            message: what is going on, for people.
        """
        return run_on(self._loop, lambda: self._call.progress(value, total, message)) or SENT

    def log(self, level: LoggingLevel, data: JsonValue, logger: str | None = None) -> Sent:
        """Send a log message to the client, where it wants that level. May be awaited, and need not be.

        Args:
            level: how severe it is.
            data: anything that is JSON.
            logger: the name of what is speaking.

        Raises:
            LogError: `INVALID_PARAMS`, there is no such level, or the client wants the data and it is no JSON.
        """
        params = self._server.message_for(self._call, level, data, logger)
        if params is None:
            return SENT
        peer, delivery = self._call.peer, self._call.reply_delivery
        return run_on(self._loop, lambda: peer.post_notification(MESSAGE, params, delivery=delivery)) or SENT

    def elicit(
        self,
        message: str,
        schema: object = None,
        *,
        url: str | None = None,
        elicitation_id: str | None = None,
        key: str | None = None,
    ) -> Answer[ElicitResult]:
        """Ask the client's user, by a form or at an address.

        Args:
            message: what the user reads.
            schema: the form: a JSON Schema object of primitive properties, or a class whose fields are the form's.
            url: an address to visit instead of a form.
            elicitation_id: names the visit, for `elicitation_complete`; one is made up where none is given.
            key: names the question, for a handler that asks different ones from run to run.

        Raises:
            AskError: the schema is more than a form may hold, or, when awaited, the client cannot be asked.
        """
        ask = elicitation(message, schema, url=url, elicitation_id=elicitation_id)
        return self._ask(ask, key, ElicitResult)

    def elicitation_complete(self, elicitation_id: str) -> Sent:
        """Tell the client that its user has done what an address asked. May be awaited, and need not be.

        It does nothing where the client cannot send its user to an address. Spec: client/elicitation

        Args:
            elicitation_id: what `elicit` was given.
        """
        call = self._call
        modes, row = call.caller.capabilities.elicitation, METHODS[COMPLETE]["server"]
        if modes is not None and modes.url is not None and lives_in(row, str(call.caller.revision)):
            params = ElicitationCompleteNotificationParams(elicitation_id=elicitation_id)
            run_on(self._loop, lambda: call.peer.post_notification(COMPLETE, params, delivery=call.reply_delivery))
        return SENT

    def sample(
        self,
        messages: str | Sequence[SamplingMessage | Mapping[str, object]],
        *,
        max_tokens: int = 1000,
        key: str | None = None,
        **options: Unpack[SamplingOptions],
    ) -> Answer[CreateMessageResult]:
        """Ask the client's model; the server's own sampling provider answers for a client that has none.

        Args:
            messages: the conversation; a string is one message of the user's.
            max_tokens: how many tokens the model may take.
            key: names the question, for a handler that asks different ones from run to run.
            options: `system_prompt`, `temperature`, `model_preferences` and so on, see `SamplingOptions`.

        Raises:
            AskError: the messages are malformed, or, when awaited, the client cannot be asked.
        """
        ask = sampling(messages, max_tokens=max_tokens, **options)
        return self._ask(ask, key, CreateMessageResult)

    def list_roots(self, *, key: str | None = None) -> Answer[list[Root]]:
        """Ask for the folders and files that the client lets the server work in.

        Raises:
            AskError: when awaited, the client cannot be asked.
        """

        async def ask() -> list[Root]:
            return (await self._ask(roots(), key, ListRootsResult)).roots

        return Answer(ask, self._loop)

    def ask(self, asks: Mapping[str, Ask]) -> Answer[dict[str, AskResult]]:
        """Ask several things at once. Nothing is asked unless everything can be.

        Args:
            asks: what `elicitation`, `sampling` and `roots` of `suaveplan_mcp.server.asking` return, by key.

        Returns:
            The answers by the same keys.

        Raises:
            AskError: when awaited, one of them cannot be asked.
        """

        async def ask_all() -> dict[str, AskResult]:
            keyed = [replace(ask, key=key) for key, ask in asks.items()]
            answers = await self._put(keyed)
            return dict(zip(asks, answers, strict=True))

        return Answer(ask_all, self._loop)

    def once(self, key: str, function: Callable[[], T | Awaitable[T]]) -> Once[T]:
        """Do something at most once for this call, however often the handler is run for it.

        A handler may be run several times where it asks its client, once for each round of answers.

        Args:
            key: names it.
            function: plain or a coroutine function; its value is kept and given to later calls with the same key. If it
                raises, those that wait for it get the exception, and a later call tries again.

        Raises:
            AskError: when awaited, `INVALID_PARAMS`, the value is not plain JSON and could not be given to a later run.
            MissingLibraryError: when awaited, the value would go to the client and back, and nothing is installed that
                encrypts it.
        """
        return Once(self._call, self.run, key, function, self._loop)

    def _ask(self, ask: Ask, key: str | None, kind: type[T]) -> Answer[T]:
        # The kind of a question decides that of its answer.
        del kind

        async def ask_client() -> T:
            (answer,) = await self._put((replace(ask, key=key),))
            return cast("T", answer)

        return Answer(ask_client, self._loop)

    async def _put(self, asks: Sequence[Ask]) -> list[AskResult]:
        """Put questions to the client, in the way of its era."""
        if self.run is not None:
            return await self.run.ask(asks)
        for ask in asks:
            if ask.key is not None:
                # So that a key that is used for two questions is refused in every era.
                self._names = self._names or Names()
                self._names.name(ask)
        return await self._server.ask(self._call, asks)
