# cython: infer_types=True
# C compiler: -O2
"""Functional run of Gamma: sends the tasks through a FiberCache in the order of dispatch, without cycles."""

from __future__ import annotations

from array import array

import numpy as np

from fiberscope.accelerators.gamma.layout import B_BASE, B_POINTERS_BASE, NO_PARENT, PARTIAL_BASE, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.row_work import RowWork
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.memory.functional_cache import FunctionalCache
from fiberscope.sim import inline

__all__ = ["FunctionalRun"]

NO_LINE = -1  # in place of the number of a line
PREFETCH_DISTANCE = 8  # distance, in nonzeros of A, at which the host prefetches row pointers of B


class FunctionalRun:  # C: final
    """A run of the tasks of a product through a FiberCache, in the order of dispatch of the machine.

    As in the scheduler, a task goes to the processing element with the fewest tasks. A processing element
    merges one element of a fiber in a cycle. The lines of a task are prefetched when the task is dispatched.
    A task that begins reads as many elements as its buffers hold, from all its fibers in proportion to their
    lengths. It reads the next part when the elements in the buffers are merged. A partial fiber is written
    when its task ends. This approximate time decides only in which order tasks use the cache, and which tasks
    are in flight together.

    Call ``run_rows`` for all rows, then ``finish``. The run changes the table of tasks: it counts ``missing``
    down, and sets the starts and lengths of the outputs.

    The number of a task is r for row r of A, and ``a.rows + t`` for task t of the trees.

    Args:
        work: counted work of each row and of each task of a tree.
        cache: FiberCache that the tasks use.
        partials: allocator of partial fibers.
        occupancy: occupancy of the FiberCache by partial fibers.
        elements: number of processing elements.
        most_tasks: largest number of dispatched and uncompleted tasks of a processing element.
        most_partial_tasks: the same limit for the dispatch of a task that writes a partial fiber.
        buffered: elements that the buffers of a task hold.
        sizes: bytes of a line and of an element of a partial fiber.
        b_sizes: bytes of an element and of a row pointer of B.
        fetching: whether lines are prefetched.

    Attributes:
        tasks: tasks dispatched.
        pointer_reads: reads of lines of B's row pointers.
        partial_reads: lines of partial fibers read from memory.
        lines: for each row of A, the lines moved between cache and memory.
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
        self.partial_reads = 0
        self.lines = np.zeros(work.a.rows, np.int64)  # C: public long[::1]; lines moved by row
        self.now = self.turn = 0
        depth = max(most_tasks, most_partial_tasks)  # a slot for each task that a limit admits
        self.depth = depth
        # State of each processing element
        self.loads = array("q", bytes(8 * elements))  # number of uncompleted tasks
        self.oldest = array("q", bytes(8 * elements))  # queue slot of the oldest uncompleted task
        self.parts = array("q", bytes(8 * elements))  # parts of the oldest task's inputs read so far
        self.events = array("q", bytes(8 * elements))  # cycle of the next read or of the oldest task's end
        self.free = array("q", bytes(8 * elements))  # cycle in which all dispatched tasks are complete
        self.queue = array("q", bytes(8 * elements * depth))  # tasks in the slots of each element's queue
        self.ends = array("q", bytes(8 * elements * depth))  # cycles in which these tasks end
        self.ready = array("q", bytes(8 * max(1, self.table.count)))  # queue of merge tasks; each enters once
        self.first_ready = self.end_ready = 0

    def run_rows(self, first: int, end: int) -> None:
        """Dispatch the tasks of rows ``first`` to ``end`` - 1 of A; calls go through the rows in order."""
        for row in range(first, end):
            if not self.trees.is_tree_row[row]:
                if self.a.pointers[row + 1] > self.a.pointers[row]:
                    self._issue(row)
                continue
            for task in range(self.trees.first_tasks[row], self.trees.first_tasks[row + 1]):
                # A merge task becomes ready when its last partial fiber is complete, see ``_end``.
                if not self.trees.is_merge_task[task]:
                    self._wait_for_space(task)
                    self._issue(self.a.rows + task)

    def finish(self) -> None:
        """Run the merge tasks that are left, and complete all tasks."""
        while self._dispatch_ready() or self._advance():
            pass

    def _issue(self, task: int) -> None:
        """Dispatch a task after the merge tasks that are ready."""
        while self.first_ready < self.end_ready or not self._dispatch(task):
            if not self._dispatch_ready():
                self._advance()

    def _wait_for_space(self, task: int) -> None:
        """Dispatch merge tasks and complete tasks until the cache has space for the output of a leaf task."""
        while not self.occupancy.admits(task):
            if not self._dispatch_ready() and not self._advance():
                # Nothing is in flight that could free space: the task starts all the same.
                return

    def _dispatch_ready(self) -> bool:
        """Dispatch the oldest ready merge task; return False if there is none or no element can take it."""
        if self.first_ready == self.end_ready or not self._dispatch(self.ready[self.first_ready]):
            return False
        self.first_ready += 1
        return True

    def _dispatch(self, task: int) -> bool:
        """Dispatch a task to the least-loaded processing element; return whether one could take the task."""
        tree_task = task - self.a.rows
        writes_partial = tree_task >= 0 and self.table.parents[tree_task] != NO_PARENT
        element = self._least_loaded(self.most_partial_tasks if writes_partial else self.most_tasks)
        if element < 0:
            return False
        self.turn = element + 1 if element + 1 < self.elements else 0
        if writes_partial:
            self.occupancy.reserve(tree_task)
            self.table.output_starts[tree_task] = self.partials.allocate(
                self.occupancy.largest_length(tree_task)
            )
        merged = self._merge_elements(task)
        slot = element * self.depth + (self.oldest[element] + self.loads[element]) % self.depth
        # One dispatch a cycle. A task begins after the earlier tasks of its element.
        self.now += 1
        self.free[element] = max(self.free[element], self.now) + merged + 1
        self.queue[slot] = task
        self.ends[slot] = self.free[element]
        self.loads[element] += 1
        self.tasks += 1
        self._fetch(task)
        if self.loads[element] == 1:
            self._begin(element)
        return True

    def _least_loaded(self, limit: int) -> int:  # C: noexcept
        """Return the processing element with the fewest tasks; -1 if all have ``limit`` tasks.

        Ties are broken round-robin.
        """
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

    def _merge_elements(self, task: int) -> int:  # C: noexcept
        """Return the number of elements that a task merges."""
        if task < self.a.rows:
            return int(self.work.merged[task])
        return int(self.work.task_merged[task - self.a.rows])

    def _advance(self) -> bool:
        """Process the next event, a read or the end of a task; return whether a task was in flight."""
        best = -1
        for element in range(self.elements):
            if self.loads[element] > 0 and (best < 0 or self.events[element] < self.events[best]):
                best = element
        if best < 0:
            return False
        # Dispatches may have moved the time past the event.
        self.now = max(self.now, self.events[best])
        slot = best * self.depth + self.oldest[best]
        if self.events[best] < self.ends[slot]:
            self._read_part(best)
            return True
        task = self.queue[slot]
        self.oldest[best] = (self.oldest[best] + 1) % self.depth
        self.loads[best] -= 1
        if task >= self.a.rows:
            self._end(task - self.a.rows)
        if self.loads[best] > 0:
            self._begin(best)
        return True

    def _begin(self, element: int) -> None:
        """Begin the oldest task of a processing element."""
        slot = element * self.depth + self.oldest[element]
        self.parts[element] = 0
        # The cycle in which the task begins to merge, from its end as ``_dispatch`` computes it
        self.events[element] = self.ends[slot] - self._merge_elements(self.queue[slot]) - 1
        self._read_part(element)

    def _read_part(self, element: int) -> None:
        """Read the next part of the inputs of an element's oldest task, as much as its buffers hold."""
        slot = element * self.depth + self.oldest[element]
        task = self.queue[slot]
        # A task without elements has one part too, after which the task ends.
        parts = max(1, (self._merge_elements(task) + self.buffered - 1) // self.buffered)
        part = self.parts[element]
        self.parts[element] += 1
        self.events[element] = self.ends[slot] if part + 1 == parts else self.events[element] + self.buffered
        lines_before = self.cache.traffic_lines()
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
        self.lines[self._row_of(task)] += self.cache.traffic_lines() - lines_before

    def _row_of(self, task: int) -> int:  # C: noexcept
        return task if task < self.a.rows else self.trees.row_of_task[task - self.a.rows]

    def _read_row(self, row: int, part: int, parts: int) -> None:  # C: noexcept
        """Read the lines of part number ``part`` of a row of B that is divided into ``parts`` parts."""
        start = self.b.pointers[row]
        end = self.b.pointers[row + 1]
        if end > start:
            first = start * self.element_bytes // self.line_bytes
            count = (end * self.element_bytes - 1) // self.line_bytes + 1 - first
            base = B_BASE // self.line_bytes + first
            for line in range(base + part * count // parts, base + (part + 1) * count // parts):
                self.cache.read(line)

    def _consume(self, task: int, part: int, parts: int) -> None:
        """Read a part of a task's partial fiber for the last time, and count its misses."""
        base = self._first_line(task)
        count = self._lines_of(self.work.task_outputs[task])
        misses_before = self.cache.consume_misses
        for line in range(base + part * count // parts, base + (part + 1) * count // parts):
            self.cache.consume(line)
        self.partial_reads += self.cache.consume_misses - misses_before

    def _first_line(self, task: int) -> int:  # C: noexcept
        """Return the first line of a task's partial fiber."""
        first = self.table.output_starts[task] * self.partial_bytes // self.line_bytes
        return PARTIAL_BASE // self.line_bytes + first

    def _lines_of(self, elements: int) -> int:  # C: noexcept
        return (elements * self.partial_bytes + self.line_bytes - 1) // self.line_bytes

    def _end(self, task: int) -> None:
        """Complete a task of a tree: write its partial fiber, and free the partial fibers that it merged."""
        lines_before = self.cache.traffic_lines()
        parent = self.table.parents[task]
        self.table.output_lengths[task] = self.work.task_outputs[task]
        # A root task writes a row of Z, which does not go through this cache.
        if parent != NO_PARENT:
            start = self._first_line(task)
            for line in range(start, start + self._lines_of(self.work.task_outputs[task])):
                self.cache.write(line)
        for i in range(self.table.first_inputs[task], self.table.first_inputs[task + 1]):
            if self.table.inputs[i] < 0:
                child = -1 - self.table.inputs[i]
                self.partials.release(self.table.output_starts[child], self.occupancy.largest_length(child))
        self.occupancy.complete(task)
        if parent != NO_PARENT:
            self.table.missing[parent] -= 1
            if self.table.missing[parent] == 0:
                self.ready[self.end_ready] = self.a.rows + parent
                self.end_ready += 1
        self.lines[self.trees.row_of_task[task]] += self.cache.traffic_lines() - lines_before

    def _fetch(self, task: int) -> None:
        """Issue the prefetcher's requests for a task: lines of row pointers and the lines of all its fibers.

        A line of row pointers is read once for successive inputs that need the same line.
        """
        lines_before = self.cache.traffic_lines()
        pointer_line = NO_LINE
        if task < self.a.rows:
            for i in range(self.a.pointers[task], self.a.pointers[task + 1]):
                inline.prefetch(
                    self.b.pointers[self.a.coordinates[min(i + PREFETCH_DISTANCE, self.last_nonzero)]]
                )
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
        self.lines[self._row_of(task)] += self.cache.traffic_lines() - lines_before

    def _locate(self, row: int, line: int) -> int:
        """Read the lines of a row's two pointers, except the line read last.

        Args:
            row: row of B.
            line: line of row pointers that was read last, or ``NO_LINE``.

        Returns:
            The line of row pointers that is now the last one read.
        """
        if self.pointer_bytes == 0:
            return line
        base = B_POINTERS_BASE // self.line_bytes
        first = row * self.pointer_bytes // self.line_bytes
        last = ((row + 2) * self.pointer_bytes - 1) // self.line_bytes
        # The rows of a task ascend: if the end pointer is in the line read last, so is the start pointer.
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
        """Prefetch the lines of a row of B, if the machine prefetches."""
        start = self.b.pointers[row]
        end = self.b.pointers[row + 1]
        if self.fetching and end > start:
            base = B_BASE // self.line_bytes
            first = start * self.element_bytes // self.line_bytes
            last = (end * self.element_bytes - 1) // self.line_bytes
            for line in range(base + first, base + last + 1):
                self.cache.prefetch(line)

    def _fetch_fiber(self, task: int) -> None:
        """Prefetch the lines of a task's partial fiber, if the machine prefetches, and count the misses."""
        if self.fetching:
            base = self._first_line(task)
            misses_before = self.cache.fetch_misses
            for line in range(base, base + self._lines_of(self.work.task_outputs[task])):
                self.cache.prefetch(line)
            self.partial_reads += self.cache.fetch_misses - misses_before
