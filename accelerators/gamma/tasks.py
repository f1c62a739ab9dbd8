"""Tasks: linear combinations of up to R fibers, one for a short row of A, a tree of them for a long one."""

from __future__ import annotations

import math
from array import array

import numpy as np
import numpy.typing as npt

from accelerators.gamma.layout import NO_PARENT

Integers = npt.NDArray[np.int64]


class CompressedRows:
    """A matrix as it lies in memory: row pointers, and a coordinate and a value for each nonzero.

    Args:
        pointers: ``rows + 1`` integers.
        coordinates: of the nonzeros, increasing within a row.
        values: of the nonzeros.
    """

    def __init__(self, pointers: Integers, coordinates: Integers, values: npt.NDArray[np.float64]) -> None:
        self.rows = len(pointers) - 1
        self.pointers = _column(pointers)
        self.coordinates = array("i", coordinates.astype(np.int32).tobytes())
        self.values = array("d", values.astype(np.float64).tobytes())


class TaskTable:
    """Every task of a product, in the order of A's rows; a row's leaves stand before what merges them.

    A task's inputs are ``inputs[first_inputs[t] : first_inputs[t + 1]]``: a number p >= 0 is the row of B
    that A's nonzero p selects, scaled by it; a number below 0 is the partial fiber written by task -1 - p.

    The tables are what messages between the parts carry: the prefetcher fills in where each input fiber lies
    (``starts``, ``ends``: elements), the writer where it put the output.

    Args:
        row_pointers: A's, ``rows + 1`` of them.
        radix: fibers that a task may combine.
    """

    def __init__(self, row_pointers: Integers, radix: int) -> None:
        rows, first_inputs, inputs, parents = _tasks_of(row_pointers, radix)
        self.count = len(rows)
        self.radix = radix
        self.rows = _column(rows)
        self.first_inputs = _column(first_inputs)
        self.inputs = _column(inputs)
        self.parents = _column(parents)
        self.missing = _column(np.bincount(parents[parents >= 0], minlength=self.count))  # children to finish
        last = np.maximum.reduceat(inputs, first_inputs[:-1]) if self.count else inputs
        self.last_nonzeros = _column(last)  # of A, that the task needs; below 0 where it needs none
        self.starts = _zeros(len(inputs))
        self.ends = _zeros(len(inputs))
        self.output_starts = _zeros(self.count)  # of a partial fiber, in the store of partial fibers
        self.output_lengths = _zeros(self.count)
        row_count = len(row_pointers) - 1
        self.row_writers = _zeros(row_count)  # the processing element that wrote the row of Z
        self.row_lengths = _zeros(row_count)

    @property
    def partial_inputs(self) -> int:
        """Partial fibers that are written and read back."""
        return int((np.asarray(self.inputs) < 0).sum())


def _column(numbers: Integers) -> array[int]:
    """A flat array that compiled code views without a copy and uncompiled code reads as plain integers."""
    return array("q", numbers.astype(np.int64).tobytes())


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


class PartialStore:
    """The elements of the partial fibers in use; space of consumed ones is used again.

    Args:
        line_bytes: bytes of a cache line; every fiber starts at one.
        element_bytes: bytes of an element.
    """

    def __init__(self, line_bytes: int, element_bytes: int) -> None:
        self.granule = line_bytes // math.gcd(line_bytes, element_bytes)  # elements in whole lines
        self.coordinates = array("i")
        self.values = array("d")
        self.used = 0
        self.free: dict[int, list[int]] = {}
        self._grow(self.granule)

    def allocate(self, elements: int) -> int:
        """Space for at most this many elements; returns the element where it starts."""
        size = self._size(elements)
        if self.free.get(size):
            return self.free[size].pop()
        start = self.used
        self.used += size
        if self.used > len(self.values):
            self._grow(max(self.used, 2 * len(self.values)))
        return start

    def release(self, start: int, elements: int) -> None:
        """Give back space that was allocated for this many elements."""
        self.free.setdefault(self._size(elements), []).append(start)

    def _size(self, elements: int) -> int:
        granules = max(1, (elements + self.granule - 1) // self.granule)
        return self.granule << int(granules - 1).bit_length()

    def _grow(self, elements: int) -> None:
        coordinates = array("i", bytes(4 * elements))
        values = array("d", bytes(8 * elements))
        coordinates[: len(self.coordinates)] = array("i", self.coordinates)
        values[: len(self.values)] = array("d", self.values)
        self.coordinates = coordinates
        self.values = values
