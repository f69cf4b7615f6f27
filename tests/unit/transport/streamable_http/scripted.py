"""A server that does what a test says, behind a Streamable HTTP application without a web server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from suaveplan_mcp.jsonrpc.messages import Message, Notification, Response
from suaveplan_mcp.testing.asgi import AsgiClient, AsgiExchange
from suaveplan_mcp.testing.clock import FakeClock
from suaveplan_mcp.transport.base import Delivery
from suaveplan_mcp.transport.streamable_http.app import StreamableHttpApp
from suaveplan_mcp.transport.streamable_http.attendance import INTERVAL
from suaveplan_mcp.transport.streamable_http.exchange import HttpExchange

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
REQUEST = b'{"jsonrpc":"2.0","id":7,"method":"do"}'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"note"}'
PROGRESS = Notification("notifications/progress", {"progress": 1})
RESULT = Response(7, {"done": True})
JSON_RESULT = b'{"jsonrpc":"2.0","id":7,"result":{"done":true}}'
JSON_PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'

Script: TypeAlias = Callable[[HttpExchange], Awaitable[object]]


async def say_result(exchange: HttpExchange) -> None:
    await exchange.send(RESULT)


class Scripted:
    """Serves every message by a script, and keeps what came.

    Attributes:
        waiting: how many scripts wait in `wait`.
        cancelled: how many of them were cancelled.
    """

    def __init__(self, script: Script = say_result, **options: Any) -> None:
        self.script = script
        self.received: list[tuple[Message, Delivery]] = []
        self.waiting = self.cancelled = 0
        self.clock = FakeClock()
        options = {"keep_alive": None, "call_later": self.clock.call_later, **options}
        self.app = StreamableHttpApp(self.answer, **options)
        self.client = AsgiClient(self.app)

    async def answer(self, exchange: object, message: Message, delivery: Delivery) -> None:
        assert isinstance(exchange, HttpExchange)
        self.received.append((message, delivery))
        stop = exchange.on_close(lambda: None)
        try:
            await self.script(exchange)
        finally:
            stop()

    async def wait(self, exchange: HttpExchange) -> None:
        """Wait until the task is cancelled, as a call is that is given up."""
        task = asyncio.current_task()
        assert task is not None
        exchange.on_close(task.cancel)
        self.waiting += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def stream_and_wait(self, exchange: HttpExchange) -> None:
        """Say something, then wait."""
        exchange.post(PROGRESS)
        await self.wait(exchange)

    def open(self, body: bytes | None = REQUEST, **headers: str) -> AsgiExchange:
        """Start to post something."""
        return self.client.open("POST", "/mcp", headers=HEADERS | _names(headers), body=body)

    async def post(self, body: bytes = REQUEST, **headers: str) -> AsgiExchange:
        """Post something, and return what came back."""
        return await self.client.request("POST", "/mcp", headers=HEADERS | _names(headers), body=body)

    async def until_waiting(self, number: int = 1) -> None:
        """Let the requests get as far as their wait."""
        await self.clock.settle()
        assert number == self.waiting

    async def until_watched(self) -> None:
        """Let so much time pass that the application watches for the end of its clients."""
        await self.clock.advance_async(2 * INTERVAL)


def error_of(answer: AsgiExchange) -> tuple[int, Any, Any]:
    """Return status, error number and id of an answer."""
    error = json.loads(answer.body)
    return (answer.status or 0, error["error"]["code"], error.get("id"))


def _names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
