"""Inner, outer and row-wise product on the same processing elements: cycles of the machines of three files.

Usage: python benchmarks/dataflows.py
"""

from pathlib import Path

import fiberscope

FILES = Path(__file__).parent.parent / "examples" / "specifications"
DATAFLOWS = ("row_wise", "inner", "outer")
SIZE = "rows=400,cols=400,nonzeros=4000"
MATRICES = {
    "uniform": f"uniform:{SIZE}",
    "power law": f"chung-lu:{SIZE},seed=1",
    "banded": f"banded:{SIZE},bandwidth=10",
}


def main() -> None:
    """Print the table of docs/mapped.md."""
    print("| cycles | multiplies |", " | ".join(DATAFLOWS), "|")
    for name, matrix in MATRICES.items():
        runs = [fiberscope.simulate(str(FILES / f"{dataflow}.yaml"), matrix) for dataflow in DATAFLOWS]
        cycles = " | ".join(f"{run.cycles:,}" for run in runs)
        print(f"| {name} | {runs[0].operations['multiply']:,} | {cycles} |")


if __name__ == "__main__":
    main()
