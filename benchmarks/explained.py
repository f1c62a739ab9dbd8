"""Where the cycles of each machine go on matrices of ten characters, and what is left unexplained.

    python benchmarks/explained.py                            print the table
    python benchmarks/explained.py --write docs/validation.md

Of `fiberscope check` the parts are added up: work on average, imbalance, memory, and what else a rung of the
machine's ladder takes off. Left is what its workers wait for, or are without work for, when all of that costs
nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fiberscope.report.table import Table, replace_between
from fiberscope.study.check import WITHOUT, check

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
PARTS = ("Work", "Imbalance", "Memory", "Other rungs", "Waits", "Without work")
ENDS = {"works, on average": "Work", "imbalance": "Imbalance", "dependences": "Waits", "behind it": "Waits"}


def shares(machine: str, matrix: str) -> list[str]:
    """A row: cycles, and parts of them in percent."""
    done = check(machine, matrix, explain=True)
    sums = dict.fromkeys(PARTS, 0)
    for part, cycles in done.parts.items():
        sums[_column(part)] += cycles
    return [f"{done.event.cycles:,}", *(f"{cycles / done.event.cycles:.0%}" for cycles in sums.values())]


def _column(part: str) -> str:
    if part == WITHOUT:
        return "Without work"
    for end, column in ENDS.items():
        if part.endswith(end):
            return column
    return "Memory" if part.startswith("memory") else "Other rungs"


def explained() -> Table:
    """All machines on all matrices."""
    table = Table("Where cycles go", ("Machine", "Matrix", "Cycles", *PARTS), labels=2)
    for machine in MACHINES:
        for name, matrix in MATRICES.items():
            table.add(machine, name, *shares(machine, matrix))
    return table


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with the markers 'explained'")
    page = parser.parse_args().write
    text = explained().markdown()
    if page is None:
        print(text)
    else:
        page.write_text(replace_between(page, "explained", f"\n{text}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
