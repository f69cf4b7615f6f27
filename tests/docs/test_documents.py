"""Every example in the README and the documentation runs as printed.

The blocks of one document share a folder, in the order of the page:

* `python` blocks run, each in an interpreter of its own;
* `python file=server.py` blocks are saved under that name, for the blocks that follow; so is any other language's;
* the commands of `console` blocks (lines that start with `$ `) run; where the page shows output, it is compared, and
  `...` stands for anything.
"""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.docs.blocks import Block, Command, read_blocks, read_commands

DOCUMENTS = [path for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if path.is_file()]
DEADLINE = 60.0

# What is not run: the document and the first line of a python block, or a command of a console block; and why.
NOT_RUN = {
    (
        "docs/requirements/README.md",
        '@pytest.mark.requirement("ping-is-always-answered")',
    ): "shows a marker on a test that is made up",
}
# How console commands begin that do not belong into a test, wherever they stand.
NOT_RUN_COMMANDS = {
    "pip install ": "needs a package index",
    "git clone ": "needs the network",
    "make ": "the make targets run these tests, or set up what runs them",
}
# Other names of the languages whose blocks run: a block under such a name would be left out without a word.
ALIASES = frozenset({"bash", "doctest", "py", "pycon", "python3", "sh", "shell", "zsh"})


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _run(command: list[str] | str, folder: Path) -> str:
    """Run a command in the folder, with this interpreter's commands first on the path, and return its output."""
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]]), "PYTHONWARNINGS": "error"}
    child = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        shell=isinstance(command, str),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=DEADLINE,
    )
    assert not child.returncode, f"{command} ended with {child.returncode}:\n{child.stdout}"
    return child.stdout


def _check_command(command: Command, folder: Path) -> None:
    got = _run(command.line, folder)
    if command.output:
        same = doctest.OutputChecker().check_output(command.output, got, doctest.ELLIPSIS)
        assert same, f"$ {command.line}\nthe page shows:\n{command.output}\nit printed:\n{got}"


def run_page(text: str, document: str, folder: Path) -> None:
    """Run the blocks of one document, in order, in one folder."""
    for block in read_blocks(text):
        run_block(block, document, folder)


def run_block(block: Block, document: str, folder: Path) -> None:
    """Do with a block what its language asks for."""
    if block.file:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.code, "utf-8")
    elif block.language == "python" and (document, block.first_line) not in NOT_RUN:
        script = folder / f"block_at_line_{block.line}.py"
        script.write_text(block.code, "utf-8")
        _run([sys.executable, script.name], folder)
    elif block.language == "console":
        for command in read_commands(block.code):
            if (document, command.line) not in NOT_RUN and not command.line.startswith(tuple(NOT_RUN_COMMANDS)):
                _check_command(command, folder)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_every_example_runs_as_printed(path: Path, tmp_path: Path) -> None:
    run_page(path.read_text("utf-8"), _name(path), tmp_path)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_no_block_escapes(path: Path) -> None:
    text = path.read_text("utf-8")
    blocks = read_blocks(text)

    assert 2 * len(blocks) == len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)), "a fence is indented or open"
    assert set() == ALIASES & {block.language for block in blocks}


def test_the_readme_has_examples() -> None:
    blocks = read_blocks((ROOT / "README.md").read_text("utf-8"))

    assert {"python", "console"} <= {block.language for block in blocks}


def test_every_listed_exception_still_exists() -> None:
    lines = {
        (_name(path), line)
        for path in DOCUMENTS
        for block in read_blocks(path.read_text("utf-8"))
        for line in [block.first_line, *(command.line for command in read_commands(block.code))]
    }

    assert set() == NOT_RUN.keys() - lines


PAGE = """
```python file=greeting.py
WORD = "hello"
```

```python
import greeting
assert greeting.WORD == "hello"
```

```console
$ python greeting.py
$ python -c "import greeting; print(greeting.WORD, 42)"
hello ...
```
"""


def test_blocks_of_a_page_share_a_folder(tmp_path: Path) -> None:
    run_page(PAGE, "page.md", tmp_path)

    assert (tmp_path / "greeting.py").is_file()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [('== "hello"', '== "bye"', "AssertionError"), ("hello ...", "bye ...", "the page shows")],
)
def test_an_example_that_does_not_do_what_it_says_is_found(
    right: str, wrong: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=message):
        run_page(PAGE.replace(right, wrong), "page.md", tmp_path)
