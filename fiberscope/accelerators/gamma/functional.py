# cython: infer_types=True
# C compiler: -O2
"""A functional run of Gamma: tasks in the order of dispatch through a FiberCache."""

from __future__ import annotations

from array import array

import numpy as np

from fiberscope.accelerators.gamma.functional_cache import FunctionalCache
from fiberscope.accelerators.gamma.layout import B_BASE, B_POINTERS_BASE, NO_PARENT, PARTIAL_BASE, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.row_work import RowWork
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.sim import inline

__all__ = ["FunctionalRun"]

NO_LINE = -1
AHEAD = 8  # number of nonzeros of A that are looked ahead


class FunctionalRun:  # C: final
    """Runs the tasks of a product through a FiberCache, in the order in which the machine dispatches tasks.

    A task goes to the element with the fewest tasks, as the scheduler has it. An element takes a cycle for
    each element that is merged. The lines of a task are fetched when the task is dispatched. When it begins,
    it reads as much as its buffers hold, from all fibers in proportion, and as much again whenever that is
    merged. Partial fibers are written when it ends. This time decides only in which order tasks use the
    cache, and which tasks are in flight together.

    Tasks are numbered: row r of A as r, the task t of a tree as ``a.rows + t``.

    Args:
        work: counted work by row.
        cache: that the tasks use.
        partials: where partial fibers are allocated.
        occupancy: what partial fibers take of the cache.
        elements: number of processing elements.
        most_tasks: tasks that an element may have been given and not completed.
        most_partial_tasks: the same, when a task that writes a partial fiber is to be given.
        buffered: elements that the buffers of a task hold.
        sizes: of lines, and of elements of partial fibers.
        b_sizes: of elements and pointers of B.
        fetching: whether lines are fetched ahead.
    """

    def __init__(
        self,
        work: RowWork,
        cache: FunctionalCache,
        partials: PartialStore,
        occupancy: PartialOccupancy,
        *,
        elements: int,
        most_tasks: int,
        most_partial_tasks: int,
        buffered: int,
        sizes: Sizes,
        b_sizes: Sizes,
        fetching: bool,
    ) -> None:
        self.work = work
        self.trees = work.trees
        self.table = work.trees.table
        self.a = work.a
        self.b = work.b
        self.last_nonzero = len(work.a.coordinates) - 1
        self.cache = cache
        self.partials = partials
        self.occupancy = occupancy
        self.elements = elements
        self.most_tasks = most_tasks
        self.most_partial_tasks = most_partial_tasks
        self.buffered = buffered
        self.line_bytes = sizes.line_bytes
        self.partial_bytes = sizes.element_bytes
        self.element_bytes = b_sizes.element_bytes
        self.pointer_bytes = b_sizes.pointer_bytes
        self.fetching = fetching
        self.tasks = 0
        self.pointer_reads = 0
        self.partial_reads = 0  # lines of partial fibers that were read from memory
        self.lines = np.zeros(work.a.rows, np.int64)  # C: public long[::1]; lines moved by row
        self.now = self.turn = 0
        depth = max(most_tasks, most_partial_tasks)
        self.depth = depth
        self.loads = array("q", bytes(8 * elements))  # number of uncompleted tasks, by element
        self.oldest = array("q", bytes(8 * elements))
        self.parts = array("q", bytes(8 * elements))  # inputs of its oldest task that were read, by element
        self.events = array("q", bytes(8 * elements))  # cycle of its next read or of the task's end
        self.free = array("q", bytes(8 * elements))  # cycle in which all its tasks are done
        self.queue = array("q", bytes(8 * elements * depth))
        self.ends = array("q", bytes(8 * elements * depth))
        self.ready = array("q", bytes(8 * max(1, self.table.count)))  # merging tasks that can run
        self.first_ready = self.last_ready = 0

    def run_rows(self, first: int, last: int) -> None:
        """Dispatch the tasks of a range of A's rows; ranges follow one another."""
        for row in range(first, last):
            if not self.trees.rows[row]:
                if self.a.pointers[row + 1] > self.a.pointers[row]:
                    self._issue(row)
                continue
            for task in range(self.trees.first_tasks[row], self.trees.first_tasks[row + 1]):
                if not self.trees.merges[task]:
                    self._await_room(task)
                    self._issue(self.a.rows + task)

    def finish(self) -> None:
        """Complete all tasks."""
        while self._dispatch_ready() or self._advance():
            pass

    def _issue(self, task: int) -> None:
        """Dispatch a task, behind the merging tasks that are ready."""
        while self.first_ready < self.last_ready or not self._dispatch(task):
            if not self._dispatch_ready():
                self._advance()

    def _await_room(self, task: int) -> None:
        """Go on until the cache has room for the output of a leaf."""
        while not self.occupancy.admits(task):
            if not self._dispatch_ready() and not self._advance():
                return

    def _dispatch_ready(self) -> bool:
        """Dispatch the oldest merging task that is ready; whether there was such a task and room for it."""
        if self.first_ready == self.last_ready or not self._dispatch(self.ready[self.first_ready]):
            return False
        self.first_ready += 1
        return True

    def _dispatch(self, task: int) -> bool:
        """Dispatch a task to the element with the fewest tasks; whether an element could take it."""
        tree_task = task - self.a.rows
        writes_partial = tree_task >= 0 and self.table.parents[tree_task] != NO_PARENT
        element = self._least_loaded(self.most_partial_tasks if writes_partial else self.most_tasks)
        if element < 0:
            return False
        self.turn = element + 1 if element + 1 < self.elements else 0
        if writes_partial:
            self.occupancy.begin(tree_task)
            self.table.output_starts[tree_task] = self.partials.allocate(self.occupancy.bound(tree_task))
        merged = self._merged(task)
        place = element * self.depth + (self.oldest[element] + self.loads[element]) % self.depth
        self.now += 1
        self.free[element] = max(self.free[element], self.now) + merged + 1
        self.queue[place] = task
        self.ends[place] = self.free[element]
        self.loads[element] += 1
        self.tasks += 1
        self._fetch(task)
        if self.loads[element] == 1:
            self._begin(element)
        return True

    def _least_loaded(self, limit: int) -> int:  # C: noexcept
        """The element with the fewest tasks, the next in turn among equals; -1 if all have the limit."""
        best = -1
        fewest = limit
        element = self.turn
        for _ in range(self.elements):
            if self.loads[element] < fewest:
                best = element
                fewest = self.loads[element]
            element += 1
            if element == self.elements:
                element = 0
        return best

    def _merged(self, task: int) -> int:  # C: noexcept
        """Elements that a task merges."""
        if task < self.a.rows:
            return int(self.work.merged[task])
        return int(self.work.task_merged[task - self.a.rows])

    def _advance(self) -> bool:
        """Go on with the task that reads more or ends first; whether there is one."""
        best = -1
        for element in range(self.elements):
            if self.loads[element] > 0 and (best < 0 or self.events[element] < self.events[best]):
                best = element
        if best < 0:
            return False
        self.now = max(self.now, self.events[best])
        place = best * self.depth + self.oldest[best]
        if self.events[best] < self.ends[place]:
            self._read_part(best)
            return True
        task = self.queue[place]
        self.oldest[best] = (self.oldest[best] + 1) % self.depth
        self.loads[best] -= 1
        if task >= self.a.rows:
            self._end(task - self.a.rows)
        if self.loads[best] > 0:
            self._begin(best)
        return True

    def _begin(self, element: int) -> None:
        """The oldest task of an element begins."""
        place = element * self.depth + self.oldest[element]
        self.parts[element] = 0
        self.events[element] = self.ends[place] - self._merged(self.queue[place]) - 1
        self._read_part(element)

    def _read_part(self, element: int) -> None:
        """The oldest task of an element reads what its buffers hold."""
        place = element * self.depth + self.oldest[element]
        task = self.queue[place]
        parts = max(1, (self._merged(task) + self.buffered - 1) // self.buffered)
        part = self.parts[element]
        self.parts[element] += 1
        self.events[element] = self.ends[place] if part + 1 == parts else self.events[element] + self.buffered
        before = self.cache.traffic_lines()
        if task < self.a.rows:
            for i in range(self.a.pointers[task], self.a.pointers[task + 1]):
                self._read_row(self.a.coordinates[i], part, parts)
        else:
            tree_task = task - self.a.rows
            for i in range(self.table.first_inputs[tree_task], self.table.first_inputs[tree_task + 1]):
                if self.table.inputs[i] < 0:
                    self._consume(-1 - self.table.inputs[i], part, parts)
                else:
                    self._read_row(self.trees.nonzeros.coordinates[self.table.inputs[i]], part, parts)
        self.lines[self._row_of(task)] += self.cache.traffic_lines() - before

    def _row_of(self, task: int) -> int:  # C: noexcept
        return task if task < self.a.rows else self.trees.row_of_task[task - self.a.rows]

    def _read_row(self, row: int, part: int, parts: int) -> None:  # C: noexcept
        start = self.b.pointers[row]
        end = self.b.pointers[row + 1]
        if end > start:
            first = start * self.element_bytes // self.line_bytes
            count = (end * self.element_bytes - 1) // self.line_bytes + 1 - first
            base = B_BASE // self.line_bytes + first
            for line in range(base + part * count // parts, base + (part + 1) * count // parts):
                self.cache.read(line)

    def _consume(self, task: int, part: int, parts: int) -> None:
        base = self._first_line(task)
        count = self._lines_of(self.work.task_outputs[task])
        before = self.cache.consume_misses
        for line in range(base + part * count // parts, base + (part + 1) * count // parts):
            self.cache.consume(line)
        self.partial_reads += self.cache.consume_misses - before

    def _first_line(self, task: int) -> int:  # C: noexcept
        """The first line of a task's partial fiber."""
        first = self.table.output_starts[task] * self.partial_bytes // self.line_bytes
        return PARTIAL_BASE // self.line_bytes + first

    def _lines_of(self, elements: int) -> int:  # C: noexcept
        return (elements * self.partial_bytes + self.line_bytes - 1) // self.line_bytes

    def _end(self, task: int) -> None:
        """A task of a tree has ended: its fiber is written, and what it merged is free."""
        before = self.cache.traffic_lines()
        parent = self.table.parents[task]
        self.table.output_lengths[task] = self.work.task_outputs[task]
        if parent != NO_PARENT:
            start = self._first_line(task)
            for line in range(start, start + self._lines_of(self.work.task_outputs[task])):
                self.cache.write(line)
        for i in range(self.table.first_inputs[task], self.table.first_inputs[task + 1]):
            if self.table.inputs[i] < 0:
                child = -1 - self.table.inputs[i]
                self.partials.release(self.table.output_starts[child], self.occupancy.bound(child))
        self.occupancy.end(task)
        if parent != NO_PARENT:
            self.table.missing[parent] -= 1
            if self.table.missing[parent] == 0:
                self.ready[self.last_ready] = self.a.rows + parent
                self.last_ready += 1
        self.lines[self.trees.row_of_task[task]] += self.cache.traffic_lines() - before

    def _fetch(self, task: int) -> None:
        """The prefetcher's requests: row pointers, a line once a sequence, and the lines of all fibers."""
        before = self.cache.traffic_lines()
        pointer_line = NO_LINE
        if task < self.a.rows:
            for i in range(self.a.pointers[task], self.a.pointers[task + 1]):
                inline.fetch(self.b.pointers[self.a.coordinates[min(i + AHEAD, self.last_nonzero)]])
                pointer_line = self._locate(self.a.coordinates[i], pointer_line)
                self._fetch_row(self.a.coordinates[i])
        else:
            tree_task = task - self.a.rows
            for i in range(self.table.first_inputs[tree_task], self.table.first_inputs[tree_task + 1]):
                if self.table.inputs[i] < 0:
                    self._fetch_fiber(-1 - self.table.inputs[i])
                else:
                    row = self.trees.nonzeros.coordinates[self.table.inputs[i]]
                    pointer_line = self._locate(row, pointer_line)
                    self._fetch_row(row)
        self.lines[self._row_of(task)] += self.cache.traffic_lines() - before

    def _locate(self, row: int, line: int) -> int:
        """Read the lines of a row's two pointers that were not read last; returns the one that was."""
        if self.pointer_bytes == 0:
            return line
        base = B_POINTERS_BASE // self.line_bytes
        first = row * self.pointer_bytes // self.line_bytes
        last = ((row + 2) * self.pointer_bytes - 1) // self.line_bytes
        if line == last:
            return line
        if line != first:
            self.cache.read(base + first)
            self.pointer_reads += 1
        if last != first:
            self.cache.read(base + last)
            self.pointer_reads += 1
        return last

    def _fetch_row(self, row: int) -> None:  # C: noexcept
        start = self.b.pointers[row]
        end = self.b.pointers[row + 1]
        if self.fetching and end > start:
            base = B_BASE // self.line_bytes
            first = start * self.element_bytes // self.line_bytes
            last = (end * self.element_bytes - 1) // self.line_bytes
            for line in range(base + first, base + last + 1):
                self.cache.prefetch(line)

    def _fetch_fiber(self, task: int) -> None:
        if self.fetching:
            base = self._first_line(task)
            before = self.cache.fetch_misses
            for line in range(base, base + self._lines_of(self.work.task_outputs[task])):
                self.cache.prefetch(line)
            self.partial_reads += self.cache.fetch_misses - before
