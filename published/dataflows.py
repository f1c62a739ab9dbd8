"""Inner, outer and row-wise products on the same hardware: cycles and traffic of three specifications.

Usage: python published/dataflows.py [PICTURE.svg]
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from fiberscope import Report
from fiberscope.explore.tables import simulate_to_end

FILES = Path(__file__).parent.parent / "examples" / "specifications"
DATAFLOWS = ("row_wise", "inner", "outer")
SIDE = "rows=400,cols=400"
MATRICES = {
    "uniform, 1%": f"uniform:{SIDE},nonzeros=1600",
    "uniform, 2.5%": f"uniform:{SIDE},nonzeros=4000",
    "uniform, 10%": f"uniform:{SIDE},nonzeros=16000",
    "power law, 2.5%": f"chung-lu:{SIDE},nonzeros=4000,seed=1",
    "banded, 2.5%": f"banded:{SIDE},nonzeros=4000,bandwidth=10",
}


def main() -> None:
    """Print the table of docs/mapped_accuracy.md, and draw it."""
    cycles = {}
    print("| | multiplies |", " | ".join(f"{name}, cycles | KiB" for name in DATAFLOWS), "|")
    for name, matrix in MATRICES.items():
        runs = [simulate_to_end(str(FILES / f"{dataflow}.yaml"), matrix) for dataflow in DATAFLOWS]
        cells = [f"{run.cycles:,} | {_kibibytes(run):,.0f}" for run in runs]
        print(f"| {name} | {runs[0].operations['multiply']:,} | {' | '.join(cells)} |")
        cycles[name] = [run.cycles for run in runs]
    if sys.argv[1:]:
        _draw(cycles, sys.argv[1])


def _kibibytes(run: Report) -> float:
    return sum(tensor.read_bytes + tensor.write_bytes for tensor in run.traffic.values()) / 1024


def _draw(cycles: Mapping[str, list[int]], path: str) -> None:
    """Draw bars of cycles by matrix and dataflow, on a logarithmic scale."""
    mpl.rcParams["svg.hashsalt"] = "dataflows"  # deterministic output
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for index, dataflow in enumerate(DATAFLOWS):
        heights = [counts[index] for counts in cycles.values()]
        axes.bar([number + 0.27 * index for number in range(len(cycles))], heights, 0.25, label=dataflow)
    axes.set_xticks([number + 0.27 for number in range(len(cycles))], list(cycles))
    axes.set_yscale("log")
    axes.set_ylabel("cycles")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
