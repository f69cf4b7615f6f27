"""Processes that are still there when the interpreter ends."""

import subprocess
from typing import Any

import pytest

from suaveplan_mcp.host import survivors
from suaveplan_mcp.host.survivors import Survivors


class FakeProcess:
    """A process that ends when it is told to, if it heeds being told."""

    def __init__(self, log: list[str], *, heeds: bool) -> None:
        self.log, self.heeds, self.killed = log, heeds, False

    def terminate(self) -> bool:
        self.log.append("terminate")
        return True

    def kill(self) -> None:
        self.log.append("kill")
        self.killed = True

    def wait(self, timeout: float | None = None) -> int:
        self.log.append("wait")
        if not (self.heeds or self.killed):
            raise subprocess.TimeoutExpired("made up", timeout or 0)
        return 0


def ended(monkeypatch: pytest.MonkeyPatch, *, heeds: bool) -> list[str]:
    log: list[str] = []
    monkeypatch.setattr(survivors.atexit, "register", lambda function: log.append("register"))
    table: Any = Survivors()
    process, forgotten = FakeProcess(log, heeds=heeds), FakeProcess(log, heeds=True)
    table.add(process, process)
    table.add(forgotten, forgotten)
    table.discard(forgotten)
    table.end_all()
    return log


def test_a_survivor_is_terminated_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ["register", "terminate", "wait"] == ended(monkeypatch, heeds=True)


def test_a_survivor_that_does_not_heed_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ["register", "terminate", "wait", "kill", "wait"] == ended(monkeypatch, heeds=False)
