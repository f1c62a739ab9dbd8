"""Tasks: linear combinations of up to R fibers, one for a short row of A, a tree of them for a long one."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from accelerators.gamma.layout import NO_PARENT
from hw.fibers.arrays import integers_of
from hw.fibers.tasks import TaskInputs
from workloads.canonical import Integers


class TaskTable(TaskInputs):
    """Every task of a product, in the order of A's rows; a row's leaves stand before what merges them.

    Of its inputs, a number p >= 0 is the row of B that A's nonzero p selects, scaled by it.

    A store (``hw/store.py``), of which the messages between the parts speak: the prefetcher fills in where
    each input fiber lies (``starts``, ``ends``: elements), the writer how long the output is.

    Args:
        row_pointers: A's, ``rows + 1`` of them.
        radix: fibers that a task may combine.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {
        "missing": "scheduler",
        "starts": "prefetcher",
        "ends": "prefetcher",
        "output_starts": "scheduler",
        "output_lengths": "writer",
        "row_lengths": "writer",
    }

    def __init__(self, row_pointers: Integers, radix: int) -> None:
        rows, first_inputs, inputs, parents = _tasks_of(row_pointers, radix)
        super().__init__(rows, first_inputs, inputs, radix)
        self.parents = integers_of(parents)
        children = np.bincount(parents[parents >= 0], minlength=self.count)
        self.missing = integers_of(children)  # those that are not finished
        last = np.maximum.reduceat(inputs, first_inputs[:-1]) if self.count else inputs
        self.last_nonzeros = integers_of(last)  # of A, that the task needs; below 0 where it needs none
        self.output_starts = _zeros(self.count)  # of a partial fiber, in the store of partial fibers
        self.output_lengths = _zeros(self.count)
        row_count = len(row_pointers) - 1
        self.row_lengths = _zeros(row_count)

    @property
    def partial_inputs(self) -> int:
        """Partial fibers that are written and read back."""
        return int((np.asarray(self.inputs) < 0).sum())


def _zeros(length: int) -> array[int]:
    return array("q", bytes(8 * length))


def _tasks_of(row_pointers: Integers, radix: int) -> tuple[Integers, Integers, Integers, Integers]:
    """Rows, first inputs, inputs and parents of all tasks."""
    lengths = np.diff(row_pointers)
    rows: list[Integers] = []
    counts: list[Integers] = []
    inputs: list[Integers] = []
    parents: list[Integers] = []
    done = 0  # rows whose tasks stand in the lists
    total = 0  # tasks in the lists
    for row in [*np.flatnonzero(lengths > radix), len(lengths)]:
        short = done + np.flatnonzero(lengths[done:row])
        rows.append(short)
        counts.append(lengths[short])
        inputs.append(np.arange(row_pointers[done], row_pointers[row]))
        parents.append(np.full(len(short), NO_PARENT))
        total += len(short)
        if row < len(lengths):
            tree = _tree_of(int(row_pointers[row]), int(lengths[row]), radix, total)
            rows.append(np.full(len(tree.counts), row))
            counts.append(np.array(tree.counts))
            inputs.append(np.array(tree.inputs))
            parents.append(np.array(tree.parents))
            total += len(tree.counts)
        done = row + 1
    first_inputs = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return (
        np.concatenate(rows).astype(np.int64),
        first_inputs.astype(np.int64),
        np.concatenate(inputs).astype(np.int64),
        np.concatenate(parents).astype(np.int64),
    )


class _Tree:
    def __init__(self) -> None:
        self.counts: list[int] = []
        self.inputs: list[int] = []
        self.parents: list[int] = []


def _tree_of(first_nonzero: int, nonzeros: int, radix: int, first_task: int) -> _Tree:
    """The tasks of one long row, as full as possible near the root.

    All but the first take ``radix`` inputs; each takes the oldest fibers that no task has taken, and its
    output queues up behind them. So the tree is balanced, and as many rows of B as can be go straight into
    the tasks near the root, without becoming part of a partial fiber.
    """
    tree = _Tree()
    waiting = list(range(first_nonzero, first_nonzero + nonzeros))
    taken = 0
    take = (nonzeros - 2) % (radix - 1) + 2
    while len(waiting) - taken > 1:
        task = first_task + len(tree.counts)
        chosen = waiting[taken : taken + take]
        for child in (-1 - source for source in chosen if source < 0):
            tree.parents[child - first_task] = task
        tree.counts.append(len(chosen))
        tree.inputs += chosen
        tree.parents.append(NO_PARENT)
        waiting.append(-1 - task)
        taken += take
        take = radix
    return tree
