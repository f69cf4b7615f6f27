"""What a docstring says to a caller: the description, and a sentence for each parameter."""

import re
from typing import Final, NamedTuple

_SECTION: Final = re.compile(r"(Args|Arguments|Parameters|Returns|Yields|Raises):\s*")
_PARAMETERS: Final = frozenset({"Args", "Arguments", "Parameters"})
_PARAMETER: Final = re.compile(r"(?P<indent> +)\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")


class Docstring(NamedTuple):
    """What was read: both are empty where there is nothing."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str) -> Docstring:
    """Read a docstring in Google's style; in any other style all of it is the description.

    Args:
        text: the docstring, its indentation already removed.

    Returns:
        The description: everything outside the sections on parameters, returns, yields and raises. And the sentence on
        each parameter, on one line.
    """
    description: list[str] = []
    parameters: dict[str, str] = {}
    section, indent, name = "", "", ""
    for line in text.splitlines():
        heading = _SECTION.fullmatch(line)
        if heading is not None:
            section, indent, name = heading[1], "", ""
        elif line and not line.startswith(" "):
            section = ""
            description.append(line)
        elif not section:
            description.append(line)
        elif section in _PARAMETERS:
            entry = _PARAMETER.fullmatch(line)
            if entry is not None and (not indent or entry["indent"] == indent):
                indent, name = entry["indent"], entry["name"]
                parameters[name] = entry["text"].strip()
            elif name:
                parameters[name] = f"{parameters[name]} {line.strip()}".strip()
    return Docstring("\n".join(description).strip(), parameters)
