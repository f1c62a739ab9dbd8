"""Fiber writer and scheduler by themselves."""

from itertools import pairwise

import numpy as np
import pytest
from gamma_bench import csr, stored
from gamma_stubs import MemoryStub, run_part

from fiberscope.accelerators.gamma.layout import (
    COMPLETION,
    NO_PARENT,
    PARTIAL_BASE,
    Z_BASE,
    Z_POINTERS_BASE,
    Sizes,
)
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.hw.fibers.pages import PAGE, PAGE_REQUEST, PageAllocator
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Component, Input, Kernel, Output, SimulationError
from fiberscope.sim.testing import random_stalls

SIZES = Sizes(64, 12, 4)
SEEDS = pytest.mark.parametrize("seed", [None, 1, 2, 3])
PORT = 8
PAGE_BYTES, PAGES_GONE = 128, 5  # bytes of a page, and pages that others were given before
A = csr([dict.fromkeys(range(7), 1.0), {0: 1.0}, {}, {1: 1.0, 2: 1.0}], 7)  # at radix 3: tasks 0 to 2, 3, 4
B = csr([dict.fromkeys(range(row, 40, 2), 1.0) for row in range(7)], 40)
LENGTHS = {0: 11, 1: 0, 3: 9, 4: 5, 2: 16}  # elements of each task, in the order in which it is given


def wire_pages(kernel, writer):
    pages = kernel.add(PageAllocator("pages", first=PAGES_GONE))
    kernel.connect(writer, "page_requests", pages, "page_requests[0]", capacity=1)
    kernel.connect(pages, "pages[0]", writer, "pages", capacity=1)


def test_pages_without_a_request_each_are_refused():
    class Askers(Component):
        PORTS = (Output("asks", PAGE_REQUEST, array=True), Input("gets", PAGE))

    kernel = Kernel()
    kernel.clock("core", 10**9)
    askers, pages = kernel.add(Askers("askers")), kernel.add(PageAllocator("pages"))
    kernel.connect(pages, "pages[0]", askers, "gets", capacity=1)
    for i in range(2):
        kernel.connect(askers, f"asks[{i}]", pages, f"page_requests[{i}]", capacity=1)
    with pytest.raises(SimulationError, match="pages: connect 2 pages, one a lane, not 1"):
        kernel.build()


def test_more_replies_than_lines_of_a_task_are_refused(monkeypatch):
    take = MemoryStub._take

    def take_twice(self, now):
        before = len(self.waiting)
        take(self, now)
        self.waiting += self.waiting[before:]

    monkeypatch.setattr(MemoryStub, "_take", take_twice)
    with pytest.raises(SimulationError, match=r"^a reply for slot \d+, which has no open request"):
        write(None)


def write(seed, *, keeps_z_in_cache=False):
    table, store = TaskTable(A.indptr.astype(np.int64), 3), PartialStore(64, 12)
    rows = ProductRows(stored(A), stored(B), 40)
    elements = []
    for task, length in LENGTHS.items():
        if table.parents[task] != NO_PARENT:
            table.output_starts[task] = store.allocate(40)
        elements += [(DATA, 2 * i, 0, task + i / 32) for i in range(length)] + [(STOP, 0, 0, 0.0)]
    writer = FiberWriter(
        "writer",
        table,
        store,
        rows,
        PORT,
        sizes=SIZES,
        page_bytes=PAGE_BYTES,
        max_open_tasks=8,
        keeps_z_in_cache=keeps_z_in_cache,
    )
    tasks = [(0, 0, task, 0.0) for task in (*LENGTHS, END_OF_WORK)]
    bench = run_part(
        writer,
        {"output_tasks": tasks, "elements": elements},
        {"completions": 2},
        seed=seed,
        silent=() if keeps_z_in_cache else (WRITE_THROUGH,),
        wire=wire_pages,
    )
    return table, store, rows, bench


@SEEDS
@pytest.mark.parametrize("keeps_z_in_cache", [False, True])
def test_a_writer_packs_rows_of_z_and_gives_each_partial_fiber_lines_of_its_own(seed, keeps_z_in_cache):
    table, _store, _rows, bench = write(seed, keeps_z_in_cache=keeps_z_in_cache)
    z = [Z_BASE + PAGES_GONE * PAGE_BYTES + 64 * line for line in range(-(-12 * (9 + 5 + 16) // 64))]
    partial = [PARTIAL_BASE + 12 * table.output_starts[0] + 64 * line for line in range(-(-12 * 11 // 64))]
    found = [request.address for request in bench.memory.seen]
    assert sorted(found) == sorted(z + partial)
    assert bench.addresses(WRITE_UNREAD if keeps_z_in_cache else WRITE_THROUGH) == z
    assert {request.tag >> PORT_SHIFT for request in bench.memory.seen} == {PORT}


@SEEDS
def test_a_writer_stores_what_it_is_given_and_notes_lengths(seed):
    table, store, rows, _bench = write(seed)
    start = table.output_starts[0]
    assert list(store.coordinates[start : start + 11]) == [2 * i for i in range(11)]
    assert list(store.values[start : start + 11]) == [i / 32 for i in range(11)]
    assert (table.output_lengths[0], table.output_lengths[1]) == (11, 0)
    assert list(table.row_lengths) == [16, 9, 0, 5]
    values, coordinates, _pointers = rows.gather(np.asarray(table.row_lengths))
    assert coordinates.tolist() == [2 * i for length in (16, 9, 5) for i in range(length)]
    assert values.tolist() == [
        task + i / 32 for task, length in ((2, 16), (3, 9), (4, 5)) for i in range(length)
    ]


@SEEDS
def test_a_writer_announces_tasks_in_order_once_their_lines_are_acknowledged(seed):
    _table, _store, _rows, bench = write(seed)
    assert [token[2] for token in bench.tokens("completions")] == list(LENGTHS)
    first = bench.received["completions"][0][0]
    acknowledged = [request.cycle for request in bench.memory.seen if request.operation == WRITE]
    assert max(acknowledged) < first


class WorkerStub(Component):
    """A processing element that takes some cycles for each task, and notes when each came."""

    PORTS = (Input("tasks", TASK), Output("completions", COMPLETION))

    def __init__(self, name, seed):
        super().__init__(name)
        self.pauses = (3,) if seed is None else random_stalls(seed, often=0.8, longest=60)
        self.begun, self.ended = {}, {}
        self.task, self.until = None, 0

    def elaborate(self):
        self.tasks, self.completions = self.channel("tasks"), self.channel("completions")

    def tick(self, now):
        if self.task is None:
            if not self.tasks.can_pop():
                return self.idle()
            self.task = self.tasks.reference()
            self.tasks.pop()
            self.begun[self.task] = now
            self.until = now + 1 + self.pauses[len(self.begun) % len(self.pauses)]
        if now < self.until:
            return self.busy(self.until)
        if self.task != END_OF_WORK:
            if not self.completions.can_push():
                return self.wait_output(self.completions)
            self.completions.push(0, 0, self.task, 0.0)
        self.ended[self.task] = now
        self.task = None
        return self.busy(now + 1)


ROWS = csr(
    [dict.fromkeys(range(n % 17 if n % 5 else 0), 1.0) for n in range(70)] + [{}] * 200 + [{0: 1.0}], 17
)


def schedule(
    seed, *, workers=3, stream_lines=4, most_tasks=1000, most_partial_tasks=1000, room=1 << 20, pause=None
):
    table, store = TaskTable(ROWS.indptr.astype(np.int64), 4), PartialStore(64, 12)
    b = csr([dict.fromkeys(range(6), 1.0)] * 17, 100)  # a fiber of four is 5 lines at the most
    a, columns = stored(ROWS), b.shape[1]
    part = Scheduler(
        "scheduler",
        table,
        a,
        store,
        PartialOccupancy(table, a, stored(b), columns, room, SIZES),
        PORT,
        stream_lines=stream_lines,
        most_tasks=most_tasks,
        most_partial_tasks=most_partial_tasks,
        sizes=SIZES,
        a_sizes=SIZES,
    )
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(part)
    memory = kernel.add(MemoryStub("memory", seed, silent=(WRITE,)))
    kernel.connect(part, "memory_requests", memory, "requests", capacity=4)
    kernel.connect(memory, "replies", part, "memory_replies", capacity=4)
    elements = [
        kernel.add(WorkerStub(f"worker{i}", None if seed is None else seed + i)) for i in range(workers)
    ]
    for i, element in enumerate(elements):
        element.pauses = element.pauses if pause is None else (pause,)
        kernel.connect(part, f"tasks[{i}]", element, "tasks", capacity=1)
        kernel.connect(element, "completions", part, f"completions[{i}]", capacity=2)
    assert kernel.run(cycle_limit=100_000).complete
    memory.scheduler = kernel.statistics()["scheduler"]
    return table, memory, elements


def merged(elements, times):
    """When each task began, or ended, whoever ran it."""
    return {
        task: cycle for element in elements for task, cycle in getattr(element, times).items() if task >= 0
    }


@SEEDS
def test_a_scheduler_gives_out_each_task_once_and_ends_every_element_once(seed):
    table, _memory, elements = schedule(seed)
    given = [task for element in elements for task in element.begun]
    assert sorted(given) == [*[END_OF_WORK] * 3, *range(table.count)]
    last = max(merged(elements, "ended").values())
    assert all(element.begun[END_OF_WORK] > last for element in elements)


@SEEDS
def test_a_scheduler_waits_for_the_children_of_a_task(seed):
    table, _memory, elements = schedule(seed)
    begun, ended = merged(elements, "begun"), merged(elements, "ended")
    children = [task for task in range(table.count) if table.parents[task] != NO_PARENT]
    assert len(children) > 40
    assert all(ended[child] < begun[table.parents[child]] for child in children)


@SEEDS
def test_a_scheduler_reads_a_once_and_never_holds_more_than_its_window(seed):
    _table, memory, _elements = schedule(seed)
    reads = [request.address for request in memory.seen if request.operation == READ]
    assert len(reads) == len(set(reads)) == -(-12 * ROWS.nnz // 64) + -(-4 * 272 // 64)
    assert memory.most_waiting <= 4


@SEEDS
def test_a_scheduler_writes_a_line_of_pointers_once_its_rows_are_finished(seed):
    table, memory, elements = schedule(seed)
    writes = {request.address: request.cycle for request in memory.seen if request.operation == WRITE}
    assert sorted(writes) == [Z_POINTERS_BASE + 64 * line for line in range(-(-4 * 272 // 64))]
    for task, cycle in merged(elements, "ended").items():
        if table.parents[task] == NO_PARENT:
            assert writes[Z_POINTERS_BASE + 64 * (table.rows[task] // 16)] > cycle


@SEEDS
def test_a_scheduler_that_waits_for_any_element_blames_none(seed):
    """What it waits for comes from the element that is done first."""
    _table, memory, _elements = schedule(seed, most_tasks=1)
    stalls = memory.scheduler.input_stall
    assert stalls["completions"] > 0
    assert not any(port.startswith("completions[") for port in stalls)


def waits(elements, tasks):
    """Cycles from the end of the task before to the begin of each of these."""
    found = []
    for element in elements:
        for before, task in pairwise(element.begun):
            if task in tasks:
                found.append(element.begun[task] - element.ended[before])
    return found


@SEEDS
def test_a_scheduler_gives_an_element_no_more_tasks_at_a_time_than_it_may(seed):
    """One that may have a single task gets the next only after its completion has come back."""
    table, _memory, elements = schedule(seed, most_tasks=1, most_partial_tasks=1)
    found = waits(elements, range(table.count))
    assert found
    assert min(found) > 1


def test_tasks_that_write_partial_fibers_have_a_limit_of_their_own():
    table, _memory, elements = schedule(None, stream_lines=64, most_partial_tasks=1)
    partial = [task for task in range(table.count) if table.parents[task] != NO_PARENT]
    whole = [task for task in range(table.count) if table.parents[task] == NO_PARENT]
    assert min(waits(elements, partial)) > 1
    assert min(waits(elements, whole)) == 1


def test_a_task_goes_to_the_element_with_the_fewest():
    """With tasks of different lengths the elements end close together."""
    _table, _memory, elements = schedule(5, stream_lines=64, most_tasks=2)
    last = [max(end for task, end in element.ended.items() if task != END_OF_WORK) for element in elements]
    longest = max(end - element.begun[task] for element in elements for task, end in element.ended.items())
    assert max(last) - min(last) <= 2 * longest


def leaves_of(table):
    """The tasks that write a partial fiber and merge none."""
    merging = {parent for parent in table.parents if parent != NO_PARENT}
    return [task for task in range(table.count) if table.parents[task] != NO_PARENT and task not in merging]


def most_lines(table, elements, tasks):
    """The most lines that these tasks' fibers can take at a time when they are not all of a row."""
    begun, ended = merged(elements, "begun"), merged(elements, "ended")
    most = 0
    for cycle in (begun[task] for task in tasks):
        running = [task for task in tasks if begun[task] <= cycle < ended[task]]
        inputs = [table.first_inputs[task + 1] - table.first_inputs[task] for task in running]
        if len({table.rows[task] for task in running}) > 1:
            most = max(most, sum(-(-6 * 12 * count // 64) for count in inputs))
    return most


@SEEDS
def test_leaves_run_at_once_only_as_far_as_their_fibers_have_room(seed):
    """A fiber is 3 to 5 lines at the most; those of one tree may always run."""
    table, _memory, elements = schedule(seed, workers=6, stream_lines=64, room=11, pause=100)
    assert most_lines(table, elements, leaves_of(table)) in range(6, 12)
    table, _memory, elements = schedule(seed, workers=6, stream_lines=64, pause=100)
    assert most_lines(table, elements, leaves_of(table)) > 11


def test_tasks_go_in_the_order_of_rows_and_one_that_merges_as_soon_as_it_can():
    """A single element that may have one task at a time."""
    table, _memory, (element,) = schedule(
        None, workers=1, stream_lines=64, most_tasks=1, most_partial_tasks=1
    )
    missing = list(table.missing)
    expected: list[int] = []
    for first in [task for task in range(table.count) if missing[task] == 0]:
        chain = [first]
        while (parent := table.parents[chain[-1]]) != NO_PARENT and missing[parent] == 1:
            chain.append(parent)
        if parent != NO_PARENT:
            missing[parent] -= 1
        expected += chain
    assert list(element.begun) == [*expected, END_OF_WORK]


def test_a_scheduler_takes_turns_among_the_elements():
    """Three that take equally long get the same number of tasks."""
    _table, _memory, elements = schedule(None, stream_lines=64)
    counts = [len(element.begun) for element in elements]
    assert max(counts) - min(counts) <= 1
