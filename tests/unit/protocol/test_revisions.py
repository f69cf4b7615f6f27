import json
import re
from pathlib import Path

import pytest

from suaveplan_mcp.protocol import revisions
from suaveplan_mcp.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    LATEST,
    LATEST_HANDSHAKE,
    REVISIONS,
    STATELESS_REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    is_at_least,
)


def test_revisions_are_the_folders_of_the_specification(spec_dir: Path) -> None:
    folders = sorted(folder.name for folder in spec_dir.iterdir() if (folder / "schema.json").exists())
    assert folders == list(REVISIONS)


def test_revisions_stand_in_their_order() -> None:
    assert sorted(REVISIONS) == list(REVISIONS)
    assert (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28) == REVISIONS


def test_constants_are_named_after_their_dates() -> None:
    names = {name: value for name, value in vars(revisions).items() if re.fullmatch(r"V\d{4}_\d\d_\d\d", name)}
    assert {"V" + value.replace("-", "_"): value for value in REVISIONS} == names


def test_every_revision_belongs_to_one_era() -> None:
    assert HANDSHAKE_REVISIONS + STATELESS_REVISIONS == REVISIONS
    assert (HANDSHAKE_REVISIONS[-1], REVISIONS[-1]) == (LATEST_HANDSHAKE, LATEST)


def test_the_handshake_era_is_what_has_initialize(spec_dir: Path) -> None:
    with_initialize = tuple(
        revision
        for revision in REVISIONS
        if "InitializeRequest" in json.dumps(json.loads((spec_dir / revision / "schema.json").read_bytes()))
    )
    assert with_initialize == HANDSHAKE_REVISIONS


@pytest.mark.parametrize(
    ("revision", "other", "expected"),
    [
        (V2025_06_18, V2025_03_26, True),
        (V2025_06_18, V2025_06_18, True),
        (V2025_06_18, V2025_11_25, False),
        ("2031-01-01", LATEST, True),
        ("1999-12-31", V2024_11_05, False),
    ],
)
def test_is_at_least_compares_dates(revision: str, other: str, *, expected: bool) -> None:
    assert expected == is_at_least(revision, other)
