"""Run a command of the suite's and write down the exit code: `record_exit.py FOLDER COMMAND…`.

The suite looks at the exit codes of clients in no run of more than one scenario, so a crash after the last check would
pass unseen. The file is named after the scenario.
"""

import os
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the command; return its exit code."""
    folder, *command = sys.argv[1:]
    code = subprocess.run(command, check=False).returncode
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"].replace("/", "-")
    (Path(folder) / scenario).write_text(str(code), "ascii")
    return code


if __name__ == "__main__":
    sys.exit(main())
