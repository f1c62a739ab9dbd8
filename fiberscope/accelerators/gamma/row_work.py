# cython: infer_types=True
# C compiler: -O2
"""Exact counts of the work of a product, for each row of A, without simulating cycles."""

from __future__ import annotations

from array import array

import numpy as np

from fiberscope.accelerators.gamma.layout import NO_PARENT
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import coordinates_of
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.sim import inline
from fiberscope.workloads.canonical import Integers

__all__ = ["RowWork", "TreeRows"]

# Number of nonzeros of A between the host's prefetch of a row of B and its use; the row's pointer is
# prefetched at twice this distance.
PREFETCH_DISTANCE = 8


class TreeRows:  # C: final
    """The rows of A whose products take a tree of tasks: they exceed the radix, or are split into subrows.

    Args:
        a: operand A with its rows and subrows in the order of execution.
        product_rows: for each row of ``a``, the row of the product.
        radix: largest number of fibers that a task combines.

    Attributes:
        is_tree_row: for each row of A, whether its product takes a tree.
        nonzeros: the nonzeros of these rows, as a matrix in which all other rows are empty. The inputs of
            ``table`` are numbers of these nonzeros, not of those of A.
        table: the tasks of these rows.
        row_of_task: for each task, its row of A.
        first_tasks: for each row of A, the first task of the row; one entry more than there are rows.
        is_merge_task: for each task, whether the task merges partial fibers.
    """

    def __init__(self, a: CompressedRows, product_rows: Integers, radix: int) -> None:
        pointers = np.asarray(a.pointers)
        lengths = np.diff(pointers)
        is_tree = (lengths > radix) | ((np.bincount(product_rows)[product_rows] > 1) & (lengths > 0))
        self.is_tree_row = is_tree.astype(np.uint8)  # C: unsigned char[::1]
        offsets = np.concatenate([[0], np.cumsum(np.where(is_tree, lengths, 0))])
        in_tree = np.repeat(is_tree, lengths)
        self.nonzeros = CompressedRows(offsets, np.asarray(a.coordinates)[in_tree], np.zeros(0))
        self.table = TaskTable(offsets, radix, product_rows)
        # A task without nonzeros merges partial fibers; it belongs to the row of the task before it.
        last_nonzeros = np.maximum.accumulate(np.asarray(self.table.last_nonzeros))
        rows = np.searchsorted(offsets, last_nonzeros, "right") - 1
        self.row_of_task = rows.astype(np.int64)  # C: long[::1]
        first_tasks = np.searchsorted(rows, np.arange(a.rows + 1))
        self.first_tasks = first_tasks.astype(np.int64)  # C: long[::1]
        self.is_merge_task = (np.asarray(self.table.missing) > 0).astype(np.uint8)  # C: unsigned char[::1]


class RowWork:  # C: final
    """Exact counts of merged elements and output elements for each row of A.

    As in the mergers, an element of a partial fiber counts again each time it is merged. The output elements
    of a tree are those of its root task. A row that is split into subrows has its merge tasks and its output
    elements counted at its last subrow.

    Call ``count_short_rows`` for all rows, and ``count_trees`` once; until then, the counts are 0.

    Args:
        a, b: the operands.
        columns: number of columns of B.
        trees: the rows of A with trees of tasks.

    Attributes:
        merged, outputs: merged elements and output elements, by row of A.
        task_merged, task_outputs: the same counts by task of a tree.
    """

    def __init__(self, a: CompressedRows, b: CompressedRows, columns: int, trees: TreeRows) -> None:
        self.a = a
        self.b = b
        self.trees = trees
        self.columns = columns
        self.merged = np.zeros(a.rows, np.int64)  # C: public long[::1]
        self.outputs = np.zeros(a.rows, np.int64)  # C: public long[::1]
        self.task_merged = np.zeros(trees.table.count, np.int64)  # C: public long[::1]
        self.task_outputs = np.zeros(trees.table.count, np.int64)  # C: public long[::1]
        # One bit for each column, set if the current output has an element there
        self._has_column = np.zeros(columns // 8 + 1, np.uint8).data  # C: unsigned char[::1]
        self._buffer = coordinates_of(np.zeros(max(1, columns), np.int32))  # C: int[::1]
        self._length = 0
        self._fibers: dict[int, array[int]] = {}  # coordinates of the unmerged partial fibers, by task

    def count_short_rows(self, first: int, end: int) -> None:
        """Count the elements of rows ``first`` to ``end`` - 1 that are one task each, without a tree."""
        for row in range(first, end):
            if not self.trees.is_tree_row[row]:
                self.merged[row] = self._merge_rows(
                    self.a.coordinates, self.a.pointers[row], self.a.pointers[row + 1]
                )
                self.outputs[row] = self._length
                self._clear()

    def _merge_rows(self, selected: memoryview[int], first: int, end: int) -> int:  # C: selected=int[::1]
        """Merge the rows of B that nonzeros ``first`` to ``end`` - 1 select; return their number of elements.

        Args:
            selected: for each nonzero of A, its column, which is a row of B.
            first, end: range of nonzeros.
        """
        merged = 0
        count = len(selected)
        for i in range(first, end):
            if i + 2 * PREFETCH_DISTANCE < count:
                inline.prefetch(self.b.pointers[selected[i + 2 * PREFETCH_DISTANCE]])
                self._prefetch_row(selected[i + PREFETCH_DISTANCE])
            row = selected[i]
            row_start = self.b.pointers[row]
            row_end = self.b.pointers[row + 1]
            merged += row_end - row_start
            for j in range(row_start, row_end):
                self._add(self.b.coordinates[j])
        return merged

    def _prefetch_row(self, row: int) -> None:  # C: noexcept, inline
        """Prefetch the first coordinate of a row of B into the host's cache."""
        start = self.b.pointers[row]
        if start < self.b.pointers[row + 1]:
            inline.prefetch(self.b.coordinates[start])

    def _add(self, coordinate: int) -> None:  # C: noexcept, inline
        """Add a coordinate to the current output fiber unless the fiber has it."""
        bits = self._has_column[coordinate >> 3]  # C: long
        if not bits >> (coordinate & 7) & 1:
            self._has_column[coordinate >> 3] = bits | 1 << (coordinate & 7)
            # Unsorted, since only the number and the set of columns matter
            self._buffer[self._length] = coordinate
            self._length += 1

    def _clear(self) -> None:  # C: noexcept
        """Reset the bitmap and the coordinates of the current output fiber."""
        for i in range(self._length):
            # All bits of this byte belong to the current fiber.
            self._has_column[self._buffer[i] >> 3] = 0
        self._length = 0

    def count_trees(self) -> None:
        """Count the elements of all rows with trees, task by task."""
        for task in range(self.trees.table.count):
            self._count_task(task)

    def _count_task(self, task: int) -> None:
        """Count a task of a tree; the tasks that it merges precede it, and are counted already."""
        table = self.trees.table
        merged = 0
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.inputs[i] < 0:  # -1 - task: the partial fiber of a task; else a nonzero of A
                merged += self._merge_fiber(-1 - table.inputs[i])
            else:
                merged += self._merge_rows(
                    self.trees.nonzeros.coordinates, table.inputs[i], table.inputs[i] + 1
                )
        self.task_merged[task] = merged
        self.task_outputs[task] = self._length
        row = self.trees.row_of_task[task]
        self.merged[row] += merged
        if table.parents[task] == NO_PARENT:
            self.outputs[row] = self._length
        else:
            self._fibers[task] = array("i", bytes(np.asarray(self._buffer)[: self._length].data))
        self._clear()

    def _merge_fiber(self, task: int) -> int:
        """Merge the partial fiber of a task and drop it; return its number of elements."""
        fiber = self._fibers.pop(task)  # C: fiber=int[::1]
        for i in range(len(fiber)):
            self._add(fiber[i])
        return len(fiber)
