# cython: infer_types=True
"""Occupancy of the FiberCache by partial fibers, and whether there is space for another one."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows


class PartialOccupancy:  # C: final
    """The lines of partial fibers in flight, from a task's dispatch to its parent's completion.

    A fiber that is being written counts with its bound, the sum of its inputs' lengths and no more than B has
    columns; one that is written with its length, until it is consumed.

    A row's tree has to have all its partial fibers before it merges any: while none can end without a leaf
    that was not given out, leaves go on whatever they take, or they would wait for themselves.

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
        # Elements; of tasks that merge, once they are given out
        self.bounds = _bounds(table, a, b, columns)  # C: long[::1]
        self.columns = columns
        self.room = room
        self.line_bytes = sizes.line_bytes
        self.element_bytes = sizes.element_bytes
        self.lines = 0
        self.most_lines = 0
        self.leaves = _leaves(table)  # C: long[::1]; by row of the product: those not given out
        self.ending = 0  # trees all of whose leaves were given out, and that are not merged to the end

    def admits(self, task: int) -> bool:
        """Return whether a task that merges no partial fibers may start: it writes none, or there is room."""
        if self.table.parents[task] == NO_PARENT or self.ending == 0:
            return True
        return self.lines + self._lines(self.bounds[task]) <= self.room

    def begin(self, task: int) -> None:
        """A task that writes a partial fiber is given out."""
        if not self._merges(task):
            row = self.table.rows[task]
            self.leaves[row] -= 1
            if self.leaves[row] == 0:
                self.ending += 1
        self.bounds[task] = min(self.bounds[task] + self._merged(task), self.columns)
        self.lines += self._lines(self.bounds[task])
        self.most_lines = max(self.most_lines, self.lines)

    def end(self, task: int) -> None:
        """A task is completed: the length of its fiber is known, and what it merged is consumed."""
        table = self.table
        if table.parents[task] != NO_PARENT:
            self.lines += self._lines(table.output_lengths[task]) - self._lines(self.bounds[task])
        elif self._merges(task):
            self.ending -= 1
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.inputs[i] < 0:
                self.lines -= self._lines(table.output_lengths[-1 - table.inputs[i]])

    def bound(self, task: int) -> int:
        """Elements that the output of a task that was given out has at the most."""
        return self.bounds[task]

    def _merges(self, task: int) -> bool:  # C: noexcept
        """Return whether a task takes partial fibers, which stand behind rows of B."""
        return self.table.inputs[self.table.first_inputs[task + 1] - 1] < 0

    def _merged(self, task: int) -> int:  # C: noexcept
        """Elements of the partial fibers that a task merges, all written."""
        merged = 0
        for i in range(self.table.first_inputs[task], self.table.first_inputs[task + 1]):
            if self.table.inputs[i] < 0:
                merged += self.table.output_lengths[-1 - self.table.inputs[i]]
        return merged

    def _lines(self, elements: int) -> int:  # C: noexcept
        return (elements * self.element_bytes + self.line_bytes - 1) // self.line_bytes


def _bounds(table: TaskTable, a: CompressedRows, b: CompressedRows, columns: int) -> memoryview[int]:
    """By task, the elements of its rows of B, as far as a fiber can have them."""
    inputs = np.asarray(table.inputs)
    rows = np.asarray(a.coordinates)[np.maximum(inputs, 0)] if len(inputs) else inputs
    lengths = np.where(inputs >= 0, np.diff(np.asarray(b.pointers))[rows], 0)
    sums = np.add.reduceat(lengths, np.asarray(table.first_inputs)[:-1]) if table.count else lengths
    return integers_of(np.minimum(sums, columns))


def _leaves(table: TaskTable) -> memoryview[int]:
    """By row of the product, the tasks of its tree that merge no partial fibers."""
    leaves = (np.asarray(table.missing) == 0) & (np.asarray(table.parents) != NO_PARENT)
    return integers_of(np.bincount(np.asarray(table.rows)[leaves], minlength=len(table.row_lengths)))
