"""Layers of a graph neural network and a pruned transformer, as chains of products on all machines.

Both are random matrices of published sizes and densities, because no weights are downloaded:

- Cora: 2,708 nodes, 5,429 links, 1,433 features with 49,216 nonzeros (Sen et al., AI Magazine 2008), 16
  hidden units (Kipf and Welling, ICLR 2017). A has both directions and a self-loop per node, with power-law
  degrees.
- The feed-forward part of a transformer with weights pruned to a tenth (Sanh et al., NeurIPS 2020), at a
  quarter of the base model's size: 256 and 1,024 units, 32 tokens. The activation between its products (GELU)
  is not a product and is omitted.

Usage: python published/layers.py [MACHINE ...]
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from fiberscope.explore.tables import simulate_to_end

SPECIFICATIONS = Path(__file__).parent.parent / "examples" / "specifications"
MACHINES = ("gamma", "extensor", "outerspace", "sigma", "weight_stationary")
MAPPED = tuple(str(SPECIFICATIONS / f"{name}.yaml") for name in ("row_wise", "outer", "inner"))
GRAPH = {
    "A": "chung-lu:rows=2708,cols=2708,nonzeros=13566,seed=1",
    "X": "uniform:rows=2708,cols=1433,nonzeros=49216,seed=2",
    "W": "uniform:rows=1433,cols=16,nonzeros=22928,seed=3",
}
FEED_FORWARD = {
    "U": "uniform:rows=1024,cols=256,nonzeros=26214,seed=4",
    "V": "uniform:rows=256,cols=1024,nonzeros=26214,seed=5",
    "X": "uniform:rows=256,cols=32,nonzeros=8192,seed=6",
}
LAYERS = {
    "graph layer, (A X) W": ("Y = A X; Z = Y W", GRAPH),
    "graph layer, A (X W)": ("Y = X W; Z = A Y", GRAPH),
    "feed-forward, V (U X)": ("H = U X; Z = V H", FEED_FORWARD),
}
SETTINGS = {"extensor": {"pe.tile": 64}}  # two dense microtiles of 128 do not fit its buffers


def main() -> None:
    """Print the table of docs/chains.md, with a line per layer and machine."""
    print("| layer | machine | cycles | us | first, second | MiB moved | uJ | mm2 | multiplies |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for layer, (chain, operands) in LAYERS.items():
        for machine in sys.argv[1:] or (*MACHINES, *MAPPED):
            print(
                f"| {layer} | {Path(machine).stem} | {' | '.join(table_cells(machine, chain, operands))} |",
                flush=True,
            )


def table_cells(machine: str, chain: str, operands: dict[str, str]) -> Iterator[str]:
    """Yield the cells of a row."""
    settings = SETTINGS.get(machine, {})
    report = simulate_to_end(machine, chain=chain, tensors=operands, settings=settings)
    assert report.chain is not None
    moved_bytes = sum(tensor.read_bytes + tensor.write_bytes for tensor in report.traffic.values())
    yield f"{report.cycles:,}"
    yield f"{report.seconds * 1e6:,.1f}"
    yield ", ".join(f"{step.cycles:,}" for step in report.chain.steps.values())
    yield f"{moved_bytes / 2**20:,.2f}"
    yield f"{report.energy.total_pj / 1e6:,.1f}" if report.energy else ""
    yield f"{report.area_um2 / 1e6:,.2f}" if report.area_um2 else ""
    yield f"{report.operations['multiply']:,}"


if __name__ == "__main__":
    main()
