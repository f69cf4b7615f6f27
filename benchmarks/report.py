"""The figures as a table."""

import platform
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table: medians, and spreads as the middle half's width over the median."""

    name: str
    unit: str
    target: float
    medians: dict[str, float]
    spreads: dict[str, float]

    @property
    def against_official(self) -> float:
        """How many times less this library takes than the official SDK."""
        return self.medians["official"] / self.medians["ours"]

    @property
    def against_floor(self) -> float:
        """Which part of the floor's speed this library has."""
        return self.medians["floor"] / self.medians["ours"]

    @property
    def holds(self) -> bool:
        """Whether the target is reached."""
        return self.against_official >= self.target

    def sentence(self) -> str:
        """Return the row as a line for a terminal."""
        figures = ", ".join(f"{name} {value:.1f} ± {self.spreads[name]:.0%}" for name, value in self.medians.items())
        verdict = "holds" if self.holds else "MISSED"
        return (
            f"{self.name}: {figures} {self.unit}; {self.against_official:.1f} × the official SDK "
            f"(target {self.target:g} ×: {verdict}), {self.against_floor:.2f} of the floor"
        )


def write_report(rows: list[Row], path: Path, rounds: int) -> None:
    """Write the table to a file."""
    lines = [
        "# What calls cost",
        "",
        (
            f"Written by `make bench`: medians of {rounds} interleaved rounds on {platform.python_implementation()} "
            f"{platform.python_version()}, {platform.system()}. Ratios carry over to other machines, figures do not."
        ),
        "",
        "| workload | floor | this library | official SDK | times faster | target | of the floor |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        floor, ours, official = (
            f"{row.medians[name]:.1f} {row.unit} (± {row.spreads[name]:.0%})" for name in ("floor", "ours", "official")
        )
        verdict = "holds" if row.holds else "missed"
        lines.append(
            f"| {row.name} | {floor} | {ours} | {official} | {row.against_official:.1f} | "
            f"{row.target:g}, {verdict} | {row.against_floor:.2f} |"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
