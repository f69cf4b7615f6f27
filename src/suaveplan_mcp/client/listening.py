"""The one stream on which a client of the stateless era hears of what it keeps up to date.

Spec: basic/patterns/subscriptions
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import UNSET, UnsetType

from suaveplan_mcp.client.listen_streams import LISTEN, ListenStream, ListenStreams, make_filter
from suaveplan_mcp.errors import MCP_CODES, MCPError, MCPTransportError
from suaveplan_mcp.events import ListKind
from suaveplan_mcp.protocol.capabilities import declares, undeclared
from suaveplan_mcp.runtime.timers import Clock
from suaveplan_mcp.types.subscriptions import SubscriptionFilter

CatchUp: TypeAlias = Callable[[Collection[ListKind], Collection[str]], Coroutine[Any, Any, None]]
"""Learn what has become of lists and resources, of which nothing was heard for a while."""

FIRST_PATIENCE: Final = 5.0
"""Seconds that connecting waits for an acknowledgement at most: a proxy that buffers streams may never pass it on."""

FIRST_DELAY: Final = 1.0
"""Seconds before a stream that was lost is opened again; each further attempt waits twice as long."""

LONGEST_DELAY: Final = 60.0
"""Seconds between two attempts at most."""

GOOD_AFTER: Final = 10.0
"""Seconds that a stream must have lasted for its end to be nothing out of the ordinary."""

MAX_REFUSALS: Final = 5
"""How often in a row a server may refuse the stream, or end it soon, before it is left alone."""

_LISTS: Final[tuple[ListKind, ...]] = ("tools", "prompts", "resources")


class Listening:
    """Keeps a listen stream open as long as anything is wanted, and no longer.

    Where something else is wanted the next stream is opened before the last one is left, so that nothing is missed.

    Args:
        streams: the streams of the connection.
        clock: seconds on a scale that never goes back.
        catch_up: awaited when a stream was lost and is there again.
    """

    __slots__ = (
        "_catch_up",
        "_changing",
        "_clock",
        "_delay",
        "_kinds",
        "_missed",
        "_opened_at",
        "_refusals",
        "_stream",
        "_streams",
        "_uris",
        "_work",
    )

    def __init__(self, streams: ListenStreams, clock: Clock, catch_up: CatchUp) -> None:
        self._streams = streams
        self._clock = clock
        self._catch_up = catch_up
        self._kinds: frozenset[ListKind] = frozenset()
        # What is followed; a dict, since the order is that of the requests.
        self._uris: dict[str, None] = {}
        self._stream: ListenStream | None = None
        self._opened_at = 0.0
        self._changing = asyncio.Lock()
        self._delay = FIRST_DELAY
        self._refusals = 0
        self._missed = False
        self._work: set[asyncio.Task[None]] = set()

    async def follow_lists(self) -> None:
        """Hear of changes of every list that the server tells of; what goes wrong is reported."""
        capabilities = self._streams.connection.greeting.capabilities
        self._kinds = frozenset(kind for kind in _LISTS if declares(capabilities, f"{kind}.list_changed"))
        await self._begin(self._streams.patience(FIRST_PATIENCE))

    async def follow(self, uri: str, patience: float | None | UnsetType = UNSET) -> None:
        """Hear of changes of a resource too.

        Args:
            uri: the resource.
            patience: seconds to wait for the acknowledgement, those of the client by default.

        Raises:
            MCPError: `METHOD_NOT_FOUND`, the server does not tell of single resources; `NOT_FOUND`, not of this one; or
                what `ListenStream.open` raises. What was followed before still is.
        """
        if not declares(self._streams.connection.greeting.capabilities, "resources.subscribe"):
            raise undeclared(LISTEN, "resources.subscribe")
        known = uri in self._uris
        self._uris[uri] = None
        try:
            async with self._changing:
                # One that waited here may have been asked for together with the one it waited for.
                stream = self._find_for(uri) or await self._change(patience)
            if uri not in (stream.honoured.resource_subscriptions or ()):
                text = f"the server does not tell of changes of {uri!r}: its acknowledgement leaves that out"
                raise MCPError(MCP_CODES.NOT_FOUND, text, context={"uri": uri})
        except BaseException:
            if not known:
                self._uris.pop(uri, None)
            raise

    async def leave(self, uri: str) -> None:
        """Hear of a resource no longer; where that fails it is reported, and its notices mean nothing."""
        self._uris.pop(uri, None)
        async with self._changing:
            stream = self._find_for(uri)
            if stream is None:
                return
            if not self._wants_any:
                self._stream = None
                await stream.close()
                return
            try:
                await self._change()
            except MCPError as error:
                self._report("could not be opened anew", error)

    async def restore(self, uris: Iterable[str]) -> None:
        """Listen again after the connection was opened again, and read again what is followed.

        The caller lists the lists.

        Args:
            uris: what is followed.
        """
        self._uris = dict.fromkeys(uris)
        self._missed = False
        self._start_afresh()
        if await self._begin():
            self._start(self._catch_up((), tuple(self._uris)))

    def leaves_to(self, stream: ListenStream, method: str, uri: str | None) -> bool:
        """Tell whether a change that was told on some stream is not told on the client's own."""
        own = self._stream
        return stream.own or own is None or not own.promises(method, uri)

    async def close(self) -> None:
        """Listen no more."""
        self._kinds, self._uris = frozenset(), {}
        work = tuple(self._work)
        for task in work:
            task.cancel()
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()
        await asyncio.gather(*work, return_exceptions=True)

    @property
    def _wants_any(self) -> bool:
        return bool(self._kinds or self._uris)

    def _find_for(self, uri: str) -> ListenStream | None:
        """Return the present stream where it was opened for a resource too."""
        stream = self._stream
        return stream if stream is not None and uri in (stream.asked.resource_subscriptions or ()) else None

    async def _begin(self, patience: float | None | UnsetType = UNSET) -> bool:
        """Listen, if there is anything to listen for; return whether that is done."""
        async with self._changing:
            wanted = self._stream is None and self._wants_any
            return wanted and await self._attempt(patience)

    async def _attempt(self, patience: float | None | UnsetType) -> bool:
        try:
            stream = await self._change(patience)
        except MCPError as error:
            self._note_setback("could not be opened", error)
            return False
        if stream.honoured != stream.asked:
            self._report(f"brings only {stream.honoured}, not {stream.asked}", None)
        return True

    async def _change(self, patience: float | None | UnsetType = UNSET) -> ListenStream:
        """Open a stream for what is wanted now, then leave the last one. One at a time."""
        wanted = make_filter(
            tools="tools" in self._kinds,
            prompts="prompts" in self._kinds,
            resources="resources" in self._kinds,
            uris=self._uris,
        )
        stream = self._streams.listen(wanted, timeout=patience, own=True)
        await stream.open()
        last, self._stream = self._stream, stream
        self._opened_at = self._clock()
        stream.call_at_end(partial(self._note_end, stream))
        if self._missed:
            self._missed = False
            self._start(self._catch_up(self._kinds, tuple(self._uris)))
        if last is not None:
            await last.close()
        return stream

    def _note_end(self, stream: ListenStream) -> None:
        """Note that a stream is over; this side may have left it for another one."""
        if stream is not self._stream:
            return
        self._stream = None
        if self._clock() - self._opened_at >= GOOD_AFTER:
            self._start_afresh()
        # Where nothing was promised there is nothing to try again for.
        if stream.honoured != SubscriptionFilter():
            self._note_setback(f"has ended ({stream.ended})" if stream.failure is None else "was lost", stream.failure)

    def _note_setback(self, what: str, error: BaseException | None) -> None:
        """Note that there is no stream though there should be, and open it later."""
        self._missed = True
        # One that has ended is opened again by those who then call `restore`, if by anybody.
        if self._streams.connection.closed:
            return
        if not isinstance(error, MCPTransportError):
            self._refusals += 1
        if self._refusals >= MAX_REFUSALS:
            self._report(f"{what} {MAX_REFUSALS} times and is not opened again", error)
            self._start_afresh()
            return
        if error is not None:
            self._report(what, error)
        delay = self._delay
        self._delay = min(2 * delay, LONGEST_DELAY)
        self._start(self._begin_later(delay))

    def _start_afresh(self) -> None:
        """Forget what went wrong before."""
        self._delay, self._refusals = FIRST_DELAY, 0

    async def _begin_later(self, delay: float) -> None:
        over = asyncio.get_running_loop().create_future()
        timer = self._streams.timers.call_later(delay, lambda: over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()
        await self._begin()

    def _report(self, what: str, error: BaseException | None) -> None:
        why = "" if error is None else f": {error}"
        self._streams.connection.report(f"the stream that keeps the client up to date {what}{why}", error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
