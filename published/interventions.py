"""Validation of `fiberscope check`: attributed cycles against the savings of an ideal part.

    python published/interventions.py                            print the tables
    python published/interventions.py --write docs/cycle_breakdown.md

`check` runs a ladder: each rung makes one more part ideal, and the saved cycles are attributed to the part.
Here each part alone is made ideal in the shipped machine. The rungs of memory are one part, because most of
them set the same memory model. If `fiberscope ablate` doubles the processing elements, half of the work and
the imbalance should be saved.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fiberscope import accelerators
from fiberscope.explore.ablate import read_ablations
from fiberscope.explore.check import Check, check, read_ladder
from fiberscope.explore.tables import simulate_to_end
from fiberscope.results.report.table import Table, format_percent, replace_between
from published.explained import MACHINES, MATRICES

RUNS = tuple((machine, name) for machine in MACHINES for name in ("uniform", "power law"))
MEMORY_PART = "memory"
DOUBLED_ELEMENTS = "twice the processing elements"
WORK_SUFFIXES = (": imbalance", "works, on average")


@dataclass(frozen=True)
class Intervention:
    """A part of a machine made ideal.

    Args:
        machine: the name of the machine.
        matrix: the name of the operand.
        part: the part.
        cycles: the cycles of the shipped machine.
        attributed: the cycles that ``check`` attributes to the part.
        saved: the cycles saved if this part alone is ideal.
        is_first: whether the part is the first of the ladder, so that attributed and saved cycles are equal
            by construction.
    """

    machine: str
    matrix: str
    part: str
    cycles: int
    attributed: int
    saved: int
    is_first: bool

    @property
    def difference(self) -> float:
        """Return saved minus attributed cycles, as a fraction of the shipped machine's cycles."""
        return (self.saved - self.attributed) / self.cycles


def intervene(machine: str, matrix: str, operand: str) -> list[Intervention]:
    """Make each part of a machine's ladder ideal, one at a time, on one operand.

    Args:
        machine: the name of the machine.
        matrix: the name of the operand in the tables.
        operand: the operand, as for ``fiberscope check``.
    """
    outcome = check(machine, operand, explain=True)
    cycles = outcome.event.cycles
    rows = []
    for position, (part, (attributed, settings)) in enumerate(_read_predictions(machine, outcome).items()):
        saved = cycles - simulate_to_end(machine, operand, settings=settings).cycles
        rows.append(Intervention(machine, matrix, part, cycles, attributed, saved, position == 0))
    return rows


def _read_predictions(machine: str, outcome: Check) -> dict[str, tuple[int, dict[str, object]]]:
    """Return attributed cycles and ideal settings by part, in the order of the ladder."""
    parts: dict[str, tuple[int, dict[str, object]]] = {}
    for name, rung in read_ladder(machine).items():
        part = MEMORY_PART if name.startswith(MEMORY_PART) else name
        attributed, settings = parts.get(part, (0, {}))
        parts[part] = attributed + outcome.parts[name], {**settings, **rung}
    work = sum(cycles for name, cycles in outcome.parts.items() if name.endswith(WORK_SUFFIXES))
    for ablation in read_ablations(accelerators.find(machine)):
        if ablation.name == DOUBLED_ELEMENTS:
            parts[DOUBLED_ELEMENTS] = work // 2, dict(ablation.settings)
    return parts


def interventions_table(rows: Sequence[Intervention]) -> Table:
    """Return a row for each part of each run, in percent of the run's cycles."""
    columns = ("Machine", "Matrix", "Part made ideal", "Attributed", "Saved alone", "Difference")
    table = Table("Attributed and saved cycles", columns, labels=3)
    for row in rows:
        shares = (f"{value / row.cycles:.1%}" for value in (row.attributed, row.saved))
        difference = "by construction" if row.is_first else format_percent(row.difference)
        table.add(row.machine, row.matrix, row.part, *shares, difference)
    return table


def summary_table(rows: Sequence[Intervention]) -> Table:
    """Return the accuracy of the attribution by machine, without parts that are equal by construction."""
    columns = ("Machine", "Parts", "Mean difference", "Largest difference", "Largest part is the same")
    table = Table("How well the attribution predicts", columns, labels=1)
    for machine in (*dict.fromkeys(row.machine for row in rows), "all"):
        machine_rows = [row for row in rows if machine in (row.machine, "all")]
        errors = [abs(row.difference) for row in machine_rows if not row.is_first]
        if errors:
            mean, largest = (f"{value:.1%}" for value in (sum(errors) / len(errors), max(errors)))
            table.add(machine, str(len(errors)), mean, largest, _agreement(machine_rows))
    return table


def _agreement(rows: Sequence[Intervention]) -> str:
    """Return in how many runs the same part has the most attributed and the most saved cycles."""
    runs: dict[tuple[str, str], list[Intervention]] = {}
    for row in rows:
        runs.setdefault((row.machine, row.matrix), []).append(row)
    agreements = [
        max(run, key=lambda row: row.attributed) is max(run, key=lambda row: row.saved)
        for run in runs.values()
    ]
    return f"{sum(agreements)} of {len(agreements)} runs"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with the marker 'interventions'")
    page = parser.parse_args().write
    rows = [row for machine, name in RUNS for row in intervene(machine, name, MATRICES[name])]
    text = "\n".join(table.markdown() for table in (summary_table(rows), interventions_table(rows)))
    if page is None:
        print(text)
    else:
        page.write_text(replace_between(page, "interventions", f"\n{text}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
