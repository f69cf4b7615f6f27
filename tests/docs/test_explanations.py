"""The pages that explain the source name only what is there."""

import re
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, SOURCE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "explanation").glob("*.md"))]
FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml))`")
LINK = re.compile(r"\]\(([^)#:]+)\)")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = FILE.findall(page.read_text("utf-8"))

    assert [] == [name for name in named if not ((SOURCE / name).is_file() or (ROOT / name).is_file())]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text("utf-8"))

    assert [] == [target for target in targets if not (page.parent / target).exists()]


def test_files_and_links_are_recognised() -> None:
    text = "`server/tools.py` and `no_folder.py`, [page](docs/a.md), [part](#part), [web](https://example.org)"

    assert (["server/tools.py"], ["docs/a.md"]) == (FILE.findall(text), LINK.findall(text))
