"""Gamma's scheduler: its twin is the component, beside elements that complete tasks in their own time."""

import random
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from memory_stub import MemoryStub
from pairs import Pair, check_pair, event_side, random_channel

from fiberscope.accelerators.gamma.layout import COMPLETION, NO_PARENT, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.scheduler_parameters_rtl import LIMIT, SchedulerParameters
from fiberscope.accelerators.gamma.scheduler_rtl import BLOCK, loads, matching
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, INPUT_FIELDS, OUTPUT
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.sim import Component, Input, Output
from fiberscope.sim.testing import random_stalls
from fiberscope.workloads.sparse import sparse

COLUMNS = 12
ONES = (1 << INDEX_BITS) - 1
ROOM = 1 << 16  # lines, more than any product here fills


class Elements(Component):
    """A processing element that completes the tasks it was given in their order, each after some cycles."""

    PORTS = (Input("tasks", TASK), Output("completions", COMPLETION))

    def __init__(self, name, given, delays):
        super().__init__(name)
        self.given, self.delays = given, delays
        self.waiting = []  # cycle from which a task is done, and the task
        self.received = []

    def tick(self, now):
        tasks, done = self.channel("tasks"), self.channel("completions")
        took = tasks.can_pop()
        if took:
            self._take(now, tasks.reference())
            tasks.pop()
        if self.waiting and now >= self.waiting[0][0] and done.can_push():
            done.push(0, 0, self.waiting.pop(0)[1])
        return self.busy(now + 1) if took or self.waiting else self.idle()

    def _take(self, now, task):
        """Its place among the partial fibers is noted, and its length is known."""
        table = self.given.table
        start = -1
        if task != END_OF_WORK:
            if table.parents[task] != NO_PARENT:
                start = table.output_starts[task]
                table.output_lengths[task] = self._most(task) // (1 + task % 3)
            self.waiting.append((now + self.delays[task % len(self.delays)], task))
        self.received.append((now, (0, start + 1, task, 0.0)))

    def _most(self, task):
        """Elements that a fiber may have."""
        table = self.given.table
        sources = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
        merged = sum(table.output_lengths[-1 - source] for source in sources if source < 0)
        return min(self.given.bounds[task] + merged, COLUMNS)


def drawn(seed, rows=None, radix=None, stream_lines=None, room=None, **limits):
    """What a scheduler is made with, and how many elements there are."""
    generator = random.Random(seed)
    rows = rows or generator.choice([1, 20, 60, 60])
    a = sparse.csr_array(
        sparse.random_array((rows, rows), density=generator.choice([0.02, 0.1, 0.2]), rng=seed, format="csr")
    )
    b = sparse.csr_array(sparse.random_array((rows, COLUMNS), density=0.3, rng=seed + 1, format="csr"))
    a, b = (CompressedRows(one.indptr, one.indices, np.floor(99 * one.data) - 50) for one in (a, b))
    sizes = Sizes(generator.choice([16, 64]), generator.choice([8, 12]), 4)
    radix = radix or generator.choice([2, 3, 8])
    table = TaskTable(np.asarray(a.pointers), radix)
    least = radix * sizes.element_bytes // sizes.line_bytes + 2  # that a task's nonzeros may lie in
    partials = PartialStore(sizes.line_bytes, sizes.element_bytes)
    occupancy = PartialOccupancy(table, a, b, COLUMNS, room or generator.choice([4, 20, ROOM]), sizes)
    limits = {
        "stream_lines": stream_lines or generator.choice([least, 16]),
        "most_tasks": generator.choice([1, 2, 4]),
        "most_partial_tasks": generator.choice([1, 2]),
    } | limits
    arguments = (table, a, partials, occupancy, generator.choice([0, 3]))
    options = {**limits, "sizes": sizes, "a_sizes": sizes}
    elements = generator.choice([1, 2, 3, 4])
    return SimpleNamespace(
        table=table,
        occupancy=occupancy,
        bounds=[occupancy.largest_length(task) for task in range(table.count)],
        elements=elements,
        arguments=arguments,
        options=options,
    )


def pair(seed, elements=None, kind=BLOCK.adapter, **draws):
    """Both have tables of their own, alike."""
    given = {scope: drawn(seed, **draws) for scope in ("event", "rtl")}
    count = elements or given["rtl"].elements

    def component(name):
        return Scheduler(name, *given["event"].arguments, **given["event"].options)

    def adapter(name):
        made = given["rtl"]
        suits = matching(*made.arguments, **made.options)
        parameters = SchedulerParameters(**{**vars(suits), "elements": count})
        interface = BLOCK.interface(parameters)
        unit = kind(name, interface, PyrtlBackend(BLOCK.twin(parameters), seed))
        unit.configure(*made.arguments, **made.options)
        return unit

    def around(kernel, scope, end, generator):
        latencies = [generator.randint(1, generator.choice([1, 40])) for _ in range(23)]
        pauses = random_stalls(generator.randrange(1 << 30), often=generator.choice([0.0, 0.5]), longest=12)
        parts = [kernel.add(MemoryStub(f"{scope}.memory", latencies, pauses))]
        kernel.connect(*end("memory_requests"), parts[0], "requests", **random_channel(generator))
        kernel.connect(parts[0], "replies", *end("memory_replies"), **random_channel(generator))
        for i in range(count):
            delays = [generator.choice([1, 2, 30]) for _ in range(11)]
            parts.append(kernel.add(Elements(f"{scope}.element_{i}", given[scope], delays)))
            kernel.connect(*end(f"tasks[{i}]"), parts[-1], "tasks", **random_channel(generator))
            kernel.connect(parts[-1], "completions", *end(f"completions[{i}]"), **random_channel(generator))
        return parts

    return Pair("scheduler", component, adapter, {}, (), seed, around=around)


@pytest.mark.parametrize("seed", range(16))
def test_the_twin_is_the_component(seed):
    assert check_pair(pair(seed)) > 3  # where there is no task, the end of work is told


@pytest.mark.slow
@pytest.mark.parametrize("first", range(16, 616, 20))
def test_the_twin_is_the_component_for_many_seeds(first):
    assert sum(check_pair(pair(seed)) for seed in range(first, first + 20)) > 1000


@pytest.mark.parametrize(
    "given",
    [
        {"elements": 8, "radix": 2, "most_tasks": 16, "most_partial_tasks": 16},
        pytest.param(
            {"elements": 8, "radix": 64, "stream_lines": 256, "most_tasks": 1, "most_partial_tasks": 1},
            marks=pytest.mark.slow,
        ),
        {"elements": 5, "radix": 3, "stream_lines": 255},
        {"rows": 90, "radix": 3},
    ],
    ids=str,
)
def test_so_it_is_at_large_sizes(given):
    assert check_pair(pair(9, **{"rows": 60} | given)) > 60


def test_every_wait_and_every_kind_of_task_is_met():
    """The component is the twin cycle by cycle, so what it meets the twin meets."""
    waits, merged, lines, held = set(), 0, 0, 0
    for seed in range(16):
        kernel = event_side(pair(seed))
        kernel.run()
        block = kernel.statistics()["event.block"]
        waits |= {port for port, cycles in {**block.input_stall, **block.output_stall}.items() if cycles}
        merged += block.counters["most_partial_lines"] > 0
        held += block.counters["held_back_cycles"] > 0
        lines = max(lines, len(drawn(seed).table.row_lengths))
    assert {wait.partition("[")[0] for wait in waits} == {
        "completions", "memory_replies", "memory_requests", "tasks",
    }  # fmt: skip
    assert merged > 5
    assert held > 3
    assert lines > 16


class Listened(BLOCK.adapter):
    """Tells of each task what stands beside it, and what the stores have."""

    def __init__(self, told, *arguments):
        super().__init__(*arguments)
        self.heard = told

    def configure(self, table, a, *arguments, **options):
        super().configure(table, a, *arguments, **options)
        self.table, self.a = table, a

    def observe(self, moved):
        super().observe(moved)
        for label, token in moved.items():
            if label.startswith("tasks") and token.reference != END_OF_WORK:
                fields = {name: self.payload(label, name) for name in ("count", *INPUT_FIELDS, OUTPUT)}
                self.heard.append((self.seen(fields), self.stored(token.reference)))

    @staticmethod
    def seen(fields):
        """Of a row of B its end is not known, and of a partial fiber there is no scale."""
        words = [
            [fields[name] >> INDEX_BITS * i & ONES for name in INPUT_FIELDS] for i in range(fields["count"])
        ]
        inputs = [
            (source, first, end) if source >> INDEX_BITS - 1 else (source, first, scale)
            for source, first, end, scale in words
        ]
        return inputs, fields[OUTPUT]

    def stored(self, task):
        table, inputs = self.table, []
        for source in table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]:
            if source < 0:
                start, length = table.output_starts[-1 - source], table.output_lengths[-1 - source]
                inputs.append((source & ONES, start, start + length))
            else:
                inputs.append((source, self.a.coordinates[source], int(self.a.values[source]) & ONES))
        is_partial = table.parents[task] != NO_PARENT
        return inputs, is_partial << INDEX_BITS | table.output_starts[task]


@pytest.mark.parametrize("seed", [5, 9])
def test_beside_a_task_stands_what_the_stores_have(seed):
    told = []
    check_pair(pair(seed, kind=partial(Listened, told), rows=40, radix=3))
    assert len(told) > 20
    for seen, stored in told:
        assert seen == stored
    assert any(source >> INDEX_BITS - 1 for (inputs, _output), _stored in told for source, *_rest in inputs)


class Watched(Scheduler):
    """Notes how many tasks that merge are ready, at the most."""

    most_ready = 0

    def tick(self, now):
        wake = super().tick(now)
        self.most_ready = max(self.most_ready, self.sample()[1])
        return wake


def most_ready(seed, **draws):
    """Behind any cycle, as many as a module has room for, and as many as elements alone bring."""
    made, given = drawn(seed, **draws), pair(seed, **draws)
    suits = replace(matching(*made.arguments, **made.options), elements=made.elements)
    kernel = event_side(replace(given, event=lambda name: Watched(name, *made.arguments, **made.options)))
    kernel.run()
    (watched,) = (part for part in kernel.components if isinstance(part, Watched))
    return watched.most_ready, suits.waiting, suits.elements * suits.most_partial_tasks


def test_no_more_tasks_wait_than_a_tree_and_the_elements_bring():
    found = [most_ready(seed, rows=60, radix=2) for seed in range(40)]
    assert all(ready <= waiting for ready, waiting, _brought in found)
    assert any(ready > brought for ready, _waiting, brought in found)  # else the tree would not matter


def rows_of_one(count):
    """A scheduler's arguments for so many rows of one nonzero."""
    a = CompressedRows(np.arange(count + 1), np.zeros(count, int), np.ones(count))
    b = CompressedRows(np.array([0, 1]), np.zeros(1, int), np.ones(1))
    table, sizes = TaskTable(np.asarray(a.pointers), 2), Sizes(64, 8, 4)
    occupancy = PartialOccupancy(table, a, b, 1, ROOM, sizes)
    return (table, a, PartialStore(64, 8), occupancy, 0), {"sizes": sizes, "a_sizes": sizes}


def test_as_many_tasks_are_numbered_as_a_module_may_have():
    arguments, options = rows_of_one(LIMIT)
    suits = matching(*arguments, **options)
    assert suits.tasks == LIMIT
    load = next(stream for stream in BLOCK.interface(suits).streams if stream.label == "load")
    for token in loads(*arguments, **options):
        load.encode(token)  # which refuses what has no place


def test_more_tasks_than_a_module_has_are_refused():
    arguments, options = rows_of_one(LIMIT + 1)
    with pytest.raises(ValueError, match=rf"^scheduler: tasks must be from 1 to {LIMIT}, not {LIMIT + 1}$"):
        matching(*arguments, **options)


def test_a_product_without_row_pointers_is_refused():
    arguments, options = rows_of_one(1)
    with pytest.raises(ValueError, match=r"^scheduler: .* row pointers of Z; set format\.pointer=4$"):
        matching(*arguments, **{name: Sizes(64, 8, 0) for name in options})
