"""Windows: no signals, no loop that watches pipes; job objects hold a server and what it starts together."""

import asyncio
import ctypes
import msvcrt
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from ctypes import wintypes
from types import FrameType
from typing import Final, TypeAlias
from weakref import finalize

from suaveplan_mcp.host.process_exit import wait_in_thread
from suaveplan_mcp.host.streams import ByteReader, ByteWriter, OnBroken
from suaveplan_mcp.host.threaded_streams import ThreadedReader, ThreadedWriter

Process: TypeAlias = "subprocess.Popen[bytes]"

INHERITED_ENVIRONMENT: Final = (
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH", "PATHEXT"),
    *("PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME"),
    *("USERPROFILE", "WINDIR"),
)

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGBREAK)

_FIRST_NT_STATUS: Final = 0x8000_0000

_ACCOUNTING: Final = 1
_EXTENDED_LIMITS: Final = 9
_KILL_ON_JOB_CLOSE: Final = 0x2000


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("per_process_user_time_limit", wintypes.LARGE_INTEGER),
        ("per_job_user_time_limit", wintypes.LARGE_INTEGER),
        ("limit_flags", wintypes.DWORD),
        ("minimum_working_set_size", ctypes.c_size_t),
        ("maximum_working_set_size", ctypes.c_size_t),
        ("active_process_limit", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority_class", wintypes.DWORD),
        ("scheduling_class", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic_limits", _BasicLimits),
        ("io_counters", ctypes.c_ulonglong * 6),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory_used", ctypes.c_size_t),
        ("peak_job_memory_used", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    _fields_ = (
        ("times", wintypes.LARGE_INTEGER * 4),
        ("page_faults", wintypes.DWORD),
        ("total_processes", wintypes.DWORD),
        ("active_processes", wintypes.DWORD),
        ("terminated_processes", wintypes.DWORD),
    )


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
_kernel.QueryInformationJobObject.argtypes = (
    *(wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD),
    wintypes.LPDWORD,
)
_kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel.CloseHandle.argtypes = (wintypes.HANDLE,)


def split_command(command: str) -> list[str]:
    r"""Cut a command line into words: only `"` quotes, and `\` is an ordinary character."""
    words = shlex.shlex(command, posix=True)
    words.whitespace_split = True
    words.quotes = '"'
    words.escape = words.commenters = ""
    return list(words)


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    cwd: str | os.PathLike[str] | None,
) -> Process:
    """Start a program without a console window."""
    stdin, stdout, stderr = streams
    # Names differ in nothing but their case there, and what stands later was given to replace what stands before.
    variables = {name.upper(): value for name, value in environment.items()}
    # Windows itself finds only `.exe`; most launchers, such as `npx`, are `.cmd`.
    program = shutil.which(command[0], path=variables.get("PATH")) or command[0]
    return subprocess.Popen(  # noqa: S603  to start what it is told is its job
        [program, *command[1:]],
        env=variables,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
    )


class Job:
    """A job object: what a process starts belongs to it as well, and it ends with us however we end.

    Where Windows refuses to put the process into it, as inside some sandboxes, the process alone is ended.
    """

    __slots__ = ("__weakref__", "_handle", "_process")

    def __init__(self, process: Process) -> None:
        self._process = process
        self._handle: int | None = _kernel.CreateJobObjectW(None, None)
        if self._handle is None:
            return
        # Not in `__del__`: at the end of the interpreter the function to call may be gone by then.
        finalize(self, _kernel.CloseHandle, self._handle)
        limits = _ExtendedLimits()
        limits.basic_limits.limit_flags = _KILL_ON_JOB_CLOSE
        _kernel.SetInformationJobObject(self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
        # asyncio reads the process's handle in the same way.
        handle = int(getattr(process, "_handle"))  # noqa: B009  checkers do not know the attribute
        _kernel.AssignProcessToJobObject(self._handle, handle)

    def terminate(self) -> bool:
        """End them all, since a program without a console cannot be asked; return False where no process is left."""
        left = self._process.poll() is None or self._count() > 0
        self.kill()
        return left

    def kill(self) -> None:
        """End them all."""
        if self._handle is not None:
            _kernel.TerminateJobObject(self._handle, 1)
        self._process.kill()

    def _count(self) -> int:
        if self._handle is None:
            # Windows would take no handle for the job that we ourselves are in.
            return 0
        accounting = _Accounting()
        _kernel.QueryInformationJobObject(
            self._handle, _ACCOUNTING, ctypes.byref(accounting), ctypes.sizeof(accounting), None
        )
        return accounting.active_processes


def hold_group(process: Process) -> Job:
    """Return the group of a process that `spawn` has just started."""
    return Job(process)


def watch_exit(process: Process, on_exit: Callable[[], object]) -> Callable[[], None]:
    """Call back when a process has ended; a thread waits for it."""
    return wait_in_thread(process, on_exit)


def describe_exit(status: int) -> str:
    """Say what an exit status means; those of crashes are written down in hexadecimal."""
    return f"with exit status {status}" if status < _FIRST_NT_STATUS else f"with exit status {status:#x}"


def open_reader(fd: int) -> ByteReader:
    """Return a reader for a file descriptor, which gives its bytes as they are."""
    msvcrt.setmode(fd, os.O_BINARY)
    return ThreadedReader(fd)


def open_writer(fd: int, on_broken: OnBroken | None = None) -> ByteWriter:
    """Return a writer for a file descriptor, which takes its bytes as they are."""
    msvcrt.setmode(fd, os.O_BINARY)
    return ThreadedWriter(fd, on_broken)


def watch_signals(
    loop: asyncio.AbstractEventLoop, signals: Collection[signal.Signals], on_signal: Callable[[], object]
) -> Callable[[], None]:
    """Call back on the loop when a signal comes; what handled it before does so again afterwards."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(on_signal)

    previous = {number: signal.signal(number, pass_on) for number in signals}

    def stop() -> None:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    return stop
