"""What a unit has in flight when memory answers nothing: as much as it may, not one more or less."""

import numpy as np
import pytest
from gamma_bench import csr, stored
from gamma_stubs import run_part

from fiberscope.accelerators.gamma.layout import B_BASE, PARTIAL_BASE, Sizes
from fiberscope.accelerators.gamma.prefetcher import Prefetcher
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.hw.fibers.pages import PageAllocator
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.memory.protocol import CONSUME, READ, WRITE, WRITE_UNREAD
from fiberscope.hw.stream import DATA, STOP

SIZES = Sizes(64, 12, 4)
WITHHELD = (READ, CONSUME, WRITE, WRITE_UNREAD)
DEPTHS = pytest.mark.parametrize("depth", [1, 2, 5, 6])
# One row of A selects all rows of B, whose pointers take 7 lines, and whose fibers of 40 elements 7 to 9.
A = csr([dict.fromkeys(range(100), 1.0)], 100)
B = csr([dict.fromkeys(range(40), 1.0)] * 100, 40)


def token(task):
    return (0, 0, task, 0.0)


def table_with_extents(radix=100):
    table = TaskTable(A.indptr.astype(np.int64), radix)
    for i, source in enumerate(table.inputs):
        table.starts[i], table.ends[i] = B.indptr[A.indices[source]], B.indptr[A.indices[source] + 1]
    return table


@DEPTHS
def test_a_prefetcher_reads_as_many_lines_of_pointers_ahead(depth):
    table = TaskTable(A.indptr.astype(np.int64), 100)
    part = Prefetcher(
        "prefetcher",
        table,
        stored(A),
        stored(B),
        1,
        sizes=SIZES,
        b_sizes=SIZES,
        pointer_lines=depth,
        fetching=True,
    )
    bench = run_part(part, {"tasks": [token(0)]}, {"prefetched": 1}, seed=None, silent=WITHHELD, stuck=True)
    assert len(bench.addresses(READ)) == depth


@DEPTHS
def test_a_reader_reads_as_many_lines_ahead_for_each_way(depth):
    table = table_with_extents()
    part = FiberReader(
        "reader",
        table,
        stored(B),
        PartialStore(64, 12),
        1,
        base=B_BASE,
        partial_base=PARTIAL_BASE,
        buffer_lines=depth,
        line_bytes=64,
        element_bytes=12,
    )
    outputs = {f"ways[{i}]": 7 * depth for i in range(100)} | {"merge_tasks": 2, "output_tasks": 2}
    bench = run_part(part, {"tasks": [token(0)]}, outputs, seed=None, silent=WITHHELD, stuck=True)
    asked = bench.addresses(READ)
    first_lines = [12 * start // 64 for start in table.starts]
    of_way = np.searchsorted(first_lines, [(address & 0xFFFFFFFF) // 64 for address in asked], side="right")
    assert len(asked) == 100 * depth
    assert np.bincount(of_way).max() <= depth + 1  # a line that two fibers share counts as the later one's


@DEPTHS
def test_a_writer_has_as_many_tasks_whose_lines_are_not_acknowledged(depth):
    """Ten leaves of one tree, a line each, of which none is acknowledged."""
    table, store = TaskTable(A.indptr.astype(np.int64), 10), PartialStore(64, 12)
    elements = []
    for leaf in range(10):
        table.output_starts[leaf] = store.allocate(5)
        elements += [(DATA, i, 0, 1.0) for i in range(5)] + [(STOP, 0, 0, 0.0)]
    part = FiberWriter(
        "writer",
        table,
        store,
        ProductRows(stored(A), stored(B), 40),
        1,
        sizes=SIZES,
        page_bytes=128,
        max_open_tasks=depth,
        keeps_z_in_cache=False,
    )
    tasks = [token(leaf) for leaf in range(10)]
    bench = run_part(
        part,
        {"output_tasks": [*tasks, token(END_OF_WORK)], "elements": elements},
        {"completions": 2},
        seed=None,
        silent=WITHHELD,
        wire=_wire_pages,
        stuck=True,
    )
    assert len(bench.addresses(WRITE)) == depth


def _wire_pages(kernel, writer):
    pages = kernel.add(PageAllocator("pages", first=0))
    kernel.connect(writer, "page_requests", pages, "page_requests[0]", capacity=1)
    kernel.connect(pages, "pages[0]", writer, "pages", capacity=1)
