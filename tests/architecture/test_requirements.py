"""The requirements and their tests name each other. `docs/requirements/README.md` describes the form."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

FOLDER = ROOT / "docs" / "requirements"
TESTS = ROOT / "tests"

HEADING = re.compile(r"^### Requirement: (.+)$", re.MULTILINE)
SCENARIO = re.compile(r"^#### Scenario: (.+)$", re.MULTILINE)
EVIDENCE = re.compile(r"^\*\*Verified by:\*\*((?: .+|\n)(?:\n\* .+)*)$", re.MULTILINE)
ENTRY = re.compile(r"`([^`]+::[^`]+)`")
BARE_CASE = re.compile(r"^\*(?!.*`[^`]+::[^`]+`).*$", re.MULTILINE)
LISTED = re.compile(r"^\* `([^`]+)`", re.MULTILINE)


def identify(title: str) -> str:
    """Return the id of a requirement: its title in lower case, words joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


@dataclass
class Requirement:
    """One requirement as written down."""

    title: str
    text: str
    evidence: list[str] = field(default_factory=list[str])

    @property
    def id(self) -> str:
        """What a test's marker calls it."""
        return identify(self.title)


def read_requirements(text: str) -> list[Requirement]:
    """Return the requirements of one document."""
    pieces = HEADING.split(text)[1:]
    return [
        Requirement(title.strip(), body, [entry for line in EVIDENCE.findall(body) for entry in ENTRY.findall(line)])
        for title, body in zip(pieces[::2], pieces[1::2], strict=True)
    ]


def find_faults(requirement: Requirement) -> list[str]:
    """Return what is missing from the form of a requirement."""
    statement, *scenarios = SCENARIO.split(requirement.text)
    faults = [
        *([] if re.search(r"\b(SHALL|MUST)\b", statement) else ["says neither SHALL nor MUST"]),
        *([] if scenarios else ["has no scenario"]),
        *([] if len(EVIDENCE.findall(requirement.text)) == 1 else ["needs exactly one `**Verified by:**` line"]),
        *([] if requirement.evidence else ["names no test"]),
        *(f"names no test for {case!r}" for case in BARE_CASE.findall("".join(EVIDENCE.findall(requirement.text)))),
    ]
    for title, body in zip(scenarios[::2], scenarios[1::2], strict=True):
        if not re.search(r"^- \*\*WHEN\*\* .+\n(?:.+\n)*?- \*\*THEN\*\* .+", body, re.MULTILINE):
            faults.append(f"the scenario {title!r} lacks WHEN or THEN")
    return [f"{requirement.title}: {fault}" for fault in faults]


def read_tests(path: Path, tree: ast.Module) -> dict[str, set[str]]:
    """Return the tests of a file by the name that pytest gives them, each with the requirements its markers claim."""
    file = path.relative_to(ROOT).as_posix()
    of_file = _claims_of_file(tree)
    tests: dict[str, set[str]] = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        prefix = f"{file}::{node.name}" if isinstance(node, ast.ClassDef) else file
        for function in inner:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name.startswith("test"):
                tests[f"{prefix}::{function.name}"] = of_file | _claims(function.decorator_list)
    return tests


def _claims(expressions: list[ast.expr]) -> set[str]:
    """Return the ids in `pytest.mark.requirement("…")`."""
    return {
        argument.value
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def _claims_of_file(tree: ast.Module) -> set[str]:
    """Return the ids that `pytestmark` claims for every test of the file."""
    return {
        claim
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for claim in _claims([node.value])
    }


@pytest.fixture(scope="module")
def requirements() -> list[Requirement]:
    documents = sorted(path for path in FOLDER.rglob("*.md") if path.name != "README.md")
    return [requirement for path in documents for requirement in read_requirements(path.read_text("utf-8"))]


@pytest.fixture(scope="module")
def tests() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        found |= read_tests(path, ast.parse(path.read_text("utf-8"), path))
    return found


def test_there_are_requirements(requirements: list[Requirement]) -> None:
    assert requirements, f"{FOLDER} holds no requirement"


def test_every_requirement_has_the_agreed_form(requirements: list[Requirement]) -> None:
    assert [] == [fault for requirement in requirements for fault in find_faults(requirement)]


def test_every_requirement_has_an_id_of_its_own(requirements: list[Requirement]) -> None:
    ids = [requirement.id for requirement in requirements]

    assert sorted(set(ids)) == sorted(ids)


def test_the_list_and_the_documents_hold_the_same_requirements(requirements: list[Requirement]) -> None:
    listed = LISTED.findall((FOLDER / "README.md").read_text("utf-8"))

    assert sorted(listed) == sorted(requirement.id for requirement in requirements)


def test_every_test_that_a_requirement_names_exists(
    requirements: list[Requirement], tests: dict[str, set[str]]
) -> None:
    missing = [f"{r.title}: {entry}" for r in requirements for entry in r.evidence if entry not in tests]

    assert [] == missing


def test_every_test_that_claims_a_requirement_is_named_by_it(
    requirements: list[Requirement], tests: dict[str, set[str]]
) -> None:
    named = {(requirement.id, entry) for requirement in requirements for entry in requirement.evidence}
    claimed = {(claim, name) for name, claims in tests.items() for claim in claims}

    assert [] == sorted(claimed - named)


def test_every_test_that_a_requirement_names_claims_it(
    requirements: list[Requirement], tests: dict[str, set[str]]
) -> None:
    named = {(requirement.id, entry) for requirement in requirements for entry in requirement.evidence}
    claimed = {(claim, name) for name, claims in tests.items() for claim in claims}

    assert [] == sorted(named - claimed)


SAMPLE = """
### Requirement: Ping answers, always

A peer SHALL answer `ping`.

#### Scenario: a ping

- **WHEN** a ping arrives
- **THEN** an empty result goes back

**Verified by:** `tests/unit/test_ping.py::test_ping_is_answered` AND `tests/unit/test_ping.py::test_ping_twice`
"""


def test_a_requirement_is_read_with_its_id_and_evidence() -> None:
    (requirement,) = read_requirements(SAMPLE)

    assert "ping-answers-always" == requirement.id
    assert [
        "tests/unit/test_ping.py::test_ping_is_answered",
        "tests/unit/test_ping.py::test_ping_twice",
    ] == requirement.evidence
    assert [] == find_faults(requirement)


def test_evidence_may_be_a_list_of_cases() -> None:
    start, _, _ = SAMPLE.partition("**Verified by:**")
    cases = "* `once`: `tests/x.py::test_a` AND `tests/x.py::test_b`\n* twice: `tests/x.py::test_c`\n"
    listed = f"**Verified by:**\n\n{cases}"
    (requirement,) = read_requirements(start + listed)
    (bare,) = read_requirements(f"{start}{listed}* never: `nothing`\n")

    assert ["tests/x.py::test_a", "tests/x.py::test_b", "tests/x.py::test_c"] == requirement.evidence
    assert [] == find_faults(requirement)
    assert [f"{bare.title}: names no test for '* never: `nothing`'"] == find_faults(bare)


@pytest.mark.parametrize(
    ("cut", "fault"),
    [
        ("SHALL", "says neither SHALL nor MUST"),
        ("#### Scenario: a ping", "has no scenario"),
        ("- **THEN** an empty result goes back", "the scenario 'a ping' lacks WHEN or THEN"),
        ("**Verified by:**", "needs exactly one `**Verified by:**` line"),
    ],
)
def test_a_broken_requirement_is_found(cut: str, fault: str) -> None:
    (requirement,) = read_requirements(SAMPLE.replace(cut, ""))

    assert f"{requirement.title}: {fault}" in find_faults(requirement)


def test_claims_are_read_from_decorators_and_from_the_whole_file() -> None:
    tree = ast.parse(
        "pytestmark = pytest.mark.requirement('all')\n"
        "@pytest.mark.requirement('one', 'two')\nasync def test_a(): ...\n"
        "class TestB:\n    def test_c(self): ...\n    def aid(self): ...\n"
    )

    assert {"tests/x.py::test_a": {"all", "one", "two"}, "tests/x.py::TestB::test_c": {"all"}} == read_tests(
        TESTS / "x.py", tree
    )
