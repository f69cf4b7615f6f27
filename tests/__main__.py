"""Run the whole suite under branch coverage; `make test` is this.

The coverage of the test processes and of every child process they start is joined and must be complete. What pytest
says at its end is said once more as the last line, so that whoever reads only that line reads the outcome.
"""

import subprocess
import sys

from tests.platforms import unmeasured_modules

_COVERAGE = [sys.executable, "-m", "coverage"]


def _run_tests(arguments: list[str]) -> tuple[int, str]:
    """Run pytest, pass its output on as it comes, and return its exit status and closing line."""
    closing = ""
    command = [*_COVERAGE, "run", "-m", "pytest", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            closing = line.strip() or closing
    return tests.returncode, closing


def _report_coverage() -> int:
    """Print what was not run and return the exit status of the gate."""
    subprocess.run([*_COVERAGE, "combine", "--quiet"], check=False)
    omitted = [f"--omit={','.join(str(path) for path in unmeasured_modules())}"] if unmeasured_modules() else []
    return subprocess.run([*_COVERAGE, "report", *omitted], check=False).returncode


def main(arguments: list[str]) -> int:
    """Run the tests, then the coverage gate; return the first exit status that is not zero."""
    subprocess.run([*_COVERAGE, "erase"], check=True)
    failed, closing = _run_tests(arguments)
    incomplete = _report_coverage()
    sys.stdout.write(f"\n{closing}\n")
    return failed or incomplete


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
