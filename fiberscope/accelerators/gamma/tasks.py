# cython: infer_types=True
"""Tasks: linear combinations of up to R fibers, one for a short row of A, a tree for a long or a cut one."""

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
    """Every task of a product, in the order of A's rows; a row's leaves stand before what merges them.

    Of its inputs, a number p >= 0 is the row of B that A's nonzero p selects, scaled by it.

    A row may come as several subrows, with others between them. Each makes a partial fiber, and these are
    merged behind the last.

    A store (docs/blocks.md), of which the messages between the parts speak: the prefetcher fills in where
    each input fiber lies (``starts``, ``ends``: elements), the writer how long the output is.

    Args:
        row_pointers: A's, one more than it has rows and subrows.
        radix: fibers that a task may combine.
        rows: of each of these the row of the product; without them, as many rows in their order.
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
        task_rows, counts, inputs = (_joined(parts) for parts in (tasks.rows, tasks.counts, tasks.inputs))
        first_inputs = np.concatenate([[0], np.cumsum(counts)])
        super().__init__(task_rows, first_inputs, inputs, radix)
        parents = _parents(counts, inputs)
        self.parents = integers_of(parents)  # C: public long[::1]
        children = np.bincount(parents[parents >= 0], minlength=self.count)
        self.missing = integers_of(children)  # C: public long[::1]; those that are not finished
        last = np.maximum.reduceat(inputs, first_inputs[:-1]) if self.count else inputs
        # Of A, that the task needs; below 0 where it needs none
        self.last_nonzeros = integers_of(last)  # C: public long[::1]
        # Of a partial fiber, in the store of partial fibers
        self.output_starts = _zeros(self.count)  # C: public
        self.output_lengths = _zeros(self.count)  # C: public
        self.row_lengths = _zeros(tasks.product_rows)  # C: public


def _zeros(length: int) -> array[int]:
    return array("q", bytes(8 * length))


class _Tasks:  # C: object
    """Tasks as they are put together: parts to be joined, each of many short rows or of one tree."""

    def __init__(self, radix: int) -> None:
        self.radix = radix
        self.count = 0
        self.product_rows = 0
        self.rows: list[Integers] = []
        self.counts: list[Integers] = []  # of inputs
        self.inputs: list[Integers] = []

    def add_all(self, pointers: Integers, rows: Integers) -> None:
        """The tasks of all rows, of which some come as subrows."""
        lengths, subrows = np.diff(pointers), np.bincount(rows)
        self.product_rows = len(subrows)
        fibers: dict[int, list[int]] = {}  # of rows in subrows, those that are to be merged
        done = 0
        for place in [*np.flatnonzero((lengths > self.radix) | (subrows[rows] > 1)), len(rows)]:
            short = done + np.flatnonzero(lengths[done:place])
            self._add(rows[short], lengths[short], np.arange(pointers[done], pointers[place]))
            done = place + 1
            if place < len(rows):
                row = int(rows[place])
                fiber = self._add_tree(row, list(range(pointers[place], pointers[place + 1])))
                parts = fibers.setdefault(row, [])
                parts.append(fiber)
                if len(parts) == subrows[row] > 1:
                    self._add_tree(row, fibers.pop(row))

    def _add(self, rows: Integers, counts: Integers, inputs: Integers) -> None:
        self.rows.append(rows)
        self.counts.append(counts)
        self.inputs.append(inputs)
        self.count += len(rows)

    def _add_tree(self, row: int, waiting: list[int]) -> int:
        """The tasks that combine these fibers into one, as full as possible near the root; returns that one.

        All but the first take ``radix`` inputs; each takes the oldest fibers that no task has taken, and its
        output queues up behind them. So the tree is balanced, and as many rows of B as can be go straight
        into the tasks near the root, without becoming part of a partial fiber.
        """
        counts: list[int] = []
        take = (len(waiting) - 2) % (self.radix - 1) + 2
        taken = 0
        while not counts or len(waiting) - taken > 1:
            counts.append(min(take, len(waiting)))
            waiting.append(-self.count - len(counts))
            taken += counts[len(counts) - 1]
            take = self.radix
        inputs = np.array(waiting[:taken], np.int64)
        self._add(np.full(len(counts), row), np.array(counts, np.int64), inputs)
        return waiting.pop()


def _joined(parts: list[Integers]) -> Integers:
    """One array of 64-bit integers."""
    return np.concatenate(parts).astype(np.int64, copy=False)


def _parents(counts: Integers, inputs: Integers) -> Integers:
    """By task, that which takes its partial fiber."""
    parents = np.full(len(counts), NO_PARENT, np.int64)
    takers = np.repeat(np.arange(len(counts)), counts)
    partial = inputs < 0
    parents[-1 - inputs[partial]] = takers[partial]
    return parents
