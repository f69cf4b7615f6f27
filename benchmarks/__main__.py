"""Run the benchmarks: `make bench`, or `make bench ARGS=--quick` for a look."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from benchmarks.report import Row, write_report
from benchmarks.workloads import IMPORT_TARGET, IMPORTS, WORKLOADS, Workload

ROOT = Path(__file__).parents[1]
CONTESTANTS = ("floor", "ours", "official")
SLOW = 0.2
"""The part of a workload's calls that the official SDK makes in one turn, so that turns last alike."""


# Installed libraries are compiled ahead; a checkout that may not be would pay for it at every start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Worker:
    """A contestant's process."""

    def __init__(self, contestant: str, workload: Workload) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", contestant, workload.place, workload.way]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._calls = int(workload.calls * (SLOW if contestant == "official" else 1))
        if self._read() != "ready":
            raise RuntimeError(f"{contestant} did not get ready for: {workload.name}")

    def turn(self) -> float:
        """Make the calls of one turn; return microseconds a call."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self._calls}\n")
        self._process.stdin.flush()
        return float(self._read()) / self._calls * 1e6

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=30)

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def _interleave(turns: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Let everybody have one turn a round, each round in another order."""
    figures: dict[str, list[float]] = {name: [] for name in turns}
    names = list(turns)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            figures[name].append(turns[name]())
    return figures


def _row(name: str, unit: str, target: float, figures: dict[str, list[float]]) -> Row:
    middles = {contestant: median(values) for contestant, values in figures.items()}
    spreads = {
        contestant: (quantiles(values, n=4)[2] - quantiles(values, n=4)[0]) / middles[contestant]
        for contestant, values in figures.items()
    }
    return Row(name, unit, target, middles, spreads)


def _measure_calls(workload: Workload, rounds: int) -> Row:
    workers = {contestant: Worker(contestant, workload) for contestant in CONTESTANTS}
    try:
        turns = {contestant: worker.turn for contestant, worker in workers.items()}
        return _row(workload.name, "µs a call", workload.target, _interleave(turns, rounds))
    finally:
        for worker in workers.values():
            worker.close()


def _import_time(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, check=True)
    return (time.perf_counter() - started) * 1e3


def _measure_imports(rounds: int) -> Row:
    empty = median(_import_time("pass") for _ in range(rounds))
    turns = {name: (lambda statement=statement: _import_time(statement) - empty) for name, statement in IMPORTS.items()}
    return _row("import of server and client", "ms", IMPORT_TARGET, _interleave(turns, rounds))


def main() -> int:
    """Measure everything, print the table, write `results.md`; fail where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="three rounds instead of eleven, and no results file")
    quick = parser.parse_args().quick
    rounds = 3 if quick else 11
    rows: list[Row] = []
    for workload in WORKLOADS:
        rows.append(_measure_calls(workload, rounds))
        _say(rows[-1].sentence())
    rows.append(_measure_imports(rounds))
    _say(rows[-1].sentence())
    if not quick:
        write_report(rows, ROOT / "benchmarks" / "results.md", rounds)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
