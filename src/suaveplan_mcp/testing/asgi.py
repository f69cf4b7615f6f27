"""Talk to an ASGI application in this process, with streams that can be read and broken off at will."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any
from urllib.parse import unquote

from suaveplan_mcp.framing.limits import FrameTooLarge
from suaveplan_mcp.framing.sse import ServerSentEvent, SseDecoder
from suaveplan_mcp.transport.asgi import AsgiApp, AsgiMessage

_LIMIT = 64 * 1024 * 1024


class AsgiExchange:
    """One request to an application, and what comes back, as it comes.

    `AsgiClient.open` makes it. Leave it as a context manager, or `disconnect`, and the application's task has ended.

    Attributes:
        status: the HTTP status; None before the response has begun.
        headers: the response's headers, names in lower case.
        body: what has come of the body so far.
    """

    def __init__(self, app: AsgiApp, scope: dict[str, Any], deadline: float | None) -> None:
        self._deadline = deadline
        self._requests: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._decoder = SseDecoder(_LIMIT)
        self._events: list[ServerSentEvent | FrameTooLarge] = []
        self._broken: OSError | None = None
        self._complete = False
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self._given = 0
        self._task = asyncio.get_running_loop().create_task(self._run(app, scope))

    async def __aenter__(self) -> "AsgiExchange":
        """Return the exchange."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        await self.disconnect()

    def send_body(self, part: bytes, *, more: bool = False) -> None:
        """Send the body, or a part of it."""
        self._requests.put_nowait({"type": "http.request", "body": part, "more_body": more})

    async def start(self) -> int:
        """Wait until the response begins, and return its status.

        Raises:
            AssertionError: it does not begin in time.
        """
        await self._until(lambda: self.status is not None, "no response")
        if self.status is None:
            raise AssertionError("the application ended without a response")
        return self.status

    async def next_event(self) -> ServerSentEvent:
        """Return the next event of a stream.

        Raises:
            AssertionError: none comes in time, or the response ends before.
        """
        await self._until(lambda: bool(self._events) or self._complete, "no event")
        event = self._events.pop(0) if self._events else None
        if not isinstance(event, ServerSentEvent):
            raise AssertionError(f"the response ended before the next event: {self.status} {self.body!r}")
        return event

    async def next_part(self) -> bytes:
        """Return what has come of the body since the last time, once there is anything; nothing at its end.

        Raises:
            AssertionError: nothing comes in time.
            Exception: what broke the response off.
        """
        await self._until(lambda: len(self.body) > self._given or self._complete, "nothing more of the body")
        part = self.body[self._given :]
        self._given += len(part)
        return part

    async def read(self) -> bytes:
        """Wait for the end of the response, and return its body.

        Raises:
            AssertionError: it does not end in time.
        """
        await self._until(lambda: self._complete, "no end of the response")
        return self.body

    def break_off(self, error: OSError | None = None) -> None:
        """Let every `send` of the application raise from now on, as web servers do for a client that is gone."""
        self._broken = error or OSError("the connection is broken")

    def pause(self) -> None:
        """Let every `send` of the application wait from now on, as web servers do for a client that does not read."""
        self._reading.clear()

    def resume(self) -> None:
        """Read on."""
        self._reading.set()

    async def disconnect(self) -> None:
        """Go away; return when the application has noticed.

        Raises:
            AssertionError: it does not notice in time.
            Exception: what the application raised.
        """
        self._requests.put_nowait({"type": "http.disconnect"})
        await self.finish()

    async def finish(self) -> None:
        """Wait until the application has done all it will do about this request.

        Raises:
            AssertionError: it goes on for longer than the deadline.
            Exception: what the application raised.
        """
        await asyncio.wait((self._task,), timeout=self._deadline)
        if not self._task.done():
            self._task.cancel()
            raise AssertionError(f"the application still runs after {self._deadline} s")
        self._task.result()

    async def _run(self, app: AsgiApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._give, self._take)
        finally:
            self._complete = True
            self._changed.set()

    async def _give(self) -> AsgiMessage:
        message = await self._requests.get()
        if message["type"] == "http.disconnect":
            # It is so from now on, however often the application asks.
            self._requests.put_nowait(message)
        return message

    async def _take(self, message: AsgiMessage) -> None:
        await self._reading.wait()
        if self._broken is not None:
            raise self._broken
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            part: bytes = message.get("body", b"")
            self.body += part
            self._events += self._decoder.feed(part)
            self._complete = not message.get("more_body", False)
            if self._complete:
                # Nothing more is to be had, and a web server says so in this way.
                self._requests.put_nowait({"type": "http.disconnect"})
        self._changed.set()

    async def _until(self, reached: Callable[[], bool], problem: str) -> None:
        try:
            async with asyncio.timeout(self._deadline):
                while not reached() and not self._task.done():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{problem} within {self._deadline} s: {self.status} {self.body!r}") from None
        if self._task.done():
            self._task.result()


class AsgiClient:
    """Make requests to an ASGI application without a web server.

    Use it to see what an application sends, in which order, and what it does when its client goes away.

    Args:
        app: the application.
        server: the address and port at which requests seem to arrive; None where the web server does not tell.
        root_path: the path under which a framework or a proxy has it.
        deadline: real seconds that each wait may take before it fails the test; None for any number.
    """

    def __init__(
        self,
        app: AsgiApp,
        *,
        server: tuple[str, int | None] | None = ("127.0.0.1", 8000),
        root_path: str = "",
        deadline: float | None = 5.0,
    ) -> None:
        self._app = app
        self._server = server
        self._root_path = root_path
        self._deadline = deadline

    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        further_headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = b"",
    ) -> AsgiExchange:
        """Start a request; the application runs on as a task.

        Args:
            method: the HTTP method.
            url: the path, perhaps with a query; in the form of a URL.
            headers: beside `Host`, which may be among them as well.
            further_headers: what comes after them, where a name comes twice for example.
            body: the whole body; None where it is sent later with `send_body`.
        """
        path, _, query = url.partition("?")
        all_headers = {"host": "127.0.0.1:8000", **{name.lower(): value for name, value in (headers or {}).items()}}
        pairs = [*all_headers.items(), *further_headers]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": self._root_path,
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": ("127.0.0.1", 50_000),
            "server": self._server,
        }
        exchange = AsgiExchange(self._app, scope, self._deadline)
        if body is not None:
            exchange.send_body(body)
        return exchange

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        further_headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
    ) -> AsgiExchange:
        """Make a request and return it when its response is complete; see `open`."""
        exchange = self.open(method, url, headers=headers, further_headers=further_headers, body=body)
        await exchange.read()
        await exchange.finish()
        return exchange

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Run the application's lifespan around what is inside, as a web server does for the application it runs.

        Raises:
            AssertionError: the application answers with something else than that it is ready, or not in time.
        """
        asked: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        told: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}}
        running = asyncio.ensure_future(self._app(scope, asked.get, told.put))
        try:
            async with asyncio.timeout(self._deadline):
                await _pass("lifespan.startup", asked, told)
            yield
            async with asyncio.timeout(self._deadline):
                await _pass("lifespan.shutdown", asked, told)
                await running
        except TimeoutError:
            raise AssertionError(f"no answer to a step of the lifespan within {self._deadline} s") from None
        finally:
            running.cancel()


async def _pass(step: str, asked: "asyncio.Queue[AsgiMessage]", told: "asyncio.Queue[AsgiMessage]") -> None:
    asked.put_nowait({"type": step})
    answer = await told.get()
    if answer["type"] != f"{step}.complete":
        raise AssertionError(f"{step} was answered with {answer}")
