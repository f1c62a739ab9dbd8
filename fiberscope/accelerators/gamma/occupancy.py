# cython: infer_types=True
"""The occupancy of the FiberCache by partial fibers, which limits the dispatch of leaf tasks."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows


class PartialOccupancy:  # C: final
    """A count of the cache lines of partial fibers, from a task's dispatch to its parent's completion.

    A fiber that is being written counts with the bound of its length. The bound is the sum of the lengths of
    its inputs, at most the number of columns of B. A complete fiber counts with its length until its parent
    has consumed it.

    A task tree can be merged to the end only after all its leaf tasks were dispatched. While no tree has all
    its leaves dispatched, leaf tasks start even if their output does not fit. Otherwise they would wait for
    lines that only merge tasks of the same tree can free: a deadlock.

    The table must be in its state before the run when this object is made. Call ``reserve`` for each task
    that writes a partial fiber, when it is dispatched and its partial inputs are complete. Call ``complete``
    for each completed task of a tree, when ``output_lengths`` has the length of its output.

    Args:
        table: the tasks.
        a, b: the operands.
        columns: columns of B, an upper bound of any fiber's length.
        cache_lines: lines that the FiberCache holds.
        sizes: bytes of a line and of an element of a partial fiber.

    Attributes:
        lines: lines that partial fibers occupy now.
        most_lines: largest value of ``lines`` so far.
    """

    def __init__(
        self,
        table: TaskTable,
        a: CompressedRows,
        b: CompressedRows,
        columns: int,
        cache_lines: int,
        sizes: Sizes,
    ) -> None:
        self.table = table
        # Largest number of output elements of each task. That of a merge task includes its partial fibers
        # only from its dispatch on.
        self.bounds = _bounds(table, a, b, columns)  # C: long[::1]
        self.columns = columns
        self.cache_lines = cache_lines
        self.line_bytes = sizes.line_bytes
        self.element_bytes = sizes.element_bytes
        self.lines = 0
        self.most_lines = 0
        self.undispatched_leaves = _leaves(table)  # C: long[::1]; by row of the product
        self.completable_trees = 0  # trees with all leaves dispatched whose root task is not complete

    def admits(self, task: int) -> bool:
        """Return whether a task that merges no partial fibers may start; do not ask for merge tasks.

        Merge tasks may always start. Another task may start if it writes no partial fiber, if its output fits
        the cache, or if waiting would be a deadlock.
        """
        if self.table.parents[task] == NO_PARENT or self.completable_trees == 0:
            return True
        return self.lines + self._lines(self.bounds[task]) <= self.cache_lines

    def reserve(self, task: int) -> None:
        """Reserve lines for the output of a dispatched task that writes a partial fiber.

        After its last leaf, the tree counts as completable.
        """
        if not self._is_merge_task(task):
            row = self.table.rows[task]
            self.undispatched_leaves[row] -= 1
            if self.undispatched_leaves[row] == 0:
                self.completable_trees += 1
        # So far, the bound counts only rows of B. From now on, the lengths of the partial inputs are known.
        self.bounds[task] = min(self.bounds[task] + self._count_partial_elements(task), self.columns)
        self.lines += self._lines(self.bounds[task])
        self.most_lines = max(self.most_lines, self.lines)

    def complete(self, task: int) -> None:
        """Account for a completed task: correct its output to the actual length, and free its inputs."""
        table = self.table
        if table.parents[task] != NO_PARENT:
            self.lines += self._lines(table.output_lengths[task]) - self._lines(self.bounds[task])
        elif self._is_merge_task(task):
            # The root of a tree is complete; its output is a row of Z, which takes no lines.
            self.completable_trees -= 1
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.inputs[i] < 0:
                self.lines -= self._lines(table.output_lengths[-1 - table.inputs[i]])

    def largest_length(self, task: int) -> int:
        """Return the largest length of the output of a dispatched task that writes a partial fiber."""
        return self.bounds[task]

    def _is_merge_task(self, task: int) -> bool:  # C: noexcept
        """Return whether a task merges partial fibers; these follow the rows of B among its inputs."""
        return self.table.inputs[self.table.first_inputs[task + 1] - 1] < 0

    def _count_partial_elements(self, task: int) -> int:  # C: noexcept
        """Return the number of elements of the partial fibers that a task merges; all are complete."""
        merged = 0
        for i in range(self.table.first_inputs[task], self.table.first_inputs[task + 1]):
            if self.table.inputs[i] < 0:
                merged += self.table.output_lengths[-1 - self.table.inputs[i]]
        return merged

    def _lines(self, elements: int) -> int:  # C: noexcept
        return (elements * self.element_bytes + self.line_bytes - 1) // self.line_bytes


def _bounds(table: TaskTable, a: CompressedRows, b: CompressedRows, columns: int) -> memoryview[int]:
    """Return, for each task, the number of elements of its rows of B, at most ``columns``."""
    inputs = np.asarray(table.inputs)
    rows = np.asarray(a.coordinates)[np.maximum(inputs, 0)] if len(inputs) else inputs
    lengths = np.where(inputs >= 0, np.diff(np.asarray(b.pointers))[rows], 0)
    # ``reduceat`` is right only because each task has an input.
    sums = np.add.reduceat(lengths, np.asarray(table.first_inputs)[:-1]) if table.count else lengths
    return integers_of(np.minimum(sums, columns))


def _leaves(table: TaskTable) -> memoryview[int]:
    """Return, for each row of the product, the number of leaf tasks of its tree; only before the run."""
    leaves = (np.asarray(table.missing) == 0) & (np.asarray(table.parents) != NO_PARENT)
    return integers_of(np.bincount(np.asarray(table.rows)[leaves], minlength=len(table.row_lengths)))
