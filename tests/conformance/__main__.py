"""Run the official conformance suite against our example server and our example client; `make conformance` is this.

    python -m tests.conformance [server] [client] [--revision REVISION] [--scenario NAME] [--output FOLDER]

It ends with 1 where a scenario that the revision requires has a failure or a warning, or checked nothing, or where a
client ended with an exit code that it should not have: the suite looks at those in no run of more than one scenario.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from suaveplan_mcp.protocol.revisions import LATEST
from tests.conformance.suite import Outcome, read_outcomes, required, run_suite

ROOT = Path(__file__).parents[2]
SERVER_FILE = ROOT / "examples" / "everything.py"
CLIENT_FILE = ROOT / "examples" / "conformance_client.py"

TIMEOUT_MS = 90_000
"""All scenarios of a client run at once, and a machine may have two cores."""

# The suite runs these with the set of the newest revision, but does not score them; here they count.
UNSCORED = {
    ("server", LATEST): ("http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"),
    ("client", LATEST): ("json-schema-2020-12-preservation",),
}

# Other rooms of the suite: those of authorization wait for a client that can do that.
LEFT_OUT = ("auth/",)


@contextmanager
def listening_server() -> Generator[str]:
    """Run the example server; give the URL where it listens."""
    command = [sys.executable, "-m", "suaveplan_mcp", "run", str(SERVER_FILE), "--transport", "http", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            sys.exit(f"the example server did not start: {line}{process.stderr.read()}")
        # `localhost` is what the suite takes for a machine of its own.
        yield found[0].replace("127.0.0.1", "localhost")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def check_server(revision: str, scenarios: Sequence[str], folder: Path) -> list[Outcome]:
    """Run the scenarios of a server."""
    with listening_server() as url:
        common = ["server", "--url", url, "--timeout", str(TIMEOUT_MS), "--output-dir", str(folder)]
        for arguments in _selections(revision, scenarios):
            run_suite([*common, *arguments])
    return read_outcomes(folder, scenarios or [*required("server", revision), *UNSCORED.get(("server", revision), ())])


def check_client(revision: str, scenarios: Sequence[str], folder: Path) -> list[Outcome]:
    """Run the scenarios of a client, and look at the exit codes of the programs."""
    codes = folder / "exit-codes"
    codes.mkdir()
    recorder = [sys.executable, str(Path(__file__).with_name("record_exit.py")), str(codes)]
    command = shlex.join([*recorder, sys.executable, str(CLIENT_FILE)])
    common = ["client", "--command", command, "--timeout", str(TIMEOUT_MS), "--output-dir", str(folder)]
    wanted = scenarios or [
        *(scenario for scenario in required("client", revision) if not scenario.startswith(LEFT_OUT)),
        *UNSCORED.get(("client", revision), ()),
    ]
    # One by one: those that are left out need not run, and two cores are enough for one at a time.
    for arguments in _selections(revision, wanted):
        run_suite([*common, *arguments], {**os.environ, "PYTHONPATH": str(ROOT)})
    outcomes = read_outcomes(folder, wanted)
    for outcome in outcomes:
        file = codes / outcome.scenario.replace("/", "-")
        outcome.exit_code = int(file.read_text("ascii")) if file.is_file() else None
    return outcomes


def _selections(revision: str, scenarios: Sequence[str]) -> list[list[str]]:
    """Return the arguments of each run: one for all that is required, or one for each scenario."""
    if not scenarios:
        return [["--requirements", revision]]
    return [["--scenario", scenario, "--spec-version", revision] for scenario in scenarios]


def report(side: str, revision: str, outcomes: Sequence[Outcome]) -> int:
    """Print what became of a run; return how many scenarios did not pass."""
    for outcome in outcomes:
        passed = outcome.counts["SUCCESS"]
        _say(f"{'ok  ' if not outcome.problems else 'FAIL'} {outcome.scenario}: {passed} checks passed")
        for problem in outcome.problems:
            _say(f"       {problem}")
    failed = sum(bool(outcome.problems) for outcome in outcomes)
    checks = sum(outcome.counts["SUCCESS"] for outcome in outcomes)
    _say(f"{side}, {revision}: {len(outcomes) - failed} of {len(outcomes)} scenarios passed, {checks} checks\n")
    return failed


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("sides", nargs="*", metavar="server|client", default=["server", "client"])
    parser.add_argument("--revision", default=LATEST)
    parser.add_argument("--scenario", action="append", default=[], help="one scenario instead of all; may be repeated")
    parser.add_argument("--output", type=Path, help="where to keep the results of every check")
    options = parser.parse_args(arguments)
    failed = 0
    for side in options.sides:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.output or Path(temporary)) / side
            folder.mkdir(parents=True)
            check = check_server if side == "server" else check_client
            failed += report(side, options.revision, check(options.revision, options.scenario, folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
