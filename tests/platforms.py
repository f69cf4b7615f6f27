"""Which modules of `host` belong to another platform, so that this machine cannot run them."""

import os
import sys
from pathlib import Path

HOST = Path(__file__).parents[1] / "src" / "suaveplan_mcp" / "host"

_PLATFORMS = {
    "posix": os.name == "posix" and sys.platform != "emscripten",
    "linux": sys.platform == "linux",
    "macos": sys.platform == "darwin",
    "windows": os.name == "nt",
    "emscripten": sys.platform == "emscripten",
}


def unmeasured_modules(host: Path = HOST) -> list[Path]:
    """Return the files `platform_<name>.py` that name a platform other than the running one."""
    return sorted(
        path for path in host.glob("platform_*.py") if not _PLATFORMS.get(path.stem.removeprefix("platform_"), True)
    )
