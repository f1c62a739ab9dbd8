"""A report of one small run, for comparing the compiled machine with the uncompiled.

Run as a script, it prints the report of the mode the environment chooses.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import fiberscope

# Small but with every part at work; the DRAM model, partial fibers, and a cache too small for B.
SETTINGS = {
    "pe.count": 3,
    "pe.radix": 4,
    "fibercache.size": "4 KiB",
    "fibercache.banks": 4,
    "fibercache.ways": 4,
    "fibercache.misses": 2,
    "memory.channels": 2,
    "scheduler.stream_lines": 8,
}


def small_operands() -> tuple[sparse.csr_array, sparse.csr_array]:
    """Two matrices, 30 x 30, with rows from empty to 14 nonzeros and values that are exact."""
    generator = np.random.default_rng(11)
    found = []
    for _ in range(2):
        lengths = generator.choice([0, 1, 2, 3, 6, 14], 30)
        indices = [np.sort(generator.choice(30, length, replace=False)) for length in lengths]
        values = generator.integers(-4, 5, lengths.sum()).astype(float)
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        found.append(sparse.csr_array((values, np.concatenate(indices), pointers), shape=(30, 30)))
    return found[0], found[1]


def main_report() -> str:
    """The report of a run, as JSON."""
    return fiberscope.simulate("gamma", *small_operands(), settings=SETTINGS).to_json()


if __name__ == "__main__":
    print(main_report())
