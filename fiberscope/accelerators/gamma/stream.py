# cython: infer_types=True
"""The order in which A streams in from memory, and what each task needs of it."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.gamma.layout import A_BASE, A_POINTERS_BASE, NO_PARENT, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.compressed import CompressedRows


class StreamOfA:  # C: final
    """Lines of A in the order of use: a line of row pointers goes before the nonzeros of the row it ends.

    ``addresses`` has ``count`` lines; task t may run when its first ``needed[t]`` have come; as many lines of
    nonzeros as ``first_needed[t]`` serve only earlier tasks; ``merges[t]`` tells the tasks that combine
    partial fibers.
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
    """The stream of A for these tasks."""
    pointers = np.asarray(a.pointers)
    line = sizes.line_bytes
    pointer_lines = -(-(a.rows + 1) * sizes.pointer_bytes // line)
    data_lines = -(-int(pointers[a.rows]) * sizes.element_bytes // line)
    behind = np.arange(pointer_lines) * (line // max(1, sizes.pointer_bytes))
    rows = np.maximum(behind - 1, 0)  # that each one ends
    before = pointers[rows] * sizes.element_bytes // line  # the line of nonzeros each one precedes
    order = np.argsort(np.concatenate([before, np.arange(data_lines)]), kind="stable")
    addresses = np.concatenate(
        [A_POINTERS_BASE + np.arange(pointer_lines) * line, A_BASE + np.arange(data_lines) * line]
    )[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    line_places = np.append(place[pointer_lines:], len(order))

    last = np.maximum(table.last_nonzeros, -1)
    needed = np.where(last >= 0, line_places[((last + 1) * sizes.element_bytes - 1) // line] + 1, 0)
    firsts = np.asarray(table.inputs)[np.asarray(table.first_inputs)[:-1]] if table.count else last
    first_needed = np.where(firsts >= 0, firsts * sizes.element_bytes // line, 0)
    merges = np.asarray(table.missing) > 0
    return StreamOfA(*(integers_of(numbers) for numbers in (addresses, needed, first_needed, merges)))


def unfinished_rows(table: TaskTable, rows_per_line: int) -> memoryview[int]:
    """By line of Z's row pointers (one more than it has rows): its rows that wait for a task."""
    lines = -(-(len(table.row_lengths) + 1) // rows_per_line)
    roots = np.asarray(table.parents) == NO_PARENT
    finished_by = np.asarray(table.rows)[roots] // rows_per_line
    return integers_of(np.bincount(finished_by, minlength=lines))
