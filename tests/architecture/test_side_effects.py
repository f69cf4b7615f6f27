"""Importing the package does nothing but define names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture import import_probe
from tests.architecture.source import PACKAGE, is_within, universal_modules

HEAVY = frozenset(
    "aiohttp anyio cryptography h11 http.client http.server httptools httpx joserfc jsonschema_rs opentelemetry.sdk "
    "pydantic redis requests rich starlette urllib.request urllib3 uvicorn uvloop".split()
)


def _import_in_a_child(*names: str) -> dict[str, list[str]]:
    """Import `names` in a fresh interpreter, without coverage, which opens files itself, and return what was seen."""
    command = [sys.executable, str(Path(import_probe.__file__)), *names]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    child = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert not child.returncode, child.stderr
    return json.loads(child.stdout)


@pytest.mark.requirement("universal-code-stays-pure")
def test_importing_the_package_loads_nothing_but_its_shop_window() -> None:
    seen = _import_in_a_child(PACKAGE)

    assert [] == [name for name in seen["modules"] if name.startswith(f"{PACKAGE}.") or is_within(name, HEAVY)]
    assert "msgspec" not in seen["modules"]


@pytest.mark.requirement("universal-code-stays-pure")
def test_importing_the_package_has_no_side_effect() -> None:
    seen = _import_in_a_child(PACKAGE)

    assert ([], []) == (seen["actions"], seen["changed"])


@pytest.mark.requirement("universal-code-stays-pure")
def test_importing_every_universal_module_has_no_side_effect() -> None:
    seen = _import_in_a_child(*(module.name for module in universal_modules()))

    assert ([], []) == (seen["actions"], seen["changed"])


def test_importing_every_universal_module_loads_no_optional_or_heavy_library() -> None:
    seen = _import_in_a_child(*(module.name for module in universal_modules() if module.room != "auth"))

    assert [] == [name for name in seen["modules"] if is_within(name, HEAVY)]


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "threads"),
        ("import os; os.environ['MADE_UP'] = '1'", "environment"),
        ("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signals"),
        ("open(__file__ + '.log', 'w').close()", "open"),
        ("import asyncio; asyncio.new_event_loop().close()", "socket.__new__"),
        ("import subprocess, sys; subprocess.run([sys.executable, '-c', ''])", "subprocess.Popen"),
    ],
)
def test_a_side_effect_would_be_noticed(
    code: str, noticed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guilty.py").write_text(code, "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))

    seen = _import_in_a_child("guilty")

    assert any(entry.startswith(noticed) for entry in seen["actions"] + seen["changed"]), seen
