"""Loading what need not be installed."""

import pytest

from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError, load


def test_an_installed_library_is_loaded() -> None:
    assert "json" == load("json", "anything").__name__


def test_a_missing_library_is_named_with_the_extra_that_brings_it() -> None:
    with pytest.raises(MissingLibraryError, match=r"made_up_library.*pip install 'suaveplan-mcp\[thing\]'"):
        load("made_up_library", "thing")
