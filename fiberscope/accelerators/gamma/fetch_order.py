# cython: infer_types=True
"""The order in which the lines of A are fetched from memory, and the lines that each task needs."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.gamma.layout import A_BASE, A_POINTERS_BASE, NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows


class FetchOrder:  # C: final
    """The lines of A in the order in which the scheduler fetches them.

    A line of row pointers precedes the nonzeros of the first row whose end pointer is in this line.

    Args:
        addresses: address of each line.
        needed_lines: for each task, the number of leading lines that must have arrived before the task may
            start; 0 for a task without nonzeros.
        released_lines: for each task, the number of leading lines of nonzeros that only earlier tasks use; 0
            for a task without nonzeros.
        is_merge_task: for each task, 1 if the task combines partial fibers, otherwise 0.

    Attributes:
        count: number of lines.
    """

    def __init__(
        self,
        addresses: memoryview[int],
        needed_lines: memoryview[int],
        released_lines: memoryview[int],
        is_merge_task: memoryview[int],
    ) -> None:
        self.count = len(addresses)
        self.addresses = addresses  # C: public long[::1]
        self.needed_lines = needed_lines  # C: public long[::1]
        self.released_lines = released_lines  # C: public long[::1]
        self.is_merge_task = is_merge_task  # C: public long[::1]


def order_lines_of_a(a: CompressedRows, table: TaskTable, sizes: Sizes) -> FetchOrder:
    """Return the order of the lines of A, with the lines that each task needs; only before the run.

    Args:
        a: operand A.
        table: the tasks.
        sizes: bytes of a line, of an element of A and of a row pointer of A.
    """
    pointers = np.asarray(a.pointers)
    line_bytes = sizes.line_bytes
    # A full operand has no row pointers: ``pointer_bytes`` is 0, and so is the number of pointer lines.
    pointer_lines = -(-(a.rows + 1) * sizes.pointer_bytes // line_bytes)
    data_lines = -(-int(pointers[a.rows]) * sizes.element_bytes // line_bytes)
    # The first row pointer of each pointer line, the row that this pointer ends, and the line of nonzeros
    # before which the pointer line is fetched.
    first_pointers = np.arange(pointer_lines) * (line_bytes // max(1, sizes.pointer_bytes))
    rows = np.maximum(first_pointers - 1, 0)
    following_data_lines = pointers[rows] * sizes.element_bytes // line_bytes
    # The sort is stable, so that a pointer line precedes the line of nonzeros with the same key.
    order = np.argsort(np.concatenate([following_data_lines, np.arange(data_lines)]), kind="stable")
    addresses = np.concatenate(
        [A_POINTERS_BASE + np.arange(pointer_lines) * line_bytes, A_BASE + np.arange(data_lines) * line_bytes]
    )[order]
    positions = np.empty(len(order), np.int64)
    positions[order] = np.arange(len(order))
    # One more entry makes the index -1 of a task without nonzeros valid; np.where discards this entry.
    data_positions = np.append(positions[pointer_lines:], len(order))

    last_nonzeros = np.maximum(table.last_nonzeros, -1)  # -1: the task needs no nonzero of A
    last_bytes = (last_nonzeros + 1) * sizes.element_bytes - 1
    needed_lines = np.where(last_nonzeros >= 0, data_positions[last_bytes // line_bytes] + 1, 0)
    # The nonzeros of a task precede its partial fibers, whose inputs are negative.
    first_nonzeros = (
        np.asarray(table.inputs)[np.asarray(table.first_inputs)[:-1]] if table.count else last_nonzeros
    )
    released_lines = np.where(first_nonzeros >= 0, first_nonzeros * sizes.element_bytes // line_bytes, 0)
    is_merge_task = np.asarray(table.missing) > 0  # before the run, ``missing`` counts all partial inputs
    arrays = addresses, needed_lines, released_lines, is_merge_task
    return FetchOrder(*(integers_of(numbers) for numbers in arrays))


def count_rows_to_finish(table: TaskTable, rows_per_line: int) -> memoryview[int]:
    """Return, for each line of Z's row pointers, the number of its rows that have tasks.

    The line can be written when all of these rows are finished. Z has one row pointer more than it has rows;
    a last line with this pointer alone has the number 0.

    Args:
        table: the tasks.
        rows_per_line: row pointers that a line holds; 0 if Z has no row pointers, and thus no such line.
    """
    if rows_per_line == 0:
        return integers_of(np.zeros(0, np.int64))
    lines = -(-(len(table.row_lengths) + 1) // rows_per_line)
    # Each row with tasks has one task without a parent, whose end finishes the row.
    roots = np.asarray(table.parents) == NO_PARENT
    finished_by = np.asarray(table.rows)[roots] // rows_per_line
    return integers_of(np.bincount(finished_by, minlength=lines))
