"""What the demo's steps share: the client, what it brings for the server to ask for, and what it has seen so far."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from suaveplan_mcp.cli.demo_files import text_of
from suaveplan_mcp.client.mcp_client import MCPClient
from suaveplan_mcp.errors import MCPError
from suaveplan_mcp.host.process import ServerProcess
from suaveplan_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    LoggingMessageNotificationParams,
    Resource,
    SamplingMessage,
    TextContent,
)

SERVER_FILE: Final = Path(__file__).with_name("demo_server.py")
PATIENCE: Final = 20.0
"""Seconds that a step waits for something that the server does of its own accord."""

STAND_IN: Final = "demo-stand-in"
SAMPLE_BYTES: Final = 262_144
"""The largest file that the demo reads on both sides, to compare."""

T = TypeVar("T")


class WrongAnswerError(Exception):
    """The server answered, but not what it should have."""


class Sample(Struct, frozen=True):
    """A file that both sides can read.

    Args:
        resource: as the server listed it.
        path: where it is on the disk.
        content: what is in it.
    """

    resource: Resource
    path: Path
    content: bytes

    @property
    def name(self) -> str:
        """Its path in the folder."""
        return self.resource.name

    def is_equal(self, content: bytes) -> bool:
        """Tell whether the file contains, or has contained, something; another process may be writing to it."""
        return content in (self.content, self.path.read_bytes())


class Walk:
    """One walk through a server for one folder.

    Args:
        folder: what is served.
        watched: a file of the demo's own, which the server watches.
        server: the server.

    Attributes:
        client: talks to the server.
        logs: the log messages that came.
        sent: the notifications that went out, by method.
        asked: the requests of the server's that came, by method.
        notices: the changes that the server told of, by URI.
        followed: the changes that the client has followed, by URI.
        sampled: what the stand-in for a model said last.
        files: the files that the server listed.
        text_file: one of them to look at more closely, None where there is none; so is `binary_file`.
    """

    def __init__(self, folder: Path, watched: Path, server: ServerProcess) -> None:
        self.folder = folder
        self.watched = watched
        self.server = server
        self.logs: list[LoggingMessageNotificationParams] = []
        self.sent: list[str] = []
        self.asked: list[str] = []
        self.notices: list[str] = []
        self.followed: list[str] = []
        self.sampled = ""
        self.files: list[Resource] = []
        self.text_file: Sample | None = None
        self.binary_file: Sample | None = None
        self._news = asyncio.Event()
        self.client = self._make_client()

    def _make_client(self) -> MCPClient:
        client = MCPClient("suaveplan-mcp-demo-client", prefetch=False, on_log=lambda log: self._note(self.logs, log))
        client.set_sampling_provider(self.answer_as_model)
        client.set_elicitation_provider(_answer_as_user)
        client.set_roots_provider(lambda: [self.folder])
        client.on_notification("notifications/resources/updated", lambda it: self._note(self.notices, it.uri))
        client.events.on("resource:updated", lambda event: self._note(self.followed, event.uri))
        client.events.on("notification:emitted", lambda event: self._note(self.sent, event.method))
        client.events.on("request:received", lambda event: self._note(self.asked, event.method))
        return client

    async def end(self) -> None:
        """Disconnect and end the server, as far as that has not been done."""
        await self.client.disconnect()
        await self.server.close()

    async def wait_for(self, what: str, look: Callable[[], bool]) -> None:
        """Wait until something has come from the server.

        Args:
            what: it, for the error.
            look: tells whether it is there.

        Raises:
            WrongAnswerError: it did not come.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                while not look():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise WrongAnswerError(f"{what} did not come within {PATIENCE:g} s") from None

    async def wait_for_log(self, logger: str) -> str:
        """Return the last message of a logger, as soon as there is one."""
        await self.wait_for(f"a log message from {logger}", lambda: any(log.logger == logger for log in self.logs))
        return str([log.data for log in self.logs if log.logger == logger][-1])

    def change_watched(self, text: str) -> None:
        """Write the watched file anew, in one go."""
        new = self.watched.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(self.watched)

    def choose_samples(self) -> None:
        """Choose a text file and a binary one among the files that this side can read as well."""
        for sample in self._readable_files():
            if text_of(sample.content) is None:
                self.binary_file = self.binary_file or sample
            else:
                self.text_file = self.text_file or sample
            if self.text_file and self.binary_file:
                return

    def _readable_files(self) -> Iterator[Sample]:
        for resource in self.files:
            path = self.folder / resource.name
            if resource.size is not None and 0 < resource.size <= SAMPLE_BYTES:
                try:
                    yield Sample(resource, path, path.read_bytes())
                except OSError:
                    continue

    def answer_as_model(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Stand in for a model: say so, and tell what can be counted."""
        words = sum(len(text.split()) for message in params.messages for text in _texts(message))
        self.sampled = f"No model is connected; this stand-in was given {words} words and understood none of them."
        return CreateMessageResult(
            role="assistant", content=TextContent(text=self.sampled), model=STAND_IN, stop_reason="endTurn"
        )

    def _note(self, seen: list[T], item: T) -> None:
        seen.append(item)
        self._news.set()


class Step(Struct, frozen=True):
    """One step of the walk.

    Args:
        question: what it asks, for the reader.
        run: does it, and returns what came back, for the reader.
        methods: those it uses.
    """

    question: str
    run: Callable[[Walk], Awaitable[str]]
    methods: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The question and the methods."""
        return f"{self.question} [{', '.join(self.methods)}]" if self.methods else self.question


async def start_server(folder: Path, watched: Path) -> ServerProcess:
    """Start the demo's server; it may see our whole environment, since it is ours."""
    command = [sys.executable, "-m", "suaveplan_mcp", "run", str(SERVER_FILE)]
    env = {"SUAVEPLAN_DEMO_FOLDER": str(folder), "SUAVEPLAN_DEMO_WATCHED": str(watched)}
    return await ServerProcess.spawn(command, env=env, inherit_env=os.environ)


def expect(condition: object, otherwise: str) -> None:
    """Check an answer.

    Raises:
        WrongAnswerError: it is not what it should be.
    """
    if not condition:
        raise WrongAnswerError(otherwise)


async def expect_refusal(code: str, request: Awaitable[object]) -> MCPError:
    """Check that a request is refused with a code, and return the refusal.

    Raises:
        WrongAnswerError: it was not refused, or with another code.
    """
    (answer,) = await asyncio.gather(request, return_exceptions=True)
    if isinstance(answer, MCPError):
        expect(answer.code == code, f"{answer.code} came instead of {code}: {answer.message}")
        return answer
    raise WrongAnswerError(f"it was not refused with {code}; {answer!r} came back")


def number(count: int, noun: str) -> str:
    """Return a number and what it counts."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _answer_as_user() -> dict[str, object]:
    """Stand in for a user: want two files, the larger one first."""
    return {"action": "accept", "content": {"count": 2, "smallest_first": False}}


def _texts(message: SamplingMessage) -> list[str]:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    return [block.text for block in blocks if isinstance(block, TextContent)]
