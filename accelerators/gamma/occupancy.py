"""How much of the FiberCache partial fibers take, and whether one more has room beside them."""

from __future__ import annotations

import numpy as np

from accelerators.gamma.layout import NO_PARENT, Sizes
from accelerators.gamma.tasks import TaskTable
from hw.fibers.arrays import integers_of
from hw.fibers.compressed import CompressedRows

NO_ROW = -1


class PartialOccupancy:
    """The lines of partial fibers under way, from a task's dispatch to its parent's completion.

    A fiber that is being written counts with its bound, the sum of its inputs' lengths and no more than B has
    columns; one that is written with its length, until it is consumed.

    A row's tree has to have all its partial fibers before it merges any: one that is alone goes on whatever
    it takes, or it would wait for itself. As leaves are given in order, no more than one tree waits for
    leaves, and the others end.

    Args:
        table: the tasks.
        a, b: the operands.
        columns: columns of B, an upper bound of any fiber's length.
        room: lines of the FiberCache.
        sizes: of lines and elements.
    """

    def __init__(
        self, table: TaskTable, a: CompressedRows, b: CompressedRows, columns: int, room: int, sizes: Sizes
    ) -> None:
        self.table = table
        self.bounds = _bounds(table, a, b, columns)  # elements; of tasks that merge, once they are given out
        self.columns = columns
        self.room = room
        self.line_bytes = sizes.line_bytes
        self.element_bytes = sizes.element_bytes
        self.lines = 0
        self.most_lines = 0
        self.trees = 0  # begun and not merged to the end
        self.newest = NO_ROW  # the row of the tree that was begun last

    def admits(self, task: int) -> bool:
        """Whether a task that merges no partial fibers may go: it writes none, or there is room for it."""
        if self.table.parents[task] == NO_PARENT or self.trees == 0:
            return True
        if self.trees == 1 and self.table.rows[task] == self.newest:
            return True
        return self.lines + self._lines(self.bounds[task]) <= self.room

    def begin(self, task: int) -> None:
        """A task that writes a partial fiber is given out."""
        if self.table.rows[task] > self.newest:  # the leaves come in the order of rows
            self.newest = self.table.rows[task]
            self.trees += 1
        self.bounds[task] = min(self.bounds[task] + self._merged(task), self.columns)
        self.lines += self._lines(self.bounds[task])
        self.most_lines = max(self.most_lines, self.lines)

    def end(self, task: int) -> None:
        """A task is completed: the length of its fiber is known, and what it merged is consumed."""
        table = self.table
        if table.parents[task] != NO_PARENT:
            self.lines += self._lines(table.output_lengths[task]) - self._lines(self.bounds[task])
        elif table.inputs[table.first_inputs[task + 1] - 1] < 0:  # it merges: partial fibers stand last
            self.trees -= 1
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.inputs[i] < 0:
                self.lines -= self._lines(table.output_lengths[-1 - table.inputs[i]])

    def bound(self, task: int) -> int:
        """Elements that the output of a task that was given out has at the most."""
        return self.bounds[task]

    def _merged(self, task: int) -> int:
        """Elements of the partial fibers that a task merges, all written."""
        merged = 0
        for i in range(self.table.first_inputs[task], self.table.first_inputs[task + 1]):
            if self.table.inputs[i] < 0:
                merged += self.table.output_lengths[-1 - self.table.inputs[i]]
        return merged

    def _lines(self, elements: int) -> int:
        return (elements * self.element_bytes + self.line_bytes - 1) // self.line_bytes


def _bounds(table: TaskTable, a: CompressedRows, b: CompressedRows, columns: int) -> memoryview[int]:
    """By task, the elements of its rows of B, as far as a fiber can have them."""
    inputs = np.asarray(table.inputs)
    rows = np.asarray(a.coordinates)[np.maximum(inputs, 0)] if len(inputs) else inputs
    lengths = np.where(inputs >= 0, np.diff(np.asarray(b.pointers))[rows], 0)
    sums = np.add.reduceat(lengths, np.asarray(table.first_inputs)[:-1]) if table.count else lengths
    return integers_of(np.minimum(sums, columns))
