"""The official conformance suite as a command, and what it says of each scenario."""

import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct
from msgspec.json import Decoder

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SCRIPT = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

BAD = ("FAILURE", "WARNING")

_TIME = re.compile(r"-\d{4}-\d\d-\d\dT")
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win"}


class Check(Struct, rename="camel"):
    """One thing that a scenario has looked at."""

    id: str
    status: str
    error_message: str | None = None


@dataclass
class Outcome:
    """What a scenario came to.

    Attributes:
        checks: what it looked at; empty where it never came to that.
        exit_code: that of the client; 0 for a server, None where it never ended.
    """

    scenario: str
    checks: list[Check] = field(default_factory=list[Check])
    exit_code: int | None = 0

    @property
    def counts(self) -> Counter[str]:
        """How many checks there are of each status."""
        return Counter(check.status for check in self.checks)

    @property
    def problems(self) -> list[str]:
        """What keeps the scenario from counting as passed; a check that was skipped proves nothing."""
        bad = [f"{check.status} {check.id}: {check.error_message}" for check in self.checks if check.status in BAD]
        if self.exit_code != 0:
            bad.append(f"the client ended with exit code {self.exit_code}")
        if "SUCCESS" not in self.counts and not bad:
            bad.append(f"nothing was checked: {dict(self.counts) or 'there is no result'}")
        return bad


_checks = Decoder(list[Check])


def find_node() -> str:
    """Return the Node.js that came with the suite, else the one on the path."""
    system, architecture = _SYSTEMS.get(platform.system(), ""), _ARCHITECTURES.get(platform.machine().lower(), "")
    folder = MODULES / f"node-{system}-{architecture}" / "bin"
    for name in ("node", "node.exe"):
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("node")
    if found is None:
        sys.exit("the conformance suite needs Node.js 22 or newer, and there is none")
    return found


def run_suite(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command of the suite and return what it prints, whatever its exit status is."""
    command = [find_node(), str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
    return done.stdout + done.stderr


def required(side: str, revision: str) -> list[str]:
    """Return the scenarios that a revision requires of a side, `server` or `client`."""
    listed = run_suite(["list", f"--{side}", "--requirements", revision])
    _, _, after = listed.partition(f"{side.capitalize()} scenarios")
    # What follows is the other side's, or run without being scored.
    section = re.split(r"scenarios \(|never scored", after.partition("\n")[2])[0]
    return [line.strip()[2:].split()[0] for line in section.splitlines() if line.strip().startswith("- ")]


def read_outcomes(folder: Path, scenarios: Sequence[str]) -> list[Outcome]:
    """Return what became of scenarios, from the results that the suite has written into a folder."""
    outcomes: list[Outcome] = []
    for scenario in scenarios:
        # The folder of a result is named after its scenario and the time.
        name = scenario.replace("/", "-")
        files = [
            file
            for file in sorted(folder.rglob("checks.json"))
            if _is_of(str(file.parent.relative_to(folder)).replace("/", "-"), name)
        ]
        outcome = Outcome(scenario)
        for file in files:
            outcome.checks += _checks.decode(file.read_bytes())
        outcomes.append(outcome)
    return outcomes


def _is_of(folder: str, scenario: str) -> bool:
    return _TIME.split(folder.removeprefix("server-"))[0] == scenario
