"""What is read out of a docstring."""

import pytest

from suaveplan_mcp.server.signatures.docstrings import parse_docstring

GOOGLE = """Move a file.

It keeps its owner.

Args:
    source: where it is,
        in full.
    target (str): where it goes.
    *rest: more.

        After a gap.

Returns:
    Its size.
Only once, mind.

Raises:
    OSError: it is gone.
"""


def test_description_leaves_out_the_sections_on_parameters_and_results() -> None:
    assert "Move a file.\n\nIt keeps its owner.\n\nOnly once, mind." == parse_docstring(GOOGLE).description


def test_each_parameter_has_its_sentence_on_one_line() -> None:
    expected = {"source": "where it is, in full.", "target": "where it goes.", "rest": "more. After a gap."}

    assert expected == {name: " ".join(text.split()) for name, text in parse_docstring(GOOGLE).parameters.items()}


@pytest.mark.parametrize("text", ["", "One line.", "Parameters\n----------\nx : int\n    A number."])
def test_any_other_style_is_all_description(text: str) -> None:
    assert (text, {}) == parse_docstring(text)


def test_text_that_names_no_parameter_belongs_to_none() -> None:
    assert ("", {}) == parse_docstring("Args:\n    none at all\n")
