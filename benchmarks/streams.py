"""Block updates per second of the stream machine: the identity of a matrix, unbounded and as hardware.

    python benchmarks/streams.py

An update is one block in one cycle, asleep or not, as in the public simulator's count. A tick is an update
that the kernel executed.
"""

from __future__ import annotations

import time

import numpy as np

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.writers import CompressedWriter, ValuesWriter
from fiberscope.sim import Kernel

ROWS, PER_ROW = 20_000, 50
ROUNDS = 3
CASES = {"without bounds": (None, PUBLIC), "capacity 2": (2, NO_QUIRKS)}


def identity(capacity: int | None, quirks: int) -> Kernel:
    """Return the graph of figure 14 of SAM (ASPLOS 2023): rows, columns and values, each with a writer."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    rows = Level([0, ROWS], range(ROWS))
    columns = Level(range(0, ROWS * PER_ROW + 1, PER_ROW), list(range(PER_ROW)) * ROWS)
    root = kernel.add(Root("root"))
    b_i = kernel.add(CompressedScanner("b_i", rows, quirks))
    b_j = kernel.add(CompressedScanner("b_j", columns, quirks))
    values = kernel.add(ArrayLoad("values", np.ones(ROWS * PER_ROW), quirks))
    x_i, x_j = (kernel.add(CompressedWriter(name, quirks=quirks)) for name in ("x_i", "x_j"))
    x_values = kernel.add(ValuesWriter("x_values", quirks=quirks))
    for producer, output, consumer, port in (
        (root, "out_ref[0]", b_i, "in_ref"),
        (b_i, "out_ref[0]", b_j, "in_ref"),
        (b_i, "out_crd[0]", x_i, "in_crd"),
        (b_j, "out_crd[0]", x_j, "in_crd"),
        (b_j, "out_ref[0]", values, "in_ref"),
        (values, "out_val[0]", x_values, "in_val"),
    ):
        kernel.connect(producer, output, consumer, port, capacity=capacity)
    return kernel


def main() -> None:
    """Print the best of several runs of each case."""
    for name, (capacity, quirks) in CASES.items():
        best = 0.0
        for _ in range(ROUNDS):
            kernel = identity(capacity, quirks)
            start = time.process_time()
            run = kernel.run()
            seconds = time.process_time() - start
            best = max(best, run.cycles * len(kernel.components) / seconds)
        ticks = kernel.ticks / (run.cycles * len(kernel.components))
        speed = f"{best / 1e6:6.2f} M block updates a second"
        print(f"{name:<16} {run.cycles:>9,} cycles {speed}, {ticks:.0%} ticked")


if __name__ == "__main__":
    main()
