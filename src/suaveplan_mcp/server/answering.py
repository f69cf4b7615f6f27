"""Requests that come alone, each on a way of its own, and are over with their answer. Spec: basic/transports"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from suaveplan_mcp.events import EventBus
from suaveplan_mcp.jsonrpc.messages import Message
from suaveplan_mcp.protocol.stateless import Binding, StatelessEra
from suaveplan_mcp.runtime.dispatcher import JsonRpcDispatcher
from suaveplan_mcp.runtime.handlers import HandlerTable
from suaveplan_mcp.runtime.observation import Observer
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Clock, Timers, loop_clock
from suaveplan_mcp.server.lifespan import Lifespan
from suaveplan_mcp.transport.base import Delivery, Transport

MakeBinding: TypeAlias = Callable[[Mapping[str, str]], Binding]
"""Makes what compares a request with the headers it came with."""


class Answering:
    """Answers one message at a time, where each is a connection that lives as long as its request.

    Args:
        handlers: who answers what.
        stateless: the rules; they keep nothing from one request to the next.
        make_binding: makes what compares a request with its headers.
        lifespan: what has to be open first.
        events: the bus to report on.
        clock: seconds on a scale that never goes back.
        timers: what sets timers.
    """

    __slots__ = (
        "_clock",
        "_events",
        "_handlers",
        "_lifespan",
        "_make_binding",
        "_observer",
        "_open",
        "_rules",
        "_timers",
    )

    def __init__(
        self,
        handlers: HandlerTable,
        stateless: StatelessEra,
        make_binding: MakeBinding,
        lifespan: Lifespan,
        events: EventBus,
        clock: Clock | None,
        timers: Timers | None,
    ) -> None:
        self._handlers = handlers
        self._rules = stateless
        self._make_binding = make_binding
        self._lifespan = lifespan
        self._events = events
        self._clock, self._timers = clock or loop_clock, timers or LOOP_TIMERS
        self._observer: Observer | None = None
        self._open: set[Transport] = set()

    async def answer(self, exchange: Transport, message: Message, delivery: Delivery) -> None:
        """Serve one message, in the current task.

        Args:
            exchange: takes all that is said to the client, and at last the answer, where the message is a request.
                Closing it gives the request up.
            message: what came.
            delivery: its headers, and who sent it.

        Raises:
            BaseException: what opening the lifespan raised.
            CancelledError: the request was given up.
        """
        await self._lifespan.enter()
        observer = self._observer
        if observer is None:
            observer = self._observer = Observer("server", "server-http", self._events, self._clock)
        dispatcher = JsonRpcDispatcher(
            exchange,
            era=self._rules.bound_to(self._make_binding(delivery.headers)),
            side="server",
            handlers=self._handlers,
            events=self._events,
            clock=self._clock,
            timers=self._timers,
            observer=observer,
        )
        self._open.add(exchange)
        try:
            await dispatcher.serve(message, delivery)
        finally:
            self._open.discard(exchange)
            dispatcher.release()

    async def close(self) -> None:
        """Give up every request that is being served."""
        await asyncio.gather(*(exchange.close() for exchange in tuple(self._open)))
