"""Attribution of each machine's cycles on matrices of ten kinds, and the analytical model's cycles.

    python published/explained.py                            print the tables
    python published/explained.py --write docs/cycle_breakdown.md

The parts of `fiberscope check` are summed in columns: mean work and imbalance; when the busiest worker does
not work, other components, supply and drain; memory, and other rungs of the machine's ladder. The column Left
has cycles in which none of these is busy. The analytical model receives shapes and numbers of nonzeros only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fiberscope.explore.check import Check, check
from fiberscope.results.report.table import Table, replace_between

MACHINES = ("gamma", "extensor", "outerspace", "sigma", "graphicionado")
MATRICES = {
    "uniform": "uniform:rows=1000,cols=1000,nonzeros=5000",
    "hypersparse": "uniform:rows=4000,cols=4000,nonzeros=3000",
    "diagonal": "banded:rows=1000,cols=1000,nonzeros=1000,bandwidth=0",
    "banded": "banded:rows=1000,cols=1000,nonzeros=5000,bandwidth=8",
    "blocks": "block:rows=1024,cols=1024,blocks=20,size=16",
    "runs": "runs:rows=1000,cols=1000,nonzeros=5000,length=8",
    "power law": "chung-lu:rows=1000,cols=1000,nonzeros=5000",
    "R-MAT": "rmat:scale=10,nonzeros=5000",
    "structured": "structured:rows=256,cols=256,n=1,m=16",
    "full": "uniform:rows=64,cols=64,nonzeros=4096",
}
CATEGORIES = ("Work", "Imbalance", "Others", "Supply", "Drain", "Memory", "Other rungs", "Left")
# Column by a text in the name of a part; the first match counts.
COLUMNS = {
    "works, on average": "Work",
    ": imbalance": "Imbalance",
    ": others: ": "Others",
    ": supply: ": "Supply",
    ": drain: ": "Drain",
    "memory: ": "Memory",
    ": unexplained": "Left",
    "": "Other rungs",
}


def shares(machine: str, matrix: str) -> list[str]:
    """Return a row with cycles, and their parts in percent."""
    outcome = check(machine, matrix, explain=True)
    sums = dict.fromkeys(CATEGORIES, 0)
    for name, cycles in outcome.parts.items():
        sums[next(column for text, column in COLUMNS.items() if text in name)] += cycles
    return [
        f"{outcome.event.cycles:,}",
        *(f"{cycles / outcome.event.cycles:.0%}" for cycles in sums.values()),
    ]


def attribution_table() -> Table:
    """Return the table of all machines on all matrices."""
    table = Table("Where cycles go", ("Machine", "Matrix", "Cycles", *CATEGORIES), labels=2)
    for machine in MACHINES:
        for name, matrix in MATRICES.items():
            table.add(machine, name, *shares(machine, matrix))
    return table


def analytical_table() -> Table:
    """Return a table of the analytical model's cycles over those of the event model, with the main limit."""
    machines = [name for name in MACHINES if name != "graphicionado"]  # it has no loop nests
    table = Table("The analytical model over the event simulation", ("Matrix", *machines))
    for name, matrix in MATRICES.items():
        table.add(name, *(_describe_ratio(check(machine, matrix)) for machine in machines))
    return table


def _describe_ratio(outcome: Check) -> str:
    assert outcome.analytical is not None
    slowest = max(outcome.analytical.phases, key=lambda phase: phase.cycles)
    return f"{outcome.analytical.cycles / outcome.event.cycles:.2f} ({slowest.limit})"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with the markers 'explained' and 'beside'")
    page = parser.parse_args().write
    for marker, table in (("explained", attribution_table), ("beside", analytical_table)):
        text = table().markdown()
        if page is None:
            print(text)
        else:
            page.write_text(replace_between(page, marker, f"\n{text}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
