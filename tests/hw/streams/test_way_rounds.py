"""Tasks of more lists than a merger has ways: rounds of partial fibers, with a plain model of the merger."""

from typing import ClassVar

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from shuffled_memory import Shuffler, lines_of

from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.stream import STREAM
from fiberscope.hw.streams.merge_lists import MERGE, PARTIAL, POINTS, Lists
from fiberscope.hw.streams.testing import TimedSource
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, REF
from fiberscope.hw.streams.way_lines import ArrayLines
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import Component, Kernel
from fiberscope.sim.component import Input, Output

LINE = 16  # bytes: two rows of two entries


class PlainMerger(Component):
    """Takes an element of one way every ``pause`` cycles, and gives the fiber of a merge when it has all."""

    PORTS: ClassVar = (
        Input("tasks", MERGE_TASK),
        Input("groups", MERGE),
        Input("ways", STREAM, array=True),
        Output("partials", PARTIAL),
    )

    def __init__(self, name, lists, pause, block):
        super().__init__(name)
        self.block = block
        self.lists, self.pause, self.done = lists, pause, False
        self.fibers = []  # of tasks
        self.open, self.target, self.elements = [], None, []

    def _check_areas(self):
        """No merge that has begun writes the area that is still read."""
        block = self.block
        read = block.areas[block.slot] if block.started_merges > 0 else POINTS
        begun = [self.groups.token(place)[1] for place in range(self.groups.occupancy)]
        assert read == POINTS or read not in begun

    def tick(self, now):
        self._check_areas()
        if not self.open and self.target is None:
            if not self.done and self.groups.can_pop() and self.groups.control() == DONE:
                self.groups.pop()
                self.done = True
            if self.done:
                return self.idle()
            if not (self.groups.can_pop() and self.tasks.can_pop()):
                return self.busy(now + 1)
            self.target, self.open = self.groups.coordinate(), [*range(self.tasks.coordinate())]
            self.tasks.pop()
            self.groups.pop()
        for way in self.open:
            if self.ways[way].can_pop():
                self._take(way)
                break
        if not self.open:
            self._end()
        return self.busy(now + self.pause)

    def _take(self, way):
        channel = self.ways[way]
        if channel.control() == DATA:
            self.elements.append((channel.coordinate(), channel.reference(), channel.value()))
        else:
            self.open.remove(way)
        channel.pop()

    def _end(self):
        self.elements.sort()
        if self.target == POINTS:
            self.fibers.append([coordinate for coordinate, _source, _value in self.elements])
        else:
            for element in self.elements:
                self.lists.store(self.target, *element)
            self.lists.end(self.target)
            self.partials.push(DATA)
        self.target, self.elements = None, []


def merged(lengths, tasks, radix, pause=1, memories=0, latencies=()):
    """The fiber of each task, and the block that handed its lists on."""
    segments = np.append(0, np.cumsum(lengths))
    elements = np.arange(segments[-1])
    rows = lines_of(*np.append(0, np.cumsum(-(-np.array(lengths) // 2))))
    arrays = [ArrayLines(place << 20, LINE, rows, 2, 2) for place in range(memories)]
    kernel, lists = Kernel(), Lists(0)
    kernel.clock("core", 10**9)
    block = kernel.add(FiberWays("ways", radix, segments, elements, elements * 0.5, lists, arrays, ahead=2))
    tokens = [token for task in tasks for token in (*task, "S0")]
    for port, carries in (("in_crd", CRD), ("in_ref", REF)):
        source = kernel.add(TimedSource(f"source.{port}", carries, [(0, token) for token in (*tokens, "D")]))
        kernel.connect(source, "out", block, port, capacity=None)
    merger = kernel.add(PlainMerger("merger", lists, pause, block))
    for port in ("tasks", "groups", *(f"ways[{way}]" for way in range(radix))):
        kernel.connect(block, port, merger, port, capacity=2)
    kernel.connect(merger, "partials", block, "partials", capacity=None)
    for place in range(memories):
        memory = kernel.add(Shuffler(f"memory{place}", latencies))
        kernel.connect(block, f"requests[{place}]", memory, "requests", capacity=2)
        kernel.connect(memory, "replies", block, f"replies[{place}]", capacity=2)
    kernel.run(cycle_limit=200_000)
    assert block.done
    return merger.fibers, block, lists


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    drawn=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=9), max_size=4),
    radix=st.integers(2, 4),
    pause=st.sampled_from([1, 3]),
    memories=st.integers(0, 2),
    latencies=st.lists(st.integers(1, 60), max_size=3),
)
@example([7, 6, 5], [[0, 1, 2], [2, 1, 0]], 2, 3, 0, [])  # the second task writes what the first still reads
@example([1, 7], [[1, 1, 1, 1, 1, 0]], 2, 1, 0, [])  # the longest partial fiber is not the last
def test_a_task_of_many_lists_is_merged_whole_in_rounds(lengths, drawn, radix, pause, memories, latencies):
    tasks = [[fiber % len(lengths) for fiber in task] for task in drawn]
    begins = np.append(0, np.cumsum(lengths))
    fibers, block, lists = merged(lengths, tasks, radix, pause, memories, latencies)
    assert fibers == [
        sorted(element for fiber in task for element in range(begins[fiber], begins[fiber + 1]))
        for task in tasks
    ]
    partial, most = 0, 0
    for task in tasks:
        sizes = [lengths[fiber] for fiber in task]
        while len(sizes) > radix:
            sizes = [sum(sizes[first : first + radix]) for first in range(0, len(sizes), radix)]
            partial, most = partial + sum(sizes), max(most, sum(sizes))
    assert (block.partial, lists.most_partial) == (partial, most)
