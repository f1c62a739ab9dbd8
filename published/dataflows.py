"""Inner, outer and row-wise product on the same hardware: cycles and traffic of the machines of three files.

Usage: python published/dataflows.py [PICTURE.svg]
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import fiberscope

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
    found = {}
    print("| | multiplies |", " | ".join(f"{name}, cycles | KiB" for name in DATAFLOWS), "|")
    for name, matrix in MATRICES.items():
        runs = [fiberscope.simulate(str(FILES / f"{dataflow}.yaml"), matrix) for dataflow in DATAFLOWS]
        told = [f"{run.cycles:,} | {_kibibytes(run):,.0f}" for run in runs]
        print(f"| {name} | {runs[0].operations['multiply']:,} | {' | '.join(told)} |")
        found[name] = [run.cycles for run in runs]
    if sys.argv[1:]:
        _draw(found, sys.argv[1])


def _kibibytes(run: fiberscope.Report) -> float:
    return sum(one.read_bytes + one.write_bytes for one in run.traffic.values()) / 1024


def _draw(cycles: Mapping[str, list[int]], path: str) -> None:
    """Bars of cycles by matrix and dataflow, on a logarithmic scale."""
    mpl.rcParams["svg.hashsalt"] = "dataflows"  # the same picture from the same numbers
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for place, dataflow in enumerate(DATAFLOWS):
        heights = [each[place] for each in cycles.values()]
        axes.bar([number + 0.27 * place for number in range(len(cycles))], heights, 0.25, label=dataflow)
    axes.set_xticks([number + 0.27 for number in range(len(cycles))], list(cycles))
    axes.set_yscale("log")
    axes.set_ylabel("cycles")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
