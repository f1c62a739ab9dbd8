# cython: infer_types=True
"""Tasks: linear combinations of up to R fibers. A short row of A is one task, a long or split row a tree."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.gamma.layout import NO_PARENT
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.tasks import TaskInputs
from fiberscope.workloads.canonical import Integers


class TaskTable(TaskInputs):  # C: final
    """A table of all tasks of a product, in the order of A's rows; leaf tasks precede their merge tasks.

    An input p >= 0 is the row of B that nonzero p of A selects, scaled by this nonzero. An input p < 0 is
    the partial fiber of task -1 - p.

    A row of A may be split into several subrows, with other rows between them. Each subrow gives a partial
    fiber. Tasks after the last subrow merge these fibers.

    The table is a store (docs/blocks.md), whose entries the messages between the parts refer to. The
    prefetcher writes the first element of each input fiber and the element after its last to ``starts`` and
    ``ends``. The writer writes the length of each output.

    Args:
        row_pointers: row pointers of A, one more than there are rows and subrows.
        radix: largest number of fibers that a task combines.
        rows: row of the product for each row or subrow of A; by default row i of A gives row i.

    Attributes:
        parents: for each task, the task that merges its partial fiber, or ``NO_PARENT``.
        missing: for each task, the number of its partial input fibers that are not complete.
        last_nonzeros: for each task, the last nonzero of A that it needs, or a negative number.
        output_starts: for each task, the first element of its partial fiber in the ``PartialStore``.
        output_lengths: for each task, the number of elements of its partial fiber.
        row_lengths: for each row of the product, its number of elements.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {
        "missing": "scheduler",
        "starts": "prefetcher",
        "ends": "prefetcher",
        "output_starts": "scheduler",
        "output_lengths": "writer",
        "row_lengths": "writer",
    }

    def __init__(self, row_pointers: Integers, radix: int, rows: Integers | None = None) -> None:
        tasks = _Tasks(radix)
        tasks.add_all(row_pointers, np.arange(len(row_pointers) - 1) if rows is None else rows)
        task_rows, counts, inputs = (
            np.concatenate(parts).astype(np.int64, copy=False)
            for parts in (tasks.rows, tasks.counts, tasks.inputs)
        )
        first_inputs = np.concatenate([[0], np.cumsum(counts)])
        super().__init__(task_rows, first_inputs, inputs, radix)
        parents = _find_parents(counts, inputs)
        self.parents = integers_of(parents)  # C: public long[::1]
        children = np.bincount(parents[parents >= 0], minlength=self.count)
        self.missing = integers_of(children)  # C: public long[::1]; incomplete ones
        last_nonzeros = np.maximum.reduceat(inputs, first_inputs[:-1]) if self.count else inputs
        self.last_nonzeros = integers_of(last_nonzeros)  # C: public long[::1]
        self.output_starts = _zeros(self.count)  # C: public
        self.output_lengths = _zeros(self.count)  # C: public
        self.row_lengths = _zeros(tasks.product_rows)  # C: public


def _zeros(length: int) -> array[int]:
    return array("q", bytes(8 * length))


class _Tasks:  # C: object
    """A list of tasks under construction, in parts to be concatenated: many short rows, or one tree."""

    def __init__(self, radix: int) -> None:
        self.radix = radix
        self.count = 0
        self.product_rows = 0
        self.rows: list[Integers] = []
        self.counts: list[Integers] = []  # number of inputs of each task
        self.inputs: list[Integers] = []

    def add_all(self, pointers: Integers, rows: Integers) -> None:
        """Add the tasks of all rows and subrows.

        Args:
            pointers: row pointers of A.
            rows: row of the product for each row or subrow.
        """
        lengths, subrows = np.diff(pointers), np.bincount(rows)
        self.product_rows = len(subrows)
        fibers: dict[int, list[int]] = {}  # partial fibers of split rows, by row of the product
        start = 0
        # Rows that are one task each are added together, up to the next row that needs a tree; the additional
        # index ``len(rows)`` ends the last group
        for index in [*np.flatnonzero((lengths > self.radix) | (subrows[rows] > 1)), len(rows)]:
            short_rows = start + np.flatnonzero(lengths[start:index])  # an empty row has no task
            inputs = np.arange(pointers[start], pointers[index])
            self._add(rows[short_rows], lengths[short_rows], inputs)
            start = index + 1
            if index < len(rows):
                row = int(rows[index])
                fiber = self._add_tree(row, list(range(pointers[index], pointers[index + 1])))
                row_fibers = fibers.setdefault(row, [])
                row_fibers.append(fiber)
                # After the last subrow, a tree merges the partial fibers of all subrows
                if len(row_fibers) == subrows[row] > 1:
                    self._add_tree(row, fibers.pop(row))

    def _add(self, rows: Integers, counts: Integers, inputs: Integers) -> None:
        self.rows.append(rows)
        self.counts.append(counts)
        self.inputs.append(inputs)
        self.count += len(rows)

    def _add_tree(self, row: int, queue: list[int]) -> int:
        """Add the tree of tasks that combines the fibers in ``queue`` into one, and return this fiber.

        All tasks but the first take ``radix`` inputs. Each task takes the oldest fibers in the queue, and its
        output is appended to the queue. The tree is therefore balanced. As many rows of B as possible are
        inputs of tasks near the root, and do not become part of a partial fiber.
        """
        counts: list[int] = []
        # A task with ``radix`` inputs leaves ``radix`` - 1 fibers fewer. The first task takes the remaining 2
        # to ``radix`` inputs, so that all other tasks are full
        input_limit = (len(queue) - 2) % (self.radix - 1) + 2
        input_count = 0
        while not counts or len(queue) - input_count > 1:
            # A queue of one fiber is a task of one input, which only scales it
            counts.append(min(input_limit, len(queue)))
            # This task is number ``self.count + len(counts) - 1``; the fiber of task t is input -1 - t
            queue.append(-self.count - len(counts))
            input_count += counts[len(counts) - 1]
            input_limit = self.radix
        inputs = np.array(queue[:input_count], np.int64)
        self._add(np.full(len(counts), row), np.array(counts, np.int64), inputs)
        return queue.pop()


def _find_parents(counts: Integers, inputs: Integers) -> Integers:
    """Return, for each task, the task that merges its partial fiber, or ``NO_PARENT``."""
    parents = np.full(len(counts), NO_PARENT, np.int64)
    consumers = np.repeat(np.arange(len(counts)), counts)
    is_partial = inputs < 0
    parents[-1 - inputs[is_partial]] = consumers[is_partial]
    return parents
