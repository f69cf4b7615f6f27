"""Import the modules named on the command line in a fresh interpreter and print what that did, as JSON.

Run as a script: the interpreter must not have imported anything of the package before.
"""

import importlib
import json
import os
import signal
import sys
import threading

_WATCHED = ("_thread.", "fcntl.", "os.", "shutil.", "signal.", "socket.", "subprocess.", "tempfile.", "urllib.")
_HARMLESS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.listxattr"})
_LIBRARIES = tuple(
    folder for entry in [*sys.path, sys.prefix, sys.base_prefix] if entry for folder in (entry, os.path.realpath(entry))
)

_watching = True
_actions: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event == "open":
        path, _, flags = arguments
        reads = isinstance(flags, int) and not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not (reads and str(path).startswith(_LIBRARIES)):
            _actions.append(f"open {path}")
    elif event.startswith(_WATCHED) and event not in _HARMLESS:
        _actions.append(event)


def _state() -> dict[str, object]:
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "hooks": [repr(sys.excepthook), repr(sys.unraisablehook), repr(threading.excepthook)],
        "signals": [repr(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "threads": [thread.name for thread in threading.enumerate()],
    }


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.addaudithook(_watch)
    loaded, state = set(sys.modules), _state()
    for name in sys.argv[1:]:
        importlib.import_module(name)
    _watching = False
    after = _state()
    changed = [key for key in state if state[key] != after[key]]
    modules = sorted(set(sys.modules) - loaded)
    sys.stdout.write(json.dumps({"actions": _actions, "changed": changed, "modules": modules}))
