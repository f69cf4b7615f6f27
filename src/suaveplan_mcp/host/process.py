"""A server as a child process: started, listened to, and ended for certain."""

import asyncio
import logging
import os
import subprocess
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

from msgspec import Struct

from suaveplan_mcp.errors import MCP_CODES, MCPTransportError
from suaveplan_mcp.host.platform import PLATFORM, Process
from suaveplan_mcp.host.stderr_log import ForwardLine, StderrLog
from suaveplan_mcp.host.streams import ByteReader
from suaveplan_mcp.host.survivors import SURVIVORS
from suaveplan_mcp.runtime.timers import LOOP_TIMERS, Timers
from suaveplan_mcp.transport.stdio import HIGH_WATER, MAX_FRAME_BYTES, ByteWriter, StdioTransport

_server_logger: Final = logging.getLogger("suaveplan_mcp.server_process")

GRACE: Final = 2.0
"""Seconds a server has to end by itself, and then once more after it was asked to."""

_SETTLE: Final = 0.5
"""Seconds that may pass between one sign of a server's end and the next."""

_NAME_LENGTH: Final = 100


class ServerProcess:
    """A server that runs as a child of this process, at the head of a process group of its own.

    Make it with `spawn`. When the server ends by itself, its `transport` closes with a `failure` that names the exit
    status and the server's last words.

    Attributes:
        name: the command, as errors call the server.
        transport: the way to the server; closing it ends the server.
    """

    def __init__(self, started: "_Started", log: StderrLog, timers: Timers, grace: float, max_frame_bytes: int) -> None:
        """Take over a process that was just started; use `spawn`."""
        loop = asyncio.get_running_loop()
        self.name = started.name
        self._process = started.process
        self._group = PLATFORM.hold_group(started.process)
        self._log = log
        self._timers = timers
        self._grace = grace
        self._concluding: asyncio.Task[None] | None = None
        self._failure: MCPTransportError | None = None
        self._stdin = PLATFORM.open_writer(started.stdin, lambda _: self._conclude())
        self._stdout = PLATFORM.open_reader(started.stdout)
        self._stderr = PLATFORM.open_reader(started.stderr)
        self._logging = loop.create_task(log.read(self._stderr))
        self._exited: asyncio.Future[None] = loop.create_future()
        SURVIVORS.add(self._process, self._group)
        self._stop_watching = PLATFORM.watch_exit(self._process, self._note_exit)
        self.transport: StdioTransport = _ServerTransport(
            self._read(), self._stdin, max_frame_bytes, grace, lambda: self._failure, self._end, self._let_go
        )

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str] | str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        inherit_env: Iterable[str] | None = None,
        on_stderr: ForwardLine | None = None,
        timers: Timers = LOOP_TIMERS,
        grace: float = GRACE,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> "ServerProcess":
        """Start a server.

        Args:
            command: the program and its arguments; a string is cut into words as the platform's shell does, but no
                shell runs.
            env: variables it gets beside the inherited ones.
            cwd: its working folder, ours by default.
            inherit_env: the names of the variables it inherits; by default those that programs need to run, which
                hold no secrets. Pass `os.environ` to hand on all of them.
            on_stderr: called with every line it writes to its standard error; by default they go to the logger
                `suaveplan_mcp.server_process`, level INFO.
            timers: what sets timers.
            grace: seconds it has to end when its input ends, and then again when it is terminated.
            max_frame_bytes: the longest message that is read.

        Raises:
            ValueError: the command is empty, or its quotes do not match.
            MCPTransportError: `TRANSPORT_ERROR`, it cannot be started; the message says why.
        """
        words = PLATFORM.split_command(command) if isinstance(command, str) else [*command]
        if not words:
            raise ValueError("the command of the server is empty")
        names = PLATFORM.INHERITED_ENVIRONMENT if inherit_env is None else inherit_env
        environment = {name: os.environ[name] for name in names if name in os.environ} | dict(env or {})
        started = _start(words, environment, cwd)
        return cls(started, StderrLog(on_stderr or _server_logger.info), timers, grace, max_frame_bytes)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """What it ended with, as `subprocess` gives it; None while it runs."""
        return self._process.returncode

    async def close(self) -> None:
        """End the server: close its input, wait, terminate its group, wait, kill the group.

        May be called from any task, more than once, and be cancelled: the work goes on in a task of its own.
        """
        await self.transport.close()

    # Noticing the end

    def _note_exit(self) -> None:
        SURVIVORS.discard(self._process)
        self._exited.set_result(None)
        self._conclude()

    def _conclude(self) -> "asyncio.Task[None]":
        """Find out why the server ends, once, whichever sign of it comes first."""
        if self._concluding is None:
            self._concluding = asyncio.get_running_loop().create_task(self._find_failure())
        return self._concluding

    async def _find_failure(self) -> None:
        end = "has closed its input or its output, although it is still running"
        if await self._within(_SETTLE, self._exited):
            end = f"ended {PLATFORM.describe_exit(self._process.returncode)}"
            # What it started may hold its streams open, and never end.
            await self._within(_SETTLE, self._logging)
        self._failure = MCPTransportError(
            MCP_CODES.TRANSPORT_ERROR,
            f"the server process {self.name!r} {end}{self._log.last_words()}",
            context={"pid": self.pid, "exit_status": self.exit_status, "stderr": self._log.tail},
        )
        self._stdout.end()

    async def _read(self) -> AsyncIterator[bytes]:
        """Yield what the server writes; there is a failure by the time it ends."""
        async for chunk in self._stdout:
            yield chunk
        await asyncio.shield(self._conclude())

    # Ending

    async def _end(self) -> None:
        """End the server; its input is closed already."""
        # A server that is held up because its output is not read could not end by itself.
        discarding = asyncio.get_running_loop().create_task(_discard(self._stdout))
        for ask_to_end in (self._group.terminate, self._group.kill):
            if not await self._within(self._grace, self._exited):
                ask_to_end()
        await self._within(self._grace, self._exited)
        if self._group.terminate():
            # It has left others behind. They hold its streams for as long as they live.
            await self._within(self._grace, asyncio.gather(discarding, self._logging))
            self._group.kill()
        await self._within(_SETTLE, self._logging)
        self._stdout.close()
        self._stderr.close()
        await asyncio.wait((discarding, self._logging, self._conclude()))

    async def _let_go(self) -> None:
        """Give everything back without waiting: nothing is left to do, or the event loop is about to end."""
        if self.exit_status is None:
            self._stop_watching()
            self._group.kill()
            # Nothing keeps a killed process for long; where something does, the interpreter's end tries once more.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SETTLE)
                SURVIVORS.discard(self._process)
        await self._stdin.close()
        self._stdout.close()
        self._stderr.close()

    async def _within(self, seconds: float, future: "asyncio.Future[Any]") -> bool:
        """Wait for something, but not for ever; return whether it has happened."""
        expired: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._timers.call_later(seconds, lambda: expired.done() or expired.set_result(None))
        await asyncio.wait((future, expired), return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        return future.done()


class _ServerTransport(StdioTransport):
    """The way to a child process, which knows why that ended, and ends it."""

    __slots__ = ("_end_server", "_find_failure", "_let_go")

    def __init__(
        self,
        readable: AsyncIterable[bytes],
        writable: ByteWriter,
        max_frame_bytes: int,
        grace: float,
        find_failure: Callable[[], MCPTransportError | None],
        end_server: Callable[[], Awaitable[None]],
        let_go: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            readable, writable, max_frame_bytes=max_frame_bytes, high_water=HIGH_WATER, close_timeout=grace
        )
        self._find_failure = find_failure
        self._end_server = end_server
        self._let_go = let_go

    def _finish(self) -> None:
        # Closing it ourselves does not pass here.
        if not self._closed:
            self.failure = self.failure or self._find_failure()
        super()._finish()

    async def _clean_up(self) -> None:
        try:
            await super()._clean_up()
            await self._end_server()
        finally:
            await self._let_go()


class _Started(Struct, frozen=True):
    """A process that was just started, and our ends of its streams."""

    name: str
    process: Process
    stdin: int
    stdout: int
    stderr: int


def _start(words: list[str], environment: dict[str, str], cwd: str | os.PathLike[str] | None) -> _Started:
    with ExitStack() as ours, ExitStack() as theirs:
        # The read end comes first.
        (stdin, write), (read, stdout), (read_stderr, stderr) = (os.pipe() for _ in range(3))
        for stack, fds in ((theirs, (stdin, stdout, stderr)), (ours, (write, read, read_stderr))):
            for fd in fds:
                stack.callback(os.close, fd)
        try:
            process = PLATFORM.spawn(words, environment, (stdin, stdout, stderr), cwd)
        except OSError as error:
            raise _cannot_start(words[0], environment, cwd, error) from error
        ours.pop_all()
        return _Started(" ".join(words)[:_NAME_LENGTH], process, write, read, read_stderr)


def _cannot_start(
    program: str, environment: dict[str, str], cwd: str | os.PathLike[str] | None, error: OSError
) -> MCPTransportError:
    reason = error.strerror or str(error)
    if cwd is not None and error.filename == cwd:
        reason = f"its working folder {os.fspath(cwd)!r} cannot be entered: {reason}"
    elif isinstance(error, FileNotFoundError):
        reason = f"there is no such command; PATH is {environment.get('PATH', os.defpath)!r}"
    return MCPTransportError(
        MCP_CODES.TRANSPORT_ERROR,
        f"cannot start the server process {program!r}: {reason}",
        cause=error,
        context={"command": program},
    )


async def _discard(stream: ByteReader) -> None:
    async for _ in stream:
        pass
