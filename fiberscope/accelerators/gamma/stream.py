# cython: infer_types=True
"""The order in which the lines of A are fetched from memory, and the lines that each task needs."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.gamma.layout import A_BASE, A_POINTERS_BASE, NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows


class StreamOfA:  # C: final
    """The lines of A in the order in which the scheduler fetches them.

    A line of row pointers precedes the nonzeros of the first row that ends in this line.

    Args:
        addresses: address of each line.
        needed: for each task, the number of leading lines that must have arrived before the task may start.
        first_needed: for each task, the number of leading lines of nonzeros that only earlier tasks use; 0
            for a task without nonzeros.
        merges: for each task, 1 if the task combines partial fibers, otherwise 0.

    Attributes:
        count: number of lines.
    """

    def __init__(
        self,
        addresses: memoryview[int],
        needed: memoryview[int],
        first_needed: memoryview[int],
        merges: memoryview[int],
    ) -> None:
        self.count = len(addresses)
        self.addresses = addresses  # C: public long[::1]
        self.needed = needed  # C: public long[::1]
        self.first_needed = first_needed  # C: public long[::1]
        self.merges = merges  # C: public long[::1]


def stream_of(a: CompressedRows, table: TaskTable, sizes: Sizes) -> StreamOfA:
    """Return the order in which the lines of A are fetched, and the lines that each task needs.

    Args:
        a: operand A.
        table: the tasks.
        sizes: bytes of a line, of an element of A and of a row pointer of A.
    """
    pointers = np.asarray(a.pointers)
    line = sizes.line_bytes
    pointer_lines = -(-(a.rows + 1) * sizes.pointer_bytes // line)
    data_lines = -(-int(pointers[a.rows]) * sizes.element_bytes // line)
    # The first row pointer of each pointer line, the row that this pointer ends, and the line of nonzeros
    # before which the pointer line is fetched.
    first_pointers = np.arange(pointer_lines) * (line // max(1, sizes.pointer_bytes))
    rows = np.maximum(first_pointers - 1, 0)
    next_data_lines = pointers[rows] * sizes.element_bytes // line
    # The sort is stable, so that a pointer line precedes the line of nonzeros with the same key.
    order = np.argsort(np.concatenate([next_data_lines, np.arange(data_lines)]), kind="stable")
    addresses = np.concatenate(
        [A_POINTERS_BASE + np.arange(pointer_lines) * line, A_BASE + np.arange(data_lines) * line]
    )[order]
    positions = np.empty(len(order), np.int64)
    positions[order] = np.arange(len(order))
    # One more entry makes the index -1 of a task without nonzeros valid; np.where discards this entry.
    data_positions = np.append(positions[pointer_lines:], len(order))

    last_nonzeros = np.maximum(table.last_nonzeros, -1)  # -1: the task needs no nonzero of A
    last_bytes = (last_nonzeros + 1) * sizes.element_bytes - 1
    needed = np.where(last_nonzeros >= 0, data_positions[last_bytes // line] + 1, 0)
    first_sources = (
        np.asarray(table.inputs)[np.asarray(table.first_inputs)[:-1]] if table.count else last_nonzeros
    )
    first_needed = np.where(first_sources >= 0, first_sources * sizes.element_bytes // line, 0)
    merges = np.asarray(table.missing) > 0
    return StreamOfA(*(integers_of(numbers) for numbers in (addresses, needed, first_needed, merges)))


def unfinished_rows(table: TaskTable, rows_per_line: int) -> memoryview[int]:
    """Return, for each line of Z's row pointers, the number of its rows that have tasks.

    The line can be written when all of these rows are finished. Z has one row pointer more than it has rows.

    Args:
        table: the tasks.
        rows_per_line: row pointers that a line holds.
    """
    lines = -(-(len(table.row_lengths) + 1) // rows_per_line)
    roots = np.asarray(table.parents) == NO_PARENT
    finished_by = np.asarray(table.rows)[roots] // rows_per_line
    return integers_of(np.bincount(finished_by, minlength=lines))
