"""Small Gammas on small matrices, and hypothesis strategies for both."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from whole_machines import Bench

from fiberscope.accelerators.gamma import ACCELERATOR, Gamma, GammaConfiguration
from fiberscope.hw.fibers.compressed import CompressedRows

# A machine that is short of everything: partial fibers spill, misses and queues block.
TINY: dict[str, Any] = {
    "pe.count": 2,
    "pe.radix": 3,
    "pe.task_queue": 1,
    "pe.buffer_lines": 1,
    "fibercache.size": 256,
    "fibercache.banks": 2,
    "fibercache.ways": 1,
    "fibercache.misses": 1,
    "fibercache.targets": 1,
    "network.queue": 2,
    "memory.channels": 2,
    "memory.model": "simple",
    "scheduler.stream_lines": 3,
}
# A FiberCache that keeps all that small matrices bring.
AMPLE: dict[str, Any] = {"fibercache.size": "1 MiB", "fibercache.banks": 4, "fibercache.ways": 16}

# Small but with every part at work; partial fibers, and a cache too small for B.
SETTINGS: dict[str, Any] = {
    "pe.count": 3,
    "pe.radix": 4,
    "fibercache.size": "4 KiB",
    "fibercache.banks": 4,
    "fibercache.ways": 4,
    "fibercache.misses": 2,
    "memory.channels": 2,
    "scheduler.stream_lines": 8,
}

# One format of elements, which tests work out by hand; ``test_full_operands`` is of the other.
BENCH = Bench(ACCELERATOR, Gamma, TINY, {"format.dense": "none"})
configured, tiny, run_gamma = BENCH.configured, BENCH.tiny, BENCH.run


def counted(machine: Gamma, family: str) -> dict[str, int]:
    """The counters of all components of a family, ``fibercache.bank`` or ``pe.reader``, added up."""
    totals: dict[str, int] = {}
    for name, part in machine.kernel.statistics().items():
        if ".".join(piece.rstrip("0123456789") for piece in name.split(".")[1:]) == family:
            for key, count in part.counters.items():
                totals[key] = totals.get(key, 0) + count
    assert totals, f"no component of the family {family}"
    return totals


def csr(rows: list[dict[int, float]], columns: int) -> sparse.csr_array:
    """A matrix from its rows, each as values by column; zeros given are kept."""
    pointers = np.cumsum([0, *(len(row) for row in rows)])
    indices = [column for row in rows for column in sorted(row)]
    values = [float(row[column]) for row in rows for column in sorted(row)]
    return sparse.csr_array((values, indices, pointers), shape=(len(rows), columns))


def stored(matrix: Any) -> CompressedRows:
    """A matrix as Gamma's parts have it."""
    return CompressedRows(matrix.indptr, matrix.indices, matrix.data)


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


# Small integers, so that sums are exact in any order; they cancel, and zeros are stored as any value.
VALUES = st.integers(-2, 2)


def matrices(rows: int, columns: int) -> st.SearchStrategy[sparse.csr_array]:
    """Matrices of a shape with empty, sparse and full rows."""
    column = st.integers(0, max(0, columns - 1))
    sparse_row = st.dictionaries(column, VALUES, max_size=min(columns, 4))
    full_row = st.lists(VALUES, min_size=columns, max_size=columns).map(lambda row: dict(enumerate(row)))
    row = st.one_of(st.just({}), sparse_row, sparse_row, full_row)
    return st.lists(row, min_size=rows, max_size=rows).map(lambda content: csr(content, columns))


@st.composite
def operands(draw: st.DrawFn, longest: int = 24) -> tuple[sparse.csr_array, sparse.csr_array]:
    """A and B that can be multiplied, of any small shape."""
    size = st.one_of(st.integers(0, 3), st.integers(0, longest))
    m, k, n = draw(size), draw(size), draw(size)
    return draw(matrices(m, k)), draw(matrices(k, n))


@st.composite
def configurations(draw: st.DrawFn) -> GammaConfiguration:
    """Small machines of every make; many are short of space, misses and queues."""
    line = draw(st.sampled_from([16, 32, 64]))
    element, pointer = draw(st.sampled_from([8, 12, 16])), draw(st.sampled_from([0, 4, 8]))
    radix = draw(st.integers(2, 8))
    banks, ways, sets = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 4))
    few = st.integers(1, 3)
    return configured(
        value=draw(st.sampled_from(["auto", "auto", "integer", "float32", "bfloat16"])),
        reorder=draw(st.sampled_from(["none", "affinity"])),
        pe__count=draw(st.integers(1, 5)),
        pe__radix=radix,
        pe__task_queue=draw(few),
        pe__row_reads=draw(st.integers(2, 4)),
        pe__buffer_lines=draw(few),
        pe__merge_queue=draw(few),
        pe__output_queue=draw(few),
        pe__pipeline_queue=draw(few),
        pe__finishing=draw(few),
        pe__merger_stages=draw(few),
        pe__merger_latency=draw(few),
        pe__multiplier_latency=draw(few),
        pe__accumulator_latency=draw(few),
        pe__prefetch=draw(st.booleans()),
        fibercache__size=banks * ways * sets * line,
        fibercache__banks=banks,
        fibercache__ways=ways,
        fibercache__line=line,
        fibercache__latency=draw(few),
        fibercache__misses=draw(few),
        fibercache__targets=draw(few),
        fibercache__priority_bits=draw(st.integers(0, 2)),
        fibercache__reuse_bits=draw(st.integers(1, 2)),
        network__pe_latency=draw(few),
        network__memory_latency=draw(few),
        network__queue=draw(st.integers(2, 4)),
        memory__model=draw(st.sampled_from(["simple", "simple", "dram"])),
        memory__channels=draw(few),
        memory__interleave=max(64, line),
        scheduler__stream_lines=-(-radix * element // line) + 2 + draw(st.integers(0, 4)),
        scheduler__output=draw(st.sampled_from(["memory", "memory", "cache"])),
        scheduler__output_page=line * draw(few),
        scheduler__task_queue=draw(few),
        scheduler__completion_queue=draw(few),
        scheduler__page_queue=draw(few),
        format__element=element,
        format__pointer=pointer,
    )
