"""Small ExTensors on small matrices, and hypothesis strategies for both."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from whole_machines import Bench

from fiberscope.accelerators.extensor import ACCELERATOR, ExTensor, ExTensorConfiguration

# A machine with many small tiles, few processing elements and little of everything else.
TINY: dict[str, Any] = {
    "pe.count": 3,
    "pe.tile": 4,
    "pe.task_queue": 1,
    "llb.intersectors": 2,
    "llb.port": 8,
    "tile.m": 2,
    "tile.k": 2,
    "tile.n": 3,
    "network.pe_latency": 2,
    "network.queue": 2,
    "stream.line": 64,
    "stream.lines": 2,
    "memory.model": "simple",
    "memory.channels": 2,
}

# One format of elements, which tests work out by hand; ``test_full_operands`` is of the other.
BENCH = Bench(ACCELERATOR, ExTensor, TINY, {"format.dense": "none"})
configured, tiny, run_extensor = BENCH.configured, BENCH.tiny, BENCH.run


def csr(points: dict[tuple[int, int], float], rows: int, columns: int) -> sparse.csr_array:
    """A matrix from its nonzeros by point; zeros given are kept."""
    order = sorted(points)
    pointers = np.cumsum([0, *(sum(1 for m, _k in order if m == row) for row in range(rows))])
    values = [float(points[point]) for point in order]
    return sparse.csr_array((values, [k for _m, k in order], pointers), shape=(rows, columns))


def random_matrix(rows: int, columns: int, nonzeros: int, seed: int = 0) -> sparse.csr_array:
    """Random places, and small whole values, so that sums are exact in any order."""
    generator = np.random.default_rng(seed)
    places = generator.choice(rows * columns, nonzeros, replace=False)
    values = generator.integers(-3, 4, nonzeros).tolist()
    points = {(int(p) // columns, int(p) % columns): v for p, v in zip(places, values, strict=True)}
    return csr(points, rows, columns)


def small_operands() -> tuple[sparse.csr_array, sparse.csr_array]:
    """Two matrices of several tiles in each rank of ``TINY``."""
    return random_matrix(30, 26, 120, seed=1), random_matrix(26, 34, 130, seed=2)


@st.composite
def operands(draw: st.DrawFn) -> tuple[sparse.csr_array, sparse.csr_array]:
    """A and B that can be multiplied, of any small shape; values cancel, and zeros are stored."""
    m, k, n = (draw(st.integers(0, 26)) for _ in range(3))
    return draw(_matrices(m, k)), draw(_matrices(k, n))


def _matrices(rows: int, columns: int) -> st.SearchStrategy[sparse.csr_array]:
    if rows == 0 or columns == 0:
        return st.just(csr({}, rows, columns))
    point = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    points = st.dictionaries(point, st.integers(-2, 2), max_size=60)
    return points.map(lambda given: csr(given, rows, columns))


@st.composite
def configurations(draw: st.DrawFn, *rules: str) -> ExTensorConfiguration:
    """Small machines of every make, or of those that intersect by one of some rules."""
    few = st.integers(1, 4)
    rule = draw(st.sampled_from(rules or ("skip", "two_finger", "scanners")))
    return configured(
        intersection=rule,
        pe__scanner_coordinates=draw(st.integers(0, 4)) if rule == "scanners" else 0,
        pe__count=draw(st.integers(1, 6)),
        pe__tile=draw(st.integers(1, 9)),
        pe__task_queue=draw(few),
        pe__slots=draw(st.integers(3, 6)),
        llb__window=draw(st.sampled_from(["tiles", "tiles", "rows"])),
        llb__halves=draw(st.integers(1, 2)),
        llb__dispatch=draw(st.sampled_from(["home", "turn"])),
        llb__barrier=draw(st.booleans()),
        llb__intersectors=draw(few),
        llb__pair_queue=draw(few),
        llb__port=draw(st.sampled_from([1, 8, 64])),
        tile__m=draw(few),
        tile__k=draw(few),
        tile__n=draw(few),
        network__pe_latency=draw(few),
        network__memory_latency=draw(few),
        network__queue=draw(st.integers(2, 4)),
        stream__line=draw(st.sampled_from([16, 64, 128])),
        stream__lines=draw(few),
        stream__jobs=draw(few),
        memory__model=draw(st.sampled_from(["simple", "simple", "dram"])),
        memory__channels=draw(few),
    )
