"""Contents of the memories of the scheduler as RTL for a given product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fiberscope.accelerators.gamma.fetch_order import FetchOrder, count_rows_to_finish
from fiberscope.accelerators.gamma.layout import A_POINTERS_BASE, NO_PARENT
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler_tables_rtl import (
    ADDRESSES,
    BOUNDS,
    COUNTS,
    ENDS,
    MISSING,
    NEEDS,
    NONZERO_LINE_COUNTS,
    ROWS,
    SCALES,
    SOURCES,
    TASKS,
    UNFINISHED,
    WRITES,
)
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, word_of
from fiberscope.hw.rtl.kit.interface import Field, Token
from fiberscope.hw.rtl.kit.twin import index_bits


def loaded(
    layout: Mapping[str, int],
    needs: Mapping[str, int],
    table: TaskTable,
    a: CompressedRows,
    scale: Field | None,
    occupancy: PartialOccupancy,
    fetch_order: FetchOrder,
    rows_per_line: int,
) -> Iterator[Token]:
    """Yield the tokens that fill a module's memories.

    Args:
        layout: bits of each field of a task's word.
        needs: bits of each field of the word with the lines of A that a task needs.
        scale: field of a scale; None if rows of B and scales arrive with the lines of A.
        table, a, occupancy, fetch_order, rows_per_line: the scheduler's attributes.
    """
    for number, inputs in _operands(table, a, scale).items():
        yield from (Token(number, address, word, 0.0) for address, word in inputs.items())
    unfinished = count_rows_to_finish(table, rows_per_line)
    # For each number of leading lines, how many of them hold nonzeros: their addresses are below the pointers
    nonzeros = np.cumsum(np.asarray(fetch_order.addresses) < A_POINTERS_BASE)
    contents: Mapping[int, Sequence[int]] = {
        ADDRESSES: list(fetch_order.addresses),
        NONZERO_LINE_COUNTS: [0, *nonzeros.tolist()],
        TASKS: [_packed(layout, task) for task in _tasks(table, fetch_order, rows_per_line)],
        NEEDS: [_packed(needs, task) for task in _needs(table, fetch_order)],
        BOUNDS: [occupancy.largest_length(task) for task in range(table.count)],
        MISSING: list(table.missing),
        UNFINISHED: list(unfinished),
        # Lines of Z's row pointers that no task has to finish can be written at once
        WRITES: [line for line, rows in enumerate(unfinished) if rows == 0],
        ENDS: [0] * len(unfinished) * rows_per_line if scale is None else [],
        # Last, because the run starts when the number of tasks is loaded
        COUNTS: [fetch_order.count, table.count],
    }
    for number, words in contents.items():
        for address, word in enumerate(words):
            yield Token(number, address, word, 0.0)


def _operands(table: TaskTable, a: CompressedRows, scale: Field | None) -> dict[int, dict[int, int]]:
    """Return the words of all tasks' inputs, by memory and address.

    The low bits of an address are the number of the input, and the bits above the number of the task.
    """
    memories: dict[int, dict[int, int]] = {SOURCES: {}, ROWS: {}, SCALES: {}}
    for task in range(table.count):
        first_address = task << index_bits(table.radix)
        inputs = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
        for address, source in enumerate(inputs, first_address):
            # In two's complement: the source of a partial fiber is negative
            memories[SOURCES][address] = source & (1 << INDEX_BITS) - 1
            if source >= 0 and scale is not None:
                memories[ROWS][address] = a.coordinates[source]
                memories[SCALES][address] = _bits(scale, a.values[source])
    return memories


def _bits(scale: Field, value: float) -> int:
    """Return the bits of a scale; 0 if the type cannot represent it, which the multiplier reports."""
    try:
        return word_of(scale, value)
    except ValueError:
        return 0


def _tasks(table: TaskTable, fetch_order: FetchOrder, rows_per_line: int) -> Iterator[dict[str, int]]:
    """Yield the fields of each task's word."""
    leaves = np.flatnonzero(np.asarray(fetch_order.is_merge_task) == 0)
    last_leaves = {table.rows[leaf]: leaf for leaf in leaves.tolist()}  # by row; later leaves overwrite
    for task in range(table.count):
        yield {
            # The field has no sign for the -1 of a task without a parent; ``is_partial`` tells it
            "parent": max(table.parents[task], 0),
            "is_partial": int(table.parents[task] != NO_PARENT),
            "line": table.rows[task] // rows_per_line,
            "row": table.rows[task] % rows_per_line,
            "count": table.first_inputs[task + 1] - table.first_inputs[task],
            "merges": int(fetch_order.is_merge_task[task]),
            "is_last": int(last_leaves.get(table.rows[task]) == task),
        }


def _needs(table: TaskTable, fetch_order: FetchOrder) -> Iterator[dict[str, int]]:
    """Yield, for each task, the fields of the word with the lines of A that it needs."""
    leaves = np.flatnonzero(np.asarray(fetch_order.is_merge_task) == 0)
    # ``right``: the first leaf after the task itself; the number of tasks if there is none
    next_leaves = np.append(leaves, table.count)[
        np.searchsorted(leaves, np.arange(table.count), side="right")
    ]
    columns = fetch_order.needed_lines, fetch_order.released_lines, next_leaves.tolist()
    for fields in zip(*columns, strict=True):
        yield dict(zip(("needed_lines", "released_lines", "next_leaf"), fields, strict=True))


def _packed(layout: Mapping[str, int], fields: Mapping[str, int]) -> int:
    """Return a word of these fields; the first field has the lowest bits."""
    word = 0
    for name, bits in reversed(list(layout.items())):
        word = word << bits | fields[name]
    return word
