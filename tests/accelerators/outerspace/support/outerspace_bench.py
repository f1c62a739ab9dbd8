"""Small OuterSPACEs on small matrices, and hypothesis strategies for both."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from whole_machines import Bench

from fiberscope.accelerators.outerspace import ACCELERATOR, OuterSpace, OuterSpaceConfiguration
from fiberscope.accelerators.testing import Operands

# A machine with few processing elements, little of everything else, and scratchpads that do not do.
TINY: dict[str, Any] = {
    "tile.count": 2,
    "tile.pe": 3,
    "tile.merge_pe": 2,
    "pe.scratchpad": 256,
    "pe.outstanding": 3,
    "pe.work_queue": 1,
    "merge.max_lists": 3,
    "alloc.slots": 2,
    "alloc.alpha": 0.5,
    "alloc.queue": 1,
    "l0.size": 512,
    "l0.ways": 2,
    "l0.banks": 2,
    "l0.misses": 2,
    "l0.targets": 4,
    "l0.merge_cache": 256,
    "l0.merge_misses": 1,
    "l1.count": 1,
    "l1.size": 256,
    "l1.misses": 2,
    "l1.targets": 2,
    "network.queue": 2,
    "network.memory_latency": 2,
    "memory.model": "simple",
    "memory.channels": 2,
}

# One format of elements, which tests work out by hand; ``test_full_operands`` is of the other.
BENCH = Bench(ACCELERATOR, OuterSpace, TINY, {"format.dense": "none"})
configured, tiny, run_outerspace = BENCH.configured, BENCH.tiny, BENCH.run


def random_matrix(rows: int, columns: int, nonzeros: int, seed: int = 0) -> sparse.csr_array:
    """Random places, and small whole values, so that sums are exact in any order."""
    generator = np.random.default_rng(seed)
    places = np.sort(generator.choice(rows * columns, nonzeros, replace=False))
    values = generator.integers(-3, 4, nonzeros).astype(float)
    return sparse.csr_array((values, (places // columns, places % columns)), shape=(rows, columns))


def small_operands() -> Operands:
    """Rows with more lists than ``TINY`` has room for, empty rows and columns, and nodes that spill."""
    a, b = random_matrix(30, 26, 120, seed=1), random_matrix(26, 34, 130, seed=2)
    return without_row(a, 4), without_row(b, 7)


def without_row(matrix: sparse.csr_array, row: int) -> sparse.csr_array:
    """The matrix with one of its rows empty."""
    points = matrix.tocoo()
    kept = points.coords[0] != row
    places = (points.coords[0][kept], points.coords[1][kept])
    return sparse.csr_array((points.data[kept], places), shape=matrix.shape)


@st.composite
def operands(draw: st.DrawFn) -> Operands:
    """A and B that can be multiplied, of any small shape; values cancel, and zeros are stored."""
    m, k, n = (draw(st.integers(0, 26)) for _ in range(3))
    return draw(_matrices(m, k)), draw(_matrices(k, n))


def _matrices(rows: int, columns: int) -> st.SearchStrategy[sparse.csr_array]:
    cells = rows * columns
    counts = st.integers(0, min(cells, 80))
    return st.builds(random_matrix, st.just(rows), st.just(columns), counts, st.integers(0, 99))


@st.composite
def configurations(draw: st.DrawFn, **fixed: Any) -> OuterSpaceConfiguration:
    """Small machines of every make, or of those that have what is fixed."""
    few = st.integers(1, 4)
    elements = draw(few)
    drawn: dict[str, Any] = {
        "tile__count": draw(st.sampled_from([2, 4])),
        "l1__count": draw(st.integers(1, 2)),
        "tile__pe": elements,
        "tile__merge_pe": draw(st.integers(1, elements)),
        "pe__outstanding": draw(st.integers(2, 9)),
        "pe__work_queue": draw(few),
        "pe__scratchpad": draw(st.sampled_from([256, 1024])),
        "multiply__assign": draw(st.sampled_from(["tile", "chip", "flat"])),
        "multiply__order": draw(st.sampled_from(["index", "long_first"])),
        "multiply__overlap_pairs": draw(few),
        "multiply__product_cycles": draw(few),
        "merge__element_access": draw(st.sampled_from(["element", "block"])),
        "merge__order": draw(st.sampled_from(["index", "long_first"])),
        "merge__max_lists": draw(st.integers(1, 20)),
        "merge__comparison_cycles": draw(st.integers(0, 2)),
        "merge__emit_cycles": draw(st.integers(0, 2)),
        "alloc__static": draw(st.booleans()),
        "alloc__slots": draw(few),
        "alloc__queue": draw(few),
        "network__queue": draw(st.integers(2, 4)),
        "network__tile_latency": draw(few),
        "network__upper_latency": draw(few),
        "network__control_latency": draw(few),
        "network__memory_latency": draw(few),
        "l0__block": draw(st.sampled_from([16, 64])),
        "t__header": draw(st.sampled_from([4, 8, 20, 64])),
        "t__node_align": draw(st.sampled_from([4, 8, 64])),
        "memory__model": draw(st.sampled_from(["simple", "simple", "dram"])),
        "memory__channels": draw(few),
        "memory__width": draw(st.sampled_from([32, 64])),
    }
    return tiny(**{**drawn, **fixed})
