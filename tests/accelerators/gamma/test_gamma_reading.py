"""Prefetcher and fiber reader by themselves."""

import gamma_stubs
import numpy as np
import pytest
from gamma_bench import csr, stored
from gamma_stubs import run_part
from memory_stub import STRAYS, StrayMemory

from fiberscope.accelerators.gamma.layout import B_BASE, B_POINTERS_BASE, PARTIAL_BASE, Sizes
from fiberscope.accelerators.gamma.prefetcher import Prefetcher
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.memory.protocol import CONSUME, FETCH, PORT_SHIFT, READ
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import SimulationError

SIZES = Sizes(64, 12, 4)
SEEDS = pytest.mark.parametrize("seed", [None, 1, 2, 3])
PORT = 5
# B: rows of 0 to 13 nonzeros, 5 to a line and a third; 100 rows, 16 pointers to a line.
B = csr([{(3 * row + 2 * j) % 40: row + j / 16 for j in range(row % 14)} for row in range(100)], 40)
A = csr(
    [{1: 1.0, 2: 1.0, 40: 1.0, 41: 1.0, 47: 1.0}, {}, dict.fromkeys(range(0, 100, 3), 1.0), {14: 1.0}], 100
)
RADIX = 40
WINDOW = 16  # lines of row pointers in flight, at the most
UNSCALED = -1  # the reference of an element of a partial fiber


def task_tokens(*tasks):
    return [(0, 0, task, 0.0) for task in tasks]


def extent(source):
    """Where the row of B lies that A's nonzero selects: its first element, and the one behind its last."""
    row = A.indices[source]
    return int(B.indptr[row]), int(B.indptr[row + 1])


def lines(base, first, last, item):
    """Addresses of the lines of the items from ``first`` to before ``last``."""
    return (
        [base + 64 * line for line in range(first * item // 64, -(-last * item // 64))]
        if last > first
        else []
    )


def prefetch(seed, *, fetching=True, tasks=(0, 1, 2, END_OF_WORK)):
    table = TaskTable(A.indptr.astype(np.int64), RADIX)
    part = Prefetcher(
        "prefetcher",
        table,
        stored(A),
        stored(B),
        PORT,
        sizes=SIZES,
        b_sizes=SIZES,
        pointer_lines=WINDOW,
        fetching=fetching,
    )
    return table, run_part(part, {"tasks": task_tokens(*tasks)}, {"prefetched": 1}, seed=seed)


@SEEDS
def test_a_prefetcher_fetches_every_line_of_every_fiber_in_order(seed):
    _table, bench = prefetch(seed)
    extents = [extent(source) for source in range(A.nnz)]
    assert bench.addresses(FETCH) == [at for ends in extents for at in lines(B_BASE, *ends, 12)]
    assert {request.tag >> PORT_SHIFT for request in bench.memory.seen} == {PORT}


@SEEDS
@pytest.mark.parametrize("fetching", [True, False])
def test_a_prefetcher_reads_each_line_of_row_pointers_once_a_task_and_fills_in_the_extents(seed, fetching):
    table, bench = prefetch(seed, fetching=fetching)
    expected = []
    for task in range(table.count):
        sources = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
        rows = [int(A.indices[source]) for source in sources]
        found = [at for row in rows for at in lines(B_POINTERS_BASE, row, row + 2, 4)]
        expected += dict.fromkeys(found)
    assert bench.addresses(READ) == expected
    assert list(zip(table.starts, table.ends, strict=True)) == [extent(source) for source in range(A.nnz)]
    assert bench.tokens("prefetched") == task_tokens(0, 1, 2, END_OF_WORK)
    assert bench.memory.most_waiting <= WINDOW


@SEEDS
def test_a_prefetcher_hands_a_task_on_only_when_its_last_fetch_has_left(seed):
    table, bench = prefetch(seed, tasks=(1, 2))
    counts = [
        sum(
            len(lines(B_BASE, *extent(p), 12))
            for p in range(table.first_inputs[t], table.first_inputs[t + 1])
        )
        for t in (1, 2)
    ]
    fetches = [request.cycle for request in bench.memory.seen if request.operation == FETCH]
    handed = [cycle for cycle, _token in bench.received["prefetched"]]
    assert len(fetches) == sum(counts)
    assert fetches[counts[0] - 1] < handed[0]
    assert fetches[-1] < handed[1]


def located(*, partial):
    """Tasks with their extents as a prefetcher leaves them; with ``partial``, a tree for the longest row."""
    table = TaskTable(A.indptr.astype(np.int64), 12 if partial else RADIX)
    store = PartialStore(64, 12)
    for i, source in enumerate(table.inputs):
        if source >= 0:
            table.starts[i], table.ends[i] = extent(source)
        else:
            table.starts[i] = store.allocate(20)
            table.ends[i] = table.starts[i] + 17 + source
            for element in range(table.starts[i], table.ends[i]):
                store.coordinates[element], store.values[element] = 2 * element, element / 8
    return table, store


def read(seed, table, store, tasks, *, buffer_lines=2, ways=None):
    reader = FiberReader(
        "reader",
        table,
        stored(B),
        store,
        PORT,
        base=B_BASE,
        partial_base=PARTIAL_BASE,
        buffer_lines=buffer_lines,
        line_bytes=SIZES.line_bytes,
        element_bytes=SIZES.element_bytes,
    )
    outputs = {f"ways[{i}]": buffer_lines * 7 for i in range(ways or table.radix)}
    outputs |= {"merge_tasks": 2, "output_tasks": 2}
    return run_part(reader, {"tasks": task_tokens(*tasks)}, outputs, seed=seed)


def expected_fiber(table, store, i):
    """Tokens of an input of a task, with the stop."""
    source, span = table.inputs[i], range(table.starts[i], table.ends[i])
    if source < 0:
        found = [(DATA, store.coordinates[e], UNSCALED, store.values[e]) for e in span]
    else:
        found = [(DATA, int(B.indices[e]), source, float(B.data[e])) for e in span]
    return [*found, (STOP, 0, 0, 0.0)] if found else []


def test_a_reader_with_fewer_ways_than_its_tasks_is_refused():
    table, store = located(partial=False)
    with pytest.raises(SimulationError, match=f"reader: connect {table.radix} ways, .* not 1"):
        read(None, table, store, [END_OF_WORK], ways=1)


@pytest.mark.parametrize("strays", STRAYS.values(), ids=STRAYS)
def test_a_reply_without_a_request_is_refused(strays, monkeypatch):
    table, store = located(partial=False)
    monkeypatch.setattr(gamma_stubs, "MemoryStub", lambda name, *_options: StrayMemory(name, strays))
    with pytest.raises(SimulationError, match=r"^a reply for slot \d+, which has no open request"):
        read(None, table, store, [0, END_OF_WORK])


@SEEDS
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("buffer_lines", [1, 3])
def test_a_reader_brings_each_fiber_to_a_way_in_order_however_lines_come(seed, partial, buffer_lines):
    table, store = located(partial=partial)
    tasks = range(table.count)
    bench = read(seed, table, store, [*tasks, END_OF_WORK], buffer_lines=buffer_lines)
    expected = [[] for _ in range(table.radix)]
    fan_ins = []
    for task in tasks:
        inputs = range(table.first_inputs[task], table.first_inputs[task + 1])
        fibers = [fiber for fiber in (expected_fiber(table, store, i) for i in inputs) if fiber]
        for way, fiber in enumerate(fibers):
            expected[way] += fiber
        fan_ins.append(len(fibers))
    assert [bench.tokens(f"ways[{way}]") for way in range(table.radix)] == expected
    assert [token[1] for token in bench.tokens("merge_tasks")] == fan_ins
    assert bench.tokens("output_tasks") == task_tokens(*tasks, END_OF_WORK)


@SEEDS
def test_a_reader_reads_rows_of_b_and_consumes_partial_fibers_line_by_line(seed):
    table, store = located(partial=True)
    bench = read(seed, table, store, range(table.count))
    spans = list(zip(table.inputs, table.starts, table.ends, strict=True))
    rows = [at for source, *span in spans if source >= 0 for at in lines(B_BASE, *span, 12)]
    fibers = [at for source, *span in spans if source < 0 for at in lines(PARTIAL_BASE, *span, 12)]
    assert fibers
    assert sorted(bench.addresses(READ)) == sorted(rows)
    assert sorted(bench.addresses(CONSUME)) == sorted(fibers)


def test_a_reader_asks_for_a_line_a_cycle():
    table, store = located(partial=False)
    bench = read(None, table, store, [1], buffer_lines=4)
    asked = [request.cycle for request in bench.memory.seen]
    assert len(asked) > 30
    assert np.diff(asked)[:30].tolist() == [1] * 30
